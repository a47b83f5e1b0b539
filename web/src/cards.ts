// The summary of a run, as cards.

import { h } from "./dom";
import { get, isTable } from "./paths";
import { explained } from "./terms";
import type { Json, Summary, Tree } from "./types";

export interface Card {
  /** The quantity that `value` gives: "quality", "page load". */
  title: string;
  value: string;
  /** A verdict such as "satisfied", or the statistic that `value` is, such as "median"; may be empty. A glyph in front
   * of a verdict shows the tone, so colour is not needed. */
  verdict: string;
  tone: "good" | "fair" | "bad" | "plain";
  lines: string[];
  /** The number behind `value`, for comparing runs. */
  number: number | null;
  /** 1: more is better; -1: less is better. */
  better: 1 | -1;
  /** Name of the application; empty on the card for the delay that load adds. */
  app: string;
  /** Kind of the application; empty on the card for the delay that load adds. */
  kind: string;
}

const GLYPHS = { good: "●", fair: "◐", bad: "○", plain: "" };

export const number = (of: Json | undefined, ...path: string[]): number | null => {
  const found = get(of, path);
  return typeof found === "number" ? found : null;
};

export const digits = (x: number | null, most = 1, least = 0): string =>
  x === null ? "–" : x.toLocaleString("en", { maximumFractionDigits: most, minimumFractionDigits: least });
const ms = (s: number | null): number | null => (s === null ? null : s * 1000);

/** Returns the MOS of a call; null for any other application, and for a call without a measured packet. */
export const mosOf = (app: Tree): number | null => number(app, "voip", "mos");

/** Returns how satisfied callers are at a given MOS, and the tone of this verdict.   Source: ITU-T G.107 Annex B, table
 * B.1. */
export function satisfaction(mos: number | null): [string, Card["tone"]] {
  if (mos === null) return ["not measured", "plain"];
  if (mos >= 4.34) return ["very satisfied", "good"];
  if (mos >= 4.03) return ["satisfied", "good"];
  if (mos >= 3.6) return ["some dissatisfied", "fair"];
  if (mos >= 3.1) return ["many dissatisfied", "fair"];
  if (mos >= 2.58) return ["nearly all dissatisfied", "bad"];
  return ["not recommended", "bad"];
}

const graded = (grade: string): Card["tone"] => (/^(A\+?|good|excellent)$/.test(grade) ? "good" : /^(B|C|fair)$/.test(grade) ? "fair" : /^(D|F|poor)$/.test(grade) ? "bad" : "plain");

function latency(summary: Summary): Card {
  const { induced_ms: induced, induced_p99_ms: high, grade, from } = summary.latency;
  return {
    title: "Delay that load adds", value: induced === null ? "–" : `${digits(induced, induced < 10 ? 1 : 0)} ms`,
    verdict: grade === null ? "" : `grade ${grade}`, tone: grade === null ? "plain" : graded(grade),
    lines: from === null ? [] : [`${digits(high ?? null, 0)} ms at most for 99 % of packets`, `measured at ${from.replace(/^(app|link)\./, "")}`], number: induced, better: -1, app: "", kind: "",
  };
}

type Make = (app: Tree, summary: Summary) => Omit<Card, "app" | "kind">;

/** The functions that make an application's card, by its kind. Kinds that are not listed use `transfers`, which shows
 * the goodput. */
