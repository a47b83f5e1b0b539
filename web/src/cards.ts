// What the people behind the link get, in words and numbers of the summary.

import { h } from "./dom";
import { get, isTable } from "./paths";
import type { Json, Summary, Tree } from "./types";

interface Card {
  title: string;
  value: string;
  /** What the value means, in a word; with a glyph, so that no colour is needed. */
  verdict: string;
  tone: "good" | "fair" | "bad" | "plain";
  lines: string[];
  /** The number behind `value`, to compare runs by. */
  number: number | null;
  /** 1: more is better; -1: less is. */
  better: 1 | -1;
  app: string;
}

const GLYPHS = { good: "●", fair: "◐", bad: "○", plain: "" };

const number = (of: Json | undefined, ...path: string[]): number | null => {
  const found = get(of, path);
  return typeof found === "number" ? found : null;
};

const text = (x: number | null, digits = 1, least = 0): string =>
  x === null ? "–" : x.toLocaleString("en", { maximumFractionDigits: digits, minimumFractionDigits: least });
const ms = (s: number | null): number | null => (s === null ? null : s * 1000);

/** How satisfied callers are, by R.   Source: ITU-T G.107 Annex B, table B.1, as MOS. */
function satisfaction(mos: number | null): [string, Card["tone"]] {
  if (mos === null) return ["no call", "plain"];
  if (mos >= 4.34) return ["very satisfied", "good"];
  if (mos >= 4.03) return ["satisfied", "good"];
  if (mos >= 3.6) return ["some dissatisfied", "fair"];
  if (mos >= 3.1) return ["many dissatisfied", "fair"];
  if (mos >= 2.58) return ["nearly all dissatisfied", "bad"];
  return ["not recommended", "bad"];
}

const graded = (grade: string): Card["tone"] => (/^(A\+?|good|excellent)$/.test(grade) ? "good" : /^(B|C|fair)$/.test(grade) ? "fair" : /^(D|F|poor)$/.test(grade) ? "bad" : "plain");

function latency(summary: Summary): Card {
  const { induced_ms: induced, grade, from } = summary.latency;
  return {
    title: "Delay that load adds", value: induced === null ? "–" : `${text(induced, induced < 10 ? 1 : 0)} ms`,
    verdict: grade === null ? "" : `grade ${grade}`, tone: grade === null ? "plain" : graded(grade),
    lines: from === null ? [] : [`measured at ${from.replace(/^(app|link)\./, "")}`], number: induced, better: -1, app: "",
  };
}

type Make = (app: Tree, summary: Summary) => Omit<Card, "app">;

/** By kind of application; one that has no entry gets its goodput. */
const KINDS: Record<string, Make> = {
  voip: (app) => {
    const mos = number(app, "voip", "mos");
    const [verdict, tone] = satisfaction(mos);
    return { title: "Call", value: `MOS ${text(mos, 1, 1)}`, verdict, tone, number: mos, better: 1,
      lines: [`${text(number(app, "voip", "delay_ms", "p50"), 0)} ms one way (median)`, `${text(number(app, "voip", "plr_percent"))} % lost or late`] };
  },
  web: (app) => {
    const median = number(app, "web", "page_load_s", "median");
    return { title: "Pages", value: `${text(median, 2)} s`, verdict: "median to load", tone: "plain", number: median, better: -1,
      lines: [`${text(number(app, "web", "pages"), 0)} pages`, `95th percentile ${text(number(app, "web", "page_load_s", "p95"), 2)} s`] };
  },
  game: (app) => {
    const median = ms(number(app, "files", "median_s"));
    return { title: "Game", value: `${text(median, 0)} ms`, verdict: "median per message", tone: "plain", number: median, better: -1,
      lines: [`99th percentile ${text(ms(number(app, "files", "p99_s")), 0)} ms`, `${text(number(app, "files", "done"), 0)} messages`] };
  },
  video: (app) => {
    const [rate, stalls] = [number(app, "video", "mean_bitrate_mbit"), number(app, "video", "stalls")];
    return { title: "Video", value: `${text(rate, 2)} Mbit/s`, verdict: stalls === 0 ? "no stall" : `${text(stalls, 0)} stalls`, tone: stalls === 0 ? "good" : "bad",
      number: rate, better: 1, lines: [`starts after ${text(number(app, "video", "startup_s"), 1)} s`, `stalled for ${text(number(app, "video", "stalled_s"), 1)} s`] };
  },
  ping: (app) => {
    const [mean, grade] = [number(app, "ping", "rtt_ms", "p50"), get(app, ["ping", "grade"])];
    return { title: "Ping", value: `${text(mean, mean !== null && mean < 10 ? 1 : 0)} ms`, verdict: typeof grade === "string" ? `grade ${grade}` : "median", number: mean, better: -1,
      tone: typeof grade === "string" ? graded(grade) : "plain", lines: [`${text(number(app, "ping", "lost_percent"))} % lost`, `longest ${text(number(app, "ping", "rtt_ms", "max"), 0)} ms`] };
  },
};

