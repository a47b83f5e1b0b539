// The steps of the tour as the page shows them, each run by WebAssembly.
//
//     node tour.mjs WASM > [{"title", "text", "template", "look", "task", "scenario"}, ...]
//
// `look` is `template` with the numbers of the run.

import { build } from "esbuild";
import { engine } from "./engine.mjs";

const contents = 'export { TOUR } from "./lessons"; export { facts, filled } from "./facts";';
const resolveDir = new URL("../src", import.meta.url).pathname;
const { outputFiles } = await build({ stdin: { contents, resolveDir, loader: "ts" }, bundle: true, format: "esm", write: false });
const { TOUR, facts, filled } = await import(`data:text/javascript;base64,${Buffer.from(outputFiles[0].contents).toString("base64")}`);

const core = await engine(process.argv[2]);
let before = null;
const steps = TOUR.map(({ title, text, look: template, task, scenario }) => {
  const now = facts(JSON.parse(core.run(JSON.stringify(scenario))));
  const look = filled(template, now, before);
  before = now;
  return { title, text, template, look, task, scenario };
});
process.stdout.write(JSON.stringify(steps));
