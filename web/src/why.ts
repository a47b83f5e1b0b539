// The result of a run in plain words: how good the calls are and why, how long packets wait, what transfers get.

import { cards, digits, mosOf, number } from "./cards";
import { choice, get } from "./paths";
import { secondsText } from "./quantities";
import { directed, tables, ways, type Directed } from "./topology";
import type { Summary, Tree } from "./types";

/** The queue that a sentence describes. */
export interface Queue {
  /** Name of the queue's link. */
  link: string;
  /** The queue's discipline and buffer: "droptail, 250 packets". */
  name: string;
  /** The type of the discipline in the catalogue: A for a queue per flow (cbq: per class), B for active queue
   * management, C for a plain queue. */
  type: string;
}

/** A run to describe: `shown` is the link in the charts, `queueOf` describes the queue of any link. */
export interface Described {
  summary: Summary;
  tree: Tree;
  shown: string;
  queueOf(link: string): Queue;
}

const quoted = (name: string): string => `“${name}”`;

/** Describes the result of the run: the quality of the worst call and the reason for it or, without a call, how long
 * packets wait. */
export function why(run: Described): string {
  const calls = Object.entries(run.summary.apps)
    .flatMap(([name, app]) => { const mos = mosOf(app); return mos === null ? [] : [{ name, app, mos }]; })
    .sort((a, b) => a.mos - b.mos);
  const [worst] = calls;
  if (worst === undefined) return waits(run.summary, run.queueOf(run.shown));
  const { name, app, mos } = worst;
  const [who, then] = calls.length > 1 ? [`The worst call, ${quoted(name)}`, ","] : [name === "call" ? "The call" : `The call ${quoted(name)}`, ""];
  if (mos >= 4.03) return `${who}${then} is clear${clear(run, name, app)}.`;
  return `${who}${then} ${mos >= 3.1 ? "suffers" : "breaks up"}: ${broken(run, name, app)}.`;
}

/** Applications that send datagrams in one direction only; a call may also send in both. */
const ONE_WAY = ["voip", "cbr", "proshare"];

/** Returns the links that carry the packets of an application, to and from its first `servers` servers. If `servers`
 * is 1 and a call sends in both directions, only its stream to the server counts. */
function linksOf(tree: Tree, app: Tree, servers = Infinity): Directed[] {
  const { name, params } = choice(app["traffic"]) ?? { name: "", params: {} };
  const oneWay = ONE_WAY.includes(name) || (name === "burst" && params["transport"] === "udp");
  const isDown = oneWay && params["direction"] === "down";
  const isUp = oneWay && !isDown && (params["direction"] !== "both" || servers === 1);
  return ways(directed(tree), app).slice(0, servers).flatMap(({ there, back }) => [...(isDown ? [] : there), ...(isUp ? [] : back)]);
}

/** Returns the names of the links on a call's path. */
const wayOf = (tree: Tree, call: string): string[] =>
  linksOf(tree, tables(tree, "app").find(([name]) => name === call)?.[1] ?? {}, 1).map((link) => link.name);

/** Returns the link on a call's path for which `value` is greatest. Among equals, the shown link is preferred. */
function greatest({ tree, shown }: Described, call: string, value: (link: string) => number): string {
  const way = wayOf(tree, call);
  return way.reduce((best, link) => (value(link) > value(best) ? link : best), way.includes(shown) ? shown : way[0] ?? shown);
}

const wait = (summary: Summary) => (link: string): number => number(summary.links[link], "sojourn_ms", "p99") ?? 0;

/** Returns the other applications whose packets pass a link. */
const others = (tree: Tree, call: string, link: string): string[] =>
  tables(tree, "app").filter(([name, app]) => name !== call && linksOf(tree, app).some((l) => l.name === link)).map(([name]) => name);

/** Returns a queue's discipline without its buffer. */
const disciplineOf = (queue: Queue): string => queue.name.split(",")[0] ?? "";

const half = (app: Tree): string => `${digits(number(app, "voip", "delay_ms", "p50"), 0)} ms`;

