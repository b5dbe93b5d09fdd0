// The measurements of the Analyser Tool: of messages, and of the time of processors by layer.
//
// Latency is from when send is called until receive returns. Blocking time is what send takes. The
// deliver difference is the time between two receives of one receiver that return one after the
// other. Jitter is the difference in latency of two messages of one sender and receiver that are
// sent one after the other, without its sign. A round trip is from the send of a request until the
// receive of its response returns. Processor time is that of sender and receiver together, from
// when send is called until receive returns, without what they sleep or wait.
import type { Track } from "./data.js";
import { lower } from "./levels.js";
import type { Row, Source } from "./rows.js";
import type { Scene } from "./scene.js";

export interface Figures {
  name: string;
  count: number;
  least: number;
  median: number;
  p99: number;
  most: number;
}

export interface Share {
  name: string;
  time: number;
}

export interface Measured {
  source: Source;
  figures: Figures[];
  messages: number;
  lost: number;
  bytesPerSecond: number;
  messagesPerSecond: number;
  /// What the latencies of the messages are made of.
  causes: Share[];
  layers: Share[];
  states: Share[];
}

/// Whose messages and time are measured.
export interface Scope {
  from: number;
  to: number;
  /// In words.
  of: string;
  when: string;
  tracks: Map<Source, Set<number>> | null;
  pairs: Map<Source, { from: number; to: number }> | null;
}

/// Of sorted values the one below which that share lies.
function percentile(sorted: Float64Array, share: number): number {
  return sorted[Math.max(0, Math.ceil(share * sorted.length) - 1)];
}

function figures(name: string, values: number[]): Figures {
  const sorted = Float64Array.from(values.filter((value) => Number.isFinite(value))).sort();
  return {
    name,
    count: sorted.length,
    least: sorted[0],
    median: percentile(sorted, 0.5),
    p99: percentile(sorted, 0.99),
    most: sorted[sorted.length - 1],
  };
}

/// The differences of values that follow each other, each in the order of its key.
function differences(of: Map<unknown, number[]>): number[] {
  const found: number[] = [];
  for (const values of of.values()) {
    for (let at = 1; at < values.length; at++) found.push(values[at] - values[at - 1]);
  }
  return found;
}

function push(of: Map<unknown, number[]>, key: unknown, value: number) {
  const own = of.get(key);
  if (own) own.push(value);
  else of.set(key, [value]);
}

/// A row's name below those of what it belongs to: what is the same in two traces.
function path(source: Source, track: number): string {
  const names: string[] = [];
  let at: number | null | undefined = track;
  for (let up = 0; up < 8 && at !== null && at !== undefined; up++) {
    const one: Track | undefined = source.trace.tracks[at];
    names.push(one?.name ?? "");
    at = one?.parent;
  }
  return names.join("\n");
}

/// The row of another trace that has the same name.
function alike(from: Source, track: number, to: Source): number {
  if (from === to) return track;
  const wanted = path(from, track);
  return to.trace.tracks.findIndex((_, at) => path(to, at) === wanted);
}

/// What the reader has chosen to measure: the ruler's stretch or what is in sight, and of it the
/// chosen message's way, the chosen row, or everything. What a trace beside it has under the same
/// names is measured as well.
export function scopeOf(scene: Scene): Scope {
  const [from, to] = scene.ruler ?? [scene.view.from, scene.view.to];
  const when = scene.ruler ? "within the ruler" : "in sight";
  const scope = { from, to, when, of: "everything", tracks: null, pairs: null };
  const { selected } = scene;
  if (!selected) return scope;
  const row = scene.rowOf(selected);
  if (selected.kind === "message") {
    const { source, index } = selected;
    const { from, to } = source.trace.messages;
    const name = (track: number) => source.trace.tracks[track]?.name ?? "nobody";
    const of = `messages from ${name(from[index])} to ${name(to[index])}`;
    const pairs = scene.sources.map((one): [Source, { from: number; to: number }] => [
      one,
      { from: alike(source, from[index], one), to: alike(source, to[index], one) },
    ]);
    return { ...scope, of, pairs: new Map(pairs) };
  }
  if (!row || row.kind === "title") return scope;
  // A part of a process or core stands for what it belongs to.
  const whole = row.kind === "thread" || row.kind === "group" ? row : (row.above ?? row);
  const tracks = scene.sources.map((source): [Source, Set<number>] => {
    const top = source.byTrack.get(alike(row.source, whole.track, source));
    const own = new Set<number>();
    for (const [track, one] of source.byTrack) {
      for (let up: Row | null = one; up; up = up.above) if (up === top) own.add(track);
    }
    return [source, own];
  });
  return { ...scope, of: whole.name, tracks: new Map(tracks) };
}

export function measure(source: Source, scope: Scope): Measured {
  return { source, ...ofMessages(source, scope), ...ofProcessors(source, scope) };
}

/// When send returned: when the outermost call that was made for the message did, or else when the
/// message was published.
export function returned(source: Source, id: number): number {
  const { messages, slices, categories } = source.trace;
  const call = categories.indexOf("call");
  const [began, sent] = [messages.began[id], messages.sent[id]];
  for (const lane of source.byTrack.get(messages.from[id])?.lanes ?? []) {
    const within = lane.at(sent);
    if (within < 0) break;
    if (slices.category[within] === call && slices.begin[within] >= began) return slices.end[within];
  }
  return sent;
}

