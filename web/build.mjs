// Builds the playground: one file that contains the page, its program, the simulator and the presets.
//
//     node build.mjs WASM PRESETS OUT

import { build } from "esbuild";
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { dirname } from "node:path";
import { deflateRawSync } from "node:zlib";

import { essays } from "./essays.mjs";

const MOST_BYTES = 2_500_000;

const [wasm, presets, out] = process.argv.slice(2);
if (out === undefined) {
  console.error("usage: node build.mjs WASM PRESETS OUT");
  process.exit(2);
}

const here = (name) => new URL(name, import.meta.url).pathname;

async function bundle(entry) {
  const { outputFiles } = await build({
    entryPoints: [here(entry)], bundle: true, minify: true, format: "iife", target: "es2022", charset: "utf8", write: false,
    legalComments: "none",
  });
  return outputFiles[0].text;
}

/** Escapes text so that it cannot end the script that contains it. */
const inScript = (text) => text.replaceAll("</script", "<\\/script").replaceAll("<!--", "<\\!--");

/** Returns the meaning of each word in `used`, from docs/glossary.md. `aliases` names the entries of words that have
 * another name there. */
async function glossary(used) {
  const aliases = { droptail: "drop-tail", codel: "AQM", fq_codel: "fair queueing", "99th percentile": "p99" };
  const rows = (await readFile(here("../docs/glossary.md"), "utf8")).matchAll(/^\| ([^|]+) \| ([^|]+) \|$/gm);
  const all = new Map([...rows].flatMap(([, names, means]) => names.split(", ").map((name) => [name, means.replace(/\[([^\]]*)\]\([^)]*\)/g, "$1").replaceAll("`", "")])));
  return Object.fromEntries(used.map((word) => {
    const means = all.get(aliases[word] ?? word);
    if (means === undefined) throw new Error(`docs/glossary.md has no entry for ${word}`);
    return [word, means];
  }));
}

const { outputFiles } = await build({
  stdin: { contents: '@import "uplot/dist/uPlot.min.css"; @import "./src/style.css";', loader: "css", resolveDir: here(".") },
  bundle: true, minify: true, write: false,
});
const data = (value) => JSON.stringify(value).replaceAll("<", "\\u003c");
const slug = (words) => words.toLowerCase().replace(/[^a-z0-9]+/g, "-").replace(/^-|-$/g, "");
const named = JSON.parse(await readFile(presets, "utf8"))
  .map((p) => ({ id: slug(p.group === "Examples" ? p.title : `${p.group.split(",")[0]} ${p.title}`), ...p }));
const texts = await essays();
const words = await glossary(["droptail", "MOS", "grade", "goodput", "BDP", "RTT", "99th percentile", "Jain's index", "codel", "fq_codel", "in flight", "congestion window", "slow start threshold", "smoothed round trip", "pacing rate"]);
const index = {
  addresses: { preset: "#preset/ID", essay: "#essay/ID/STEP" },
  presets: named.map(({ id, group, title }) => ({ id, group, title })),
  essays: texts.essays.map(({ id, title, summary, steps }) => ({ id, title, summary, steps: steps.map((s) => s.title) })),
};
const parts = {
  STYLE: outputFiles[0].text,
  INDEX: data(index),
  ESSAYS: data(texts),
  GLOSSARY: data(words),
  PRESETS: data(named),
  WASM: deflateRawSync(await readFile(wasm), { level: 9 }).toString("base64"),
  WORKER: inScript(await bundle("src/worker.ts")),
  MAIN: inScript(await bundle("src/main.ts")),
};
let page = await readFile(here("src/page.html"), "utf8");
for (const [name, text] of Object.entries(parts)) page = page.replace(`/*${name}*/`, () => text);
const size = Buffer.byteLength(page);
if (size > MOST_BYTES) {
  console.error(`build: the page has ${size} bytes; at most ${MOST_BYTES} are allowed`);
  process.exit(1);
}
await mkdir(dirname(out), { recursive: true });
await writeFile(out, page);
console.log(`${out}: ${(size / 1e6).toFixed(2)} MB (simulator ${(parts.WASM.length / 1e6).toFixed(2)} MB, program ${(parts.MAIN.length / 1e3).toFixed(0)} kB)`);
