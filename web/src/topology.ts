// Computes properties of a scenario's links: the bottleneck, the round trip through it, rates and delays.

import { choice, get, isTable, set, type Path } from "./paths";
import { rate, seconds, showSeconds } from "./quantities";
import type { Json, Tree } from "./types";

export interface Directed {
  /** The name in results. For the reverse direction of a link with `both_ways`, the name begins with ~. */
  name: string;
  /** The key of the link's table in the scenario. */
  key: string;
  from: string;
  to: string;
}

export const tables = (tree: Tree, name: string): [string, Tree][] => {
  const all = tree[name];
  return isTable(all) ? Object.entries(all).filter((e): e is [string, Tree] => isTable(e[1])) : [];
};

export function directed(tree: Tree): Directed[] {
  const found = tables(tree, "link").flatMap(([key, link]) => {
    const [from, to] = [String(link["from"] ?? ""), String(link["to"] ?? "")];
    const there = { name: key, key, from, to };
    return link["both_ways"] === true ? [there, { name: `~${key}`, key, from: to, to: from }] : [there];
  });
  return found.sort((a, b) => (a.name < b.name ? -1 : 1));
}

/** Cable modems that a link may have: DOCSIS 3.0 and 3.1. */
export const MODEMS = ["docsis", "docsis31"] as const;

/** Returns the path of the key that sets a link's long-term rate: the rate of its modem or shaper or, if these set no
 * rate, the link's own rate. */
export function ratePath(link: Tree, key: string): Path {
  const base = ["link", key];
  const modem = MODEMS.find((kind) => isTable(link[kind]));
  if (modem !== undefined) return [...base, modem, "flow", "max_sustained_rate"];
  const shaper = link["shaper"];
  if (isTable(shaper) && "max_sustained_rate" in shaper) return [...base, "shaper", "max_sustained_rate"];
  if (isTable(shaper) && get(shaper, ["htb", "rate"]) !== undefined) return [...base, "shaper", "htb", "rate"];
  return [...base, "rate"];
}

/** Returns the long-term rate of a link, in bit/s; NaN if the link has no rate. */
export function linkRate(tree: Tree, key: string): number {
  const link = get(tree, ["link", key]);
  if (!isTable(link)) return NaN;
  const values = [get(tree, ratePath(link, key)), link["rate"]].map((v) => quantity(v, rate));
  return Math.min(...values.filter((v) => !Number.isNaN(v)), Infinity) === Infinity
    ? NaN
    : Math.min(...values.filter((v) => !Number.isNaN(v)));
}

const quantity = (value: Json | undefined, read: (text: string) => number): number =>
  typeof value === "string" ? read(value) : typeof value === "number" ? value : NaN;

/** Returns the links of the shortest route from one node to another; null if there is none. Among routes with equally
 * many links, the route whose link names sort first. */
export function route(links: Directed[], from: string, to: string): Directed[] | null {
  const before = new Map<string, Directed | null>([[from, null]]);
  const line = [from];
  for (let node = line.shift(); node !== undefined; node = line.shift()) {
    if (node === to) break;
    for (const link of links) {
      if (link.from === node && !before.has(link.to)) {
        before.set(link.to, link);
        line.push(link.to);
      }
    }
  }
  if (!before.has(to)) return null;
  const path: Directed[] = [];
  for (let last = before.get(to); last !== null && last !== undefined; last = before.get(last.from)) path.unshift(last);
  return path;
}

/** The links from an application's client to one of its servers, and back. */
export interface BothWays {
  there: Directed[];
  back: Directed[];
}

/** Returns the links from an application's client to each of its servers, and back. */
export const ways = (links: Directed[], app: Tree): BothWays[] => {
  const servers = Array.isArray(app["to"]) ? app["to"] : [];
  const from = String(app["from"] ?? "");
  return servers.map((server) => ({
    there: route(links, from, String(server)) ?? [],
    back: route(links, String(server), from) ?? [],
  }));
};

/** Returns the links between an application's client and one of its servers, both ways, for the first client and server
 * that use link `name`. File transfers come before other applications. Returns null if no application uses the link. */
export function waysOver(tree: Tree, name: string): BothWays | null {
  const links = directed(tree);
  const apps = tables(tree, "app").sort((a, b) => Number(isTransfer(b[1])) - Number(isTransfer(a[1])));
  const uses = ({ there, back }: BothWays) => [...there, ...back].some((l) => l.name === name);
  return apps.flatMap(([, app]) => ways(links, app)).find(uses) ?? null;
}

/** Returns the links of `waysOver`; if no application uses the link, the link alone. */
export function roundTrip(tree: Tree, name: string): Directed[] {
  const both = waysOver(tree, name);
  return both === null ? directed(tree).filter((l) => l.name === name) : [...both.there, ...both.back];
}

const isTransfer = (app: Tree): boolean => choice(app["traffic"])?.name === "ftp";

const delay = (tree: Tree, link: Directed): number => {
  const value = get(tree, ["link", link.key, "delay"]);
  return typeof value === "string" ? seconds(value) : 0;
};

/** Returns the sum of the propagation delays of the round trip through a link (`roundTrip`), in s. */
export const baseRtt = (tree: Tree, name: string): number =>
  roundTrip(tree, name).reduce((sum, link) => sum + delay(tree, link), 0);

/** Scales the delays of both directions of the path so that their sum is `target` seconds. If all delays are 0 or one
 * of them is not a duration, they cannot be scaled, so all links of the path get the same delay. */
export function setBaseRtt(tree: Tree, name: string, target: number): void {
  const path = roundTrip(tree, name);
  const now = baseRtt(tree, name);
  const keys = [...new Set(path.map((l) => l.key))];
  if (now > 0) {
    for (const key of keys) {
      const own = path.find((l) => l.key === key);
      const value = own === undefined ? 0 : delay(tree, own);
      if (value > 0) set(tree, ["link", key, "delay"], showFine((value * target) / now));
    }
    return;
  }
  for (const key of keys) set(tree, ["link", key, "delay"], showFine(target / path.length));
}

/** Formats a time for a scenario, rounded to a microsecond. */
const showFine = (time: number): string => {
  const us = Math.round(time * 1e6);
  return us % 1e6 === 0 ? showSeconds(us / 1e6) : `${us / 1000}ms`;
};

/** Returns the directed link that is shown first: a link with a delivery process or, if there is none, the slowest
 * link. Among equally slow links, a link that carries data from an application's client is preferred. */
export function bottleneck(tree: Tree): string {
  const clients = new Set(tables(tree, "app").map(([, app]) => String(app["from"])));
  const order = directed(tree)
    .map((link) => ({ link, rate: get(tree, ["link", link.key, "delivery"]) === undefined ? linkRate(tree, link.key) : 0, upstream: upstream(tree, link, clients) }))
    .filter((l) => !Number.isNaN(l.rate))
    .sort((a, b) => a.rate - b.rate || Number(b.upstream) - Number(a.upstream));
  return order[0]?.link.name ?? directed(tree)[0]?.name ?? "";
}

const upstream = (tree: Tree, link: Directed, clients: Set<string>): boolean =>
  clients.has(link.from) ||
  tables(tree, "app").some(([, app]) =>
    ways(directed(tree), app).some(({ there }) => there.some((l) => l.name === link.name)));
