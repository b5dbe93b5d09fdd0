// Times as people read them.

const UNITS: [number, string][] = [
  [1e9, "s"],
  [1e6, "ms"],
  [1e3, "µs"],
  [1, "ns"],
];

function unitOf(size: number): [number, string] {
  return UNITS.find(([unit]) => size >= unit) ?? [1, "ns"];
}

const signed = (text: string) => text.replace("-", "−");

/// A length of time, with three significant digits.
export function long(ns: number): string {
  if (!Number.isFinite(ns)) return "–";
  const [unit, name] = unitOf(Math.abs(ns));
  const value = ns / unit;
  const size = Math.abs(value);
  const digits = unit === 1 || size >= 99.95 ? 0 : size >= 9.995 ? 1 : 2;
  return signed(`${value.toFixed(digits)} ${name}`);
}

/// A moment, to the nanosecond.
export function moment(ns: number): string {
  if (!Number.isFinite(ns)) return "not known";
  const [unit, name] = unitOf(Math.abs(ns));
  return signed(`${(ns / unit).toFixed(Math.round(Math.log10(unit)))} ${name}`);
}

/// Where an axis has its marks, and what it says there.
export function ticks(from: number, to: number, most: number): { at: number; text: string }[] {
  const rough = Math.max((to - from) / Math.max(most, 1), 1);
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = power * ([1, 2, 5, 10].find((one) => one * power >= rough) ?? 10);
  const [unit, name] = unitOf(Math.max(Math.abs(from), Math.abs(to)));
  const digits = Math.max(0, Math.ceil(Math.log10(unit / step) - 1e-9));
  const found = [];
  for (let at = Math.ceil(from / step) * step; at <= to && found.length <= 2 * most; at += step) {
    found.push({ at, text: at === 0 ? "0" : signed(`${(at / unit).toFixed(digits)} ${name}`) });
  }
  return found;
}

export const whole = (count: number) => count.toLocaleString("en");
