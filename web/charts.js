// The kinds of charts. Each function takes what the page says of the chart, the rows of its table
// and the width that there is, and returns elements. Colours are variables of the style, so a
// change between light and dark needs no second drawing.
import {
  barX,
  dot,
  line,

  plot,
  ruleX,
  ruleY,
  stackX,
  text,
} from "@observablehq/plot";

const COLOURS = 8;
const SYMBOLS = ["circle", "square2", "triangle2", "diamond2", "cross", "star", "wye", "hexagon"];
// Below this width names stand above their bars and not beside them.
const NARROW = 620;
// Room below a chart for its scale.
const BOTTOM = 46;
const FONT = { fontSize: "12px", fontFamily: "inherit", overflow: "visible" };
// Names over lines stay readable.
const HALO = { fill: "currentColor", stroke: "var(--card)", strokeWidth: 4 };
// About the width of a character of that font.
const CHARACTER = 6.6;

const colour = (at) => `var(--c${(at % COLOURS) + 1})`;
const ink = (at) => `var(--i${(at % COLOURS) + 1})`;
const symbol = (at) => SYMBOLS[(at + Math.floor(at / COLOURS)) % SYMBOLS.length];

// Three significant digits, or whole if it is larger.
function figure(value) {
  const size = Math.abs(value);
  if (size >= 1e6) return value.toLocaleString("en", { notation: "compact" });
  if (size >= 99.95) return value.toFixed(0);
  return size >= 9.995 ? value.toFixed(1) : value.toFixed(2);
}

const tick = (value) =>
  Math.abs(value) >= 1e4
    ? value.toLocaleString("en", { notation: "compact" })
    : String(Number(value.toPrecision(6)));

function scale(label, log) {
  return { label, labelArrow: "none", labelOffset: 38, type: log ? "log" : "linear", tickFormat: tick, grid: true };
}

function legend(entries) {
  const list = document.createElement("ul");
  list.className = "legend";
  for (const { name, colour, shape, dashed, hollow } of entries) {
    const item = document.createElement("li");
    const key = dot([0], {
      x: () => 0,
      y: () => 0,
      symbol: shape ?? "square2",
      r: hollow ? 4.5 : 5,
      fill: hollow ? "none" : colour,
      stroke: hollow ? colour : "none",
      strokeWidth: 2,
    }).plot({
      width: 16,
      height: 16,
      margin: 0,
      axis: null,
      x: { domain: [-1, 1] },
      y: { domain: [-1, 1] },
      symbol: { legend: false },
    });
    if (dashed) {
      const mark = document.createElement("i");
      mark.className = "dashed";
      mark.style.color = colour;
      item.append(mark, name);
    } else {
      key.setAttribute("aria-hidden", "true");
      item.append(key, name);
    }
    list.append(item);
  }
  return list;
}

// Where names go: beside the rows if there is room, else above them.
function labels(names, width) {
  const longest = Math.max(0, ...names.map((name) => name.length));
  const narrow = width < NARROW;
  const marginLeft = narrow ? 6 : Math.min(width / 2, Math.ceil(longest * CHARACTER) + 14);
  const insetBottom = narrow ? 8 : 0;
  const height = names.length * (narrow ? 42 : 26) + BOTTOM + 24;
  return { narrow, marginLeft, insetBottom, height };
}

function bands(names, narrow) {
  return {
    domain: names,
    label: null,
    axis: narrow ? null : "left",
    tickSize: 0,
    padding: narrow ? 0.62 : 0.3,
    align: narrow ? 1 : 0.5,
  };
}

function above(names, x, narrow) {
  if (!narrow) return [];
  const options = { x: () => x, y: (name) => name, text: (name) => name, textAnchor: "start" };
  return [text(names, { ...options, dy: -18, dx: 2, ...HALO })];
}

// Bars of parts one after the other, with their letters in them and the sum behind.
export function stack(spec, rows, width) {
  const names = rows.map((row) => row[spec.label]);
  const { narrow, marginLeft, insetBottom, height } = labels(names, width);
  const marginRight = 58;
  const sum = (row) => spec.parts.reduce((all, part) => all + (row[part] ?? 0), 0);
  const most = Math.max(...rows.map(sum));
  const pixels = (width - marginLeft - marginRight) / most;
  const data = rows.flatMap((row) =>
    spec.parts.map((part, at) => ({ name: row[spec.label], part, at, value: row[part] ?? 0 })),
  );
  const order = spec.parts;
  const bars = { x: "value", y: "name", z: "part", order };
  const fits = (one) => one.value * pixels > one.part.length * CHARACTER + 6;
  const drawn = plot({
    width,
    height,
    marginLeft,
    marginRight,
    marginBottom: BOTTOM,
    insetBottom,
    style: FONT,
    ariaLabel: spec.title,
    x: scale(spec.unit, false),
    y: bands(names, narrow),
    marks: [
      barX(data, {
        ...bars,
        fill: (one) => colour(one.at),
        insetRight: 0.8,
        tip: true,
        channels: { [spec.unit]: { value: "value", label: spec.unit }, phase: "part" },
      }),
      text(data, stackX({ ...bars, text: (one) => (fits(one) ? one.part : ""), fill: (one) => ink(one.at) })),
      text(rows, {
        x: sum,
        y: spec.label,
        text: (row) => figure(sum(row)),
        textAnchor: "start",
        dx: 5,
        fontWeight: 600,
      }),
      ...above(names, 0, narrow),
      ruleX([0]),
    ],
  });
  const entries = spec.parts.map((part, at) => ({
    name: spec.meanings?.[at] ?? part,
    colour: colour(at),
  }));
  return [legend(entries), drawn];
}