/** Returns the reason why a call is clear. */
function clear(run: Described, call: string, app: Tree): string {
  const queue = run.queueOf(greatest(run, call, wait(run.summary)));
  const loads = others(run.tree, call, queue.link);
  const held = wait(run.summary)(queue.link);
  if (loads.length === 0) return `: nothing else uses the link, so its packets ${held > 0 ? "wait only for the link itself" : "do not wait in its queue"}`;
  const discipline = disciplineOf(queue);
  const reasons: Record<string, string> = { A: `${discipline} gives each flow a queue of its own`, B: `${discipline} keeps the queue short (it drops or marks a packet early, so that the sender slows down)` };
  return ` although ${loads.length === 1 ? `${quoted(loads[0] ?? "")} uses` : "others use"} the link: ${reasons[queue.type] ?? "the queue is short"}, so half of the call's packets arrive within ${half(app)}`;
}

/** Returns the reason why a call is broken: some packets are late, some are lost, or all are slow. */
function broken(run: Described, call: string, app: Tree): string {
  const [late, lost, missing] = ["late_percent", "lost_percent", "plr_percent"].map((key) => number(app, "voip", key) ?? 0) as [number, number, number];
  if (late < 1 && lost < 1) return `its packets arrive, but half of them only after ${half(app)}`;
  if (late < lost) return gone(run, call, digits(lost));
  const queue = run.queueOf(greatest(run, call, wait(run.summary)));
  const loads = others(run.tree, call, queue.link);
  const behind = loads.length === 0 ? "" : ` behind those of ${loads.length === 1 ? quoted(loads[0] ?? "") : "others"}`;
  const where = queue.type === "A" && loads.length > 0 ? `for their turn (${disciplineOf(queue)} serves the queues of all flows one after another)` : `${behind.trimStart()} in one queue (${queue.name})`.trimStart();
  return `its packets wait ${where}. Half of them take more than ${half(app)}, and ${digits(missing)} % ${lost < 0.05 ? "" : "are lost or "}come too late to be played`;
}

/** Returns where a call's packets are lost: on a link's wire, or in its queue (which may be so slow that no packet
 * leaves it). A link counts the drops of all flows together. So if packets are lost at several places on the call's
 * path, the call's own losses at each place are unknown. */
function gone(run: Described, call: string, percent: string): string {
  const { summary } = run;
  const blocked = greatest(run, call, (link) => Number(isBlocked(summary.links[link])));
  if (isBlocked(summary.links[blocked])) return `no packet gets through the queue of link ${blocked} (${run.queueOf(blocked).name})`;
  const dropped = (link: string): number => number(summary.links[link], "dropped_packets") ?? 0;
  const onWire = (link: string): number => number(summary.links[link], "drops", "link_loss") ?? 0;
  const places = wayOf(run.tree, call).filter((link) => dropped(link) > 0)
    .flatMap((link) => [...(onWire(link) > 0 ? [`link ${link} itself loses`] : []), ...(onWire(link) < dropped(link) ? [`the queue of link ${link} (${run.queueOf(link).name}) drops`] : [])]);
  const holes = "which leaves holes in the speech";
  if (places.length === 1) return `${places[0]} ${percent} % of its packets, ${holes}`;
  return `${places.map((place) => `${place} packets`).join(" and ")}${places.length === 0 ? "" : ". "}${percent} % of the call's packets are lost, ${holes}`;
}

/** Returns true if packets wait at a link, none has been delivered, and at most one has left the queue. (If several have
 * left, the queue is not blocked: they may still be on a wire whose delay is longer than the run.) */
const isBlocked = (link: Tree | undefined): boolean =>
  number(link, "delivered_packets") === 0 && (number(link, "backlog_packets") ?? 0) > 0 && (number(link, "sojourn_ms", "count") ?? 0) <= 1;

