// What there is to draw: the traces, what is in sight, and what the reader has chosen.
import { extent } from "./data.js";
import { type Row, type Source, lay } from "./rows.js";
import { Viewport } from "./viewport.js";

/// One thing of a trace.
export interface Thing {
  kind: "slice" | "moment" | "message" | "row";
  source: Source;
  /// Its place in the table of its kind; of a row, the track.
  index: number;
}

/// What was searched for and found.
export interface Found {
  /// The first of them, by when they are, and how many there are.
  things: Thing[];
  count: number;
  /// Which of them the reader is at, or -1.
  at: number;
  /// By trace: which names and which messages are meant.
  names: Map<Source, Uint8Array>;
  messages: Map<Source, Uint8Array>;
}

export class Scene {
  readonly view = new Viewport();
  rows: Row[] = [];
  selected: Thing | null = null;
  hovered: Thing | null = null;
  ruler: [number, number] | null = null;
  found: Found | null = null;
  /// What is to be done when something has changed: draw, and say it.
  changed: () => void = () => {};

  constructor(public sources: Source[]) {
    this.arrange();
  }

  /// Has all of the traces in sight, and nothing beyond them.
  bound() {
    const extents = this.sources.map(({ trace }) => extent(trace));
    const first = Math.min(...extents.map(([first]) => first));
    this.view.bound(first, Math.max(...extents.map(([, last]) => last)));
    this.view.all();
  }

  /// The same traces with other times: what was chosen of them is not there any more.
  replace(sources: Source[]) {
    this.sources = sources;
    this.ruler = this.hovered = this.selected = null;
    this.arrange();
    this.bound();
  }

  /// Gives rows their places anew.
  arrange() {
    this.rows = this.sources.flatMap((source) => source.rows);
    this.view.fit(lay(this.rows));
  }

  rowOf(thing: Thing): Row | null {
    const { source, index } = thing;
    const { slices, moments, messages } = source.trace;
    const { from, to } = messages;
    if (thing.kind === "row") return source.byTrack.get(index) ?? null;
    if (thing.kind === "slice") return source.byTrack.get(slices.track[index]) ?? null;
    if (thing.kind === "moment") return source.byTrack.get(moments.track[index]) ?? null;
    return source.byTrack.get(from[index]) ?? source.byTrack.get(to[index]) ?? null;
  }

  /// When a thing begins and ends; none for a row.
  timesOf({ kind, source, index }: Thing): [number, number] | null {
    const { slices, moments } = source.trace;
    if (kind === "slice") return [slices.begin[index], slices.end[index]];
    if (kind === "moment") return [moments.at[index], moments.at[index]];
    if (kind === "message") return [source.start[index], source.finish[index]];
    return null;
  }

  select(thing: Thing | null, bring = false) {
    this.selected = thing;
    const row = thing && this.rowOf(thing);
    if (thing && row && bring) {
      for (let up = row.above; up; up = up.above) up.folded = false;
      this.arrange();
      this.view.includeRow(row.y, row.height);
      this.includeReceiver(thing, row);
      const times = this.timesOf(thing);
      if (times) this.view.include(...times);
    }
    this.changed();
  }

  /// Both ends of a message, if there is room for both.
  private includeReceiver({ kind, source, index }: Thing, row: Row) {
    const other = kind === "message" ? source.byTrack.get(source.trace.messages.to[index]) : null;
    if (!other) return;
    const top = Math.min(row.y, other.y);
    const height = Math.max(row.y + row.height, other.y + other.height) - top;
    if (height <= this.view.height) this.view.includeRow(top, height);
  }

  fold(row: Row) {
    if (row.kind !== "group" && row.kind !== "title") return;
    row.folded = !row.folded;
    this.arrange();
    this.changed();
  }
}
