// The stage: panes that share a clock, the bar that controls the clock, and three panels, which show a sender, a
// packet, and the differences between the runs.

import { number } from "../cards";
import { byId, h, put } from "../dom";
import type { Engine } from "../engine";
import type { StageWindow } from "../essays";
import { MOST_BESIDE } from "../fragment";
import { seconds, secondsText } from "../quantities";
import type { Tree } from "../types";
import { Bar } from "./bar";
import { Clock, easySpeed, SPEEDS } from "./clock";
import { differences, distinguish } from "./compare";
import { showLife } from "./life";
import { packetsPerSecond, Pane, type ColourOf, type Shown } from "./pane";
import { SenderPanel, busiest } from "./sender";
import { flowName, upTo } from "./table";

/** The event with which other parts of the page make the stage play a part of the run, or show how the queue fills. */
const DIRECTION = "bloatlab:stage";

/** Maximum number of flows and applications in the legend. */
const MOST_COLOURS = 8;
const MOST_PANES = MOST_BESIDE + 1;
/** Delay before packets are recorded. It begins again with every new run, so no packets are recorded while a slider
 * moves. The first recording is not delayed.   Unit: ms. */
const PATIENCE_MS = 120;
/** Screen time in which a packet slides into its place.   Unit: ns. */
const EASE = 1.6e8;
/** Screen time in which a dropped packet falls.   Unit: ns. */
const FALL = 6e8;
/** When the stage shows how a queue fills, the first part is slow. This is the length of the first part.   Unit: ns of
 * the run. */
const AT_FIRST = 4e8;
const FILLS = "the queue fills …";
const SLOWLY = 0.2;
/** Minimum screen time that a packet takes from its sender to its receiver if no queue builds up.   Unit: s. */
const CROSSING = 0.2;

export interface Surroundings {
  engine: Engine;
  disciplines: string[];
  colourOf: ColourOf;
  /** Returns the scenario with another discipline at `link`. */
  withDiscipline(tree: Tree, link: string, discipline: string): Tree;
  /** The stage's clock has moved to the time `second` of the run. */
  moved(second: number): void;
  /** The visitor has chosen the disciplines with which the experiment also runs, for comparison. */
  compare(disciplines: string[]): void;
}

export class Stage {
  readonly clock: Clock;
  /** Disciplines with which the experiment also runs, for comparison: the load and the seed are the same. */
  beside: string[] = [];
  private readonly root = byId("stage");
  private readonly panes: Pane[] = [];
  private readonly stagePanes = h("div", { class: "panes" });
  private readonly senderPanel = new SenderPanel();
  private readonly lifePanel = h("section", { class: "packet", "aria-label": "One packet" });
  private readonly differencePanel = h("div", { class: "differences" });
  private readonly key = h("p", { class: "legend", "aria-hidden": "true" });
  private readonly bar: Bar;
  private visible = false;
  /** True if the clock was running when the stage last went out of sight. The clock then stops until the stage is visible. */
  private paused = false;
  private readonly still = matchMedia("(prefers-reduced-motion: reduce)").matches;
  private later = 0;
  private chosen: { pane: Pane; packet: number } | null = null;
  private want: { now: Shown; pinned: Shown | null } | null = null;
  private besideRuns = new Map<string, Shown>();
  private stop = new AbortController();
  private known = "";
  /** The chosen link and the names of all links and applications of the last experiment. */
  private network = "";
  /** The part of the run that an essay or a button has selected; "filling" selects the time during which the queue
   * fills. */
  private direction: StageWindow | "filling" | null = null;
  private wrote = 0;
  private begun = false;
  /** For the benchmark: the time and the duration of each frame; null if nothing is measured.   Unit: ms. */
  private frames: [number, number][] | null = null;

