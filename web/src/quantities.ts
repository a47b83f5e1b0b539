// Quantities with units, as scenarios write them: "5mbit", "250p", "64KB", "20ms", "1%". The functions accept every
// spelling that crates/units reads, and some others, such as "5m" for a rate, which the simulator refuses.

export type Kind = "BitRate" | "Bytes" | "Duration" | "Limit" | "Prob";

const KINDS: readonly string[] = ["BitRate", "Bytes", "Duration", "Limit", "Prob"];
export const isKind = (name: string): name is Kind => KINDS.includes(name);

const SCALES: Record<string, number> = {
  "": 1, k: 1e3, K: 1e3, m: 1e6, M: 1e6, g: 1e9, G: 1e9, t: 1e12, T: 1e12,
};
const SECONDS: Record<string, number> = { s: 1, ms: 1e-3, us: 1e-6, "µs": 1e-6, "μs": 1e-6, ns: 1e-9, min: 60, h: 3600 };

export type LimitUnit = "p" | "B" | "s";

/** Parses a rate to bit/s; NaN for any other string. */
export function rate(text: string | number): number {
  if (typeof text === "number") return text;
  const found = /^([0-9.]+)\s*([kKmMgGtT]?)(bit|bps)?(\/s)?$/.exec(text.trim());
  return found === null ? NaN : Number(found[1]) * (SCALES[found[2] ?? ""] ?? NaN);
}

/** Parses a size to bytes; NaN for any other string. */
export function bytes(text: string | number): number {
  if (typeof text === "number") return text;
  const binary = /^([0-9.]+)\s*([kmg])ib$/i.exec(text.trim());
  if (binary !== null) return Number(binary[1]) * 1024 ** ("kmg".indexOf((binary[2] ?? "").toLowerCase()) + 1);
  const found = /^([0-9.]+)\s*([kKmMgG]?)[bB]?$/.exec(text.trim());
  return found === null ? NaN : Number(found[1]) * (SCALES[found[2] ?? ""] ?? NaN);
}

/** Parses a duration to seconds; NaN for any other string. */
export function seconds(text: string): number {
  const found = /^([0-9.]+)\s*(?:([mun]?s)(?:ecs?)?|([µμ]s|min|h))$/.exec(text.trim().toLowerCase());
  return found === null ? NaN : Number(found[1]) * (SECONDS[found[2] ?? found[3] ?? ""] ?? NaN);
}

/** Parses a share to a number, 1 for "100%"; NaN for any other string. The number may be above 1. */
export function share(text: string | number): number {
  if (typeof text === "number") return text;
  const found = /^([0-9.]+)\s*(%?)$/.exec(text.trim());
  return found === null ? NaN : Number(found[1]) / (found[2] === "%" ? 100 : 1);
}

/** Parses a limit into its number and unit: packets, bytes or seconds. */
export function limit(text: string): [number, LimitUnit] | null {
  const packets = /^([0-9.]+)\s*(?:p|pkt|packets)$/.exec(text.trim());
  if (packets !== null) return [Number(packets[1]), "p"];
  const time = seconds(text);
  if (!Number.isNaN(time)) return [time, "s"];
  const size = bytes(text);
  return Number.isNaN(size) || /^[0-9.]+$/.test(text.trim()) ? null : [size, "B"];
}

/** Parses a quantity to a number in its base unit; NaN for any other string. */
export function parse(kind: Kind, value: string | number): number {
  switch (kind) {
    case "BitRate": return rate(value);
    case "Bytes": return bytes(value);
    case "Duration": return seconds(String(value));
    case "Limit": return limit(String(value))?.[0] ?? NaN;
    case "Prob": return share(value);
  }
}

/** Rounds to three significant digits, the resolution of a slider. */
export const rounded = (x: number): number => (x === 0 ? 0 : Number(x.toPrecision(3)));

const plain = (x: number): string => String(Number(x.toFixed(6)));

