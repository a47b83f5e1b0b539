// Writes an experiment as the fragment of a URL, and reads it: deflated JSON in URL-safe base64.

import { isTable } from "./paths";
import type { Json, Tree } from "./types";

export interface Experiment {
  scenario: Tree;
  /** The link whose queue is shown in the charts, if it is not the bottleneck. */
  link?: string;
  /** The scenario with which the experiment is compared. */
  pinned?: Tree;
  /** Disciplines with which the experiment also runs, for comparison on the stage. */
  beside?: string[];
}

const PREFIX = "#1=";
/** Maximum number of characters in a fragment. */
const MOST_CHARACTERS = 500_000;
/** Maximum number of bytes in a fragment's inflated text. */
const MOST_BYTES = 2_000_000;
/** Maximum number of links and applications combined. */
const MOST_TABLES = 400;
/** Maximum nesting depth. Tables, lists and plain values each count as one level. */
const DEEPEST = 24;
/** Maximum number of disciplines with which an experiment also runs, for comparison. */
export const MOST_BESIDE = 3;

async function through(bytes: Uint8Array<ArrayBuffer>, stream: GenericTransformStream): Promise<Uint8Array<ArrayBuffer>> {
  const out = new Blob([bytes]).stream().pipeThrough(stream as ReadableWritablePair<Uint8Array<ArrayBuffer>, BufferSource>);
  return new Uint8Array(await new Response(out).arrayBuffer());
}

export const inflate = (bytes: Uint8Array<ArrayBuffer>): Promise<Uint8Array<ArrayBuffer>> =>
  through(bytes, new DecompressionStream("deflate-raw"));

export function unbase64(text: string): Uint8Array<ArrayBuffer> {
  return Uint8Array.from(atob(text.replaceAll("-", "+").replaceAll("_", "/")), (c) => c.charCodeAt(0));
}

export async function encode(experiment: Experiment): Promise<string> {
  const bytes = new TextEncoder().encode(JSON.stringify(experiment));
  const packed = await through(bytes, new CompressionStream("deflate-raw"));
  let text = "";
  for (const byte of packed) text += String.fromCharCode(byte);
  return PREFIX + btoa(text).replaceAll("+", "-").replaceAll("/", "_").replace(/=+$/, "");
}

/** Inflates a text. Fails, without reading further, as soon as the text exceeds `MOST_BYTES` bytes. */
async function inflated(packed: Uint8Array<ArrayBuffer>): Promise<string> {
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("deflate-raw") as ReadableWritablePair<Uint8Array<ArrayBuffer>, BufferSource>);
  const reader = stream.getReader();
  const decoder = new TextDecoder("utf-8", { fatal: true });
  let [text, size] = ["", 0];
  for (let part = await reader.read(); !part.done; part = await reader.read()) {
    size += part.value.length;
    if (size > MOST_BYTES) {
      await reader.cancel();
      throw new Error(LARGE);
    }
    text += decoder.decode(part.value, { stream: true });
  }
  return text + decoder.decode();
}

const DAMAGED = "the link is damaged: its end, which holds the experiment, cannot be read";
const LARGE = "the link is too large: it holds more than an experiment";

/** Returns true if a tree is so small that controls can be built for it. */
function fits(tree: Tree): boolean {
  const size = (of: unknown): number => (isTable(of as Json) ? Object.keys(of as Tree).length : 0);
  const depth = (of: Json, left: number): boolean => left > 0 && (typeof of !== "object" || of === null || Object.values(of).every((v) => depth(v, left - 1)));
  return size(tree["link"]) + size(tree["app"]) <= MOST_TABLES && depth(tree, DEEPEST);
}

/** Returns the experiment in a fragment; null if the fragment is empty.
 * Errors: the fragment is damaged or too large. */
export async function decode(fragment: string): Promise<Experiment | null> {
  if (fragment === "" || fragment === "#") return null;
  if (fragment.length > MOST_CHARACTERS) throw new Error(LARGE);
  if (!fragment.startsWith(PREFIX)) throw new Error(DAMAGED);
  let read: unknown;
  try {
    read = JSON.parse(await inflated(unbase64(fragment.slice(PREFIX.length))));
  } catch (error) {
    throw error instanceof Error && error.message === LARGE ? error : new Error(DAMAGED);
  }
  if (!isTable(read as Json)) throw new Error(DAMAGED);
  const { scenario, pinned, link, beside } = read as { [key: string]: Json };
  if (!isTable(scenario) || (pinned !== undefined && !isTable(pinned))) throw new Error(DAMAGED);
  if (!fits(scenario) || (pinned !== undefined && !fits(pinned))) throw new Error(LARGE);
  return { scenario, ...(typeof link === "string" ? { link } : {}), ...(pinned === undefined ? {} : { pinned }), ...(Array.isArray(beside) ? { beside: beside.filter((d) => typeof d === "string").slice(0, MOST_BESIDE) } : {}) };
}
