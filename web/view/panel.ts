// What is chosen, and what is measured of it, as tables.
import { NO_ROW } from "./data.js";
import { element, table } from "./dom.js";
import { type Measured, type Share, causesOf, measure, returned, scopeOf, workOf } from "./measure.js";
import { type Source, rangeOf } from "./rows.js";
import type { Scene, Thing } from "./scene.js";
import { long, moment, whole } from "./time.js";

type Pairs = [string, string][];

const rowName = (source: Source, track: number) =>
  track === NO_ROW ? "not known" : (source.trace.tracks[track]?.name ?? "not known");

/// The row, and the core or process that it belongs to.
function place(source: Source, track: number): string {
  const parent = source.trace.tracks[track]?.parent;
  const above = parent === null || parent === undefined ? "" : ` of ${rowName(source, parent)}`;
  return rowName(source, track) + above;
}

function ofSlice(source: Source, index: number): Pairs {
  const { slices, strings, categories } = source.trace;
  const [begin, end] = [slices.begin[index], slices.end[index]];
  const pairs: Pairs = [
    ["what", `${strings[slices.name[index]]} (${categories[slices.category[index]]})`],
    ["where", place(source, slices.track[index])],
    ["takes", long(end - begin)],
    ["begins", moment(begin)],
    ["ends", moment(end)],
  ];
  const within = [];
  for (let up = source.parents[index]; up >= 0 && within.length < 8; up = source.parents[up]) {
    within.push(strings[slices.name[up]]);
  }
  if (within.length) pairs.splice(1, 0, ["within", within.join(" ‹ ")]);
  return pairs;
}

function ofMoment(source: Source, index: number): Pairs {
  const { moments, strings, categories, valueNames, valueTexts } = source.trace;
  const pairs: Pairs = [
    ["what", `${strings[moments.name[index]]} (${categories[moments.category[index]]})`],
    ["where", place(source, moments.track[index])],
    ["when", moment(moments.at[index])],
  ];
  for (let at = moments.values[index]; at < moments.values[index + 1]; at++) {
    pairs.push([strings[valueNames[at]], strings[valueTexts[at]]]);
  }
  return pairs;
}

/// What source and target of a call's messages are.
const ENDS: Record<string, [string, string]> = Object.assign(Object.create(null), {
  request: ["flow", "function"],
  response: ["function", "flow"],
});
const KINDS = {
  group: "a core or process",
  thread: "a process or thread",
  part: "a part of the row above",
  counter: "values",
};

function ofMessage(source: Source, id: number): Pairs {
  const { messages: m, strings } = source.trace;
  const kind = strings[m.kind[id]];
  const known = !Number.isNaN(m.sent[id]);
  const size = `number ${m.number[id]}, ${whole(m.bytes[id])} bytes`;
  const what = known ? `${kind || "message"} ${size}` : "message";
  const pairs: Pairs = [
    ["what", what],
    ["from", place(source, m.from[id])],
    ["to", m.to[id] === NO_ROW ? `${strings[m.peer[id]]}, never received` : place(source, m.to[id])],
    ["latency", long(m.received[id] - m.began[id])],
    ["blocks its sender", long(returned(source, id) - m.began[id])],
    ["on the way", long(m.taken[id] - m.sent[id])],
    ["waits at its receiver", long(m.received[id] - m.taken[id])],
    ["processor time", long(workOf(source, id))],
    ["begun", moment(m.began[id])],
    ["published", moment(m.sent[id])],
    ["taken", moment(m.taken[id])],
    ["received", moment(m.received[id])],
  ];
  if (!known) return pairs;
  const [of, to] = ENDS[kind] ?? ["from port", "to port"];
  return [
    ...pairs,
    [of, String(m.source[id])],
    [to, String(m.target[id])],
    ["priority", `${m.priority[id]} (0 is the most urgent)`],
    [kind in ENDS ? "call" : "mark", String(m.tag[id])],
  ];
}

function ofRow(source: Source, index: number): Pairs {
  const track = source.trace.tracks[index];
  if (!track) return [["what", source.trace.name]];
  const row = source.byTrack.get(index);
  const stretches = row?.lanes.reduce((sum, lane) => sum + lane.all.length, 0) ?? 0;
  const pairs: Pairs = [
    ["what", place(source, index)],
    ["is", KINDS[track.kind]],
    ["stretches", whole(stretches)],
  ];
  if (row?.moments.length) pairs.push(["moments", whole(row.moments.length)]);
  if (row?.steps) pairs.push(["values", rangeOf(row)]);
  return pairs;
}

export function pairsOf({ kind, source, index }: Thing): Pairs {
  if (kind === "slice") return ofSlice(source, index);
  if (kind === "moment") return ofMoment(source, index);
  return kind === "message" ? ofMessage(source, index) : ofRow(source, index);
}

