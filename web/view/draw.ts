// Draws what is in sight of the rows: stretches, values, moments, and labels beside them.
import { drawArrow, drawArrows, ends } from "./arrows.js";
import { type Colours } from "./colours.js";
import { type Lane, type Pieces, lower } from "./levels.js";
import { LANE, STATE, type Row, parts, rangeOf } from "./rows.js";
import type { Scene } from "./scene.js";

const FONT = "system-ui, -apple-system, 'Segoe UI', Roboto, sans-serif";
/// About the width of a character of the font in stretches.
const CHARACTER = 6;
/// Pixels of what is drawn above its neighbours.
const THIN = 1.5;
/// Pixels of one step of a core's load.
const STEP = 3;

export interface Drawn {
  rows: number;
  shapes: number;
  arrows: number;
}

export class Painter {
  private shapes = 0;

  constructor(
    private context: CanvasRenderingContext2D,
    private scene: Scene,
    private colours: Colours,
    readonly gutter: () => number,
  ) {}

  /// Draws everything below the axis, which is `top` high.
  paint(top: number): Drawn {
    const { context, scene, colours } = this;
    const { view } = scene;
    const gutter = this.gutter();
    this.shapes = 0;
    colours.shift(gutter - view.from * view.scale, top - view.scroll);
    context.fillStyle = colours.card;
    context.fillRect(0, 0, gutter + view.width, top + view.height);
    const rows = scene.rows.filter(
      ({ y, height }) => height > 0 && y + height > view.scroll && y < view.scroll + view.height,
    );
    context.save();
    context.translate(0, top);
    context.beginPath();
    context.rect(0, 0, gutter + view.width, view.height);
    context.clip();
    for (const row of rows) this.ground(row, gutter);
    context.save();
    context.beginPath();
    context.rect(gutter, 0, view.width, view.height);
    context.clip();
    context.translate(gutter, 0);
    for (const row of rows) this.row(row);
    const arrows = drawArrows(context, scene, colours);
    this.chosen();
    context.restore();
    for (const row of rows) this.label(row, gutter);
    this.bar(gutter);
    context.restore();
    return { rows: rows.length, shapes: this.shapes, arrows };
  }

  private ground(row: Row, gutter: number) {
    const { context, colours, scene } = this;
    const y = row.y - scene.view.scroll;
    const { selected } = scene;
    const isSelected = selected && scene.rowOf(selected) === row;
    const titled = row.kind === "group" || row.kind === "title";
    context.fillStyle = titled ? colours.ground : colours.card;
    context.fillRect(0, y, gutter + scene.view.width, row.height);
    if (isSelected) {
      context.fillStyle = colours.accent;
      context.globalAlpha = 0.09;
      context.fillRect(0, y, gutter + scene.view.width, row.height);
      context.globalAlpha = 1;
      context.fillRect(0, y, 3, row.height);
    }
    context.fillStyle = colours.line;
    context.fillRect(0, y + row.height - 1, gutter + scene.view.width, 1);
  }

  private row(row: Row) {
    const y = row.y - this.scene.view.scroll;
    const place = parts(row);
    if (row.kind === "group") this.load(row, y);
    if (row.state) this.lane(row, row.state, y + place.state, STATE - 2);
    row.lanes.forEach((lane, at) => this.lane(row, lane, y + place.lanes + at * LANE, LANE - 2));
    if (row.steps) this.steps(row, y);
    if (row.moments.length) this.moments(row, y + place.lanes - 1);
  }

  private lane(row: Row, lane: Lane, y: number, height: number) {
    const { context, scene } = this;
    const { view } = scene;
    if (y > view.height || y + height < 0) return;
    const pieces = lane.level(view.nsPerPixel);
    const { begin, end, length } = pieces;
    context.font = `11px ${FONT}`;
    context.textBaseline = "middle";
    // What is thinner than a pixel would vanish under its neighbours, so it is drawn after them.
    const thin: number[] = [];
    let at = Math.max(0, lower(begin, view.from, length) - 1);
    for (; at < length && begin[at] <= view.to; at++) {
      if (end[at] < view.from) continue;
      if ((end[at] - begin[at]) * view.scale < THIN) thin.push(at);
      else this.piece(row, pieces, at, y, height);
    }
    for (const one of thin) this.piece(row, pieces, one, y, height);
    context.globalAlpha = 1;
  }

