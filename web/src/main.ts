// The playground: state, and what happens when it changes.

import { cardsOf, sentence } from "./cards";
import { Board, window } from "./charts";
import { Controls, type Desk } from "./controls";
import { byId, h, put } from "./dom";
import { Engine } from "./engine";
import { mark } from "./form";
import { decode, encode, inflate, unbase64 } from "./fragment";
import { facts, filled } from "./facts";
import { CLASS, FIRST, TOUR, type Lesson } from "./lessons";
import { choice, get } from "./paths";
import { limit, limitText } from "./quantities";
import { Schema } from "./schema";
import { bottleneck, directed } from "./topology";
import type { Preset, Problem, Result, Tree } from "./types";

const board = new Board(byId("delay-chart"), byId("rate-chart"), byId("cdf-chart"));
const presets = JSON.parse(byId("presets").textContent ?? "[]") as Preset[];

let engine: Engine;
let controls: Controls;
let tree: Tree = structuredClone(FIRST);
let link = bottleneck(tree);
/** The run that the page shows, and which of its links; `tree` may have changed since. */
let result: { result: Result; tree: Tree; link: string } | null = null;
let pinned: { result: Result; tree: Tree } | null = null;
/** The scenario to run after the one under way, whose result will be pinned. */
let toPin: { then: Tree } | null = null;
/** True if the current scenario was refused, so `result` belongs to an earlier one. */
let stale = false;

const desk: Desk = {
  get tree() { return tree; },
  get link() { return link; },
  set link(name) {
    link = name;
    if (result !== null && !stale) result.link = name;
  },
  changed(rebuild) {
    if (!directed(tree).some((l) => l.name === link)) link = bottleneck(tree);
    if (rebuild) controls.build(byId("controls"));
    else controls.update(byId("controls"));
    fade();
    byId<HTMLSelectElement>("preset").value = "";
    put(byId("notice"));
    engine.run(tree);
    remember();
    redraw();
  },
};

/** Fades the end of the controls while there is more to scroll to. */
function fade(): void {
  const column = byId("controls");
  column.classList.toggle("more", column.scrollTop + column.clientHeight < column.scrollHeight - 4);
}

/** Replaces the scenario. */
function open(next: Tree, look?: string): void {
  tree = structuredClone(next);
  link = look ?? bottleneck(tree);
  desk.changed(true);
}

// ------------------------------------------------------------------------------------------------ results

const watch = {
  result(answer: Result, ms: number, of: Tree): void {
    if (toPin !== null) {
      pinned = { result: answer, tree: of };
      const { then } = toPin;
      toPin = null;
      engine.run(then);
      return;
    }
    result = { result: answer, tree: of, link };
    report([]);
    document.body.dataset["runs"] = String(Number(document.body.dataset["runs"] ?? 0) + 1);
    document.body.dataset["ms"] = ms.toFixed(1);
    byId("stats").textContent = `${answer.summary.duration_s.toFixed(0)} s simulated in ${ms < 1000 ? `${ms.toFixed(0)} ms` : `${(ms / 1000).toFixed(1)} s`}`;
    redraw();
    fillTour();
  },
  problems(problems: Problem[]): void {
    toPin = null;
    report(problems);
  },
  progress(done: number): void {
    byId("stats").textContent = `running: ${Math.round(100 * done)} %`;
  },
  bug(message: string): void {
    toPin = null;
    report([{ path: "", message: `a bug in the simulator: ${message}` }]);
  },
};

/** Shows each problem at its field, and those without a field above the charts. */
function report(problems: Problem[]): void {
  stale = problems.length > 0;
  const rest = mark(byId("controls"), problems);
  const lines = rest.map((p) => (p.path === "" ? p.message : `${p.path}: ${p.message}`));
  put(byId("problems"), ...lines.map((line) => h("p", {}, line)));
  document.body.classList.toggle("stale", stale);
  byId("stale").textContent = !stale ? "" : result === null ? "This scenario cannot run." : `This scenario cannot run. Everything below shows the last run (${result.tree["name"] ?? "unnamed"}).`;
  if (stale) byId("stats").textContent = "";
}

