// The bar below the stage, which also works by keyboard: play, step, speed, time, jumps, and the disciplines that run
// beside the experiment.

import { h, put } from "../dom";
import { SPEEDS, speedText, type Clock } from "./clock";

export interface Moves {
  beside: string[];
  step(way: 1 | -1): void;
  fullest(): Promise<void>;
  jump(landmark: "drop" | "mark" | "timeout"): Promise<void>;
  toggle(discipline: string): void;
}

/** Screen time by which an arrow key moves the clock.   Unit: ns. */
const ARROW = 2.5e8;

export class Bar {
  readonly root: HTMLElement;
  /** True once the visitor has started, stopped or moved the clock, or changed the speed, with this bar or with keys. A
   * new experiment then leaves time and speed as they are. False again when an essay or a button plays a part of the
   * run. */
  touched = false;
  private readonly play = h("button", { type: "button", class: "play", onclick: () => this.toggle() });
  private readonly speed = h("select", { "aria-label": "speed", onchange: () => this.setSpeed(SPEEDS[this.speed.selectedIndex] ?? 1) });
  private readonly time = h("input", { type: "range", min: "0", step: "any", "aria-label": "time", oninput: () => { this.touch(); this.clock.seek(Number(this.time.value) * 1e9); } });
  private readonly read = h("output", { class: "now" });
  private readonly said = h("span", { class: "line", role: "status" });
  private readonly besides = h("span", { class: "chips" });
  private readonly add: HTMLSelectElement;

  constructor(private readonly clock: Clock, private readonly moves: Moves, disciplines: string[]) {
    SPEEDS.forEach((speed) => this.speed.append(h("option", {}, speedText(speed))));
    this.add = h("select", { "aria-label": "run another discipline beside", onchange: () => { if (this.add.value !== "") moves.toggle(this.add.value); this.add.value = ""; } },
      h("option", { value: "" }, "compare with …"), ...disciplines.map((d) => h("option", { value: d }, d)));
    const button = (label: string, title: string, act: () => void) => h("button", { type: "button", title, "aria-label": title, onclick: () => { this.touch(); act(); } }, label);
    this.root = h("div", { class: "bar" },
      h("div", { class: "moves" }, this.play,
        button("‹", "one event back (,)", () => moves.step(-1)), button("›", "one event on (.)", () => moves.step(1)), this.speed,
        h("span", { class: "jumps" }, "go to the ", h("button", { type: "button", onclick: () => { this.touch(); void moves.fullest(); } }, "longest queue"), " or the next ", ...(["drop", "mark", "timeout"] as const).map((l) => h("button", { type: "button", onclick: () => { this.touch(); void moves.jump(l); } }, l))),
        this.said, h("span", { class: "right" }, this.besides, this.add)),
      h("div", { class: "when" }, this.time, this.read));
    this.update();
  }

  private touch(): void {
    this.touched = true;
    [this.clock.loop, this.clock.plan] = [null, []];
    this.say("");
  }

  private toggle(): void {
    this.touch();
    if (this.clock.playing) this.clock.pause();
    else this.clock.play();
    this.update();
  }

  private setSpeed(speed: number): void {
    this.touch();
    this.clock.speed = speed;
    this.clock.request();
  }

  /** Shows a line of text, which screen readers announce. */
  say(words: string): void {
    this.said.textContent = words;
  }

  /** Removes the line of text if it is still `words`. */
  unsay(words: string): void {
    if (this.said.textContent === words) this.say("");
  }

  /** Shows the time, the speed and the state of the clock. */
  update(): void {
    const { clock } = this;
    const label = clock.playing ? "Pause" : "Play";
    if (this.play.textContent !== label) this.play.textContent = label;
    this.speed.selectedIndex = SPEEDS.indexOf(clock.speed);
    this.time.max = String(clock.end / 1e9);
    this.time.value = String(clock.t / 1e9);
    const text = `${(clock.t / 1e9).toFixed(clock.speed <= 0.01 ? 4 : 3)} s`;
    this.time.setAttribute("aria-valuetext", text);
    this.read.textContent = text;
    const key = this.moves.beside.join(" ");
    if (this.besides.dataset["key"] === key) return;
    this.besides.dataset["key"] = key;
    put(this.besides, ...this.moves.beside.map((d) => h("button", { type: "button", "aria-label": `remove ${d}`, onclick: () => this.moves.toggle(d) }, `${d} ×`)));
  }

  /** Handles space, arrows, comma and period, unless the focused control uses them. */
  listen(root: HTMLElement, isVisible: () => boolean): void {
    document.addEventListener("keydown", (event) => {
      const target = event.target as HTMLElement;
      const here = isVisible() && (target === document.body || root.contains(target));
      const taken = target.closest("input, select, textarea, dialog, summary") !== null || (event.key === " " && target.closest("button") !== null);
      if (!here || taken || event.ctrlKey || event.metaKey || event.altKey) return;
      const acts: Record<string, () => void> = {
        " ": () => this.toggle(), ",": () => this.moves.step(-1), ".": () => this.moves.step(1),
        ArrowLeft: () => this.clock.seek(this.clock.t - ARROW * this.clock.speed), ArrowRight: () => this.clock.seek(this.clock.t + ARROW * this.clock.speed),
      };
      const act = acts[event.key];
      if (act === undefined) return;
      event.preventDefault();
      this.touch();
      act();
    });
  }
}
