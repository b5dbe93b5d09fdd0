// Level of detail: what is too short to be seen is drawn together.
//
// Each lane is kept once more for every factor of four in zoom that has been looked at. What is
// shorter than the level's quantum is merged with its neighbours of the same quantum of time, so a
// screen never has more pieces than pixels, whatever the trace has. Quanta lie on the time axis and
// not on the screen: what is merged does not flicker while the view moves.

/// Levels that are kept of one lane: each may be as large as the lane itself.
const KEPT = 6;

/// What a map has for a key, or else what is made now, in place of what was made first.
function kept<T>(levels: Map<number, T>, key: number, make: () => T): T {
  let found = levels.get(key);
  if (found === undefined) {
    found = make();
    for (const first of levels.keys()) {
      if (levels.size < KEPT) break;
      levels.delete(first);
    }
    levels.set(key, found);
  }
  return found;
}

/// The exponent of the quantum for a scale, and the quantum.
export function quantum(nsPerPixel: number): { level: number; size: number } {
  const level = Math.ceil(Math.log(Math.max(nsPerPixel, 1e-9)) / Math.log(4));
  return { level, size: 4 ** level };
}

/// The first place in sorted times that is not before one.
export function lower(times: Float64Array, time: number, length = times.length): number {
  let [low, high] = [0, length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (times[middle] < time) low = middle + 1;
    else high = middle;
  }
  return low;
}

/// Pieces to draw, by when they begin.
export interface Pieces {
  length: number;
  begin: Float64Array;
  end: Float64Array;
  name: Uint32Array;
  category: Uint8Array;
  /// The one stretch that it is, or -1 if it is several.
  id: Int32Array;
  /// Which part of its time is covered.
  share: Float32Array;
}

function pieces(most: number): Pieces {
  return {
    length: 0,
    begin: new Float64Array(most),
    end: new Float64Array(most),
    name: new Uint32Array(most),
    category: new Uint8Array(most),
    id: new Int32Array(most),
    share: new Float32Array(most),
  };
}

function shortened(all: Pieces): Pieces {
  const { length } = all;
  const cut = { length } as Record<string, unknown>;
  for (const key of ["begin", "end", "name", "category", "id", "share"] as const) {
    cut[key] = all[key].slice(0, length);
  }
  return cut as unknown as Pieces;
}

/// Stretches of one row and one depth, which do not overlap.
export class Lane {
  private levels = new Map<number, Pieces>();
  /// How much time is covered before each stretch.
  private before: Float64Array;

  constructor(readonly all: Pieces) {
    this.before = new Float64Array(all.length + 1);
    for (let at = 0; at < all.length; at++) {
      this.before[at + 1] = this.before[at] + all.end[at] - all.begin[at];
    }
  }

  static of(length: number): Lane {
    return new Lane(pieces(length));
  }

  /// How much of a stretch of time is covered.
  covered(from: number, to: number): number {
    return this.coveredBefore(to) - this.coveredBefore(from);
  }

  private coveredBefore(time: number): number {
    const { begin, end, length } = this.all;
    const next = lower(begin, time, length);
    if (next === 0) return 0;
    return this.before[next] - Math.max(0, end[next - 1] - time);
  }

  /// The stretch at a time.
  at(time: number): number {
    const { begin, end, id, length } = this.all;
    const place = lower(begin, time, length);
    const one = begin[place] === time ? place : place - 1;
    return one >= 0 && end[one] >= time ? id[one] : -1;
  }

  level(nsPerPixel: number): Pieces {
    const { level, size } = quantum(nsPerPixel);
    return kept(this.levels, level, () => this.merged(size));
  }

