// The rows of the picture: which there are, what each shows, and how high they are.
import { NO_ROW, type Trace, type Track, extent } from "./data.js";
import { Lane, Pair, Steps } from "./levels.js";
import { long } from "./time.js";

/// The names of `narrows_trace::state` during which a process takes time of its core.
export const WORKING = new Set(["running", "bus", "copy", "spinning"]);
/// Those during which it waits for somebody else.
export const WAITING = new Set([
  "ready", "bus", "no credit", "no block", "waking", "switching", "bell late", "bell lost", "stopped",
]);
/// Those during which it has nothing to do.
export const SLEEPING = new Set(["asleep", "timer"]);

export const LANE = 17;
export const STATE = 11;
export const RAIL = 11;
const GAP = 7;
const TITLE = 30;
const GROUP = 28;
const COUNTER = 34;
const EMPTY = 20;
/// Deeper calls than these are not drawn: a trace may claim any depth.
const DEEPEST = 24;

/// One row.
export interface Row {
  source: Source;
  /// Its place among the tracks of its trace; -1 for the title of a trace.
  track: number;
  kind: "title" | Track["kind"];
  name: string;
  unit: string;
  /// How far it is indented.
  level: number;
  /// The row that has it folded away, if that is folded.
  above: Row | null;
  folded: boolean;
  state: Lane | null;
  lanes: Lane[];
  deeper: boolean;
  steps: Steps | null;
  /// Places of its moments, by when they were, and those times.
  moments: Uint32Array;
  momentTimes: Float64Array;
  rail: boolean;
  /// When its trace ends.
  last: number;
  /// What takes time of a core, its processes and interrupts: a group shows how much.
  work: Lane[];
  y: number;
  height: number;
}

/// A trace with what is computed of it once.
export interface Source {
  trace: Trace;
  /// Which of the traces it is: A, B.
  mark: string;
  rows: Row[];
  byTrack: Map<number, Row>;
  /// The stretch that each lies in, or -1.
  parents: Int32Array;
  /// The states of the row of a track, if there are any.
  states: Map<number, Lane>;
  pairs: Pair[];
  /// When each message begins and ends in the picture, whatever is known of it.
  start: Float64Array;
  finish: Float64Array;
}

/// The lanes of each track, and in which stretch each lies.
function lanesOf(trace: Trace): { lanes: Lane[][]; parents: Int32Array; deeper: boolean[] } {
  const { begin, end, track, name, depth, category } = trace.slices;
  const counts = trace.tracks.map(() => new Map<number, number>());
  const deeper = trace.tracks.map(() => false);
  for (let at = 0; at < begin.length; at++) {
    const of = counts[track[at]];
    if (depth[at] >= DEEPEST) deeper[track[at]] = true;
    else of.set(depth[at], (of.get(depth[at]) ?? 0) + 1);
  }
  const lanes = counts.map((of) => {
    const deepest = Math.max(-1, ...of.keys());
    return Array.from({ length: deepest + 1 }, (_, depth) => {
      const all = Lane.of(of.get(depth) ?? 0).all;
      all.length = 0;
      return all;
    });
  });
  const parents = new Int32Array(begin.length).fill(-1);
  for (let at = 0; at < begin.length; at++) {
    const above = depth[at] > 0 ? lanes[track[at]][depth[at] - 1] : undefined;
    if (above?.length) parents[at] = above.id[above.length - 1];
    if (depth[at] >= DEEPEST) continue;
    const lane = lanes[track[at]][depth[at]];
    const place = lane.length++;
    lane.begin[place] = begin[at];
    lane.end[place] = end[at];
    lane.name[place] = name[at];
    lane.category[place] = category[at];
    lane.id[place] = at;
    lane.share[place] = 1;
  }
  return { lanes: lanes.map((of) => of.map((all) => new Lane(all))), parents, deeper };
}

/// What of a lane of states takes time of a core.
function workOf(trace: Trace, state: Lane): Lane {
  const works = trace.strings.map((name) => WORKING.has(name));
  const { begin, end, name, category, id, length } = state.all;
  const work = Lane.of(length).all;
  work.length = 0;
  for (let at = 0; at < length; at++) {
    if (!works[name[at]]) continue;
    const place = work.length++;
    work.begin[place] = begin[at];
    work.end[place] = end[at];
    work.name[place] = name[at];
    work.category[place] = category[at];
    work.id[place] = id[at];
  }
  return new Lane(work);
}

function split(track: Uint32Array, tracks: number): Uint32Array[] {
  const counts = new Uint32Array(tracks);
  for (const one of track) counts[one]++;
  const places = [...counts].map((count) => new Uint32Array(count));
  counts.fill(0);
  track.forEach((one, at) => (places[one][counts[one]++] = at));
  return places;
}

function pairsOf(trace: Trace, start: Float64Array, finish: Float64Array): Pair[] {
  const { from, to } = trace.messages;
  const ids = new Map<string, number[]>();
  for (let at = 0; at < from.length; at++) {
    const key = `${from[at]} ${to[at]}`;
    const own = ids.get(key);
    if (own) own.push(at);
    else ids.set(key, [at]);
  }
  return [...ids.values()].map(
    (own) => new Pair(from[own[0]], to[own[0]], Uint32Array.from(own), start, finish),
  );
}