// Several figures of each row on one scale, joined by a line.
export function spread(spec, rows, width) {
  const shown = rows.filter((row) => spec.points.some((point) => row[point] > 0));
  const names = shown.map((row) => row[spec.label]);
  const { narrow, marginLeft, insetBottom, height } = labels(names, width);
  const data = shown.flatMap((row) =>
    spec.points
      .map((point, at) => ({ name: row[spec.label], point, at, value: row[point] }))
      .filter((one) => one.value > 0),
  );
  const values = data.map((one) => one.value);
  const [least, most] = [Math.min(...values), Math.max(...values)];
  const ends = shown.map((row) => {
    const own = spec.points.map((point) => row[point]).filter((value) => value > 0);
    return { name: row[spec.label], from: Math.min(...own), to: Math.max(...own) };
  });
  const drawn = plot({
    width,
    height,
    marginLeft,
    marginRight: 22,
    marginBottom: BOTTOM,
    insetBottom,
    style: FONT,
    ariaLabel: spec.title,
    x: { ...scale(spec.unit, spec.log), domain: spec.log ? [least * 0.8, most * 1.25] : [0, most] },
    y: bands(names, narrow),
    symbol: { domain: spec.points, range: spec.points.map((_, at) => symbol(at)) },
    marks: [
      ruleY(ends, { x1: "from", x2: "to", y: "name", stroke: "var(--line-strong)", strokeWidth: 2 }),
      dot(data, {
        x: "value",
        y: "name",
        symbol: "point",
        r: 4.5,
        fill: (one) => colour(one.at),
        tip: true,
        channels: { [spec.unit]: "value", figure: "point" },
      }),
      ...above(names, spec.log ? least * 0.8 : 0, narrow),
    ],
  });
  const entries = spec.points.map((point, at) => ({
    name: point,
    colour: colour(at),
    shape: symbol(at),
  }));
  return [legend(entries), drawn];
}

// A figure of each row with the interval that it lies in, beside a reference.
export function interval(spec, rows, width) {
  const fits = (value) => Number.isFinite(value) && (!spec.log || value > 0);
  const shown = rows.filter((row) => fits(row[spec.value]));
  const names = shown.map((row) => row[spec.label]);
  const { narrow, marginLeft, insetBottom, height } = labels(names, width);
  const reach = [spec.value, spec.low, spec.high, spec.bound].filter(Boolean);
  const values = shown.flatMap((row) => reach.map((name) => row[name])).filter(fits);
  values.push(spec.reference);
  const margin = (Math.max(...values) - Math.min(...values)) * 0.05 || 1;
  const domain = spec.log
    ? [Math.min(...values) * 0.9, Math.max(...values) * 1.12]
    : [Math.min(...values) - margin, Math.max(...values) + margin];
  const sure = (row) => !spec.sure || row[spec.sure] === "yes";
  const drawn = plot({
    width,
    height,
    marginLeft,
    marginRight: 22,
    marginBottom: BOTTOM,
    insetBottom,
    style: FONT,
    ariaLabel: spec.title,
    x: { ...scale(spec.unit, spec.log), domain },
    y: bands(names, narrow),
    marks: [
      ruleX([spec.reference], { stroke: "currentColor", strokeDasharray: "4 3" }),
      spec.low &&
        ruleY(
          shown.filter((row) => Number.isFinite(row[spec.low])),
          { x1: spec.low, x2: spec.high, y: spec.label, stroke: "var(--line-strong)", strokeWidth: 3 },
        ),
      spec.bound &&
        text(
          shown.filter((row) => Number.isFinite(row[spec.bound])),
          { x: spec.bound, y: spec.label, text: () => "|", fontSize: 16, fontWeight: 700, fill: colour(4) },
        ),
      dot(shown, {
        x: spec.value,
        y: spec.label,
        r: 5,
        symbol: "circle",
        stroke: (row) => colour(sure(row) ? 5 : 0),
        strokeWidth: 2,
        fill: (row) => (sure(row) ? colour(5) : "var(--card)"),
        tip: true,
      }),
      ...above(names, domain[0], narrow),
    ],
  });
  const entries = [{ name: spec.means, colour: colour(5), shape: "circle" }];
  if (spec.sure) entries.push({ name: spec.otherwise, colour: colour(0), shape: "circle", hollow: true });
  entries.push({ name: spec.reference_means, colour: "currentColor", dashed: true });
  if (spec.bound) entries.push({ name: "bound", colour: colour(4), shape: "square2" });
  return [legend(entries), drawn];
}

