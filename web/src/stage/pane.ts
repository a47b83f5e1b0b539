// One pane of the stage: a scenario, its packets in a window around the clock, and their picture.

import { number } from "../cards";
import { h, put } from "../dom";
import type { Engine } from "../engine";
import { secondsText } from "../quantities";
import { explain, explained } from "../terms";
import type { Result, Tree } from "../types";
import { inkOf, nearest, Painter, type Ink } from "./draw";
import { fullestLine, layout, type Layout } from "./layout";
import { positions, Scene, WIRE, type Motion } from "./positions";
import { wayThrough } from "./route";
import { PacketTable, upTo } from "./table";

/** Maximum number of packets in a window. A run with more packets is recorded window by window. */
const MOST_PACKETS = 40_000;
/** Unless a window covers the whole run, it begins this long before the clock's time or, if it is the next window, before
 * the end of the current window. So the visitor can step back.   Unit: ns of the run. */
const BEFORE = 5e8;
/** The next window is recorded when the clock is this close to the end of the current window.   Unit: ns of screen
 * time. */
const AHEAD = 3e9;

export interface Shown {
  title: string;
  tree: Tree;
  link: string;
  result: Result;
}

/** Returns the number of packets per second that arrive at a pane's link. */
export const packetsPerSecond = ({ result: { summary }, link }: Shown): number =>
  Number(summary.links[link]?.["offered_packets"] ?? 0) / Math.max(1e-3, summary.duration_s - summary.warm_up_s);

/** Returns the colour of a flow, given its application, number and direction. */
export type ColourOf = (app: string, flow: number, reverse: boolean) => string;

export class Pane {
  readonly root: HTMLElement;
  table: PacketTable | null = null;
  readonly scene = new Scene();
  at: Layout | null = null;
  private readonly title = h("b");
  private readonly counts = h("span", { class: "counts" });
  private readonly still = h("canvas", { class: "still", "aria-hidden": "true" });
  private readonly moving = h("canvas", { class: "moving", "aria-hidden": "true" });
  private readonly board = h("div", { class: "board", role: "img", "aria-label": "the packets" }, this.still, this.moving);
  private readonly painter = new Painter(this.still, this.moving);
  private ink: Ink | null = null;
  private next: PacketTable | null = null;
  private recording: AbortController | null = null;
  /** The recording in progress. */
  private under: Promise<void> | undefined;
  private wroteAt = 0;
  private fewest = 1;
  /** True if the window covers the whole run. */
  private whole = false;
  /** True if the whole run has too many packets for one window. */
  private long = false;
  /** True if `table` still belongs to the previous run, because the new run has not been recorded yet. */
  private old = false;

  constructor(public shown: Shown, private readonly engine: Engine, private readonly colourOf: ColourOf, private readonly onPick: (pane: Pane, packet: number) => void, private readonly onReady: () => void) {
    this.root = h("div", { class: "pane" }, h("p", { class: "of" }, this.title, this.counts), this.board);
    put(this.title, ...explained(shown.title));
    new ResizeObserver(() => this.measure()).observe(this.board);
    this.moving.addEventListener("click", (event) => {
      if (this.table === null) return;
      const box = this.moving.getBoundingClientRect();
      const packet = nearest(this.scene, this.table, event.clientX - box.left, event.clientY - box.top, 18);
      if (packet >= 0) this.onPick(this, packet);
    });
  }

  get link(): number {
    return this.table?.link(this.shown.link) ?? -1;
  }

  get duration(): number {
    return this.shown.result.summary.duration_s * 1e9;
  }

  /** Returns true if the recorded window contains `t`. */
  has(t: number): boolean {
    const head = this.table?.head;
    return head !== undefined && !this.old && t >= head.from_ns && (t < head.until_ns || head.until_ns >= this.duration);
  }

