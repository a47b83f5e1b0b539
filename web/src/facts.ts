// Numbers of a run that the tour's sentences name, so that no sentence states a number the run does not have.

import { rateText, secondsText } from "./quantities";
import { number, satisfaction } from "./cards";
import type { Result } from "./types";

/** The tour's upload starts at second 5; by second 10 its slow start is over. */
const SETTLED_S = 10;

export type Facts = Record<string, string>;

/** Texts by name: `low` and `high` are the extremes of the mean wait in the uplink's queue from second 10 on, `worst` the longest wait. */
export function facts({ summary, charts }: Result): Facts {
  const queue = charts.links["up"];
  const settled = (queue?.delay_ms ?? []).filter((v, i): v is number => v !== null && (charts.t_s[i] ?? 0) >= SETTLED_S);
  const longest = (queue?.delay_ms_max ?? []).filter((v) => v !== null);
  const mos = number(summary.apps["call"], "voip", "mos");
  return {
    low: milliseconds(Math.min(...settled)),
    high: milliseconds(Math.max(...settled)),
    worst: milliseconds(Math.max(0, ...longest)),
    upload: rateText(1e6 * (number(summary.apps["upload"], "goodput_mbit") ?? NaN)),
    mos: mos?.toFixed(1) ?? "–",
    verdict: satisfaction(mos)[0],
    page: secondsText(number(summary.apps["pages"], "web", "page_load_s", "median") ?? NaN),
  };
}

/** Replaces `{name}` by the fact of that name, and `{before.name}` by that of the run before. */
export function filled(text: string, now: Facts, before: Facts | null): string {
  return text.replace(/\{(before\.)?(\w+)\}/g, (_all, past: string | undefined, name: string) => (past === undefined ? now : before)?.[name] ?? "…");
}

const milliseconds = (ms: number): string => secondsText(ms / 1000);
