// Messages: an arrow from where each is sent to where it is received. The bars at its ends are
// where it waits: solid while its sender is in the call, hatched while it lies at its receiver.
import type { Colours } from "./colours.js";
import { NO_ROW } from "./data.js";
import { lower } from "./levels.js";
import { type Source, railOf } from "./rows.js";
import type { Scene } from "./scene.js";

/// Pixels of time of which one message is drawn, if there are more.
const APART = 3;
const BAR = 6;
/// Arrows between two rows beyond which they are drawn paler.
const CROWD = 40;

interface Ends {
  from: number | null;
  to: number | null;
}

function ends(source: Source, id: number): Ends {
  const { from, to } = source.trace.messages;
  return {
    from: from[id] === NO_ROW ? null : railOf(source, from[id]),
    to: to[id] === NO_ROW ? null : railOf(source, to[id]),
  };
}

/// Calls back with each message that is in sight, if there are many the slowest of each few pixels,
/// and with how many there are from one row to the other.
export function inSight(
  scene: Scene,
  each: (source: Source, id: number, ends: Ends, many: number) => void,
) {
  const { view } = scene;
  for (const source of scene.sources) {
    for (const pair of source.pairs) {
      const { ids, began } = pair.level(view.nsPerPixel * APART);
      if (ids.length === 0) continue;
      const where = ends(source, ids[0]);
      const high = Math.min(where.from ?? Infinity, where.to ?? Infinity) - view.scroll;
      const low = Math.max(where.from ?? -Infinity, where.to ?? -Infinity) - view.scroll;
      if (low < 0 || high > view.height) continue;
      const first = lower(began, view.from - pair.longest);
      const many = lower(began, view.to) - first;
      for (let at = first; at < ids.length && began[at] <= view.to; at++) {
        if (source.finish[ids[at]] >= view.from) each(source, ids[at], where, many);
      }
    }
  }
}

export function drawArrow(
  context: CanvasRenderingContext2D,
  scene: Scene,
  colours: Colours,
  source: Source,
  id: number,
  { from, to }: Ends,
  strong: boolean,
) {
  const { view } = scene;
  const { messages, strings } = source.trace;
  const kind = strings[messages.kind[id]];
  const colour = colours.ofMessage(kind);
  // Beyond the picture nothing is gained by being exact, and canvases lose their way.
  const x = (time: number) => Math.min(Math.max(view.x(time), -1e4), view.width + 1e4);
  const y = (place: number) => place - view.scroll;
  const began = x(messages.began[id]);
  const sent = x(messages.sent[id]);
  const arrives = Number.isNaN(messages.taken[id]) ? messages.received[id] : messages.taken[id];
  const arrived = x(arrives);
  const received = x(messages.received[id]);
  context.strokeStyle = context.fillStyle = colour;
  context.lineWidth = strong ? 2.5 : 1.2;
  if (from !== null && !Number.isNaN(sent)) {
    context.fillRect(began, y(from) - BAR / 2, Math.max(sent - began, 1), BAR);
  }
  if (to !== null && received - arrived > 1) {
    context.fillStyle = colours.waiting(kind);
    context.fillRect(arrived, y(to) - BAR / 2, received - arrived, BAR);
    context.fillStyle = colour;
  }
  if (from === null || Number.isNaN(sent)) {
    if (to !== null) dotAt(context, arrived, y(to));
    return;
  }
  if (to === null || Number.isNaN(arrived)) {
    lost(context, colours, sent, y(from));
    return;
  }
  context.setLineDash(kind === "response" ? [5, 3] : []);
  const [x1, y1, x2, y2] = [sent, y(from), arrived, y(to)];
  context.beginPath();
  context.moveTo(x1, y1);
  if (y1 === y2) context.quadraticCurveTo((x1 + x2) / 2, y1 - 16, x2, y2);
  else context.lineTo(x2, y2);
  context.stroke();
  context.setLineDash([]);
  head(context, y1 === y2 ? 0.9 : Math.atan2(y2 - y1, x2 - x1), x2, y2, strong ? 8 : 6);
}

function head(context: CanvasRenderingContext2D, angle: number, x: number, y: number, size: number) {
  context.beginPath();
  context.moveTo(x, y);
  context.lineTo(x - size * Math.cos(angle - 0.4), y - size * Math.sin(angle - 0.4));
  context.lineTo(x - size * Math.cos(angle + 0.4), y - size * Math.sin(angle + 0.4));
  context.fill();
}

function dotAt(context: CanvasRenderingContext2D, x: number, y: number) {
  context.beginPath();
  context.arc(x, y, 3, 0, 7);
  context.fill();
}

/// A message that nobody is known to have received: a stub with a cross.
function lost(context: CanvasRenderingContext2D, colours: Colours, x: number, y: number) {
  context.strokeStyle = colours.warn;
  context.beginPath();
  context.moveTo(x, y);
  context.lineTo(x + 10, y);
  context.moveTo(x + 7, y - 3);
  context.lineTo(x + 13, y + 3);
  context.moveTo(x + 7, y + 3);
  context.lineTo(x + 13, y - 3);
  context.stroke();
}

export function drawArrows(context: CanvasRenderingContext2D, scene: Scene, colours: Colours): number {
  let drawn = 0;
  inSight(scene, (source, id, where, many) => {
    const meant = scene.found?.messages.get(source);
    // A crowd is paler, so that the rows below it stay readable.
    const plain = Math.min(0.9, Math.max(0.2, CROWD / many));
    context.globalAlpha = !meant ? plain : meant[id] ? 0.9 : 0.12;
    drawArrow(context, scene, colours, source, id, where, false);
    drawn++;
  });
  context.globalAlpha = 1;
  return drawn;
}

/// The message whose arrow or bars are at a place.
export function messageAt(scene: Scene, x: number, y: number): { source: Source; index: number } | null {
  const { view } = scene;
  let best: { source: Source; index: number } | null = null;
  let least = 6;
  inSight(scene, (source, id, { from, to }) => {
    const { began, sent, taken, received } = source.trace.messages;
    const points: [number, number, number, number][] = [];
    const arrives = Number.isNaN(taken[id]) ? received[id] : taken[id];
    if (from !== null) points.push([view.x(began[id]), from, view.x(sent[id]), from]);
    if (to !== null) points.push([view.x(arrives), to, view.x(received[id]), to]);
    if (from !== null && to !== null) points.push([view.x(sent[id]), from, view.x(arrives), to]);
    for (const [x1, y1, x2, y2] of points) {
      const far = distance(x, y, x1, y1 - view.scroll, x2, y2 - view.scroll);
      if (far < least) [least, best] = [far, { source, index: id }];
    }
  });
  return best;
}

/// How far a point is from a line between two others; NaN, which is near to nothing, if one is not
/// known.
function distance(x: number, y: number, x1: number, y1: number, x2: number, y2: number): number {
  const [dx, dy] = [x2 - x1, y2 - y1];
  const along = Math.min(Math.max(((x - x1) * dx + (y - y1) * dy) / (dx * dx + dy * dy || 1), 0), 1);
  return Math.hypot(x - x1 - along * dx, y - y1 - along * dy);
}

export { ends };
