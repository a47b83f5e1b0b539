// The visitor's first minute on the page. Each button is one step: a call, an upload that disturbs the call, and two
// queues that repair the call.

import type { StageWindow } from "./essays";
import FIRST from "../essays/first.json";
import { byId, h, put } from "./dom";
import type { Lab } from "./lab";
import { set } from "./paths";
import type { Tree } from "./types";

/** The scenario that the page opens with, if its address contains none. */
export const ALONE = FIRST.scenario as Tree;

/** Actions offered after the call is repaired. */
export interface Doors {
  essay(): void;
  rate(): void;
  own(): void;
}

/** The part of the run played on the stage after the call is repaired. */
const SETTLED: StageWindow = { from: "24s", until: "30s", speed: 0.05 };

const same = (a: Tree, b: Tree): boolean => JSON.stringify(a) === JSON.stringify(b);

function broken(): Tree {
  const tree = structuredClone(ALONE);
  set(tree, ["app", "upload"], structuredClone(FIRST.upload) as Tree);
  return tree;
}

function mended(queue: Tree): Tree {
  const tree = broken();
  set(tree, ["link", "up", "queue"], structuredClone(queue));
  return tree;
}

/** The buttons of the first minute, in order. The buttons for the next step stand out. */
export class First {
  private readonly root = byId("first");
  private readonly next: HTMLElement;
  /** True if the visitor has just pressed the button that starts the upload. */
  private started = false;
  private readonly steps: { label: string; tree: Tree; button: HTMLButtonElement }[];

  constructor(private readonly lab: Lab, doors: Doors) {
    const trees = [
      { label: "A call alone", tree: ALONE },
      { label: "Start an upload", tree: broken() },
      ...FIRST.mends.map((m) => ({ label: m.label, tree: mended(m.queue as Tree) })),
    ];
    this.steps = trees.map(({ label, tree }) => ({ label, tree, button: h("button", { type: "button", onclick: () => this.press(tree) }, label) }));
    const door = (label: string, open: () => void) => h("button", { type: "button", class: "link", onclick: open }, label);
    this.next = h("p", { class: "next" }, "What next? ", door("Read why a buffer bloats", () => doors.essay()), ", ", door("change the link’s rate", () => doors.rate()), " or ", door("write a scenario of your own (TOML)", () => doors.own()), ".");
    put(this.root, h("p", {}, "Someone at home is on a call."), h("div", { class: "buttons" }, ...this.steps.map((s) => s.button)), this.next);
    lab.listen({ changed: () => this.update(), shown: (ms) => this.shown(ms) });
    this.update();
  }

  private press(tree: Tree): void {
    const mends = this.steps.slice(2).some((s) => s.tree === tree);
    this.started = tree === this.steps[1]?.tree;
    this.lab.open(tree, mends ? { against: broken() } : {});
  }

  /** After the upload starts, makes the stage show how the queue fills. After a repair, makes the stage show a late
   * part of the run, in which the queues of both runs have settled: earlier, CoDel's queue is as long as the
   * drop-tail queue of the pinned run. */
  private shown(ms: number | null): void {
    const mends = this.steps.slice(2).some((s) => this.lab.shown !== null && same(s.tree, this.lab.shown.tree));
    if (ms === null || !(mends || this.started)) return;
    document.dispatchEvent(new CustomEvent("bloatlab:stage", { detail: this.started ? "filling" : SETTLED }));
    this.started = false;
  }

  /** Marks the button whose experiment is shown. Hides all buttons if another experiment is shown. */
  private update(): void {
    const at = this.steps.findIndex((s) => same(s.tree, this.lab.tree));
    this.root.hidden = at < 0;
    this.next.hidden = at < 2;
    for (const [i, step] of this.steps.entries()) {
      step.button.setAttribute("aria-pressed", String(i === at));
      step.button.classList.toggle("primary", (at === 0 && i === 1) || (at === 1 && i > 1));
      step.button.hidden = at === 0 && i > 1;
    }
  }
}