export function showRate(bits: number): string {
  const x = rounded(bits);
  if (x >= 1e9) return `${plain(x / 1e9)}gbit`;
  if (x >= 1e6) return `${plain(x / 1e6)}mbit`;
  return x >= 1e3 ? `${plain(x / 1e3)}kbit` : `${Math.round(x)}bit`;
}

export function showBytes(size: number): string {
  const x = rounded(size);
  if (x >= 1e6) return `${plain(x / 1e6)}MB`;
  return x >= 1e3 ? `${plain(x / 1e3)}KB` : `${Math.max(0, Math.round(x))}B`;
}

export function showSeconds(time: number): string {
  const x = rounded(time);
  if (x >= 1) return `${plain(x)}s`;
  if (x >= 1e-3) return `${plain(x * 1e3)}ms`;
  return x > 0 ? `${Math.max(1, Math.round(x * 1e6))}us` : "0s";
}

export function showLimit(value: number, unit: LimitUnit): string {
  if (unit === "p") return `${Math.max(1, Math.round(rounded(value)))}p`;
  return unit === "B" ? showBytes(value) : showSeconds(value);
}

/** Formats a number of some kind for a scenario. A number of the kind Limit gets the unit of the limit `like`. */
export function show(kind: Kind, value: number, like = "p"): string | number {
  switch (kind) {
    case "BitRate": return showRate(value);
    case "Bytes": return showBytes(value);
    case "Duration": return showSeconds(value);
    case "Limit": return showLimit(value, limit(like)?.[1] ?? "p");
    case "Prob": return rounded(value);
  }
}

/** Formats a number with at most three significant digits and a unit, for people: "5.06 Mbit/s", "1.5 s"; "–" for NaN. */
const withUnit = (x: number, units: readonly [number, string][]): string => {
  const [scale, unit] = units.find(([s]) => rounded(x) >= s) ?? units[units.length - 1] ?? [1, ""];
  return Number.isNaN(x) ? "–" : `${plain(rounded(x) / scale)} ${unit}`;
};
export const rateText = (bits: number): string => withUnit(bits, [[1e9, "Gbit/s"], [1e6, "Mbit/s"], [1e3, "kbit/s"], [1, "bit/s"]]);
export const bytesText = (size: number): string => withUnit(size, [[1e6, "MB"], [1e3, "kB"], [1, "bytes"]]);
export const secondsText = (time: number): string =>
  time === 0 ? "0 ms" : withUnit(time, [[1, "s"], [1e-3, "ms"], [1e-6, "µs"]]);

export function limitText(value: number, unit: LimitUnit): string {
  if (unit === "p") return `${Math.max(1, Math.round(value))} packet${Math.round(value) <= 1 ? "" : "s"}`;
  return unit === "B" ? bytesText(value) : secondsText(value);
}

/** Formats a number of some kind for people. A number of the kind Limit gets the unit of the limit `like`. */
export function text(kind: Kind, value: number, like = "p"): string {
  switch (kind) {
    case "BitRate": return rateText(value);
    case "Bytes": return bytesText(value);
    case "Duration": return secondsText(value);
    case "Limit": return limitText(value, limit(like)?.[1] ?? "p");
    case "Prob": return Number.isNaN(value) ? "–" : `${plain(rounded(100 * value))} %`;
  }
}

/** The logarithmic scale of a slider. Its left end represents zero if zero is allowed. */
export interface Scale {
  lo: number;
  hi: number;
  zero: boolean;
}

export const STEPS = 1000;

export function toStep(scale: Scale, value: number): number {
  if (!(value > 0) || value < scale.lo) return 0;
  const least = scale.zero ? 1 : 0;
  const part = Math.log(value / scale.lo) / Math.log(scale.hi / scale.lo);
  return Math.round(Math.min(1, Math.max(0, part)) * (STEPS - least)) + least;
}

export function fromStep(scale: Scale, step: number): number {
  const least = scale.zero ? 1 : 0;
  if (step < least) return 0;
  return rounded(scale.lo * (scale.hi / scale.lo) ** ((step - least) / (STEPS - least)));
}
