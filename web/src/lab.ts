// The experiment: the scenario and its link, the run being shown, and a pinned run to compare it with.

import type { Desk } from "./controls";
import type { Engine, Watch } from "./engine";
import { bottleneck, directed } from "./topology";
import type { Problem, Result, Summary, Tree } from "./types";

export interface Run {
  result: Result;
  tree: Tree;
}

/** A run on the page, and the link whose queue is shown in the charts. */
export interface Shown extends Run {
  link: string;
}

/** Events that parts of the page can listen to. */
export interface Events {
  /** The scenario has changed. `rebuild` is true if the scenario now needs different controls. */
  changed(rebuild: boolean): void;
  /** The result must be drawn again, for example because another run or link is shown, or another run is pinned. `ms` is
   * the time that the simulator took for a new run; null if there is no new run. */
  shown(ms: number | null): void;
  /** A scenario or a typed text was refused. The list is empty when everything is accepted again. */
  problems(problems: Problem[]): void;
  progress(done: number): void;
}

export class Lab implements Desk, Watch {
  tree: Tree;
  shown: Shown | null = null;
  pinned: Run | null = null;
  /** Disciplines with which the experiment also runs, for comparison on the stage. */
  beside: string[] = [];
  /** True if the simulator has refused the current scenario, or its run was stopped. `shown` is then an earlier scenario's run, or null. */
  stale = false;
  engine!: Engine;
  /** True until the current scenario has been run, refused or stopped. */
  busy = false;
  /** True if the visitor has stopped the current scenario's run. */
  stopped = false;
  private chosen: string;
  /** The scenario to run once the result of the run in progress has been pinned; null if there is none. */
  private then: Tree | null = null;
  private readonly listeners: Partial<Events>[] = [];
  /** The errors that the simulator found in the current scenario. */
  private found: Problem[] = [];
  /** The error in a refused text, if any. The scenario does not contain this text. */
  private typed: Problem[] = [];
  private waiting: { done: (summary: Summary) => void; failed: (error: Error) => void }[] = [];

  constructor(first: Tree) {
    this.tree = structuredClone(first);
    this.chosen = bottleneck(first);
  }

  listen(events: Partial<Events>): void {
    this.listeners.push(events);
  }

  /** The directed link whose queue is shown in the charts. */
  get link(): string {
    return this.chosen;
  }

  set link(name: string) {
    this.chosen = name;
    if (this.shown !== null && !this.stale) this.shown.link = name;
  }

  /** Runs the changed scenario. */
  changed(rebuild: boolean): void {
    if (!directed(this.tree).some((l) => l.name === this.link)) this.link = bottleneck(this.tree);
    this.then = null;
    this.begin(rebuild);
    this.engine.run(this.tree);
    for (const l of this.listeners) l.shown?.(null);
  }

  /** Replaces the scenario and unpins the pinned run, which belongs to another experiment. If `against` is given, first
   * runs the scenario `against`, and pins its result. */
  open(next: Tree, { look, against }: { look?: string | undefined; against?: Tree | undefined } = {}): void {
    this.tree = structuredClone(next);
    this.chosen = look ?? bottleneck(next);
    this.pinned = null;
    if (against === undefined) return this.changed(true);
    this.begin(true);
    this.then = this.tree;
    this.engine.run(against);
  }

  /** Pins the shown run for comparison; if a run is pinned, unpins it. */
  pin(): void {
    this.pinned = this.pinned === null ? this.shown : null;
    this.announce(false);
    for (const l of this.listeners) l.shown?.(null);
  }

  /** Sets the disciplines with which the experiment also runs, for comparison on the stage. */
  compare(disciplines: string[]): void {
    this.beside = disciplines;
    this.announce(false);
    for (const l of this.listeners) l.shown?.(null);
  }

  /** Shows an error in a typed text. The next change of the experiment removes the error, and the field then has the
   * scenario's value again. */
  refuse(problem: Problem): void {
    this.typed = [problem];
    this.report(this.found);
  }

  private begin(rebuild: boolean): void {
    [this.busy, this.stopped] = [true, false];
    this.announce(rebuild);
  }

  /** Drops the error in a typed text, and reports a change of the experiment. */
  private announce(rebuild: boolean): void {
    if (this.typed.length > 0) {
      this.typed = [];
      this.report(this.found);
    }
    for (const l of this.listeners) l.changed?.(rebuild);
  }

  /** Stops the current run; the page keeps showing the previous run. */
  stop(): void {
    if (!this.busy) return;
    this.engine.stop();
    this.stopped = true;
    this.problems([{ path: "", message: "The run was stopped. Change the scenario, or open another one, to go on." }], this.tree);
  }

  /** Returns the summary of the current scenario, once it has run.   Errors: it is refused, or its run is stopped. */
  settled(): Promise<Summary> {
    return new Promise((done, failed) => { this.waiting.push({ done, failed }); });
  }

  // ---------------------------------------------------------------------------------------- results from the engine

  result(answer: Result, ms: number, of: Tree): void {
    if (this.then !== null) {
      this.pinned = { result: answer, tree: of };
      const then = this.then;
      this.then = null;
      this.engine.run(then);
      return;
    }
    this.shown = { result: answer, tree: of, link: this.link };
    const isCurrent = JSON.stringify(of) === JSON.stringify(this.tree);
    if (isCurrent) this.busy = false;
    this.report([]);
    for (const l of this.listeners) l.shown?.(ms);
    if (isCurrent) this.settle((w) => w.done(answer.summary));
  }

  problems(problems: Problem[], of: Tree): void {
    if (this.then !== null || JSON.stringify(of) === JSON.stringify(this.tree)) this.busy = false;
    this.then = null;
    this.report(problems);
    const [first] = problems;
    this.settle((w) => w.failed(new Error(first === undefined ? "refused" : first.path === "" ? first.message : `${first.path}: ${first.message}`)));
  }

  progress(done: number): void {
    for (const l of this.listeners) l.progress?.(done);
  }

  bug(message: string, of: Tree): void {
    this.problems([{ path: "", message: `a bug in the simulator: ${message}` }], of);
  }

  private report(found: Problem[]): void {
    this.found = found;
    this.stale = found.length > 0;
    for (const l of this.listeners) l.problems?.([...this.typed, ...found]);
  }

  private settle(act: (w: { done: (summary: Summary) => void; failed: (error: Error) => void }) => void): void {
    const { waiting } = this;
    this.waiting = [];
    waiting.forEach(act);
  }
}