const transfers: Make = (app) => {
  const rates: [string, number][] = [["", number(app, "goodput_mbit") ?? 0], [" down", number(app, "goodput_mbit_reverse") ?? 0]];
  const [way, rate] = rates.sort((a, b) => b[1] - a[1])[0] ?? ["", 0];
  const took = number(app, "files", "median_s");
  const fairness = number(app, "fairness");
  return { title: `Transfers${way}`, value: `${text(rate, 2)} Mbit/s`, verdict: "goodput", tone: "plain", number: rate, better: 1,
    lines: [took === null ? "" : `${text(took, 2)} s per file (median)`, fairness === null ? "" : `Jain's index of ${text(number(app, "flows"), 0)} flows ${text(fairness, 2)}`] };
};

function cards(summary: Summary): Card[] {
  const apps = Object.entries(summary.apps).filter(([, app]) => isTable(app));
  return [latency(summary), ...apps.map(([name, app]) => ({ ...(KINDS[String(app["kind"])] ?? transfers)(app, summary), app: name }))];
}

/** A card for the link's delay and one per application, each beside the pinned run's. */
export function cardsOf(summary: Summary, pinned: Summary | null): HTMLElement[] {
  const before = new Map((pinned === null ? [] : cards(pinned)).map((card) => [`${card.app} ${card.title}`, card]));
  return cards(summary).map((card) => {
    const other = before.get(`${card.app} ${card.title}`);
    return h("article", { class: `card ${card.tone}`, "data-card": card.app || "latency" },
      h("h3", {}, card.title, card.app !== "" && h("span", { class: "of" }, ` ${card.app}`)),
      h("p", { class: "value" }, card.value),
      h("p", { class: "verdict" }, `${GLYPHS[card.tone]} ${card.verdict}`.trim()),
      ...card.lines.filter((l) => l !== "").map((line) => h("p", { class: "line" }, line)),
      other !== undefined && h("p", { class: "pinned" }, `pinned: ${other.value}${change(card, other)}`));
  });
}

function change(card: Card, other: Card): string {
  if (card.number === null || other.number === null || card.number === other.number) return "";
  return (card.number - other.number) * card.better > 0 ? ", now better ▲" : ", now worse ▼";
}

/** The run in a sentence: what the queue of `link` adds, and what the people behind it get. `queue` names that queue. */
export function sentence(summary: Summary, link: string, queue: string): string {
  const parts = cards(summary);
  const call = parts.find((c) => c.title === "Call");
  const page = parts.find((c) => c.title === "Pages");
  const rates = Object.values(summary.apps)
    .filter((app) => KINDS[String(app["kind"])] === undefined)
    .map((app) => Math.max(number(app, "goodput_mbit") ?? 0, number(app, "goodput_mbit_reverse") ?? 0));
  const mean = number(summary.links[link], "sojourn_ms", "mean");
  const grade = get(summary.links[link], ["grade"]);
  const words = [`Behind ${queue}, packets wait ${mean === null ? "not at all" : `${text(mean, mean < 10 ? 1 : 0)} ms`}${typeof grade === "string" ? ` (grade ${grade})` : ""}`];
  if (call) words.push(`the call is worth ${call.value} (${call.verdict})`);
  if (page) words.push(`a page takes ${page.value}`);
  const rate = rates.reduce((a, b) => a + b, 0);
  if (rate > 0) words.push(`transfers get ${text(rate, 2)} Mbit/s`);
  return `${words.join("; ")}.`;
}