// A line for each series, with the limit of each dashed.
export function lines(spec, rows, width) {
  const positive = (name, log) => (row) => Number.isFinite(row[name]) && (!log || row[name] > 0);
  const fits = positive(spec.x, spec.log_x);
  const shown = rows.filter((row) => fits(row) && positive(spec.y, spec.log_y)(row));
  const names = [...new Set(shown.map((row) => row[spec.series] ?? ""))];
  const at = (row) => names.indexOf(row[spec.series] ?? "");
  const curve = spec.step ? "step-after" : "linear";
  const limits = spec.limit ? rows.filter((row) => fits(row) && row[spec.limit] > 0) : [];
  const dots = shown.length <= names.length * 60;
  const shared = { x: spec.x, z: (row) => row[spec.series] ?? "", curve };
  const top = { ...scale(spec.y_label, spec.log_y), labelOffset: undefined };
  const drawn = plot({
    width,
    height: width < NARROW ? 280 : 340,
    marginLeft: 52,
    marginRight: 18,
    marginBottom: BOTTOM,
    style: FONT,
    ariaLabel: spec.title,
    x: { ...scale(spec.x_label, spec.log_x), ticks: width < NARROW ? 4 : undefined },
    y: spec.log_y ? top : { ...top, zero: true },
    symbol: { domain: names.map((_, at) => at), range: names.map((_, at) => symbol(at)) },
    marks: [
      spec.log_y ? null : ruleY([0]),
      spec.limit &&
        line(limits, { ...shared, y: spec.limit, stroke: (row) => colour(at(row)), strokeDasharray: "2 4" }),
      line(shown, { ...shared, y: spec.y, stroke: (row) => colour(at(row)), strokeWidth: 2 }),
      dots
        ? dot(shown, { x: spec.x, y: spec.y, fill: (row) => colour(at(row)), symbol: at, r: 4 })
        : null,
      dot(shown, { x: spec.x, y: spec.y, r: 0, tip: true, channels: spec.series ? { [spec.series]: spec.series } : {} }),
    ],
  });
  const entries = names.map((name, at) => ({ name, colour: colour(at), shape: symbol(at) }));
  if (limits.length > 0) entries.push({ name: spec.limit, colour: "currentColor", dashed: true });
  return [legend(entries.filter(({ name }) => name !== "")), drawn];
}

// A point for each row, and the front: those that no other is better than in both.
export function scatter(spec, rows, width) {
  const shown = rows.filter((row) => row[spec.y] > 0 && Number.isFinite(row[spec.x]));
  const isFront = (row) => row[spec.front] === "yes";
  const front = shown.filter(isFront).sort((a, b) => a[spec.x] - b[spec.x]);
  const others = shown.filter((row) => !isFront(row));
  const half = Math.max(0, ...shown.map((row) => row[spec.x])) / 2;
  const side = (row) => (row[spec.x] <= half ? "start" : "end");
  const point = { x: spec.x, y: spec.y, r: 5, tip: true, channels: { [spec.label]: spec.label } };
  const drawing = (labelled) => ({
    width,
    height: width < NARROW ? 300 : 380,
    marginLeft: 52,
    marginRight: 22,
    marginBottom: BOTTOM,
    style: FONT,
    ariaLabel: spec.title,
    x: { ...scale(spec.x_label, false), zero: true, nice: true },
    y: { ...scale(spec.y_label, spec.log_y), labelOffset: undefined, zero: !spec.log_y, nice: true },
    marks: [
      line(front, { x: spec.x, y: spec.y, curve: "step-after", stroke: colour(5), strokeWidth: 2 }),
      dot(others, { ...point, stroke: colour(0), strokeWidth: 2, symbol: "circle" }),
      dot(front, { ...point, r: 6, fill: colour(5), symbol: "diamond2" }),
      ...["start", "end"].map((anchor) =>
        text(
          labelled.filter((row) => side(row) === anchor),
          {
            x: spec.x,
            y: spec.y,
            text: spec.label,
            textAnchor: anchor,
            dx: anchor === "start" ? 9 : -9,
            dy: -9,
            ...HALO,
          },
        ),
      ),
    ],
  });
  // Names that would cover each other are left to the tip and to the table.
  const bare = plot(drawing([]));
  const [across, up] = [bare.scale("x"), bare.scale("y")];
  const taken = [];
  const labelled = front.filter((row) => {
    const length = row[spec.label].length * CHARACTER + 9;
    const [x, y] = [across.apply(row[spec.x]), up.apply(row[spec.y])];
    const from = side(row) === "start" ? x : x - length;
    const covers = (one) => Math.abs(one.y - y) < 15 && one.from < from + length && from < one.to;
    if (taken.some(covers)) return false;
    taken.push({ from, to: from + length, y });
    return true;
  });
  const drawn = plot(drawing(labelled));
  const entries = [
    { name: spec.front_means, colour: colour(5), shape: "diamond2" },
    { name: spec.others_mean, colour: colour(0), shape: "circle", hollow: true },
  ];
  return [legend(entries), drawn];
}
