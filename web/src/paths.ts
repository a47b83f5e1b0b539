// Reads and sets values in a tree of tables, by their paths.

import type { Json, Tree } from "./types";

export type Path = readonly string[];

export const isTable = (value: Json | undefined): value is Tree =>
  typeof value === "object" && value !== null && !Array.isArray(value);

export function get(tree: Json | undefined, path: Path): Json | undefined {
  let place: Json | undefined = tree;
  for (const part of path) {
    if (Array.isArray(place)) place = place[Number(part)];
    else if (isTable(place) && Object.hasOwn(place, part)) place = place[part];
    else return undefined;
  }
  return place;
}

/** Keys that could change an object's prototype. `set` ignores paths with these keys. */
const RESERVED = ["__proto__", "constructor", "prototype"];

/** Sets the value at a path; undefined removes it. Creates missing tables on the path; a keyword on the path (`codel`) becomes a table of one key. */
export function set(tree: Tree, path: Path, value: Json | undefined): void {
  if (path.some((part) => RESERVED.includes(part))) return;
  let place: Json = tree;
  path.slice(0, -1).forEach((part) => {
    if (Array.isArray(place)) {
      place = place[Number(part)] ?? null;
      return;
    }
    if (!isTable(place)) return;
    const inner: Json | undefined = Object.hasOwn(place, part) ? place[part] : undefined;
    if (typeof inner === "string") place[part] = { [inner]: {} };
    else if (inner === undefined || inner === null) place[part] = {};
    place = place[part] as Json;
  });
  const last = path[path.length - 1];
  if (last === undefined) return;
  if (Array.isArray(place)) {
    if (value !== undefined) place[Number(last)] = value;
  } else if (isTable(place)) {
    if (value === undefined) delete place[last];
    else place[last] = value;
  }
}

/** Returns the name and the parameters of a choice (a keyword or a table of one key); null for any other value. */
export function choice(value: Json | undefined): { name: string; params: Tree } | null {
  if (typeof value === "string") return { name: value, params: {} };
  if (!isTable(value)) return null;
  const names = Object.keys(value);
  const name = names[0];
  if (name === undefined || names.length !== 1) return null;
  const params = value[name];
  return { name, params: isTable(params) ? params : {} };
}