/// What the latencies of messages are made of, the longest first.
export function causesOf(source: Source, ids: Iterable<number>): Share[] {
  const { messages, causes, strings } = source.trace;
  const ends = [new Float64Array(strings.length), new Float64Array(strings.length)];
  for (const id of ids) {
    for (let at = messages.causes[id]; at < messages.causes[id + 1]; at++) {
      ends[causes.receiver[at]][causes.name[at]] += causes.ns[at];
    }
  }
  const [sender, receiver] = ends.map((times, at) =>
    shares(strings, times).map(({ name, time }) => ({ name: cause(name, at), time })),
  );
  return [...sender, ...receiver].sort((one, other) => other.time - one.time);
}

/// A cause, with whose doing it is unless that is plain.
const cause = (name: string, receiver: number) =>
  PLAIN.has(name) ? name : `${name}, ${receiver ? "receiver" : "sender"}`;
const PLAIN = new Set(["sending", "receiving", "queue", "busy"]);

/// The time that processors of sender and receiver work while a message is on its way.
export function workOf(source: Source, id: number): number {
  const { began, received, from, to } = source.trace.messages;
  const works = [from[id], to[id]].map((track) => source.states.get(track));
  if (works.some((work) => !work) || Number.isNaN(began[id] + received[id])) return NaN;
  return works.reduce((sum, work) => sum + (work?.covered(began[id], received[id]) ?? 0), 0);
}

function ofMessages(source: Source, { from, to, tracks, pairs }: Scope) {
  const { messages, strings } = source.trace;
  const own = tracks?.get(source);
  const pair = pairs?.get(source);
  const [request, response] = ["request", "response"].map((kind) => strings.indexOf(kind));
  const latency: number[] = [];
  const blocking: number[] = [];
  const transit: number[] = [];
  const waiting: number[] = [];
  const trips: number[] = [];
  const work: number[] = [];
  const returns = new Map<unknown, number[]>();
  const latencies = new Map<unknown, number[]>();
  const asked = new Map<string, number>();
  const ids: number[] = [];
  let [count, lost, bytes] = [0, 0, 0];
  const [first, end] = [lower(source.start, from), lower(source.start, to)];
  for (let id = first; id < end; id++) {
    const [sender, receiver] = [messages.from[id], messages.to[id]];
    if (pair && (pair.from !== sender || pair.to !== receiver)) continue;
    if (tracks && !own?.has(sender) && !own?.has(receiver)) continue;
    count++;
    const [began, sent] = [messages.began[id], messages.sent[id]];
    const [taken, received] = [messages.taken[id], messages.received[id]];
    blocking.push(returned(source, id) - began);
    if (Number.isNaN(received)) {
      lost++;
      continue;
    }
    ids.push(id);
    bytes += messages.bytes[id];
    latency.push(received - began);
    work.push(workOf(source, id));
    transit.push(taken - sent);
    waiting.push(received - taken);
    push(returns, receiver, received);
    push(latencies, sender * 2 ** 21 + receiver, received - began);
    const kind = messages.kind[id];
    const tag = messages.tag[id];
    if (kind === request) asked.set(`${sender} ${receiver} ${messages.source[id]} ${tag}`, began);
    if (kind === response) {
      const key = `${receiver} ${sender} ${messages.target[id]} ${tag}`;
      const asks = asked.get(key);
      if (asks !== undefined) trips.push(received - asks);
      asked.delete(key);
    }
  }
  for (const times of returns.values()) times.sort((one, other) => one - other);
  const all = [
    figures("latency", latency),
    figures("blocking time", blocking),
    figures("on the way", transit),
    figures("waits at its receiver", waiting),
    figures("deliver difference", differences(returns)),
    figures("jitter", differences(latencies).map(Math.abs)),
    figures("round trip", trips),
    figures("processor time", work),
  ];
  const seconds = (to - from) / 1e9;
  return {
    figures: all.filter((one) => one.count > 0),
    messages: count,
    lost,
    bytesPerSecond: bytes / seconds,
    messagesPerSecond: latency.length / seconds,
    causes: causesOf(source, ids),
  };
}

/// The time of processors by layer is what a layer's calls take without those within them, and
/// without what their process sleeps or waits meanwhile.
function ofProcessors(source: Source, { from, to, tracks, pairs }: Scope) {
  const { strings, categories, slices } = source.trace;
  const own = tracks?.get(source);
  const pair = pairs?.get(source);
  const call = categories.indexOf("call");
  const layers = new Float64Array(strings.length);
  const states = new Float64Array(strings.length);
  for (const row of source.rows) {
    if (tracks && !own?.has(row.track)) continue;
    if (pair && pair.from !== row.track && pair.to !== row.track) continue;
    const work = source.states.get(row.track);
    for (const lane of row.lanes) {
      const { begin, end, name, category, id, length } = lane.all;
      const first = Math.max(0, lower(begin, from, length) - 1);
      for (let at = first; at < length && begin[at] < to; at++) {
        if (category[at] !== call || end[at] <= from) continue;
        const [left, right] = [Math.max(begin[at], from), Math.min(end[at], to)];
        const time = work ? work.covered(left, right) : right - left;
        layers[name[at]] += time;
        const parent = source.parents[id[at]];
        if (parent >= 0 && slices.category[parent] === call) layers[slices.name[parent]] -= time;
      }
    }
    if (!row.state) continue;
    const { begin, end, name, length } = row.state.all;
    for (let at = Math.max(0, lower(begin, from, length) - 1); at < length && begin[at] < to; at++) {
      states[name[at]] += Math.max(0, Math.min(end[at], to) - Math.max(begin[at], from));
    }
  }
  return { layers: shares(strings, layers), states: shares(strings, states) };
}

function shares(strings: string[], times: Float64Array): Share[] {
  const all = strings.map((name, at) => ({ name, time: times[at] }));
  return all.filter(({ time }) => time > 0).sort((one, other) => other.time - one.time);
}
