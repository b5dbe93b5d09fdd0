// Search by name, flow, port and sequence number.
import type { Source } from "./rows.js";
import type { Found, Thing } from "./scene.js";

/// Finds that are gone through one by one; all that is meant is drawn whether it is among them.
const MOST = 20000;

const FIELDS = ["flow", "port", "number", "tag"] as const;

interface Asked {
  texts: string[];
  fields: [(typeof FIELDS)[number], number][];
}

function parse(query: string): Asked {
  const asked: Asked = { texts: [], fields: [] };
  for (const word of query.toLowerCase().split(/\s+/).filter(Boolean)) {
    const [, name, value] = /^(?:(flow|port|number|tag)[:=]|#)?(\d+)$/.exec(word) ?? [];
    if (name) asked.fields.push([name as (typeof FIELDS)[number], Number(value)]);
    else if (word.startsWith("#") && value) asked.fields.push(["number", Number(value)]);
    else asked.texts.push(word);
  }
  return asked;
}

function search(source: Source, { texts, fields }: Asked) {
  const { strings, tracks, slices, moments, messages } = source.trace;
  const has = (text: string) => texts.every((word) => text.toLowerCase().includes(word));
  const byName = texts.length > 0 && fields.length === 0;
  const names = Uint8Array.from(strings, (text) => (byName && has(text) ? 1 : 0));
  const things: Thing[] = [];
  let count = 0;
  const put = (kind: Thing["kind"], index: number) => {
    if (count++ < MOST) things.push({ kind, source, index });
  };
  if (byName) {
    tracks.forEach((track, at) => has(track.name) && put("row", at));
    if (names.includes(1)) {
      slices.name.forEach((name, at) => names[name] && put("slice", at));
      moments.name.forEach((name, at) => names[name] && put("moment", at));
    }
  }
  const isRequest = strings.map((kind) => kind === "request");
  const isResponse = strings.map((kind) => kind === "response");
  const is = (id: number, name: string, value: number) => {
    const { kind, source, target } = messages;
    const [request, response] = [isRequest[kind[id]], isResponse[kind[id]]];
    if (name === "number") return messages.number[id] === value;
    if (name === "tag") return messages.tag[id] === value;
    if (name === "flow") return request ? source[id] === value : response && target[id] === value;
    return !request && !response && (source[id] === value || target[id] === value);
  };
  // A number alone is a sequence number, if it is no part of the names of a message.
  const matches = strings.map((text) => texts.map((word) => text.toLowerCase().includes(word)));
  const sequence = texts.map((word) => (/^\d+$/.test(word) ? Number(word) : -1));
  const meant = Uint8Array.from(messages.number, (number, id) => {
    if (!fields.every(([name, value]) => is(id, name, value))) return 0;
    const [kind, peer] = [matches[messages.kind[id]], matches[messages.peer[id]]];
    return texts.every((_, at) => kind[at] || peer[at] || sequence[at] === number) ? 1 : 0;
  });
  meant.forEach((one, id) => one && put("message", id));
  return { names, meant, things, count };
}

/// What a search finds, by when it is; none for no words.
export function find(sources: Source[], query: string): Found | null {
  const asked = parse(query);
  if (asked.texts.length + asked.fields.length === 0) return null;
  const all = sources.map((source) => ({ source, ...search(source, asked) }));
  const when = ({ kind, source, index }: Thing) => {
    if (kind === "slice") return source.trace.slices.begin[index];
    if (kind === "moment") return source.trace.moments.at[index];
    return kind === "message" ? source.start[index] : -Infinity;
  };
  const things = all.flatMap((one) => one.things);
  const times = new Map(things.map((thing) => [thing, when(thing)]));
  things.sort((one, other) => {
    const [a, b] = [times.get(one) as number, times.get(other) as number];
    return a === b ? 0 : a - b;
  });
  return {
    things,
    at: -1,
    count: all.reduce((sum, one) => sum + one.count, 0),
    // Where no name is meant, stretches stay as they are.
    names: new Map(all.filter(({ names }) => names.includes(1)).map((one) => [one.source, one.names])),
    messages: new Map(all.map((one) => [one.source, one.meant])),
  };
}
