// The numbers in the text of essays, `{expression : format}`, computed from the run, from the previous step's run and from the scenario.

import { satisfaction } from "./cards";
import { evaluate, type Lookup } from "./expression";
import { get } from "./paths";
import { bytes, bytesText, limit, rate, rateText, seconds, secondsText, share } from "./quantities";
import type { Json, Summary, Tree } from "./types";

/** The data used by expressions. `names` are short names for expressions, each with its format. */
export interface Source {
  summary: Summary;
  scenario: Tree;
  before: { summary: Summary; scenario: Tree } | null;
  names: Record<string, string>;
}

const trimmed = (x: number, digits: number): string => (Number.isFinite(x) ? String(Number(x.toPrecision(digits))) : "–");
const plural = (x: number, one: string): string => `${x < 20 ? trimmed(x, 2) : Math.round(x)} ${one}${trimmed(x, 2) === "1" ? "" : "s"}`;

/** The functions that format a number, by format name. */
const FORMATS: Record<string, (x: number) => string> = {
  ms: (x) => secondsText(x / 1000),
  s: secondsText,
  mbit: (x) => rateText(x * 1e6),
  rate: rateText,
  percent: (x) => `${x < 10 ? trimmed(x, 2) : Math.round(x)} %`,
  bytes: bytesText,
  packets: (x) => plural(x, "packet"),
  times: (x) => `${trimmed(x, 2)} times`,
  count: (x) => (Number.isFinite(x) ? Math.round(x).toLocaleString("en").replaceAll(",", "\u202f") : "–"),
  mos: (x) => x.toFixed(1),
  verdict: (x) => satisfaction(Number.isFinite(x) ? x : null)[0],
  // a whole number is a count, so all its digits are shown
  number: (x) => (Number.isInteger(x) ? String(x) : trimmed(x, 3)),
};

/** Returns the format of the number at `path`. The unit is the suffix of the last key or, if the last key has none, of
 * the key before. So "apps.call.delay_ms.p50" is in ms. */
function formatOf(path: string): string {
  const parts = path.split(".").reverse().slice(0, 2);
  for (const part of parts) {
    const found = /(?:^|_)(ms|s|mbit|percent|bytes|packets|mos)$/.exec(part);
    if (found?.[1] !== undefined) return found[1];
  }
  return "number";
}

/** Parses a scenario value to a number in bit/s, seconds, packets or bytes, or to a fraction from 0 to 1. */
function quantity(value: Json | undefined): number {
  if (typeof value === "number") return value;
  if (typeof value !== "string") return NaN;
  const found = [rate, seconds, bytes, share].map((read) => read(value)).find((x) => !Number.isNaN(x));
  return limit(value)?.[0] ?? found ?? NaN;
}

/** Splits "expression : format". If the expression is a single path, the format may be omitted. */
function parted(text: string): [string, string] {
  const [expression = "", format = ""] = text.split(/\s*:\s*/);
  return [expression.trim(), format.trim()];
}

function lookup(of: Source): Lookup {
  const value = (path: string): number => {
    const past = path.startsWith("before.");
    const own = past ? path.slice(7) : path;
    const from = past ? of.before : of;
    if (from === null) return NaN;
    const name = of.names[own];
    if (name !== undefined) return evaluate(parted(name)[0], lookup({ ...of, summary: from.summary, scenario: from.scenario }));
    if (own.startsWith("here.")) return quantity(get(from.scenario, own.slice(5).split(".")));
    const found = get(from.summary as unknown as Tree, own.split("."));
    return typeof found === "number" ? found : NaN;
  };
  return value;
}

/** Replaces each `{expression : format}` in a text. */
export function filled(text: string, of: Source): string {
  return text.replace(/\{([^{}]+)\}/g, (_all, inside: string) => {
    const [expression, given] = parted(inside);
    const name = expression.replace(/^before\./, "");
    const format = given || parted(of.names[name] ?? "")[1] || formatOf(of.names[name] ?? expression);
    const x = evaluate(expression, lookup(of));
    return Number.isNaN(x) && format !== "verdict" ? "–" : (FORMATS[format] ?? FORMATS["number"])?.(x) ?? "–";
  });
}

/** Returns true if a claim such as "mos < before.mos" holds. */
export const holds = (claim: string, of: Source): boolean => evaluate(claim, lookup(of)) === 1;
