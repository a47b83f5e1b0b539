// Reads essays/*.md for build.mjs, which puts the essays into the page. The format of a file:
//
//     # Title
//     The summary: one paragraph.
//     ```json
//     {"scenario": {...}, "names": {"wait": "links.up.sojourn_ms.mean : ms"}}
//     ```
//     ## Title of a step
//     ```json
//     {"set": {"link.up.queue": {...}}, "remove": ["app.upload"], "compare": true, "look": "delay",
//      "stage": {"from": "5s", "until": "5.2s", "speed": 0.01}, "claims": ["wait > 2 * before.wait"]}
//     ```
//     Text.
//     ### Guess
//     The question.
//     - [claim] an answer, which is right if its claim holds
//     ### Look
//     What the run shows, with its numbers: {wait}.
//     ### Try
//     What to do next.
//
// `set` and `remove` change the previous step's scenario; in the first step, they change `scenario`. src/facts.ts says
// what may appear in braces.

import { readFile, readdir } from "node:fs/promises";

const FOLDER = new URL("essays/", import.meta.url);
const PARTS = ["guess", "look", "try"];
const LOOKS = ["delay", "call", "rate", "cdf", "cards"];

/** Splits a text into its paragraphs. */
const paragraphs = (text) => text.split(/\n\s*\n/).map((p) => p.trim()).filter((p) => p !== "");
const joined = (text) => text.split("\n").map((line) => line.trim()).join(" ");

/** Returns the first ```json block of a text, parsed, and the rest of the text. */
function settings(text, where) {
  const found = /```json\n([\s\S]*?)\n```/.exec(text);
  if (found === null) return [{}, text];
  try {
    return [JSON.parse(found[1]), text.replace(found[0], "")];
  } catch (error) {
    throw new Error(`${where}: ${error.message}`);
  }
}

/** Returns a copy of `tree` in which the value at a dotted path is set or, if `value` is undefined, removed. */
function changed(tree, path, value) {
  const copy = structuredClone(tree);
  const parts = path.split(".");
  const last = parts.pop();
  let place = copy;
  for (const part of parts) place = place[part] ??= {};
  if (value === undefined) delete place[last];
  else place[last] = value;
  return copy;
}

function step(text, where, before) {
  const [head, ...rest] = text.split(/^### /m);
  const [title, ...body] = head.split("\n");
  const [set, prose] = settings(body.join("\n"), where);
  for (const key of Object.keys(set)) {
    if (!["set", "remove", "compare", "look", "stage", "claims"].includes(key)) throw new Error(`${where}: unknown key ${key}`);
  }
  if (set.look !== undefined && !LOOKS.includes(set.look)) throw new Error(`${where}: look: expected one of ${LOOKS.join(", ")}`);
  let scenario = before;
  for (const path of set.remove ?? []) scenario = changed(scenario, path, undefined);
  for (const [path, value] of Object.entries(set.set ?? {})) scenario = changed(scenario, path, value);
  const found = { title: title.trim(), text: paragraphs(prose).map(joined), scenario, compare: set.compare === true, claims: set.claims ?? [] };
  if (set.look !== undefined) found.look_at = set.look;
  if (set.stage !== undefined) found.stage = set.stage;
  for (const part of rest) {
    const [name, ...lines] = part.split("\n");
    const key = name.trim().toLowerCase();
    if (!PARTS.includes(key)) throw new Error(`${where}: unknown part ${name}`);
    found[key] = key === "guess" ? guess(lines.join("\n"), where) : paragraphs(lines.join("\n")).map(joined);
  }
  return found;
}

function guess(text, where) {
  const [question, list] = text.split(/^(?=- )/m, 1).concat(text.slice(text.search(/^- /m)));
  const options = list.split(/^- /m).filter((o) => o.trim() !== "").map((option) => {
    const parts = /^\[([^\]]+)\]\s+([\s\S]+)$/.exec(option.trim());
    if (parts === null) throw new Error(`${where}: an answer needs a claim: - [claim] answer`);
    return { claim: parts[1], text: joined(parts[2]) };
  });
  if (options.length < 2) throw new Error(`${where}: a guess needs two answers`);
  return { question: joined(question.trim()), options };
}

/** Parses an essay. */
export function essay(id, text) {
  const [head, ...rest] = text.split(/^## /m);
  const [{ scenario = {}, names = {} }, prose] = settings(head, id);
  const [title, ...summary] = paragraphs(prose);
  const steps = [];
  for (const part of rest) {
    const where = `${id}.md: ${part.split("\n", 1)[0].trim()}`;
    steps.push(step(part, where, steps.at(-1)?.scenario ?? scenario));
  }
  return { id, title: title.replace(/^# /, ""), summary: summary.map(joined).join(" "), names, steps };
}

/** Returns all essays, in the order of their file names (`1-bloat.md`), and the questions for a class (`class.md`). */
export async function essays() {
  const files = (await readdir(FOLDER)).filter((name) => name.endsWith(".md")).sort();
  const read = async (file) => essay(file.replace(/^\d+-|\.md$/g, ""), await readFile(new URL(file, FOLDER), "utf8"));
  const all = await Promise.all(files.map(read));
  return { essays: all.filter((e) => e.id !== "class"), questions: all.find((e) => e.id === "class") ?? null };
}
