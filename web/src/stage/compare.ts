// The differences between the panes' runs: the numbers from their summaries, side by side.

import { cards, number } from "../cards";
import { h } from "../dom";
import { get, isTable, set, type Path } from "../paths";
import { explained } from "../terms";
import type { Json } from "../types";
import type { Shown } from "./pane";

const ms = (x: number | null): string => (x === null ? "–" : `${x < 10 ? x.toFixed(1) : x.toFixed(0)} ms`);
const count = (x: number | null): string => (x === null ? "–" : x.toLocaleString("en"));

/** Returns the name and value of each measure of a run. */
function measures({ result: { summary }, link }: Shown): [string, string][] {
  const of = summary.links[link];
  return [
    ["wait in the queue, mean", ms(number(of, "sojourn_ms", "mean"))],
    ["wait, 99 % are below", ms(number(of, "sojourn_ms", "p99"))],
    ["longest wait", ms(number(of, "sojourn_ms", "max"))],
    ["packets dropped", count(number(of, "dropped_packets"))],
    ["packets marked", count(number(of, "marked_packets"))],
    ...cards(summary).filter((card) => card.app !== "").map((card): [string, string] => [`${card.app}: ${card.title}`, `${card.value}${card.verdict === "" ? "" : ` (${card.verdict})`}`]),
  ];
}

/** Returns the values of a scenario, each with its path (in JSON). A list without tables counts as one value. */
function leaves(of: Json, path: Path = []): [string, string][] {
  const inner = isTable(of) || (Array.isArray(of) && of.some((value) => typeof value === "object"));
  if (inner) return Object.entries(of).flatMap(([key, value]) => leaves(value, [...path, key]));
  return [[JSON.stringify(path), Array.isArray(of) ? of.join(" and ") : String(of)]];
}

/** Tables of a scenario whose keys are names. */
const NAMED = ["app", "link", "tcp"];

/** Maximum number of values that are added to a title. */
const MOST_VALUES = 2;

/** Returns the runs with titles that differ: equal titles get the values in which the scenarios differ ("fq_codel, flows
 * 8"). A value of a link (except the shown queue), an application or a TCP stack has the name of its table ("up delay
 * 5ms"). If only some scenarios have this table, no value is given ("without upload"). */
export function distinguish(runs: Shown[]): Shown[] {
  const bare = ({ title }: Shown): string => title.replace(/^pinned: /, "");
  return runs.map((run) => {
    const trees = runs.filter((other) => bare(other) === bare(run)).map(({ tree }) => tree);
    const alike = trees.map((tree) => new Map(leaves(tree)));
    const queue = ["link", run.link.replace(/^~/, ""), "queue"];
    // a discipline without parameters may be written as a word or as a table
    const same = [JSON.stringify(["name"]), JSON.stringify(queue)];
    const paths = [...new Set(alike.flatMap((of) => [...of.keys()]))].filter((path) => !same.includes(path) && new Set(alike.map((of) => of.get(path))).size > 1);
    const own = new Map(leaves(run.tree));
    const values = new Set(paths.map((path) => {
      const keys = JSON.parse(path) as string[];
      const table = keys.slice(0, 2);
      const [kind = "", name = ""] = table;
      if (NAMED.includes(kind) && trees.some((tree) => get(tree, table) === undefined)) return `${get(run.tree, table) === undefined ? "without" : "with"} ${name}`;
      const isPrefixed = NAMED.includes(kind) && !queue.every((key, i) => key === keys[i]);
      // the last key that is not a number in a list
      const key = keys.reverse().find((k) => !/^\d+$/.test(k)) ?? "";
      return `${isPrefixed ? `${name} ` : ""}${key} ${own.get(path) ?? "default"}`;
    }));
    return { ...run, title: [run.title, ...[...values].slice(0, MOST_VALUES), ...(values.size > MOST_VALUES ? ["…"] : [])].join(", ") };
  });
}

/** Returns a table of the measures in which the runs differ. */
export function differences(runs: Shown[]): HTMLElement {
  const all = runs.map((run) => new Map(measures(run)));
  const names = [...new Set(all.flatMap((of) => [...of.keys()]))];
  const rows = names.map((name) => [name, ...all.map((of) => of.get(name) ?? "–")]).filter(([, ...values]) => new Set(values).size > 1);
  // the experiments without their queues: if these are equal, so are the load, the network and the seed
  const rest = new Set(runs.map(({ tree, link }) => { const copy = structuredClone(tree); set(copy, ["link", link.replace(/^~/, ""), "queue"], null); return JSON.stringify(copy); }));
  return h("table", {}, h("caption", {}, rest.size === 1 ? "What differs, with the same load and seed" : "What differs; more than the queue was changed"),
    h("thead", {}, h("tr", {}, h("th", { scope: "col" }, "measure"), ...runs.map((run) => h("th", { scope: "col" }, run.title)))),
    h("tbody", {}, ...rows.map(([name, ...values]) => h("tr", {}, h("th", { scope: "row" }, ...explained(name ?? "")), ...values.map((value) => h("td", {}, value))))));
}