const KINDS: Record<string, Make> = {
  voip: (app) => {
    const [mos, half] = [mosOf(app), number(app, "voip", "delay_ms", "p50")];
    const [verdict, tone] = satisfaction(mos);
    return { title: "quality", value: `MOS ${digits(mos, 1, 1)}`, verdict, tone, number: mos, better: 1,
      lines: mos === null ? [] : [half === null ? "" : `${digits(half, 0)} ms one way (median)`, `${digits(number(app, "voip", "plr_percent"))} % lost or late`] };
  },
  web: (app) => {
    const median = number(app, "web", "page_load_s", "median");
    return { title: "page load", value: `${digits(median, 2)} s`, verdict: "median", tone: "plain", number: median, better: -1,
      lines: [`${digits(number(app, "web", "pages"), 0)} pages`, `95 % load within ${digits(number(app, "web", "page_load_s", "p95"), 2)} s`] };
  },
  game: (app) => {
    const p99 = Math.max(number(app, "delay_ms", "p99") ?? 0, number(app, "delay_ms_reverse", "p99") ?? 0);
    return { title: "packet delay, one way", value: `${digits(p99, 0)} ms`, verdict: "99th percentile", tone: "plain", number: p99, better: -1,
      lines: [`up: ${digits(number(app, "game", "up", "lost_percent"))} % lost, ${digits(number(app, "game", "up", "late_percent"))} % late`,
        `down: ${digits(number(app, "game", "down", "lost_percent"))} % lost, ${digits(number(app, "game", "down", "late_percent"))} % late`] };
  },
  messages: (app) => {
    const median = ms(number(app, "files", "median_s"));
    return { title: "message delay", value: `${digits(median, 0)} ms`, verdict: "median", tone: "plain", number: median, better: -1,
      lines: [`99th percentile ${digits(ms(number(app, "files", "p99_s")), 0)} ms`, `${digits(number(app, "files", "done"), 0)} messages`] };
  },
  video: (app) => {
    const [rate, stalls] = [number(app, "video", "mean_bitrate_mbit"), number(app, "video", "stalls")];
    return { title: "bit rate", value: `${digits(rate, 2)} Mbit/s`, verdict: stalls === 0 ? "no stall" : `${digits(stalls, 0)} stalls`, tone: stalls === 0 ? "good" : "bad",
      number: rate, better: 1, lines: [`starts after ${digits(number(app, "video", "startup_s"), 1)} s`, `stalled for ${digits(number(app, "video", "stalled_s"), 1)} s`] };
  },
  ping: (app) => {
    const [mean, grade] = [number(app, "ping", "rtt_ms", "p50"), get(app, ["ping", "grade"])];
    return { title: "round-trip time", value: `${digits(mean, mean !== null && mean < 10 ? 1 : 0)} ms`, verdict: typeof grade === "string" ? `grade ${grade}` : "median", number: mean, better: -1,
      tone: typeof grade === "string" ? graded(grade) : "plain", lines: [`${digits(number(app, "ping", "lost_percent"))} % lost`, `longest ${digits(number(app, "ping", "rtt_ms", "max"), 0)} ms`] };
  },
};

const transfers: Make = (app, summary) => {
  const rates: [string, number][] = [["", number(app, "goodput_mbit") ?? 0], [" down", number(app, "goodput_mbit_reverse") ?? 0]];
  const [way, rate] = rates.sort((a, b) => b[1] - a[1])[0] ?? ["", 0];
  const took = number(app, "files", "median_s");
  const fairness = number(app, "fairness");
  const wire = number(app, way === "" ? "wire_bytes" : "wire_bytes_reverse");
  return { title: `goodput${way}`, value: `${digits(rate, 2, 2)} Mbit/s`, verdict: "", tone: "plain", number: rate, better: 1,
    lines: [wire === null ? "" : `${digits((8e-6 * wire) / (summary.duration_s - summary.warm_up_s), 2, 2)} Mbit/s with headers`, took === null ? "" : `${digits(took, 2)} s per file (median)`, fairness === null ? "" : `Jain's index of ${digits(number(app, "flows"), 0)} flows ${digits(fairness, 2)}`] };
};

/** Returns a card for the delay that load adds, and one for each application. */
export function cards(summary: Summary): Card[] {
  const apps = Object.entries(summary.apps).filter(([, app]) => isTable(app));
  return [latency(summary), ...apps.map(([name, app]) => ({ ...(KINDS[String(app["kind"])] ?? transfers)(app, summary), app: name, kind: String(app["kind"]) }))];
}

/** Returns the elements of the cards of `summary`. If the pinned run has the same card, its value is shown too. */
export function cardsOf(summary: Summary, pinned: Summary | null): HTMLElement[] {
  const before = new Map((pinned === null ? [] : cards(pinned)).map((card) => [`${card.app} ${card.title}`, card]));
  return cards(summary).map((card) => {
    const other = before.get(`${card.app} ${card.title}`);
    return h("article", { class: `card ${card.tone}`, "data-card": card.app || "latency" },
      h("h3", {}, card.app === "" ? card.title : card.app, card.app !== "" && h("span", { class: "of" }, ": ", ...explained(card.title))),
      h("p", { class: "value" }, ...explained(card.value)),
      card.verdict !== "" && h("p", { class: "verdict" }, ...explained(`${GLYPHS[card.tone]} ${card.verdict}`.trim())),
      ...card.lines.filter((l) => l !== "").map((line) => h("p", { class: "line" }, ...explained(line))),
      other !== undefined && h("p", { class: "pinned" }, `pinned: ${other.value}${comparison(card, other)}`));
  });
}

/** Returns a comparison with the pinned run's card `other`, such as ", now better (▼ lower)". The arrow shows whether
 * the number is higher or lower now. Empty if both cards show the same value or
 * one of them has no number. */
function comparison(card: Card, other: Card): string {
  if (card.number === null || other.number === null || card.value === other.value) return "";
  const risen = card.number > other.number;
  return `, now ${risen === card.better > 0 ? "better" : "worse"} (${risen ? "▲ higher" : "▼ lower"})`;
}