  /** Returns true if the window around `t`, or the next window, must be recorded. */
  private lacks(t: number, speed: number): boolean {
    if (this.whole || this.recording !== null) return false;
    if (!this.has(t)) return true;
    const { until_ns: until } = this.table!.head;
    return until < this.duration && until - t <= AHEAD * speed && this.next === null;
  }

  /** Waits until the window around `t` is recorded, or the recording fails. */
  async ready(t: number, speed: number): Promise<void> {
    for (let i = 0; i < 2 && !this.has(t); i++) {
      await this.under;
      await this.look(t, speed);
    }
  }

  /** Records the window around `t` or, if this one is recorded and ends soon, the next window. */
  look(t: number, speed: number): Promise<void> | undefined {
    if (this.next !== null && t >= this.next.head.from_ns + BEFORE / 2 && t < this.next.head.until_ns) {
      this.take(this.next);
      this.next = null;
    }
    if (!this.lacks(t, speed)) return undefined;
    const known = this.has(t);
    const from = Math.max(0, (known ? this.table!.head.until_ns : t) - BEFORE);
    this.under = this.record(this.packets() <= MOST_PACKETS && !this.long ? 0 : from, known);
    return this.under;
  }

  /** Returns an upper bound on the number of packets after the warm-up: the sum over all links, in which a packet
   * counts once per link. With the packets of the warm-up, the run may still be too long for one window (`long`). */
  private packets(): number {
    return Object.values(this.shown.result.summary.links).reduce((sum, link) => sum + Number(link["offered_packets"] ?? 0), 0);
  }

  private async record(from: number, ahead: boolean): Promise<void> {
    const stop = this.recording = new AbortController();
    const bytes = await this.engine.window(this.shown.tree, from, this.duration, MOST_PACKETS, stop.signal);
    if (this.recording === stop) this.recording = null;
    if (bytes === null || stop.signal.aborted) return;
    const table = PacketTable.read(bytes);
    this.whole = from === 0 && !table.head.shortened;
    this.long ||= from === 0 && table.head.shortened;
    if (ahead) this.next = table;
    else this.take(table);
    this.onReady();
  }

  private take(table: PacketTable): void {
    [this.table, this.old] = [table, false];
    this.measure();
  }

  show(shown: Shown): void {
    this.stop();
    [this.shown, this.next, this.whole, this.long, this.old] = [shown, null, false, false, true];
    put(this.title, ...explained(shown.title));
    this.root.classList.add("old");
  }

  /** Shows a new title for the same run. A run's title depends on the runs beside it. */
  rename(shown: Shown): void {
    this.shown = shown;
    explain(this.title, shown.title);
  }

  stop(): void {
    this.recording?.abort();
    this.recording = null;
  }

  /** Lays the pane out again, after a change of the pane's size, the table or the page's colours. */
  measure(): void {
    const [width, table] = [this.board.clientWidth, this.table];
    if (table === null || width === 0 || this.old) return;
    const height = Number(this.board.dataset["height"] ?? 0) || (width < 560 ? 210 : 230);
    this.ink = inkOf(this.board);
    this.at = layout(width, height, wayThrough(this.shown.tree, this.shown.link), table, this.shown.tree, this.fewest);
    this.board.style.height = `${height}px`;
    this.painter.setting(this.at, this.ink, table, (flow) => this.colour(flow));
    this.root.classList.remove("old");
    this.onReady();
  }

  set height(px: number) {
    this.board.dataset["height"] = String(px);
  }

  /** Returns the moment at which the queue is longest: in the whole run or, if the window covers only a part of the
   * run, in the part of [from, until] that the window covers. */
  fullest(from: number, until: number): number {
    return (this.whole ? this.table?.fullest(this.link) : this.table?.fullest(this.link, from, until)) ?? from;
  }

  /** The maximum number of packets that wait at once in any one line of the queue. */
  get most(): number {
    return this.table === null || this.old ? 1 : fullestLine(this.table, this.link);
  }

