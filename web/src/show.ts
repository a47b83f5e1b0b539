// Shows a run: sentences, charts, cards and the call; or the problems with its scenario.

import { drawCall } from "./call";
import { cardsOf } from "./cards";
import { Board, window } from "./charts";
import { byId, h, put } from "./dom";
import { mark } from "./form";
import type { Lab } from "./lab";
import { choice, get } from "./paths";
import { limit, limitText } from "./quantities";
import { explain, explained } from "./terms";
import type { Charts, Description, Json, Problem, Tree } from "./types";
import { lasting, sentence, span, why, type Queue } from "./why";

export const board = new Board(byId("delay-chart"), byId("rate-chart"), byId("cdf-chart"));

/** Returns the link shown in the charts: the chosen link or, if the run has no link of this name, its first link. */
export function shownLink(charts: Charts, link: string): string {
  return Object.hasOwn(charts.links, link) ? link : (Object.keys(charts.links)[0] ?? "");
}

let types = new Map<string, string>();
/** The default queue, which a link has if its scenario sets none. */
let standard: Json | undefined;
/** Returns the type of a queue's discipline, as in the catalogue. `queue` is the queue's description ("droptail, 250 packets"). */
const typeOf = (queue: string): string => types.get(queue.split(",")[0] ?? "") ?? "";

export function watch(lab: Lab, { catalogue, schema }: Description): void {
  types = new Map(catalogue.qdiscs.map((d) => [d.name, d.type ?? ""]));
  standard = get(schema, ["$defs", "Link", "properties", "queue", "default"]);
  lab.listen({
    changed: () => {
      const { dataset } = document.body;
      dataset["asked"] = String(Number(dataset["asked"] ?? 0) + 1);
      state(lab);
    },
    shown: (ms) => {
      if (ms !== null) ran(lab, ms);
      redraw(lab);
      state(lab);
    },
    problems: (problems) => {
      report(lab, problems);
      state(lab);
    },
    progress: (done) => {
      byId("stats").textContent = `running: ${Math.round(100 * done)} %`;
      byId<HTMLProgressElement>("done").value = done;
    },
  });
  byId("stop").addEventListener("click", () => {
    lab.stop();
    byId("preset").focus();
  });
}

/** A run that takes longer can be stopped.   Unit: ms. */
const LONG_MS = 1000;
let long = 0;

/** Offers to stop a long run. For tests, also records whether the current scenario is still running. */
function state(lab: Lab): void {
  document.body.dataset["state"] = lab.busy ? "running" : "settled";
  if (lab.busy && long === 0) {
    byId<HTMLProgressElement>("done").value = 0;
    long = setTimeout(() => {
      byId("running").hidden = false;
      if (lab.shown === null) byId("why").textContent = "Simulating …";
    }, LONG_MS);
  }
  if (lab.busy) return;
  clearTimeout(long);
  long = 0;
  byId("running").hidden = true;
}

/** Shows how long the run took, and counts runs for tests. */
function ran(lab: Lab, ms: number): void {
  const { dataset } = document.body;
  dataset["runs"] = String(Number(dataset["runs"] ?? 0) + 1);
  dataset["ms"] = ms.toFixed(1);
  const seconds = lab.shown?.result.summary.duration_s ?? 0;
  byId("stats").textContent = `${lasting(seconds)} simulated in ${ms < 1000 ? `${ms.toFixed(0)} ms` : `${(ms / 1000).toFixed(1)} s`}`;
}

/** Shows each problem at its field. Problems without a field are shown above the charts. */
function report(lab: Lab, problems: Problem[]): void {
  const rest = mark(byId("controls"), problems);
  const lines = rest.map((p) => (p.path === "" ? p.message : `${p.path}: ${p.message}`));
  put(byId("problems"), ...lines.map((line) => h("p", {}, line)));
  document.body.classList.toggle("stale", lab.stale);
  const name = lab.shown?.tree["name"] ?? "unnamed";
  const what = [!lab.stopped && "This scenario cannot run.", lab.shown !== null && `Everything below shows the last run (${name}).`];
  byId("stale").textContent = lab.stale ? what.filter(Boolean).join(" ") : "";
  if (lab.shown === null) byId("why").textContent = "";
  if (lab.stale) byId("stats").textContent = "";
}

function redraw(lab: Lab): void {
  const { shown, pinned } = lab;
  if (shown === null) return;
  const { charts, summary } = shown.result;
  const link = shownLink(charts, shown.link);
  board.draw(charts, link, pinned?.result.charts ?? null);
  put(byId("cards"), ...cardsOf(summary, pinned?.result.summary ?? null));
  const queueOf = (name: string): Queue => ({ link: name, name: queueName(shown.tree, name), type: typeOf(queueName(shown.tree, name)) });
  explain(byId("why"), why({ summary, tree: shown.tree, shown: link, queueOf }));
  explain(byId("sentence"), `${sentence(summary, link, queueName(shown.tree, link))} ${span(summary)}`);
  byId("rate-title").textContent = `Rate of each flow with headers (Mbit/s, averaged over ${window(charts).toFixed(1)} s)`;
  byId("delay-title").textContent = `Delay in the queue of link ${link} (ms)`;
  byId("pin").textContent = pinned === null ? "Pin this run" : "Unpin";
  byId("pin").setAttribute("aria-pressed", String(pinned !== null));
  put(byId("pinned"), ...(pinned === null ? [] : [h("p", {}, h("b", {}, "Before (dashed): "), ...explained(sentence(pinned.result.summary, link, queueName(pinned.tree, link))))]));
  drawCall(shown.result, pinned?.result ?? null);
}

/** Returns the description of a link's queue: "droptail, 250 packets". A scenario that was not run may have no valid queue. */
export function queueName(of: Tree, name: string): string {
  const queue = choice(get(of, ["link", name.replace(/^~/, ""), "queue"]) ?? standard);
  const size = queue?.params["limit"];
  if (queue === null) return "unknown";
  const [value, unit] = (typeof size === "string" ? limit(size) : null) ?? [NaN, "p"];
  if (Number.isNaN(value)) return queue.name;
  return `${queue.name}, ${limitText(value, unit)}`;
}
