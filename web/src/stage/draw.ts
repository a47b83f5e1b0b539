// Draws a pane on two canvases. The lower one shows links and queues, and is drawn when the layout, the packets or
// the colours change. The upper one shows packets, and is drawn in every frame.

import { isDark } from "../dom";
import { nameHeight, type Hop, type Layout } from "./layout";
import { FALLING, WAITING, type Scene } from "./positions";
import { PURE_ACK, SYN, type PacketTable } from "./table";

/** Colours of the page in its current colour scheme (light or dark), read whenever a pane is laid out. */
export interface Ink {
  ink: string;
  muted: string;
  line: string;
  grid: string;
  paper: string;
  soft: string;
  bad: string;
  late: string;
  accent: string;
}

export function inkOf(element: Element): Ink {
  const of = getComputedStyle(element);
  const read = (name: string) => of.getPropertyValue(`--${name}`).trim();
  return { ink: read("ink"), muted: read("muted"), line: read("line"), grid: read("grid"), paper: read("paper"), soft: read("soft"), bad: read("bad"), late: read("late"), accent: read("accent") };
}

/** Packets fade in steps. The values are the opacities of a packet after 0, 1, 2 ... steps, in each theme. */
const SHADES = { light: [1, 0.86, 0.72, 0.6, 0.5], dark: [1, 0.9, 0.8, 0.72, 0.65] };
/** The ages (time since sending) at which a packet fades by a step.   Unit: ms of the run. */
const AGES_MS = [25, 75, 200, 500];

const FONT = "12px system-ui, -apple-system, 'Segoe UI', Roboto, sans-serif";

export class Painter {
  private readonly still: CanvasRenderingContext2D;
  private readonly moving: CanvasRenderingContext2D;
  private ratio = 1;
  /** The style (colour and opacity) of each packet in the scene. The array is reused in every frame. */
  private style = new Uint16Array(0);
  /** The packets in the scene, sorted by style. The array is reused in every frame. */
  private order = new Uint32Array(0);
  private readonly begins = new Uint32Array(512);
  private styles: { colour: string; alpha: number }[] = [];
  /** The first style of each flow, which has one style for each step of fading. */
  private ofFlow = new Uint16Array(0);

  constructor(still: HTMLCanvasElement, moving: HTMLCanvasElement) {
    [this.still, this.moving] = [context(still), context(moving)];
  }

  /** Sets the size, and draws the links and queues. */
  setting(at: Layout, ink: Ink, table: PacketTable, colourOf: (flow: number) => string): void {
    this.ratio = Math.min(2, devicePixelRatio || 1);
    for (const { canvas } of [this.still, this.moving]) {
      canvas.width = Math.round(at.width * this.ratio);
      canvas.height = Math.round(at.height * this.ratio);
      canvas.style.height = `${at.height}px`;
    }
    const colours = table.head.flows.map((_, i) => colourOf(i));
    const shades = SHADES[isDark() ? "dark" : "light"];
    const distinct = [...new Set(colours)].slice(0, Math.floor(500 / shades.length));
    this.styles = distinct.flatMap((colour) => shades.map((alpha) => ({ colour, alpha })));
    this.ofFlow = Uint16Array.from(colours, (colour) => Math.max(0, distinct.indexOf(colour)) * shades.length);
    const c = this.still;
    c.setTransform(this.ratio, 0, 0, this.ratio, 0, 0);
    c.clearRect(0, 0, at.width, at.height);
    at.hops.forEach((hop) => wire(c, hop, ink));
    at.hops.forEach((hop) => queueBox(c, hop, ink));
    at.nodes.forEach((node) => {
      const { x, y, w, h } = node.box;
      c.fillStyle = node.end ? ink.soft : ink.muted;
      c.beginPath();
      c.roundRect(x, y, w, h, node.end ? 10 : 3);
      c.fill();
      c.fillStyle = node.end ? ink.ink : ink.muted;
      text(c, node.name, x + w / 2, node.end ? y + h / 2 + 4 : y + h + 12, node.end ? w - 2 : 90, "center");
    });
  }

