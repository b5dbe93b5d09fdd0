// Which stretch of time and which rows are in sight, and how that changes.

/// Nanoseconds across the picture when it is nearest.
const NEAREST = 20;

export class Viewport {
  from = 0;
  to = 1;
  scroll = 0;
  width = 1;
  height = 1;
  private full: [number, number] = [0, 1];
  private rows = 0;

  /// All there is to see.
  bound(first: number, last: number) {
    const room = Math.max((last - first) * 0.01, 1);
    this.full = [first - room, last + room];
  }

  fit(rows: number) {
    this.rows = rows;
    this.move(0);
  }

  all() {
    [this.from, this.to] = this.full;
  }

  get scale() {
    return this.width / (this.to - this.from);
  }

  get nsPerPixel() {
    return (this.to - this.from) / this.width;
  }

  x(time: number) {
    return (time - this.from) * this.scale;
  }

  time(x: number) {
    return this.from + x / this.scale;
  }

  show(from: number, to: number) {
    const [first, last] = this.full;
    const span = Math.min(Math.max(to - from, NEAREST), last - first);
    const middle = (from + to) / 2;
    this.from = Math.min(Math.max(middle - span / 2, first), last - span);
    this.to = this.from + span;
  }

  /// Nearer, with the time at a place staying there.
  zoom(x: number, factor: number) {
    const [first, last] = this.full;
    const time = this.time(x);
    const span = Math.min(Math.max((this.to - this.from) / factor, NEAREST), last - first);
    const from = time - (x / this.width) * span;
    this.show(from, from + span);
  }

  pan(pixels: number) {
    const by = pixels * this.nsPerPixel;
    this.show(this.from + by, this.to + by);
  }

  move(pixels: number) {
    const most = Math.max(0, this.rows - this.height);
    this.scroll = Math.min(Math.max(this.scroll + pixels, 0), most);
  }

  /// Has a stretch of time in sight, and leaves the rest as it is.
  include(from: number, to: number) {
    const span = this.to - this.from;
    if (to - from > span) this.show(from - (to - from) * 0.1, to + (to - from) * 0.1);
    else if (from < this.from || to > this.to) {
      const middle = (from + to) / 2;
      this.show(middle - span / 2, middle + span / 2);
    }
  }

  includeRow(y: number, height: number) {
    if (y < this.scroll) this.move(y - this.scroll);
    else if (y + height > this.scroll + this.height) {
      this.move(y + height - this.scroll - this.height);
    }
  }

  get hasMore() {
    return this.rows > this.height;
  }

  get bar(): [number, number] {
    return [this.scroll / this.rows, (this.scroll + this.height) / this.rows];
  }
}