  private piece(row: Row, pieces: Pieces, at: number, y: number, height: number) {
    const { context, colours, scene } = this;
    const { view } = scene;
    const { begin, end, name, id, share } = pieces;
    const meant = scene.found?.names.get(row.source);
    const left = Math.max(view.x(begin[at]), -2);
    const right = Math.min(view.x(end[at]), view.width + 2);
    const wide = Math.max(right - left, 1);
    const text = row.source.trace.strings[name[at]] ?? "";
    const { fill, ink } = colours.of(text);
    context.globalAlpha = meant && !meant[name[at]] ? 0.18 : 1;
    if (id[at] < 0) context.globalAlpha *= 0.35 + 0.65 * share[at];
    context.fillStyle = fill;
    // A hair of ground between neighbours tells them apart.
    context.fillRect(left, y, wide > 4 ? wide - 1 : wide, height);
    this.shapes++;
    if (wide > 20 && height > 10 && id[at] >= 0) this.write(text, left, y + height / 2, wide, ink);
  }

  private write(text: string, x: number, y: number, wide: number, ink: string) {
    const room = Math.floor((wide - 8) / CHARACTER);
    if (room < 1) return;
    const fits = text.length <= room;
    if (!fits && room < 3) return;
    this.context.fillStyle = ink;
    this.context.fillText(fits ? text : `${text.slice(0, room - 1)}…`, x + 4, y + 0.5);
  }

  /// How much of a core is used.
  private load(row: Row, y: number) {
    const { context, colours, scene } = this;
    const { view } = scene;
    if (row.work.length === 0) return;
    const height = 18;
    const bottom = y + 24;
    // Steps lie on the time axis, so they do not flicker while the view moves.
    const step = STEP * view.nsPerPixel;
    const first = Math.floor(view.from / step) * step;
    context.fillStyle = colours.strong;
    context.globalAlpha = 0.55;
    context.beginPath();
    context.moveTo(0, bottom);
    for (let time = first; time < view.to; time += step) {
      let covered = 0;
      for (const lane of row.work) covered += lane.covered(time, time + step);
      const high = bottom - height * Math.min(covered / step, 1);
      context.lineTo(view.x(time), high);
      context.lineTo(view.x(time + step), high);
      this.shapes++;
    }
    context.lineTo(view.width + STEP, bottom);
    context.fill();
    context.globalAlpha = 1;
  }

  private steps(row: Row, y: number) {
    const { context, colours, scene } = this;
    const { view } = scene;
    if (!row.steps) return;
    const { least, most } = row.steps;
    const { size, at, low, high, last } = row.steps.level(view.nsPerPixel);
    const [top, bottom] = [y + 5, y + row.height - 5];
    const to = (value: number) => bottom - ((value - least) / (most - least || 1)) * (bottom - top);
    const zero = to(Math.min(0, least));
    context.fillStyle = colours.palette[1];
    context.strokeStyle = colours.palette[5];
    context.lineWidth = 1.5;
    context.globalAlpha = 0.3;
    const outline = new Path2D();
    let one = Math.max(0, lower(at, view.from) - 1);
    for (let first = true; one < at.length && at[one] <= view.to; one++, first = false) {
      const next = one + 1 < at.length ? at[one + 1] : row.last;
      const left = Math.max(view.x(at[one]), -2);
      const right = Math.min(view.x(next), view.width + 2);
      // Where several values are merged, all that lies between them is filled.
      const several = low[one] !== high[one];
      const middle = several ? Math.min(Math.max(view.x(at[one] + size), left), right) : left;
      if (several) context.fillRect(left, to(high[one]), Math.max(middle - left, 1), zero - to(high[one]));
      context.fillRect(middle, to(last[one]), right - middle, zero - to(last[one]));
      if (first) outline.moveTo(left, to(last[one]));
      if (several) {
        outline.lineTo(left, to(high[one]));
        outline.lineTo(left, to(low[one]));
      }
      outline.lineTo(middle, to(last[one]));
      outline.lineTo(right, to(last[one]));
      this.shapes++;
    }
    context.globalAlpha = 1;
    context.stroke(outline);
  }

  /// Decisions are diamonds, faults crosses, everything else triangles.
  private moments(row: Row, y: number) {
    const { context, colours, scene } = this;
    const { view } = scene;
    const { category } = row.source.trace.moments;
    const { categories } = row.source.trace;
    const times = row.momentTimes;
    for (let at = lower(times, view.from - 6 * view.nsPerPixel); at < times.length && times[at] <= view.to;) {
      const x = view.x(times[at]);
      const kind = categories[category[row.moments[at]]];
      context.beginPath();
      if (kind === "decision") {
        context.fillStyle = colours.text;
        diamond(context, x, y + 5, 5);
        context.fill();
      } else if (kind === "fault") {
        context.strokeStyle = colours.warn;
        context.lineWidth = 2.5;
        context.moveTo(x - 4, y + 1);
        context.lineTo(x + 4, y + 9);
        context.moveTo(x + 4, y + 1);
        context.lineTo(x - 4, y + 9);
        context.stroke();
      } else {
        context.fillStyle = colours.soft;
        context.moveTo(x - 4, y);
        context.lineTo(x + 4, y);
        context.lineTo(x, y + 7);
        context.fill();
      }
      this.shapes++;
      // What lies under the same pixels is not drawn again.
      at = Math.max(at + 1, lower(times, view.time(x + 5)));
    }
  }