function redraw(): void {
  if (result === null) return;
  const { charts, summary } = result.result;
  const shown = charts.links[result.link] !== undefined ? result.link : (Object.keys(charts.links)[0] ?? "");
  board.draw(charts, shown, pinned?.result.charts ?? null);
  put(byId("cards"), ...cardsOf(summary, pinned?.result.summary ?? null));
  byId("sentence").textContent = sentence(summary, shown, queueName(result.tree, shown));
  byId("rate-title").textContent = `Rate of each flow (Mbit/s, averaged over ${window(charts).toFixed(1)} s)`;
  byId("delay-title").textContent = `Delay in the queue of ${shown} (ms)`;
  byId("pin").textContent = pinned === null ? "Pin this run" : "Unpin";
  byId("pin").setAttribute("aria-pressed", String(pinned !== null));
  put(byId("pinned"), ...(pinned === null ? [] : [h("p", {}, h("b", {}, "Pinned (dashed): "), sentence(pinned.result.summary, shown, queueName(pinned.tree, shown)))]));
}

/** "droptail, 250 packets". */
function queueName(of: Tree, name: string): string {
  const queue = choice(get(of, ["link", name.replace(/^~/, ""), "queue"]));
  const size = queue?.params["limit"];
  if (queue === null) return "default";
  const [value, unit] = (typeof size === "string" ? limit(size) : null) ?? [NaN, "p"];
  if (Number.isNaN(value)) return queue.name;
  return `${queue.name}, ${limitText(value, unit)}`;
}

// ------------------------------------------------------------------------------------------------ link and TOML

let later = 0;
let own = "";

/** Writes the experiment into the address once changes have paused. */
function remember(): void {
  clearTimeout(later);
  later = setTimeout(async () => {
    own = await fragment();
    history.replaceState(null, "", own);
  }, 250);
}

const fragment = (): Promise<string> =>
  encode({ scenario: tree, ...(link === bottleneck(tree) ? {} : { link }), ...(pinned === null ? {} : { pinned: pinned.tree }) });

async function restore(): Promise<boolean> {
  if (location.hash === own) return false;
  const read = await decode(location.hash);
  if (read === null) return false;
  pinned = null;
  if (read.pinned) {
    toPin = { then: read.scenario };
    tree = read.scenario;
    link = read.link ?? bottleneck(tree);
    controls.build(byId("controls"));
    engine.run(read.pinned);
  } else open(read.scenario, read.link);
  return true;
}

async function copy(text: string, button: HTMLElement, what: string): Promise<void> {
  const label = button.textContent;
  try {
    await navigator.clipboard.writeText(text);
    button.textContent = `${what} copied`;
  } catch {
    // some browsers deny a file access to the clipboard: show the text, selected
    byId<HTMLTextAreaElement>("toml-text").value = text;
    byId<HTMLDialogElement>("toml").showModal();
    byId<HTMLTextAreaElement>("toml-text").select();
  }
  setTimeout(() => { button.textContent = label; }, 1500);
}

async function showToml(): Promise<void> {
  const written = await engine.toml(tree);
  byId<HTMLTextAreaElement>("toml-text").value = written.toml ?? (written.problems ?? []).map((p) => `# ${p.path}: ${p.message}`).join("\n");
  byId("toml-problem").textContent = "";
  byId<HTMLDialogElement>("toml").showModal();
  byId<HTMLTextAreaElement>("toml-text").setSelectionRange(0, 0);
  byId("toml-text").scrollTop = 0;
}

async function takeToml(): Promise<void> {
  const text = byId<HTMLTextAreaElement>("toml-text").value;
  const read = await engine.read(text, text.trimStart().startsWith("{"));
  if (read.tree === undefined || (read.problems ?? []).length > 0) {
    byId("toml-problem").textContent = (read.problems ?? []).map((p) => (p.path === "" ? p.message : `${p.path}: ${p.message}`)).join("\n");
    return;
  }
  byId<HTMLDialogElement>("toml").close();
  open(read.tree);
}

// ------------------------------------------------------------------------------------------------ presets, tour, class

function fillPresets(): void {
  const select = byId<HTMLSelectElement>("preset");
  for (const name of [...new Set(presets.map((p) => p.group))]) {
    const group = h("optgroup", { label: name });
    presets.forEach((p, i) => p.group === name && group.append(h("option", { value: String(i) }, p.title)));
    select.append(group);
  }
  select.addEventListener("change", async () => {
    const chosen = presets[Number(select.value)];
    if (select.value === "" || chosen === undefined) return;
    const { value } = select;
    const read = await engine.read(chosen.toml);
    if (read.tree !== undefined) open(read.tree);
    select.value = value;
  });
}

let step = 0;

