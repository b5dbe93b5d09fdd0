// A trace as columns of numbers. The bytes are described in services/view/columns.rs of the command.

const MAGIC = "narview1";
/// In place of a row that is not known.
export const NO_ROW = 0xffffffff;

export interface Track {
  name: string;
  kind: "group" | "thread" | "part" | "counter";
  parent: number | null;
  unit: string;
}

/// Stretches of rows, by when they began.
export interface Slices {
  begin: Float64Array;
  end: Float64Array;
  track: Uint32Array;
  name: Uint32Array;
  depth: Uint16Array;
  category: Uint8Array;
}

export interface Moments {
  at: Float64Array;
  track: Uint32Array;
  name: Uint32Array;
  category: Uint8Array;
  /// Where the values of each begin, and where those of the last end.
  values: Uint32Array;
}

export interface Counts {
  at: Float64Array;
  value: Float64Array;
  track: Uint32Array;
}

/// Messages, by when they began. Times that are not known are NaN.
export interface Messages {
  id: BigUint64Array;
  began: Float64Array;
  sent: Float64Array;
  taken: Float64Array;
  received: Float64Array;
  from: Uint32Array;
  to: Uint32Array;
  number: Uint32Array;
  bytes: Uint32Array;
  source: Uint32Array;
  target: Uint32Array;
  kind: Uint32Array;
  peer: Uint32Array;
  tag: Uint16Array;
  priority: Uint8Array;
  /// Where the causes of the latency of each begin, and where those of the last end.
  causes: Uint32Array;
}

/// What messages waited for, as `narrows why` says it.
export interface Causes {
  ns: Float64Array;
  name: Uint32Array;
  /// How many messages the receiver saw to first.
  behind: Uint32Array;
  /// 1 if the receiver is the cause, 0 if the sender is.
  receiver: Uint8Array;
}

export interface Trace {
  name: string;
  first: string;
  last: number;
  cut: boolean;
  dropped: number;
  tracks: Track[];
  strings: string[];
  categories: string[];
  slices: Slices;
  moments: Moments;
  valueNames: Uint32Array;
  valueTexts: Uint32Array;
  counts: Counts;
  messages: Messages;
  causes: Causes;
}

const ARRAYS = {
  f64: Float64Array,
  u64: BigUint64Array,
  u32: Uint32Array,
  u16: Uint16Array,
  u8: Uint8Array,
};

const padded = (at: number) => Math.ceil(at / 8) * 8;

export function decode(buffer: ArrayBuffer): Trace {
  const magic = String.fromCharCode(...new Uint8Array(buffer, 0, Math.min(8, buffer.byteLength)));
  if (magic !== MAGIC) throw new Error("the data of this page are not of its version");
  const length = new DataView(buffer).getUint32(8, true);
  const header = JSON.parse(new TextDecoder().decode(new Uint8Array(buffer, 16, length)));
  const columns = new Map<string, unknown>();
  let at = padded(16 + length);
  for (const { name, type, length } of header.columns) {
    const array = new ARRAYS[type as keyof typeof ARRAYS](buffer, at, length);
    columns.set(name, array);
    at = padded(at + array.byteLength);
  }
  // All columns of a table, under their names without it.
  const table = <T>(name: string): T => {
    const own = [...columns].filter(([key]) => key.startsWith(`${name}.`));
    return Object.fromEntries(own.map(([key, array]) => [key.slice(name.length + 1), array])) as T;
  };
  const values = table<{ name: Uint32Array; text: Uint32Array }>("value");
  return {
    ...header,
    slices: table<Slices>("slice"),
    moments: table<Moments>("moment"),
    valueNames: values.name,
    valueTexts: values.text,
    counts: table<Counts>("count"),
    messages: table<Messages>("message"),
    causes: table<Causes>("cause"),
  };
}

/// Moves the zero of a trace to one of its times.
export function rebase(trace: Trace, zero: number) {
  const { slices, moments, counts, messages } = trace;
  const { began, sent, taken, received } = messages;
  const times = [slices.begin, slices.end, moments.at, counts.at, began, sent, taken, received];
  for (const column of times) {
    for (let at = 0; at < column.length; at++) column[at] -= zero;
  }
}

/// The first and the last time of a trace.
export function extent({ slices, moments, counts, messages }: Trace): [number, number] {
  let first = Infinity;
  let last = -Infinity;
  const { began, sent, taken, received } = messages;
  for (const column of [slices.begin, slices.end, moments.at, counts.at, began, sent, taken, received]) {
    for (let at = 0; at < column.length; at++) {
      const time = column[at];
      if (time < first) first = time;
      if (time > last) last = time;
    }
  }
  return first <= last ? [first, last] : [0, 1];
}

async function unpacked(text: string): Promise<ArrayBuffer> {
  if (!("DecompressionStream" in window)) {
    throw new Error("this browser cannot unpack the data in the page: open it with a newer one");
  }
  const characters = atob(text);
  const packed = new Uint8Array(characters.length);
  for (let at = 0; at < packed.length; at++) packed[at] = characters.charCodeAt(at);
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"));
  return new Response(stream).arrayBuffer();
}

async function fetched(which: number): Promise<ArrayBuffer> {
  const response = await fetch(`trace/${which}`).catch(() => null);
  if (!response?.ok) throw new Error("narrows view does not answer: it has ended. Start it again");
  return response.arrayBuffer();
}

/// The traces of this page: in it, or beside it on the server that handed it out.
export async function load(): Promise<Trace[]> {
  const within = [...document.querySelectorAll("script.trace")];
  const count = Number(document.querySelector<HTMLMetaElement>("meta[name=traces]")?.content ?? 0);
  const buffers = within.length
    ? within.map((element) => unpacked(element.textContent ?? ""))
    : Array.from({ length: count }, (_, which) => fetched(which));
  const traces = (await Promise.all(buffers)).map(decode);
  within.forEach((element) => element.remove());
  return traces;
}
