// The path shown on the stage: from the sender of the traffic on the chosen link to its receiver, and back.

import { directed, route, tables, type Directed } from "../topology";
import { choice } from "../paths";
import type { Tree } from "../types";

export interface Way {
  /** Links from left to right; the chosen one is among them. */
  there: Directed[];
  back: Directed[];
  /** Index of the chosen link in `there`. */
  chosen: number;
}

/** Returns the links of the first file transfer whose data or ACKs use the link `name`. Without such a transfer,
 * returns those of the first application that uses the link; without one, this link and its reverse. */
export function wayThrough(tree: Tree, name: string): Way {
  const links = directed(tree);
  const isTransfer = (app: Tree) => Number(choice(app["traffic"])?.name === "ftp");
  const apps = tables(tree, "app").map(([, app]) => app).sort((a, b) => isTransfer(b) - isTransfer(a));
  for (const app of apps) {
    const servers = Array.isArray(app["to"]) ? app["to"] : [];
    for (const server of servers) {
      const [from, to] = [String(app["from"] ?? ""), String(server)];
      const [there, back] = [route(links, from, to) ?? [], route(links, to, from) ?? []];
      for (const [one, other] of [[there, back], [back, there]] as const) {
        const chosen = one.findIndex((link) => link.name === name);
        if (chosen >= 0) return { there: one, back: other, chosen };
      }
    }
  }
  const own = links.find((link) => link.name === name);
  if (own === undefined) return { there: [], back: [], chosen: 0 };
  return { there: [own], back: links.filter((l) => l.from === own.to && l.to === own.from).slice(0, 1), chosen: 0 };
}