  /** Draws the packets. `chosen` is the packet that the visitor follows, or -1. */
  frame(scene: Scene, at: Layout, table: PacketTable, t: number, ink: Ink, chosen: number): void {
    const c = this.moving;
    c.setTransform(this.ratio, 0, 0, this.ratio, 0, 0);
    c.clearRect(0, 0, at.width, at.height);
    this.sort(scene, table, t);
    for (let s = 0, i = 0; s < this.styles.length; s++) {
      const end = this.begins[s]!;
      if (i === end) continue;
      const style = this.styles[s]!;
      c.fillStyle = style.colour;
      c.globalAlpha = style.alpha;
      for (; i < end; i++) {
        const n = this.order[i]!;
        const side = scene.side[n]!;
        if (scene.kind[n] === FALLING) c.globalAlpha = 1 - scene.place[n]!;
        c.fillRect(scene.x[n]! - side / 2, scene.y[n]! - side / 2, side, side);
        if (scene.kind[n] === FALLING) c.globalAlpha = style.alpha;
      }
    }
    c.globalAlpha = 1;
    this.signs(scene, table, t, ink, chosen);
  }

  /** Sorts the packets by style (a counting sort). */
  private sort(scene: Scene, table: PacketTable, t: number): void {
    const { count } = scene;
    if (this.style.length < count) [this.style, this.order] = [new Uint16Array(2 * count), new Uint32Array(2 * count)];
    this.begins.fill(0);
    for (let n = 0; n < count; n++) {
      const packet = table.legPacket[scene.leg[n]!]!;
      const age = (t - table.sent[packet]!) / 1e6;
      let shade = 0;
      while (shade < AGES_MS.length && age > AGES_MS[shade]!) shade++;
      const style = this.ofFlow[table.flow[packet]!]! + shade;
      this.style[n] = style;
      this.begins[style]!++;
    }
    let sum = 0;
    for (let s = 0; s < this.styles.length; s++) {
      const own = this.begins[s]!;
      this.begins[s] = sum;
      sum += own;
    }
    // in this loop, `begins` holds the index in `order` of the next packet of each style. After the loop, it holds the
    // end of each style
    for (let n = 0; n < count; n++) this.order[this.begins[this.style[n]!]!++] = n;
  }

  /** Draws signs over packets: a hole for an ACK, a stripe for a SYN, a ring for a mark or a drop, a diamond for a late
   * packet, a frame for the packet that the visitor follows. */
  private signs(scene: Scene, table: PacketTable, t: number, ink: Ink, chosen: number): void {
    const c = this.moving;
    for (let n = 0; n < scene.count; n++) {
      const leg = scene.leg[n]!;
      const packet = table.legPacket[leg]!;
      const side = scene.side[n]!;
      const x = scene.x[n]! - side / 2;
      const y = scene.y[n]! - side / 2;
      if ((table.flags[packet]! & PURE_ACK) !== 0 && side > 5) {
        c.fillStyle = ink.paper;
        c.fillRect(x + side * 0.3, y + side * 0.3, side * 0.4, side * 0.4);
      } else if ((table.flags[packet]! & SYN) !== 0 && side > 5) {
        c.fillStyle = ink.paper;
        c.fillRect(x + side * 0.4, y, side * 0.2, side);
      }
      if (table.legMarked[leg]! <= t) ring(c, x, y, side, ink.ink);
      if (scene.kind[n] === FALLING) {
        c.globalAlpha = 1 - scene.place[n]!;
        ring(c, x, y, side, ink.bad);
        c.globalAlpha = 1;
      } else if (table.late[packet]! < t) diamond(c, scene.x[n]!, scene.y[n]!, side, ink);
      if (packet === chosen) {
        c.strokeStyle = ink.accent;
        c.lineWidth = 2.5;
        c.strokeRect(x - 4, y - 4, side + 8, side + 8);
      }
    }
  }
}

function context(canvas: HTMLCanvasElement): CanvasRenderingContext2D {
  const found = canvas.getContext("2d");
  if (found === null) throw new Error("this browser has no canvas");
  return found;
}

function ring(c: CanvasRenderingContext2D, x: number, y: number, side: number, colour: string): void {
  const w = Math.max(1, Math.min(2.5, side / 5));
  c.strokeStyle = colour;
  c.lineWidth = w;
  c.strokeRect(x + w / 2, y + w / 2, side - w, side - w);
}

/** Draws a late packet, which arrives after its frame should have been played. */
function diamond(c: CanvasRenderingContext2D, x: number, y: number, side: number, ink: Ink): void {
  const r = Math.max(2.5, side * 0.72);
  c.beginPath();
  c.moveTo(x, y - r);
  c.lineTo(x + r, y);
  c.lineTo(x, y + r);
  c.lineTo(x - r, y);
  c.closePath();
  c.fillStyle = ink.late;
  c.fill();
}