/** Opens an experiment of the tour or the class; one that compares runs the previous experiment first and pins it. */
function teach(lesson: Lesson, before: Lesson | undefined): void {
  pinned = null;
  if (lesson.compare && before !== undefined) {
    toPin = { then: lesson.scenario };
    tree = structuredClone(lesson.scenario);
    link = bottleneck(tree);
    controls.build(byId("controls"));
    engine.run(before.scenario);
    remember();
  } else open(lesson.scenario);
}

function tour(to: number): void {
  step = Math.min(TOUR.length - 1, Math.max(0, to));
  const lesson = TOUR[step];
  if (lesson === undefined) return;
  const last = step === TOUR.length - 1;
  const panel = byId("tour");
  panel.hidden = false;
  put(panel,
    h("p", { class: "step" }, `Step ${step + 1} of ${TOUR.length}`),
    h("h2", { tabindex: "-1" }, lesson.title), h("p", {}, lesson.text), h("p", { class: "look" }, "…"),
    lesson.task !== undefined && h("p", { class: "task" }, lesson.task),
    h("div", { class: "buttons" },
      h("button", { type: "button", disabled: step === 0, onclick: () => tour(step - 1) }, "Back"),
      h("button", { type: "button", class: "primary", onclick: () => (last ? endTour() : tour(step + 1)) }, last ? "Done" : "Next"),
      h("button", { type: "button", onclick: endTour }, "Close")));
  panel.querySelector("h2")?.focus();
  teach(lesson, TOUR[step - 1]);
}

/** Fills the numbers of the step's run into its text; later changes to the experiment leave the text alone. */
function fillTour(): void {
  const lesson = TOUR[step];
  if (byId("tour").hidden || lesson === undefined || result === null || JSON.stringify(result.tree) !== JSON.stringify(lesson.scenario)) return;
  const look = byId("tour").querySelector(".look");
  if (look !== null) look.textContent = filled(lesson.look, facts(result.result), pinned === null ? null : facts(pinned.result));
}

function endTour(): void {
  byId("tour").hidden = true;
  byId("start-tour").focus();
}

function fillClass(): void {
  put(byId("questions"), ...CLASS.map((lesson, i) =>
    h("li", {}, h("h3", {}, lesson.title), h("p", {}, lesson.text), h("p", { class: "task" }, lesson.look),
      h("button", { type: "button", onclick: () => { byId<HTMLDialogElement>("class").close(); teach(lesson, CLASS[i - 1]); } }, "Open this experiment"))));
}

function listen(): void {
  byId("pin").addEventListener("click", () => {
    pinned = pinned === null ? result : null;
    remember();
    redraw();
  });
  byId("share").addEventListener("click", async () => {
    own = await fragment();
    history.replaceState(null, "", own);
    await copy(location.href, byId("share"), "Link");
  });
  byId("show-toml").addEventListener("click", showToml);
  byId("copy-toml").addEventListener("click", () => copy(byId<HTMLTextAreaElement>("toml-text").value, byId("copy-toml"), "TOML"));
  byId("take-toml").addEventListener("click", takeToml);
  byId("controls").addEventListener("scroll", fade, { passive: true });
  byId("controls").addEventListener("toggle", fade, { capture: true });
  addEventListener("resize", fade);
  byId("start-tour").addEventListener("click", () => tour(0));
  byId("show-class").addEventListener("click", () => byId<HTMLDialogElement>("class").showModal());
  for (const button of document.querySelectorAll("dialog .close")) button.addEventListener("click", () => button.closest("dialog")?.close());
  addEventListener("hashchange", () => { restore().catch(sayDamaged); });
}

const sayDamaged = (error: unknown): void => put(byId("notice"), h("p", {}, error instanceof Error ? error.message : String(error)));

async function start(): Promise<void> {
  const packed = unbase64(byId("wasm").textContent?.trim() ?? "");
  const wasm = (await inflate(packed)).buffer;
  const source = byId("worker").textContent ?? "";
  const [started, known] = await Engine.start(source, wasm, watch);
  engine = started;
  controls = new Controls(desk, known, new Schema(known.schema));
  byId("version").textContent = `bloatlab ${known.version}`;
  fillPresets();
  fillClass();
  listen();
  let restored = false;
  let damaged: unknown;
  try {
    restored = await restore();
  } catch (error) {
    damaged = error;
  }
  if (!restored) open(tree);
  if (damaged !== undefined) sayDamaged(damaged);
  document.body.dataset["ready"] = "true";
}

start().catch((error: unknown) => {
  put(byId("problems"), h("p", {}, `The playground cannot start in this browser: ${error instanceof Error ? error.message : String(error)}`));
});