/// What one message waited for, as `narrows why` says it.
function waits({ kind, source, index }: Thing): HTMLElement | null {
  if (kind !== "message") return null;
  const { messages, causes } = source.trace;
  const behind = causes.behind
    .subarray(messages.causes[index], messages.causes[index + 1])
    .reduce((sum, count) => sum + count, 0);
  const one = { source, causes: causesOf(source, [index]) };
  const first = behind === 1 ? "another message" : `${whole(behind)} other messages`;
  const title = `What it waited for${behind ? `; its receiver saw to ${first} first` : ""}`;
  return bars(title, [one], "causes", false);
}

/// Shares are of the time of one core, or of all processes together if `core` is not given.
function bars(
  title: string,
  of: (Partial<Measured> & { source: Source })[],
  which: "causes" | "layers" | "states",
  several: boolean,
  core?: number,
) {
  const rows = of.flatMap((one) => {
    const all = one[which] ?? [];
    const total = core ?? all.reduce((sum, { time }) => sum + time, 0);
    return all.slice(0, 14).map(({ name, time }: Share) => {
      const share = time / total;
      const bar = element("i", "share");
      bar.style.width = `${Math.min(share, 1) * 100}%`;
      const label = several ? `${one.source.mark} ${name}` : name;
      return [label, long(time), `${(share * 100).toFixed(1)} %`, element("div", "track", {}, bar)];
    });
  });
  if (rows.length === 0) return null;
  const shares = table(["", "time", core ? "of a core" : "share", ""], rows);
  return element("div", "block", {}, element("h3", "", {}, title), shares);
}

const NOTHING =
  "Nothing. Click a stretch, an arrow or a row, or move with the arrow keys.";

export class Panel {
  readonly root = element("aside", "panel", { "aria-label": "Details" });
  private chosen = element("section", "", { "aria-live": "polite" });
  private measured = element("section");
  private shown: Thing | null | undefined;
  private timer = 0;

  constructor(private scene: Scene, ...more: HTMLElement[]) {
    this.root.append(this.chosen, this.measured, ...more);
  }

  /// Says what is chosen now, and soon what is measured: when the view has come to rest.
  update() {
    const { selected, sources } = this.scene;
    if (selected !== this.shown) {
      this.shown = selected;
      const rows = selected ? pairsOf(selected) : [];
      const mark = selected && sources.length > 1 ? ` in ${selected.source.mark}` : "";
      this.chosen.replaceChildren(
        element("h2", "", {}, `Chosen${mark}`),
        selected
          ? table([], rows, true)
          : element("p", "soft", {}, NOTHING),
      );
      const why = selected && waits(selected);
      if (why) this.chosen.append(why);
    }
    clearTimeout(this.timer);
    this.timer = window.setTimeout(() => this.remeasure(), 220);
  }

  private remeasure() {
    const scope = scopeOf(this.scene);
    const all = this.scene.sources.map((source) => measure(source, scope));
    const several = all.length > 1;
    const isEmpty = ({ messages, layers, states }: Measured) =>
      messages + layers.length + states.length === 0;
    const of = several ? all.filter((one) => !isEmpty(one)) : all;
    const figures = of.flatMap((one) =>
      one.figures.map((f) => [
        several ? `${one.source.mark} ${f.name}` : f.name,
        whole(f.count),
        ...[f.least, f.median, f.p99, f.most].map(long),
      ]),
    );
    // The same measurement of all traces is side by side.
    if (several) figures.sort((one, other) => key(one[0]) - key(other[0]));
    const span = scope.to - scope.from;
    const says = `Of ${scope.of}, ${scope.when}: ${long(span)} from ${moment(scope.from)}.`;
    const counts = of.map((one) => {
      const lost = one.lost ? `, ${whole(one.lost)} of them not received` : "";
      const mark = several ? `${one.source.mark}: ` : "";
      const rate = `${whole(Math.round(one.messagesPerSecond))} a second, ${bytes(one.bytesPerSecond)}`;
      const messages = one.messages === 1 ? "message" : "messages";
      return element("p", "soft", {}, `${mark}${whole(one.messages)} ${messages}${lost}; ${rate}.`);
    });
    this.measured.replaceChildren(
      element("h2", "", {}, "Measured"),
      element("p", "soft", {}, says),
      ...counts,
      ...(figures.length ? [table(["", "of", "least", "median", "p99", "most"], figures)] : []),
      ...[
        bars("What their latency is made of", of, "causes", several),
        bars("Time of processors by layer", of, "layers", several, span),
        bars("Time of processes by state", of, "states", several),
      ].filter((one): one is HTMLDivElement => one !== null),
    );
  }
}

const ORDER = [
  "latency", "blocking time", "on the way", "waits at its receiver", "deliver difference", "jitter",
  "round trip", "processor time",
];
const key = (name: string) => ORDER.findIndex((one) => name.endsWith(one));

function bytes(perSecond: number): string {
  if (perSecond >= 1e6) return `${(perSecond / 1e6).toFixed(1)} MB/s`;
  return perSecond >= 1e3 ? `${(perSecond / 1e3).toFixed(1)} kB/s` : `${perSecond.toFixed(0)} B/s`;
}
