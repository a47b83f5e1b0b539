// Essays. Each step has an experiment, and text with numbers from its runs. A step with a question lets the visitor guess before it shows the answer.

import { byId, h, put } from "./dom";
import { filled, holds, type Source } from "./facts";
import { ALONE } from "./first";
import type { Lab } from "./lab";
import { explained } from "./terms";
import type { Tree } from "./types";

interface Guess {
  question: string;
  options: { text: string; claim: string }[];
}

/** The part of a run that the stage (the animation of packets) plays. Times are written as in a scenario; speed 1 is real time. */
export interface StageWindow {
  from: string;
  until: string;
  speed: number;
}

export interface Step {
  title: string;
  text: string[];
  scenario: Tree;
  /** True if the previous step's run is pinned for comparison. The text may then use the numbers of that run. */
  compare: boolean;
  /** Statements about the run, checked by a test in the browser. */
  claims: string[];
  look_at?: "delay" | "call" | "rate" | "cdf" | "cards";
  stage?: StageWindow;
  guess?: Guess;
  look?: string[];
  try?: string[];
}

export interface Essay {
  id: string;
  title: string;
  summary: string;
  names: Record<string, string>;
  steps: Step[];
}

interface Texts {
  essays: Essay[];
  questions: Essay | null;
}

const texts = JSON.parse(byId("essays").textContent ?? "{}") as Texts;
export const ESSAYS = texts.essays;
export const QUESTIONS = texts.questions;

/** Elements named by `look_at`. */
const FIGURES = { delay: "delay-figure", call: "call-figure", rate: "rate-figure", cdf: "cdf-figure", cards: "cards" };

/** Returns a text of an essay as nodes: technical terms are buttons, and words between asterisks are emphasised. */
const prose = (text: string): (string | HTMLElement)[] =>
  text.split(/\*([^*]+)\*/).flatMap((part, i) => (i % 2 === 1 ? [h("em", {}, part)] : explained(part)));

const same = (a: Tree, b: Tree): boolean => JSON.stringify(a) === JSON.stringify(b);

export class Essays {
  private readonly panel = byId("essay");
  private essay: Essay | null = null;
  private at = 0;
  /** The option that the visitor has guessed; null before the guess. */
  private guessed: number | null = null;

  constructor(private readonly lab: Lab) {
    lab.listen({ shown: () => this.fill() });
    byId("show-essays").addEventListener("click", () => (this.panel.hidden ? this.list() : this.close()));
  }

  private get step(): Step | undefined {
    return this.essay?.steps[this.at];
  }

  list(): void {
    this.essay = null;
    this.highlight();
    this.show(h("h2", { tabindex: "-1" }, "Essays"),
      h("p", {}, "Five minutes each. Every step is an experiment that you can change, and every number in the text comes from the run beside it."),
      h("ol", { class: "list" }, ...ESSAYS.map((essay) =>
        h("li", {}, h("button", { type: "button", class: "link", onclick: () => this.open(essay.id, 0) }, essay.title), h("span", {}, ` ${essay.summary}`)))),
      h("div", { class: "buttons" }, h("button", { type: "button", onclick: () => this.close() }, "Close"),
        h("button", { type: "button", onclick: () => this.restart() }, "Back to the call at home")));
  }

  /** Opens the first experiment (a call alone), for which the page shows the buttons of first.ts. */
  private restart(): void {
    this.close();
    this.lab.open(structuredClone(ALONE));
  }

  /** Opens a step of an essay; returns false if there is no such step. */
  open(id: string, at: number): boolean {
    const essay = ESSAYS.find((e) => e.id === id);
    const step = essay?.steps[at];
    if (essay === undefined || step === undefined) return false;
    [this.essay, this.at, this.guessed] = [essay, at, null];
    this.build();
    const before = essay.steps[at - 1];
    if (step.guess === undefined) this.run(step, before);
    else if (before !== undefined && (this.lab.shown === null || !same(this.lab.tree, before.scenario))) this.run(before, essay.steps[at - 2]);
    else if (this.lab.shown === null) this.run(before ?? step, undefined);
    return true;
  }

  /** Opens the experiment of a step. If the step compares two runs, first runs the experiment of the step `before`, and
   * pins this run. */
  run(step: Step, before: Step | undefined): void {
    this.lab.open(step.scenario, step.compare ? { against: before?.scenario } : {});
  }

  close(): void {
    this.essay = null;
    this.panel.hidden = true;
    this.highlight();
    byId("show-essays").setAttribute("aria-expanded", "false");
    byId("show-essays").focus();
  }

  private show(...children: (Node | false | null)[]): void {
    put(this.panel, ...children);
    this.panel.hidden = false;
    byId("show-essays").setAttribute("aria-expanded", "true");
    this.panel.querySelector("h2")?.focus({ preventScroll: true });
    this.panel.scrollIntoView({ block: "nearest" });
  }

