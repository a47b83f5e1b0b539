// Parses texts with quantities, such as "5mbit", as the page does, and prints the numbers.
//
//     node quantities.mjs < [[KIND, TEXT], ...] > [NUMBER, ...]
//
// A text that the page refuses becomes null.

import { build } from "esbuild";
import { readFileSync } from "node:fs";

const entry = new URL("../src/quantities.ts", import.meta.url).pathname;
const { outputFiles } = await build({ entryPoints: [entry], bundle: true, format: "esm", write: false });
const { parse } = await import(`data:text/javascript,${encodeURIComponent(outputFiles[0].text)}`);
process.stdout.write(JSON.stringify(JSON.parse(readFileSync(0, "utf8")).map(([kind, text]) => parse(kind, text))));
