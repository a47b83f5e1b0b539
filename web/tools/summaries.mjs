// Prints the summaries of scenarios run in WebAssembly, as the page's worker makes them.
//
//     node summaries.mjs WASM < [TEXT, ...] > [SUMMARY, ...]
//
// The input is a JSON list of scenarios, each as text in JSON or TOML. The output is a JSON list of summaries, each as
// JSON text.

import { readFileSync } from "node:fs";
import { engine } from "./engine.mjs";

const core = await engine(process.argv[2]);
const summaries = JSON.parse(readFileSync(0, "utf8")).map((text) => {
  const read = text.startsWith("{") ? { tree: null } : core.read(text);
  if (read.problems) return JSON.stringify({ problems: read.problems });
  const out = core.run(read.tree === null ? text : JSON.stringify(read.tree));
  const [begin, end] = ['{"summary":', ',"charts":'];
  // the text itself, not its parsed form, because the test compares bytes
  return out.startsWith(begin) ? out.slice(begin.length, out.lastIndexOf(end)) : out;
});
process.stdout.write(JSON.stringify(summaries));