/** Returns a text about a queue that has no mean wait, or whose mean wait says nothing; null for any other queue. */
function unmeasured(link: Tree | undefined): string | null {
  if (isBlocked(link)) return "no packet gets through";
  return number(link, "sojourn_ms", "mean") !== null ? null : number(link, "offered_packets") === 0 ? "no packet arrives" : "no packet leaves the queue";
}

/** Describes in one sentence how long packets wait, for a run without a call. */
function waits(summary: Summary, { link, name }: Queue): string {
  const none = unmeasured(summary.links[link]);
  if (none !== null) return `Queue of link ${link} (${name}): ${none}.`;
  const mean = number(summary.links[link], "sojourn_ms", "mean");
  if (!mean) return `Packets do not wait in the queue of link ${link}.`;
  const held = `each packet waits ${digits(mean, mean < 10 ? 1 : 0)} ms on average in the queue of link ${link} (${name})`;
  return mean >= 100 ? `Whatever uses this link reacts slowly: ${held}.` : mean >= 20 ? `Packets queue: ${held}.` : `The link stays quick: ${held}.`;
}

/** Formats a duration; below a second, in a smaller unit. */
export const lasting = (seconds: number): string => (seconds < 1 ? secondsText(seconds) : `${digits(seconds)} s`);

/** Returns a sentence that says which part of the run the summary covers. */
export const span = (summary: Summary): string =>
  summary.warm_up_s > 0 ? `All numbers are of seconds ${digits(summary.warm_up_s, 3)} to ${digits(summary.duration_s, 3)} of the run.` : `All numbers are of the whole run of ${lasting(summary.duration_s)}.`;

/** Kinds of applications whose purpose is goodput. */
const BULK = ["ftp", "short", "burst", "bittorrent"];

/** Returns the sum of the transfers' goodputs, from clients to servers ("up") and back ("down"), as texts. An application
 * counts only in the direction in which it has more goodput. Returns an empty list if all goodputs are 0. */
function transfers(summary: Summary): string[] {
  const apps = Object.values(summary.apps).filter((app) => BULK.includes(String(app["kind"])));
  const rates: [string, number][] = [["up", 0], ["down", 0]];
  for (const app of apps) {
    const both = [number(app, "goodput_mbit") ?? 0, number(app, "goodput_mbit_reverse") ?? 0] as const;
    rates[both[1] > both[0] ? 1 : 0]![1] += Math.max(...both);
  }
  const some = rates.filter(([, rate]) => rate > 0);
  return some.map(([way, rate]) => `${digits(rate, 2, 2)} Mbit/s${some.length > 1 ? ` ${way}` : ""}`);
}

/** Summarises the run in one sentence: the wait in the queue of `link`, the quality of the worst call, the page load time
 * and the rate of transfers. `queue` is the queue's discipline and buffer, for the sentence. */
export function sentence(summary: Summary, link: string, queue: string): string {
  const parts = cards(summary);
  const calls = parts.filter((c) => c.kind === "voip").sort((a, b) => (a.number ?? Infinity) - (b.number ?? Infinity));
  const [call] = calls;
  const page = parts.find((c) => c.kind === "web");
  const mean = number(summary.links[link], "sojourn_ms", "mean");
  const grade = get(summary.links[link], ["grade"]);
  const most = number(summary.links[link], "sojourn_ms", "p99");
  const waits = unmeasured(summary.links[link]) ?? (mean ? `packets wait ${digits(mean, mean < 10 ? 1 : 0)} ms on average, 99 % of them less than ${digits(most, 0)} ms` : "packets do not wait");
  const words = [`Queue of link ${link} (${queue}): ${waits}${typeof grade === "string" ? ` (grade ${grade})` : ""}`];
  if (call) words.push(`the ${calls.length > 1 ? "worst " : ""}call ${call.number === null ? `is ${call.verdict}` : `has ${call.value} (${call.verdict})`}`);
  if (page) words.push(`a page loads in ${page.value}`);
  const rates = transfers(summary);
  if (rates.length > 0) words.push(`transfers get ${rates.join(" and ")}`);
  return `${words.join("; ")}.`;
}