  /** Draws the queue with cells for at least `fewest` packets. */
  scale(fewest: number): void {
    if (fewest === this.fewest) return;
    this.fewest = fewest;
    this.measure();
  }

  colour(flow: number): string {
    const [app, number, , reverse] = this.table?.head.flows[flow] ?? [null, 0, 0, 0];
    return this.colourOf(app ?? "", number, reverse === 1);
  }

  draw(t: number, motion: Motion, chosen: number, now: number): void {
    const { table, at, ink } = this;
    if (table === null || at === null || ink === null) return;
    positions(table, at, t, motion, this.scene);
    this.painter.frame(this.scene, at, table, t, ink, chosen);
    if (now - this.wroteAt < 150) return;
    // while the clock runs, the counts and the sentence are written at most every 150 ms. While the clock is stopped,
    // the stage passes Infinity as `now`, so every frame writes them. `wroteAt` is then 0, so that the first frame
    // after the clock starts again writes them, too
    this.wroteAt = now === Infinity ? 0 : now;
    this.write(t);
  }

  /** Writes the counts, and the sentence that a screen reader reads instead of the picture. */
  write(t: number): void {
    const { table, at, scene } = this;
    if (table === null || at === null) return;
    const i = at.hops.findIndex((hop) => hop.chosen);
    const waiting = scene.waiting[i] ?? 0;
    const { legs, entered } = table.legs(this.link);
    // finds the packet that left the queue last, among the last 2000 that entered it
    let last = -1;
    for (let k = upTo(entered, t) - 1, seen = 0; k >= 0 && seen < 2000; k--, seen++) {
      const left = table.legLeft[legs[k] ?? 0] ?? Infinity;
      if (left <= t && (last < 0 || left > (table.legLeft[last] ?? 0))) last = legs[k] ?? 0;
    }
    const wait = last < 0 ? null : (table.legLeft[last] ?? 0) - (table.legEntered[last] ?? 0);
    const packets = (n: number) => `${n} packet${n === 1 ? "" : "s"}`;
    const part = this.whole ? "" : ` (recorded: second ${(table.head.from_ns / 1e9).toFixed(1)} to ${(table.head.until_ns / 1e9).toFixed(1)})`;
    const isIdle = number(this.shown.result.summary.links[this.shown.link], "sojourn_ms", "max") === 0;
    const counts = isIdle ? `${Math.round(packetsPerSecond(this.shown))} packets per second pass, and none waits${part}` : `${scene.wire[i] ?? 0} on the wire, ${waiting} waiting${wait === null ? "" : `; the last waited ${secondsText(wait / 1e9)}`}${part}`;
    if (this.counts.textContent !== counts) this.counts.textContent = counts;
    this.board.setAttribute("aria-label",
      `${this.shown.title}, at second ${(t / 1e9).toFixed(3)}: ${packets(waiting)} wait in the queue of link ${this.shown.link}, ${packets(at.hops.reduce((sum, _, k) => sum + (scene.wire[k] ?? 0), 0))} travel.`);
  }

  /** Returns the drawn packets, for tests and scripts. */
  read(): Record<string, unknown>[] {
    const { table, at, scene } = this;
    if (table === null || at === null) return [];
    return Array.from({ length: scene.count }, (_, n) => {
      const leg = scene.leg[n] ?? 0;
      const packet = table.legPacket[leg] ?? 0;
      const [app, flow, connection, reverse] = table.head.flows[table.flow[packet] ?? 0] ?? [null, 0, 0, 0];
      return {
        link: at.hops[scene.hop[n] ?? 0]?.name, kind: ["waiting", "modem", "wire", "falling"][scene.kind[n] ?? WIRE], place: scene.place[n], line: table.legLine[leg],
        x: scene.x[n], y: scene.y[n], app, flow, connection, reverse: reverse === 1, seq: table.seq[packet], size: table.size[packet],
        entered: table.legEntered[leg], left: table.legLeft[leg], arrived: table.legArrived[leg],
      };
    });
  }
}