  /// The chosen thing and the one under the pointer, above all others.
  private chosen() {
    const { context, colours, scene } = this;
    for (const thing of [scene.hovered, scene.selected]) {
      if (!thing) continue;
      const { source, index } = thing;
      const strong = thing === scene.selected;
      if (thing.kind === "message") {
        drawArrow(context, scene, colours, source, index, ends(source, index), true);
        continue;
      }
      const row = scene.rowOf(thing);
      const times = scene.timesOf(thing);
      if (!row || !times || row.height === 0) continue;
      const y = row.y - scene.view.scroll;
      const place = parts(row);
      const { track, depth } = source.trace.slices;
      let [top, height] = [y + place.lanes - 2, 12];
      if (thing.kind === "slice") {
        const ofState = row.state && track[index] !== row.track;
        top = ofState ? y + place.state : y + place.lanes + depth[index] * LANE;
        height = (ofState ? STATE : LANE) - 2;
      }
      const left = Math.max(scene.view.x(times[0]), -5);
      const right = Math.min(scene.view.x(times[1]), scene.view.width + 5);
      const around = thing.kind === "moment" ? 6 : 1;
      context.strokeStyle = colours.text;
      context.lineWidth = strong ? 2.5 : 1;
      context.strokeRect(left - around, top - 1, Math.max(right - left, 1) + 2 * around, height + 2);
    }
  }

  private label(row: Row, gutter: number) {
    const { context, colours, scene } = this;
    const y = row.y - scene.view.scroll;
    const titled = row.kind === "group" || row.kind === "title";
    const x = 10 + Math.min(row.level, 4) * 12;
    context.save();
    context.beginPath();
    context.rect(0, y, gutter - 4, row.height);
    context.clip();
    context.textBaseline = "middle";
    context.fillStyle = row.kind === "part" || row.kind === "counter" ? colours.soft : colours.text;
    const weight = titled ? 650 : row.kind === "thread" ? 550 : 400;
    context.font = `${weight} ${row.kind === "title" ? 13 : 12.5}px ${FONT}`;
    const middle = titled ? y + 14 : y + Math.min(row.height / 2, 14);
    let name = row.name;
    if (row.kind === "title") name = `${row.source.mark}  ${row.name}`;
    if (titled) {
      const [a, b] = row.folded ? [0, 3.5] : [3.5, 0];
      context.beginPath();
      if (row.folded) {
        context.moveTo(x, middle - b - 1);
        context.lineTo(x + 6, middle);
        context.lineTo(x, middle + b + 1);
      } else {
        context.moveTo(x - 1, middle - 3);
        context.lineTo(x + a * 2, middle - 3);
        context.lineTo(x + a - 0.5, middle + 3);
      }
      context.fill();
    }
    const begins = titled ? x + 12 : x;
    context.fillText(this.fitted(name, gutter - begins - (row.work.length ? 44 : 8)), begins, middle);
    context.fillStyle = colours.soft;
    context.font = `11px ${FONT}`;
    if (row.kind === "counter" && row.steps) {
      context.fillText(this.fitted(rangeOf(row), gutter - x - 8), x, middle + 14);
    }
    if (row.kind === "group" && row.work.length > 0) {
      context.textAlign = "right";
      context.fillText("load", gutter - 10, middle);
    }
    context.textAlign = "left";
    context.restore();
    context.fillStyle = colours.line;
    context.fillRect(gutter - 1, y, 1, row.height);
  }

  /// As much of a text as there is room for.
  private fitted(text: string, room: number): string {
    const { context } = this;
    if (context.measureText(text).width <= room) return text;
    let length = Math.min(text.length, 60);
    while (length > 1 && context.measureText(`${text.slice(0, length)}…`).width > room) length--;
    return `${text.slice(0, length)}…`;
  }

  private bar(gutter: number) {
    const { context, colours, scene } = this;
    const { view } = scene;
    if (!view.hasMore) return;
    const [from, to] = view.bar;
    context.fillStyle = colours.strong;
    context.globalAlpha = 0.7;
    context.fillRect(gutter + view.width - 5, from * view.height, 4, (to - from) * view.height);
    context.globalAlpha = 1;
  }
}

function diamond(context: CanvasRenderingContext2D, x: number, y: number, size: number) {
  context.moveTo(x, y - size);
  context.lineTo(x + size, y);
  context.lineTo(x, y + size);
  context.lineTo(x - size, y);
}