/// The tracks in the order in which they are shown, each with how deep it lies. A trace may claim
/// that rows belong to each other in a circle: each is shown once.
function ordered(tracks: Track[]): { track: number; level: number; above: number | null }[] {
  const below = new Map<number | null, number[]>();
  tracks.forEach(({ parent }, at) => {
    const own = below.get(parent);
    if (own) own.push(at);
    else below.set(parent, [at]);
  });
  const seen = new Set<number>();
  const found: { track: number; level: number; above: number | null }[] = [];
  const visit = (first: number) => {
    const stack: [number, number, number | null][] = [[first, 0, null]];
    for (let next = stack.pop(); next; next = stack.pop()) {
      const [track, level, above] = next;
      if (seen.has(track)) continue;
      seen.add(track);
      found.push({ track, level, above });
      for (const one of [...(below.get(track) ?? [])].reverse()) stack.push([one, level + 1, track]);
    }
  };
  for (const root of below.get(null) ?? []) visit(root);
  tracks.forEach((_, track) => visit(track));
  return found;
}

export function sourceOf(trace: Trace, mark: string, titled: boolean): Source {
  const { tracks, messages } = trace;
  const { lanes, parents, deeper } = lanesOf(trace);
  const moments = split(trace.moments.track, tracks.length);
  const counts = split(trace.counts.track, tracks.length);
  const known = (...times: number[]) => times.find((time) => !Number.isNaN(time)) ?? NaN;
  const { began, sent, taken, received } = messages;
  const start = Float64Array.from(began, (time, at) => known(time, taken[at], received[at]));
  const finish = Float64Array.from(began, (_, at) =>
    known(received[at], taken[at], sent[at], start[at]),
  );
  const pairs = pairsOf(trace, start, finish);
  const withMessages = new Set(pairs.flatMap((pair) => [pair.from, pair.to]));
  const [, last] = extent(trace);
  const source: Source = {
    trace, mark, rows: [], byTrack: new Map(), parents, states: new Map(), pairs, start, finish,
  };
  const row = (track: number, level: number, above: Row | null): Row => {
    const { kind, name, unit } = tracks[track] ?? { kind: "title", name: trace.name, unit: "" };
    const own = counts[track] ?? [];
    return {
      source, track, kind, name, unit, level, above,
      folded: false,
      state: null,
      lanes: lanes[track] ?? [],
      deeper: deeper[track] ?? false,
      steps: own.length
        ? new Steps(
          Float64Array.from(own, (at) => trace.counts.at[at]),
          Float64Array.from(own, (at) => trace.counts.value[at]),
        )
        : null,
      moments: moments[track] ?? new Uint32Array(),
      momentTimes: Float64Array.from(moments[track] ?? [], (at) => trace.moments.at[at]),
      rail: withMessages.has(track) && track !== NO_ROW,
      last,
      work: [],
      y: 0,
      height: 0,
    };
  };
  if (titled) source.rows.push(row(-1, 0, null));
  const made = source.byTrack;
  for (const { track, level, above } of ordered(tracks)) {
    const over = above === null ? null : (made.get(above) ?? null);
    const { kind, name } = tracks[track];
    // The states of a process are a strip of its own row.
    if (kind === "part" && name === "state" && over && !over.state && lanes[track].length) {
      over.state = lanes[track][0];
      source.states.set(over.track, workOf(trace, over.state));
      for (let up = over.above; up; up = up.above) {
        if (up.kind === "group") up.work.push(source.states.get(over.track) as Lane);
      }
      made.set(track, over);
      continue;
    }
    const one = row(track, level, over);
    if (kind === "part" && name === "interrupts" && over?.kind === "group") {
      over.work.push(...one.lanes.slice(0, 1));
    }
    made.set(track, one);
    source.rows.push(one);
  }
  return source;
}

const isHidden = (row: Row) => {
  for (let up = row.above; up; up = up.above) if (up.folded) return true;
  return false;
};

function heightOf(row: Row): number {
  if (row.kind === "title") return TITLE;
  if (row.kind === "group") return GROUP + row.lanes.length * LANE;
  if (row.kind === "counter") return COUNTER;
  const strips = (row.state ? STATE : 0) + row.lanes.length * LANE + (row.rail ? RAIL : 0);
  return Math.max(EMPTY, strips + GAP);
}

/// Gives each row its place. Returns how high all are together.
export function lay(rows: Row[]): number {
  let y = 0;
  for (const row of rows) {
    row.y = y;
    row.height = isHidden(row) ? 0 : heightOf(row);
    y += row.height;
  }
  return y;
}

/// Where the parts of a row are, from its top.
export function parts(row: Row) {
  const top = row.kind === "group" ? GROUP : 3;
  const lanes = top + (row.state ? STATE : 0);
  return { state: top, lanes, rail: lanes + row.lanes.length * LANE + 1 };
}

/// The least and the greatest value of a row, with their unit.
export function rangeOf({ steps, unit }: Row): string {
  if (!steps) return "";
  const { least, most } = steps;
  return unit === "ns" ? `${long(least)} to ${long(most)}` : `${least} to ${most} ${unit}`;
}

/// The row that stands for a track: that which folds it away, if it is folded away.
export function shown(source: Source, track: number): Row | null {
  let row = source.byTrack.get(track) ?? null;
  for (let up = row?.above ?? null; up; up = up.above) if (up.folded) row = up;
  return row;
}

/// Where the messages of a track lie, from the top of the picture.
export function railOf(source: Source, track: number): number | null {
  const row = shown(source, track);
  if (!row) return null;
  const own = source.byTrack.get(track) === row && row.kind !== "group";
  return row.y + (own ? parts(row).rail + RAIL / 2 - 1 : row.height / 2);
}