function wire(c: CanvasRenderingContext2D, hop: Hop, ink: Ink): void {
  const half = hop.chosen ? 5 : 9;
  const [from, to] = [hop.chosen ? hop.x0 : hop.way > 0 ? hop.queue.x : hop.queue.x + hop.queue.w, hop.x1];
  c.fillStyle = ink.soft;
  c.fillRect(Math.min(from, to), hop.y - half, Math.abs(to - from), 2 * half);
  // up to three arrows show the direction of the link
  const middle = hop.x0 + (hop.x1 - hop.x0) * 0.5;
  c.strokeStyle = ink.muted;
  c.lineWidth = 1.5;
  for (const shift of [-36, 0, 36]) {
    const x = middle + shift;
    if (x < Math.min(hop.x0, hop.x1) + 8 || x > Math.max(hop.x0, hop.x1) - 8) continue;
    c.beginPath();
    c.moveTo(x - 3 * hop.way, hop.y - 4);
    c.lineTo(x + 2 * hop.way, hop.y);
    c.lineTo(x - 3 * hop.way, hop.y + 4);
    c.stroke();
  }
}

/** Draws the queue of the chosen link: a box, open at the end where packets enter, with a gate where they leave. Draws
 * the modem of any link. */
function queueBox(c: CanvasRenderingContext2D, hop: Hop, ink: Ink): void {
  const { x, y, w, h } = hop.queue;
  if (hop.chosen) {
    c.fillStyle = ink.grid;
    c.globalAlpha = 0.45;
    c.fillRect(x, y, w, h);
    c.globalAlpha = 1;
    c.strokeStyle = ink.muted;
    c.lineWidth = 1.5;
    c.beginPath();
    c.moveTo(x, y + h + 1);
    c.lineTo(x + w, y + h + 1);
    c.moveTo(hop.way > 0 ? x + w + 1 : x - 1, y);
    c.lineTo(hop.way > 0 ? x + w + 1 : x - 1, hop.y - 10);
    c.stroke();
    lineNames(c, hop, ink);
  }
  if (hop.modem.w > 0) {
    c.fillStyle = ink.paper;
    c.strokeStyle = ink.muted;
    c.beginPath();
    c.roundRect(hop.modem.x, hop.modem.y, hop.modem.w, hop.modem.h, 5);
    c.fill();
    c.stroke();
    c.fillStyle = ink.muted;
    if (hop.chosen) text(c, "transmit queue", hop.modem.x + hop.modem.w / 2, hop.modem.y + hop.modem.h + 14, 150, "center");
  }
  c.fillStyle = ink.muted;
  if (hop.chosen) text(c, `queue of link ${hop.name}`, hop.way > 0 ? x + 2 : x + w - 2, y + h + 15, w, hop.way > 0 ? "left" : "right");
}

function lineNames(c: CanvasRenderingContext2D, hop: Hop, ink: Ink): void {
  c.strokeStyle = ink.line;
  c.lineWidth = 1;
  hop.names.forEach((name, row) => {
    const { x, y, w, h } = hop.boxes[row]!;
    if (row > 0) {
      c.beginPath();
      c.moveTo(x, y + h);
      c.lineTo(x + w, y + h);
      c.stroke();
    }
    c.fillStyle = ink.muted;
    if (h >= 11) text(c, name, x + 4, nameHeight(h) > 0 ? y + 13 : y + h / 2 + 4, w * 0.6, "left");
  });
}

function text(c: CanvasRenderingContext2D, words: string, x: number, y: number, most: number, align: CanvasTextAlign): void {
  c.font = FONT;
  c.textAlign = align;
  let shown = words;
  while (shown.length > 1 && c.measureText(shown).width > most) shown = `${shown.slice(0, -2).trimEnd()}…`;
  c.fillText(shown, x, y);
}

/** Returns the packet nearest to a point; -1 if no packet is within `most` pixels. */
export function nearest(scene: Scene, table: PacketTable, x: number, y: number, most: number): number {
  let [found, least] = [-1, most * most];
  for (let n = 0; n < scene.count; n++) {
    const away = (scene.x[n]! - x) ** 2 + (scene.y[n]! - y) ** 2;
    // among packets at the same place, a waiting one is preferred
    if (away < least || (away === least && scene.kind[n] === WAITING)) [found, least] = [table.legPacket[scene.leg[n]!]!, away];
  }
  return found;
}