  private build(): void {
    const { essay, step } = this;
    if (essay === null || step === undefined) return;
    const last = this.at === essay.steps.length - 1;
    const button = (label: string, to: () => void, more: Record<string, unknown> = {}) => h("button", { type: "button", onclick: to, ...more }, label);
    this.show(
      h("div", { class: "question" },
        h("p", { class: "step" }, `${essay.title}, step ${this.at + 1} of ${essay.steps.length}`),
        h("h2", { tabindex: "-1" }, step.title),
        h("div", { class: "prose", "data-part": "text" }),
        step.guess !== undefined && this.guess(step.guess)),
      h("div", { class: "answer", "aria-live": "polite", hidden: step.guess !== undefined },
        h("p", { class: "verdict" }), h("div", { class: "look", "data-part": "look" }), h("div", { class: "task", "data-part": "try" })),
      h("div", { class: "buttons" },
        button("Back", () => this.open(essay.id, this.at - 1), { disabled: this.at === 0 }),
        last ? button("More essays", () => this.list(), { class: "primary" }) : button("Next", () => this.open(essay.id, this.at + 1), { class: "primary" }),
        button("Close", () => this.close())));
    this.highlight();
    this.fill();
  }

  private guess(guess: Guess): HTMLElement {
    return h("fieldset", { class: "guess" },
      h("legend", {}, h("b", {}, "Guess first. "), h("span", { "data-part": "question" })),
      ...guess.options.map((_, i) => h("button", { type: "button", "data-option": String(i), onclick: () => this.answer(i) })));
  }

  /** Runs the experiment that answers the question. */
  private answer(option: number): void {
    const { step, essay } = this;
    if (step === undefined || this.guessed !== null) return;
    this.guessed = option;
    for (const button of this.panel.querySelectorAll<HTMLButtonElement>(".guess button")) button.disabled = true;
    this.run(step, essay?.steps[this.at - 1]);
  }

  private highlight(): void {
    for (const id of Object.values(FIGURES)) byId(id).classList.remove("looked-at");
    const of = this.step?.look_at;
    if (of !== undefined) byId(FIGURES[of]).classList.add("looked-at");
  }

  /** Returns the data for the numbers in the text; null unless the page shows this step's run and any run that it is compared with. */
  private source(step: Step): Source | null {
    const { shown, pinned } = this.lab;
    if (shown === null || this.lab.stale || !same(shown.tree, step.scenario) || (step.compare && pinned === null)) return null;
    const before = step.compare && pinned !== null ? { summary: pinned.result.summary, scenario: pinned.tree } : null;
    return { summary: shown.result.summary, scenario: shown.tree, before, names: this.essay?.names ?? {} };
  }

  /** Fills numbers into the text. Later changes to the experiment do not affect these numbers. */
  private fill(): void {
    const { step, essay, lab } = this;
    if (step === undefined || essay === null) return;
    const write = (part: string, of: Source, lines: string[] | undefined) => {
      const place = this.panel.querySelector(`[data-part=${part}]`);
      if (place !== null) put(place, ...(lines ?? []).map((line) => h("p", {}, ...prose(filled(line, of)))));
    };
    // before the step has been run, its text and question can already use values from the step's scenario. If the
    // previous step's run is being shown, they can also use values from that run
    const old = essay.steps[this.at - 1];
    const past = lab.shown !== null && old !== undefined && same(lab.shown.tree, old.scenario) ? { summary: lab.shown.result.summary, scenario: old.scenario } : null;
    const early: Source = { summary: {} as Source["summary"], scenario: step.scenario, before: past, names: essay.names };
    const now = this.source(step);
    if (now !== null || past !== null || this.panel.querySelector("[data-part=text]")?.childElementCount === 0) {
      write("text", now ?? early, step.text);
      write("question", now ?? early, step.guess === undefined ? [] : [step.guess.question]);
      for (const [i, option] of (step.guess?.options ?? []).entries()) {
        const button = this.panel.querySelector(`[data-option="${i}"]`);
        if (button !== null) button.textContent = filled(option.text, now ?? early);
      }
    }
    if (now === null || (step.guess !== undefined && this.guessed === null)) return;
    write("look", now, step.look);
    write("try", now, step.try);
    this.judge(step, now);
  }

  /** Shows the answer and, if the step has them, the verdict on the guess and the step's part of the run on the stage. */
  private judge(step: Step, now: Source): void {
    const answer = this.panel.querySelector<HTMLElement>(".answer");
    if (answer === null) return;
    answer.hidden = false;
    const right = (step.guess?.options ?? []).map((option) => holds(option.claim, now));
    for (const [i, ok] of right.entries()) this.panel.querySelector(`[data-option="${i}"]`)?.classList.toggle("right", ok);
    const verdict = answer.querySelector(".verdict");
    if (verdict !== null && this.guessed !== null) verdict.textContent = right[this.guessed] ? "You guessed right." : `Not so: ${(step.guess?.options ?? []).filter((_, i) => right[i]).map((o) => filled(o.text, now)).join(" ")}`;
    // a test in the browser reads these attributes
    answer.dataset["right"] = String(right.filter((ok) => ok).length);
    answer.dataset["broken"] = step.claims.filter((claim) => !holds(claim, now)).join("; ");
    if (step.stage !== undefined) document.dispatchEvent(new CustomEvent("bloatlab:stage", { detail: step.stage }));
  }
}

/** Fills the dialog that contains the questions for a class. */
export function fillClass(essays: Essays): void {
  const dialog = byId<HTMLDialogElement>("class");
  byId("show-class").addEventListener("click", () => dialog.showModal());
  put(byId("questions"), ...(QUESTIONS?.steps ?? []).map((step) =>
    h("li", {}, h("h3", {}, step.title), ...step.text.map((line) => h("p", {}, ...prose(line))), ...(step.try ?? []).map((line) => h("p", { class: "task" }, ...prose(line))),
      h("button", { type: "button", onclick: () => { dialog.close(); essays.close(); essays.run(step, undefined); } }, "Open this experiment"))));
}
