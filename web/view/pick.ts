// What lies at a place of the picture.
import { messageAt } from "./arrows.js";
import { lower } from "./levels.js";
import { LANE, STATE, type Row, parts } from "./rows.js";
import type { Scene, Thing } from "./scene.js";

export function rowAt(scene: Scene, y: number): Row | null {
  const at = y + scene.view.scroll;
  return scene.rows.find((row) => row.height > 0 && at >= row.y && at < row.y + row.height) ?? null;
}

/// The thing at a place, counted from where times and rows begin.
export function pick(scene: Scene, x: number, y: number): Thing | null {
  const { view } = scene;
  const row = rowAt(scene, y);
  const time = view.time(x);
  if (row) {
    const { source } = row;
    const place = parts(row);
    const inside = y + view.scroll - row.y;
    const times = row.momentTimes;
    const near = lower(times, view.time(x - 6));
    if (times[near] <= view.time(x + 6) && inside >= place.lanes - 6 && inside < place.lanes + 10) {
      return { kind: "moment", source, index: row.moments[near] };
    }
    const message = messageAt(scene, x, y);
    if (message) return { kind: "message", ...message };
    let lane = row.lanes[Math.floor((inside - place.lanes) / LANE)];
    if (row.state && inside >= place.state && inside < place.state + STATE) lane = row.state;
    if (lane) {
      // A stretch thinner than the pointer is hit beside it too.
      const reach = 2 * view.nsPerPixel;
      for (const at of [time, time - reach, time + reach]) {
        const index = lane.at(at);
        if (index >= 0) return { kind: "slice", source, index };
      }
    }
    return null;
  }
  return null;
}

/// The things of a row of the same kind as one, in order: the one before or after it.
export function neighbour(scene: Scene, thing: Thing, by: 1 | -1): Thing | null {
  const { kind, source, index } = thing;
  const { slices, moments, messages } = source.trace;
  const same: ArrayLike<number>[] =
    kind === "slice" ? [slices.track, slices.depth]
    : kind === "moment" ? [moments.track]
    : kind === "message" ? [messages.from, messages.to]
    : [];
  if (same.length === 0) return first(scene, thing);
  for (let at = index + by; at >= 0 && at < same[0].length; at += by) {
    if (same.every((column) => column[at] === column[index])) return { kind, source, index: at };
  }
  return null;
}

/// The first thing of a row that is in sight or later.
function first(scene: Scene, { source, index }: Thing): Thing | null {
  const row = source.byTrack.get(index);
  if (!row) return null;
  const lane = row.lanes[0] ?? row.state;
  if (lane?.all.length) {
    const at = Math.min(lower(lane.all.begin, scene.view.from, lane.all.length), lane.all.length - 1);
    return { kind: "slice", source, index: lane.all.id[at] };
  }
  if (row.moments.length) {
    const at = Math.min(lower(row.momentTimes, scene.view.from), row.moments.length - 1);
    return { kind: "moment", source, index: row.moments[at] };
  }
  return null;
}
