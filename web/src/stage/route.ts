// The path shown on the stage: from the sender of the traffic on the chosen link to its receiver, and back.

import { directed, waysOver, type BothWays, type Directed } from "../topology";
import type { Tree } from "../types";

/** The links from left to right (`there`), which include the chosen link, and the links from right to left (`back`). */
export interface Way extends BothWays {
  /** Index of the chosen link in `there`. */
  chosen: number;
}

/** Returns the links of the first file transfer whose data or ACKs use the link `name`. If there is no such
 * transfer, returns the links of the first application that uses the link. If no application uses the link, returns the
 * link and its reverse. */
export function wayThrough(tree: Tree, name: string): Way {
  const links = directed(tree);
  const both = waysOver(tree, name);
  if (both !== null) {
    const { there, back } = both;
    const index = (part: Directed[]) => part.findIndex((link) => link.name === name);
    return index(there) >= 0 ? { there, back, chosen: index(there) } : { there: back, back: there, chosen: index(back) };
  }
  const own = links.find((link) => link.name === name);
  if (own === undefined) return { there: [], back: [], chosen: 0 };
  return { there: [own], back: links.filter((l) => l.from === own.to && l.to === own.from).slice(0, 1), chosen: 0 };
}