  private merged(size: number): Pieces {
    const { begin, end, name, category, length } = this.all;
    const out = pieces(length);
    const times = new Map<number, number>();
    let first = 0;
    const put = (from: number, to: number) => {
      const place = out.length++;
      const last = to - 1;
      out.begin[place] = begin[from];
      out.end[place] = end[last];
      let longest = from;
      if (last > from) {
        times.clear();
        let most = -1;
        for (let at = from; at < to; at++) {
          const time = (times.get(name[at]) ?? 0) + end[at] - begin[at];
          times.set(name[at], time);
          if (time > most) [most, longest] = [time, at];
        }
      }
      out.name[place] = name[longest];
      out.category[place] = category[longest];
      out.id[place] = last > from ? -1 : this.all.id[from];
      const span = end[last] - begin[from];
      out.share[place] = span > 0 ? (this.before[to] - this.before[from]) / span : 1;
    };
    while (first < length) {
      let next = first + 1;
      if (end[first] - begin[first] < size) {
        const bucket = Math.floor(begin[first] / size);
        while (
          next < length &&
          end[next] - begin[next] < size &&
          Math.floor(begin[next] / size) === bucket
        ) next++;
      }
      put(first, next);
      first = next;
    }
    // A level that merges nothing is the lane itself.
    return out.length === length ? this.all : shortened(out);
  }
}

/// Values of one quantum each: when the first is, the least, the greatest and the last.
interface Merged {
  size: number;
  at: Float64Array;
  low: Float64Array;
  high: Float64Array;
  last: Float64Array;
}

/// Values over time.
export class Steps {
  private levels = new Map<number, Merged>();
  readonly least: number;
  readonly most: number;

  constructor(readonly at: Float64Array, readonly value: Float64Array) {
    let [least, most] = [0, 0];
    for (const one of value) [least, most] = [Math.min(least, one), Math.max(most, one)];
    [this.least, this.most] = [least, most];
  }

  level(nsPerPixel: number): Merged {
    const { level, size } = quantum(nsPerPixel);
    return kept(this.levels, level, () => this.merged(size));
  }

  private merged(size: number): Merged {
    const [at, low, high, last]: number[][] = [[], [], [], []];
    let bucket = NaN;
    for (let one = 0; one < this.at.length; one++) {
      const value = this.value[one];
      const own = Math.floor(this.at[one] / size);
      if (own === bucket) {
        low[low.length - 1] = Math.min(low[low.length - 1], value);
        high[high.length - 1] = Math.max(high[high.length - 1], value);
        last[last.length - 1] = value;
      } else {
        at.push(this.at[one]);
        low.push(value);
        high.push(value);
        last.push(value);
        bucket = own;
      }
    }
    return {
      size,
      at: Float64Array.from(at),
      low: Float64Array.from(low),
      high: Float64Array.from(high),
      last: Float64Array.from(last),
    };
  }
}

/// Messages from one row to another, by when they began.
export class Pair {
  /// The longest way of one, so that those on their way at the left edge are found.
  readonly longest: number;
  private levels = new Map<number, { ids: Uint32Array; began: Float64Array }>();

  constructor(
    readonly from: number,
    readonly to: number,
    readonly ids: Uint32Array,
    private began: Float64Array,
    private ended: Float64Array,
  ) {
    this.longest = ids.reduce((most, id) => Math.max(most, ended[id] - began[id] || 0), 0);
  }

  /// Of each quantum the slowest: what is unusual stays in sight.
  level(nsPerPixel: number) {
    const { level, size } = quantum(nsPerPixel);
    return kept(this.levels, level, () => this.slowest(size));
  }

  private slowest(size: number) {
    const found: number[] = [];
    let bucket = NaN;
    const way = (id: number) => this.ended[id] - this.began[id];
    for (const id of this.ids) {
      const own = Math.floor(this.began[id] / size);
      const last = found.length - 1;
      if (own !== bucket) found.push(id);
      else if (!(way(id) <= way(found[last]))) found[last] = id;
      bucket = own;
    }
    const ids = Uint32Array.from(found);
    return { ids, began: Float64Array.from(ids, (id) => this.began[id]) };
  }
}