  constructor(private readonly around: Surroundings) {
    this.clock = new Clock((now) => this.frame(now));
    this.bar = new Bar(this.clock, this, around.disciplines);
    put(this.root, this.bar.root, this.stagePanes, this.key, h("div", { class: "beside" }, this.senderPanel.root, this.lifePanel), this.differencePanel);
    showNothing(this.lifePanel);
    new IntersectionObserver((entries) => {
      this.visible = entries.some((entry) => entry.isIntersecting);
      if (this.visible) this.schedule();
      if (this.visible && this.paused) this.clock.play();
      if (!this.visible) [this.paused] = [this.clock.playing, this.clock.pause()];
    }, { rootMargin: "200px" }).observe(this.root);
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.panes.forEach((pane) => pane.measure()));
    this.bar.listen(this.root, () => this.visible);
    document.addEventListener(DIRECTION, (event) => {
      this.direction = (event as CustomEvent<StageWindow | "filling">).detail;
      this.bar.touched = false;
      // if the stage has not opened the new experiment yet, `open` will do so and call `direct("filling")`
      if (this.direction !== "filling" || keyOf(this.want?.now) === this.known) this.direct(this.direction);
    });
    Object.assign(this.root, { stage: { read: () => this.read(), seek: (second: number) => this.seekTo(second * 1e9), measure: (ms: number) => this.measure(ms) } });
  }

  /** Shows the runs `now` and `pinned`, once the experiment no longer changes and the stage is in sight. */
  show(now: Shown, pinned: Shown | null): void {
    this.want = { now, pinned };
    this.bar.update();
    this.schedule();
  }

  /** Stops recording and looping, because the charts need a new run. */
  yield(): void {
    [this.direction, this.clock.loop, this.clock.plan] = [null, null, []];
    this.bar.say("");
    this.stop.abort();
    this.panes.forEach((pane) => pane.stop());
  }

  private schedule(): void {
    clearTimeout(this.later);
    if (this.visible && this.want !== null) this.later = setTimeout(() => void this.open(), this.begun ? PATIENCE_MS : 0);
  }

  /** Opens a pane for each run, and records their packets. */
  private async open(): Promise<void> {
    const want = this.want;
    if (want === null) return;
    this.stop.abort();
    const stop = this.stop = new AbortController();
    const { now, pinned } = want;
    const key = keyOf(now);
    let idle = false;
    if (key !== this.known) {
      this.besideRuns.clear();
      this.known = key;
      this.clock.end = now.result.summary.duration_s * 1e9;
      // moving a slider or changing the discipline does not change the clock's time, so the visitor sees the same
      // moment of the new run
      const network = JSON.stringify([now.link, Object.keys(now.result.summary.links), Object.keys(now.result.summary.apps)]);
      if (this.direction !== null) this.direct(this.direction);
      else if (network !== this.network && !this.bar.touched) idle = this.begin(now);
      this.clock.t = Math.min(this.clock.t, this.clock.end);
      this.network = network;
    }
    const shown: Shown[] = [now, ...(pinned === null ? [] : [pinned])];
    for (const discipline of this.beside.slice(0, MOST_PANES - shown.length)) {
      const run = await this.run(now, discipline, stop.signal);
      if (stop.signal.aborted) return;
      if (run !== null) shown.push(run);
    }
    const titled = distinguish(shown);
    this.arrange(titled);
    put(this.differencePanel, ...(titled.length > 1 ? [differences(titled)] : []));
    await Promise.all(this.panes.map((pane) => pane.look(this.clock.t, this.clock.speed)));
    const [first] = this.panes;
    if (idle && first?.table?.head !== undefined && !stop.signal.aborted && !this.bar.touched) this.clock.seek(first.table.halfway(first.link, this.clock.t));
    const most = this.panes.length === 1 ? 1 : Math.max(...this.panes.map((pane) => pane.most));
    this.panes.forEach((pane) => pane.scale(most));
    this.explain();
    if (!this.begun) this.start();
  }

  /** Writes the legend for colours and shapes. */
  private explain(): void {
    const [pane] = this.panes;
    if (pane?.table === null || pane === undefined) return;
    const { table } = pane;
    // flows of an application that have the same colour are one entry
    const entries = new Map<string, { name: string; colour: string }>();
    for (const flow of new Set(table.flow)) {
      const [colour, app] = [pane.colour(flow), table.head.flows[flow]?.[0] ?? "unknown"];
      const own = flowName(table, flow).replace(/ ↓$/, "");
      const same = entries.get(`${colour} ${app}`);
      entries.set(`${colour} ${app}`, { name: same === undefined || same.name === own ? own : app, colour });
    }
    const drawn = [...entries.values()];
    const item = (kind: string, words: string, colour?: string) => { const i = h("i", { class: kind }); if (colour !== undefined) i.style.setProperty("--of", colour); return h("span", {}, i, words); };
    put(this.key, ...drawn.slice(0, MOST_COLOURS).map(({ name, colour }) => item("", name, colour)),
      drawn.length > MOST_COLOURS && h("span", {}, `and ${drawn.length - MOST_COLOURS} more`),
      item("ack", "ACK: data has arrived"), item("ce", "marked"), item("lost", "dropped"),
      table.head.apps.some((app) => app.late_after_ns !== null) && item("late", "too late for the listener"), h("span", {}, "packets fade with age"));
  }

  /** Starts the clock after the first picture, unless the visitor prefers reduced motion or has already moved the
   * clock. */
  private start(): void {
    this.begun = true;
    // tests and the benchmark read this: the time since the page was opened, in ms
    document.body.dataset["stage"] = performance.now().toFixed(0);
    if (!this.still && !this.bar.touched) this.clock.play();
  }

  private async run(now: Shown, discipline: string, stop: AbortSignal): Promise<Shown | null> {
    const found = this.besideRuns.get(discipline);
    if (found !== undefined) return found;
    const tree = this.around.withDiscipline(now.tree, now.link, discipline);
    const result = await this.around.engine.beside(tree, stop);
    if (result === null) return null;
    const run = { title: discipline, tree, link: now.link, result };
    this.besideRuns.set(discipline, run);
    return run;
  }

  /** Plays how the queue fills, or the part `to` of the run in a loop, until the visitor uses the bar or changes the
   * experiment. With reduced motion, does not start the clock. */
  private direct(to: StageWindow | "filling"): void {
    if (to === "filling") return this.fill();
    const { from, until, speed } = to;
    const { clock } = this;
    clock.plan = [];
    clock.loop = [seconds(from) * 1e9, seconds(until) * 1e9];
    clock.speed = SPEEDS.reduce((best, s) => (Math.abs(Math.log(s / speed)) < Math.abs(Math.log(best / speed)) ? s : best));
    clock.seek(clock.loop[0]);
    if (!this.still) clock.play();
    this.bar.say(`loop: ${secondsText(seconds(from))} to ${secondsText(seconds(until))}`);
    this.bar.update();
  }

  /** Plays how the queue fills: slowly at first, then in real time, and slowly again once it is longest. With reduced
   * motion, only shows the longest queue. */
  private fill(): void {
    const now = this.want?.now;
    const full = now === undefined ? null : longest(now);
    if (now === undefined || full === null) return;
    const { clock } = this;
    const easy = easySpeed(packetsPerSecond(now));
    const begins = 1e9 * (now.result.charts.t_s[(now.result.charts.links[now.link]?.queue_packets ?? []).findIndex((n) => (n ?? 0) >= 3)] ?? 0);
    clock.loop = null;
    if (this.still) {
      clock.speed = easy;
      clock.seek(full[1]);
    } else {
      clock.plan = [{ from: begins + AT_FIRST, speed: 1 }, { from: full[0], speed: easy }];
      clock.speed = SLOWLY;
      clock.seek(begins);
      clock.play();
      this.bar.say(FILLS);
    }
    this.bar.update();
  }

  /** Sets time and speed of the clock for a new experiment. The clock moves to the moment at which the queue begins to
   * fill or, with reduced motion, to a moment at which the queue is already long. Returns true if no queue builds up:
   * the clock then moves to 1 s, or to the middle of a run shorter than 2 s, and is so slow that single packets can be
   * seen. */
  private begin(now: Shown): boolean {
    const { result, link } = now;
    const queue = result.charts.links[link]?.queue_packets ?? [];
    const most = Math.max(0, ...queue.map((n) => n ?? 0));
    const first = queue.findIndex((n) => (n ?? 0) >= (this.still ? 0.3 * most : 3) && (n ?? 0) > 1);
    this.clock.t = 1e9 * Math.max(0, first < 0 ? Math.min(1, result.summary.duration_s / 2) : (result.charts.t_s[first] ?? 0) + (this.still ? 0.9 * result.charts.width_s : 0));
    const crossing = Math.min(...Object.values(result.summary.apps).map((app) => number(app, "delay_ms", "min") ?? Infinity)) / 1e3;
    this.clock.speed = first < 0 && crossing < Infinity ? SPEEDS.find((speed) => speed * CROSSING <= crossing) ?? 0.001 : easySpeed(packetsPerSecond(now));
    this.bar.update();
    return first < 0;
  }

  private arrange(shown: Shown[]): void {
    shown.forEach((run, i) => {
      const pane = this.panes[i];
      if (pane === undefined) this.panes.push(new Pane(run, this.around.engine, this.around.colourOf, (of, packet) => this.choose(of, packet), () => this.clock.request()));
      else if (pane.shown.result !== run.result || pane.shown.link !== run.link) {
        pane.show(run);
        if (this.chosen?.pane === pane) this.chosen = null;
      } else pane.rename(run);
    });
    this.panes.splice(shown.length).forEach((pane) => { pane.stop(); pane.root.remove(); });
    this.panes.forEach((pane) => { pane.height = this.panes.length > 1 ? 170 : 0; if (pane.root.parentElement === null) this.stagePanes.append(pane.root); pane.measure(); });
    this.stagePanes.classList.toggle("many", this.panes.length > 2);
    if (this.chosen !== null && !this.panes.includes(this.chosen.pane)) this.chosen = null;
    if (this.chosen === null) showNothing(this.lifePanel);
  }

  /** Adds a discipline with which the experiment also runs for comparison, or removes the discipline if it is already
   * in use. If there are too many, the one added first is removed. */
  toggle(discipline: string): void {
    this.around.compare(this.beside.includes(discipline) ? this.beside.filter((d) => d !== discipline) : [...this.beside, discipline].slice(-MOST_BESIDE));
  }

  private frame(now: number): void {
    const begun = performance.now();
    const { clock } = this;
    const motion = { ease: EASE * clock.speed, fall: FALL * clock.speed };
    for (const pane of this.panes) {
      void pane.look(clock.t, clock.speed);
      if (pane.has(clock.t)) pane.draw(clock.t, motion, this.chosen?.pane === pane ? this.chosen.packet : -1, clock.playing ? now : Infinity);
      else clock.hold();
    }
    this.around.moved(clock.t / 1e9);
    if (clock.plan.length === 0) this.bar.unsay(FILLS);
    if (!clock.playing || now - this.wrote >= 120) {
      this.wrote = now;
      this.showSender();
      this.bar.update();
    }
    this.frames?.push([now, performance.now() - begun]);
  }

  private showSender(): void {
    const pane = this.chosen?.pane ?? this.panes[0];
    const table = pane?.table;
    if (pane === undefined || table === null || table === undefined) return;
    const own = this.chosen === null ? -1 : (table.flow[this.chosen.packet] ?? -1);
    const flow = own >= 0 && table.sends(own) ? own : busiest(table);
    this.senderPanel.show(table, flow, this.clock.t, pane.colour(flow));
    this.lifePanel.querySelectorAll("li").forEach((li) => li.classList.toggle("past", Number(li.dataset["at"] ?? 0) <= this.clock.t));
  }

  /** Selects the packet to follow. */
  choose(pane: Pane, packet: number): void {
    if (pane.table === null) return;
    this.chosen = { pane, packet };
    const { table } = pane;
    const sent = table.sent[packet] ?? 0;
    const end = Math.max(sent, ...[table.arrived[packet] ?? 0].filter((t) => t !== Infinity));
    if (this.clock.t < sent || this.clock.t > Math.max(end, sent)) this.clock.seek(sent);
    showLife(this.lifePanel, table, packet, this.clock.t, { go: (t) => { this.clock.pause(); this.clock.seek(t); }, choose: (next) => this.choose(pane, next) });
    this.clock.request();
  }

  /** Moves the clock to the next event (`way` 1) or the previous one (-1) on the first pane's link. */
  step(way: 1 | -1): void {
    this.clock.pause();
    const pane = this.panes[0];
    const table = pane?.table;
    if (pane === undefined || table === null || table === undefined) return;
    const moments = table.moments(pane.link);
    const i = way > 0 ? upTo(moments, this.clock.t) : upTo(moments, this.clock.t - 1) - 1;
    const at = moments[i];
    if (at !== undefined) this.clock.seek(at);
  }

  /** Goes to the moment of the longest queue. */
  async fullest(): Promise<void> {
    const [pane] = this.panes;
    const bin = pane === undefined ? null : longest(pane.shown);
    if (pane === undefined || bin === null) return this.bar.say("no packet waits in this run");
    this.clock.pause();
    await this.seekTo(bin[0]);
    await this.seekTo(pane.fullest(...bin));
  }

  async jump(landmark: "drop" | "mark" | "timeout"): Promise<void> {
    const pane = this.panes[0];
    if (pane === undefined) return;
    const { tree, link } = pane.shown;
    this.bar.say(`looking for the next ${landmark} …`);
    const at = await this.around.engine.find(tree, landmark, link, Math.floor(this.clock.t), this.stop.signal);
    if (at === null) return this.bar.say(`no ${landmark} after ${secondsText(this.clock.t / 1e9)}`);
    this.bar.say("");
    this.clock.pause();
    await this.seekTo(at);
  }

  /** Goes to a moment, and waits until it is drawn. */
  async seekTo(t: number): Promise<void> {
    this.clock.seek(t);
    for (const pane of this.panes) await pane.ready(t, this.clock.speed);
    this.frame(performance.now());
  }

  /** Returns the time in seconds and the packets of each pane, for tests and scripts. */
  private read(): unknown {
    return { t: this.clock.t / 1e9, speed: this.clock.speed, playing: this.clock.playing,
      panes: this.panes.map((pane) => ({ title: pane.shown.title, ready: pane.has(this.clock.t), shortened: pane.table?.head.shortened ?? false, packets: pane.read() })) };
  }

  /** Plays for `ms` milliseconds, for the benchmark. Returns the times between frames and the time taken by each frame,
   * in ms. */
  private async measure(ms: number): Promise<{ gaps: number[]; took: number[] }> {
    this.frames = [];
    this.clock.play();
    await new Promise((resolve) => { setTimeout(resolve, ms); });
    this.clock.pause();
    const times = this.frames;
    this.frames = null;
    return { gaps: times.slice(1).map(([t], i) => t - (times[i]?.[0] ?? 0)), took: times.map(([, took]) => took) };
  }
}

const keyOf = (run: Shown | undefined): string => JSON.stringify([run?.tree, run?.link]);

/** Returns start and end of the chart bin in which the queue is longest; null if the queue in the chart is always below
 * one packet.   Unit: ns. */
function longest({ result, link }: Shown): [number, number] | null {
  const { links, t_s: times, width_s: width } = result.charts;
  const queue = (links[link]?.queue_packets ?? []).map((n) => n ?? 0);
  const most = Math.max(0, ...queue);
  const from = 1e9 * (times[queue.indexOf(most)] ?? 0);
  return most < 1 ? null : [from, from + 1e9 * width];
}

function showNothing(panel: HTMLElement): void {
  put(panel, h("h3", {}, "One packet"), h("p", { class: "line" }, "Click a packet to follow it."));
}

