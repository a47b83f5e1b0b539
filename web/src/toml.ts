// Scenarios as text: the TOML dialog, files dropped on the page, and the presets.

import { copy } from "./address";
import { byId, h, put } from "./dom";
import type { Lab } from "./lab";
import type { Preset, Problem } from "./types";

/** Maximum size of a scenario file; larger files are refused. */
const MOST_BYTES = 1_000_000;

const lines = (problems: Problem[]): string => problems.map((p) => (p.path === "" ? p.message : `${p.path}: ${p.message}`)).join("\n");

export function listenToToml(lab: Lab): void {
  const text = byId<HTMLTextAreaElement>("toml-text");
  byId("show-toml").addEventListener("click", async () => {
    const written = await lab.engine.toml(lab.tree);
    text.value = written.toml ?? (written.problems ?? []).map((p) => `# ${p.path}: ${p.message}`).join("\n");
    byId("toml-problem").textContent = "";
    byId<HTMLDialogElement>("toml").showModal();
    text.setSelectionRange(0, 0);
    text.scrollTop = 0;
  });
  byId("copy-toml").addEventListener("click", () => copy(text.value, byId("copy-toml"), "TOML"));
  byId("take-toml").addEventListener("click", async () => {
    const read = await lab.engine.read(text.value, text.value.trimStart().startsWith("{"));
    if (read.tree === undefined || (read.problems ?? []).length > 0) {
      byId("toml-problem").textContent = lines(read.problems ?? []);
      return;
    }
    byId<HTMLDialogElement>("toml").close();
    lab.open(read.tree);
  });
}

/** Opens a scenario dropped on the page. For any other file, calls `refuse` with a line that says why. */
export function listenToFiles(lab: Lab, refuse: (line: string) => void): void {
  const carries = (event: DragEvent): boolean => event.dataTransfer?.types.includes("Files") ?? false;
  // without this listener, the browser would leave the page and show a file that is dropped on it
  document.addEventListener("dragover", (event) => {
    if (!carries(event)) return;
    event.preventDefault();
    document.body.classList.add("dropping");
  });
  document.addEventListener("dragleave", (event) => { if (event.relatedTarget === null) document.body.classList.remove("dropping"); });
  document.addEventListener("drop", (event) => {
    if (!carries(event)) return;
    event.preventDefault();
    document.body.classList.remove("dropping");
    const files = [...(event.dataTransfer?.files ?? [])];
    take(lab, files).catch((error: unknown) => refuse(error instanceof Error ? error.message : String(error)));
  });
}

async function take(lab: Lab, files: File[]): Promise<void> {
  const [file] = files;
  if (file === undefined || files.length > 1) throw new Error(`${files.length} files dropped; expected one scenario, in TOML or JSON`);
  const name = file.name.slice(0, 80);
  if (file.size > MOST_BYTES) throw new Error(`${name}: ${(file.size / 1e6).toFixed(1)} MB; a scenario has at most ${MOST_BYTES / 1e6} MB`);
  const bytes = await file.arrayBuffer().catch(() => { throw new Error(`${name}: not a file that can be read`); });
  let text: string;
  try {
    text = new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch {
    throw new Error(`${name}: not a text file; expected a scenario, in TOML or JSON`);
  }
  const read = await lab.engine.read(text, text.trimStart().startsWith("{"));
  const [problem] = read.problems ?? [];
  if (read.tree === undefined || problem !== undefined) throw new Error(`${name}: ${problem === undefined ? "not a scenario" : lines([problem])}`.replace(/\s+/g, " ").slice(0, 300));
  lab.open(read.tree);
}

/** The page's presets, in a list. */
export class Presets {
  readonly all = JSON.parse(byId("presets").textContent ?? "[]") as Preset[];

  constructor(private readonly lab: Lab) {
    const select = byId<HTMLSelectElement>("preset");
    for (const name of new Set(this.all.map((p) => p.group))) {
      const own = this.all.filter((p) => p.group === name);
      select.append(h("optgroup", { label: name }, ...own.map((p) => h("option", { value: p.id }, p.title))));
    }
    select.addEventListener("change", () => { this.open(select.value).catch(() => undefined); });
    lab.listen({ changed: () => { select.value = ""; } });
  }

  /** Opens the preset `id`; returns false if there is no such preset. */
  async open(id: string): Promise<boolean> {
    const chosen = this.all.find((p) => p.id === id);
    if (chosen === undefined) return false;
    const read = await this.lab.engine.read(chosen.toml);
    if (read.tree === undefined) return false;
    this.lab.open(read.tree);
    byId<HTMLSelectElement>("preset").value = id;
    return true;
  }
}

/** Shows a line above the charts for a problem that belongs to no field. */
export const notice = (line: string): void => put(byId("notice"), line !== "" && h("p", {}, line));
