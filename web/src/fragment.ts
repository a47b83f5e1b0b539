// An experiment as the fragment of a link: JSON, deflated, in the letters of a URL.

import type { Tree } from "./types";

export interface Experiment {
  scenario: Tree;
  /** The link whose queue the charts show, if it is not the bottleneck. */
  link?: string;
  /** The scenario it is compared with. */
  pinned?: Tree;
}

const PREFIX = "#1=";

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

/** The experiment in a fragment; null for an empty one. Throws if it is damaged. */
export async function decode(fragment: string): Promise<Experiment | null> {
  if (fragment === "" || fragment === "#") return null;
  const damaged = "the link is damaged: its end, which holds the experiment, cannot be read";
  if (!fragment.startsWith(PREFIX)) throw new Error(damaged);
  try {
    const bytes = await inflate(unbase64(fragment.slice(PREFIX.length)));
    const read = JSON.parse(new TextDecoder().decode(bytes)) as Experiment;
    if (typeof read.scenario !== "object" || read.scenario === null) throw new Error(damaged);
    return read;
  } catch {
    throw new Error(damaged);
  }
}
