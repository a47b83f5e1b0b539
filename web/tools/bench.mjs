// Measures the CPU time of a scenario in WebAssembly under Node, in ms: the time of the first run, and the lower quartile
// and the median of the RUNS runs after the third.
//
//     node bench.mjs WASM RUNS < TEXT > {"first": ms, "quartile": ms, "median": ms}

import { readFileSync } from "node:fs";
import { engine } from "./engine.mjs";

const [wasm, runs] = process.argv.slice(2);
const core = await engine(wasm);
const text = readFileSync(0, "utf8");
const read = core.read(text, text.trimStart().startsWith("{"));
if (read.problems) throw new Error(JSON.stringify(read.problems));
const scenario = JSON.stringify(read.tree);
const times = [];
// the first three runs do not enter the quartiles, because the module is still being optimised
for (let i = 0; i < Number(runs) + 3; i++) {
  const before = process.cpuUsage();
  core.run(scenario);
  const { user, system } = process.cpuUsage(before);
  times.push((user + system) / 1000);
}
const first = times[0];
const sorted = times.slice(3).sort((a, b) => a - b);
const at = (share) => sorted[Math.floor(share * (sorted.length - 1))];
process.stdout.write(JSON.stringify({ first, quartile: at(0.25), median: at(0.5) }));
