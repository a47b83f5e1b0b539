// Computes where each packet is at an instant. The result depends only on a table, a layout, a time and the durations of
// slides and falls.
//
//   waiting   entered <= t < left           its place in its line, head first
//   modem     left <= t < arrived - delay   only on the link of a modem: waits for its grant, or is being sent
//   wire      left <= t < arrived           the fraction of this time that has passed; on the link of a modem, the time
//                                           begins at arrived - delay
//   falling   dropped <= t < dropped + fall
//
// A dropped packet waits or travels until it is dropped. Buffers are reused: they are allocated again only for a frame
// that has more packets than any frame before.

import type { Hop, Layout } from "./layout";
import { TURN } from "./layout";
import { upTo, type PacketTable } from "./table";

export const WAITING = 0, MODEM = 1, WIRE = 2, FALLING = 3;

/** The packets at an instant, in no particular order. */
export class Scene {
  count = 0;
  leg = new Uint32Array(0);
  hop = new Uint8Array(0);
  kind = new Uint8Array(0);
  /** Place of a packet that waits in a queue or in a modem; the head has place 0. For a packet that travels or falls,
   * the fraction of its travel or fall time that has passed. */
  place = new Float32Array(0);
  x = new Float32Array(0);
  y = new Float32Array(0);
  side = new Float32Array(0);
  /** The number of packets waiting at each hop. */
  waiting: number[] = [];
  /** The number of packets in each hop's modem. */
  modem: number[] = [];
  /** The number of packets on each hop's wire. */
  wire: number[] = [];

  /** Makes room for `count` packets. */
  reserve(count: number): void {
    if (count <= this.leg.length) return;
    const room = Math.max(count, 2 * this.leg.length, 1024);
    const grown = <T extends Uint32Array | Uint8Array | Float32Array>(old: T, made: T): T => { made.set(old as never); return made; };
    this.leg = grown(this.leg, new Uint32Array(room));
    [this.hop, this.kind] = [grown(this.hop, new Uint8Array(room)), grown(this.kind, new Uint8Array(room))];
    [this.place, this.side] = [grown(this.place, new Float32Array(room)), grown(this.side, new Float32Array(room))];
    [this.x, this.y] = [grown(this.x, new Float32Array(room)), grown(this.y, new Float32Array(room))];
  }
}

/** Durations of movements on the screen.   Unit: ns of the run. */
export interface Motion {
  /** Duration of the slide of a packet into its place. */
  ease: number;
  /** Duration of the fall of a dropped packet. */
  fall: number;
}

/** For each line of one hop's queue, the number of packets placed so far. Reused in every frame. */
const inRow = new Uint32Array(64);
/** For each line of one hop's queue, the distance by which the line still has to move up, in places. Reused in every
 * frame. */
const moved = new Float32Array(64);

/** Fills `out` with the packets at `t`. */
export function positions(table: PacketTable, at: Layout, t: number, motion: Motion, out: Scene): void {
  out.count = 0;
  for (let i = 0; i < at.hops.length; i++) {
    out.waiting[i] = out.modem[i] = out.wire[i] = 0;
    const hop = at.hops[i]!;
    if (hop.link >= 0) onHop(table, hop, i, t, motion, out);
  }
}

function onHop(table: PacketTable, hop: Hop, number: number, t: number, motion: Motion, out: Scene): void {
  const { legs, latest, entered } = table.legs(hop.link);
  const hi = upTo(entered, t);
  const lo = Math.min(hi, upTo(latest, t - motion.fall));
  const delay = table.head.links[hop.link]?.delay_ns ?? 0;
  const hasModem = hop.modem.w > 0;
  out.reserve(out.count + hi - lo);
  inRow.fill(0);
  moved.fill(0);
  if (!hasModem) slide(table, hop, legs, lo, hi, t, delay);
  let inModem = 0;
  for (let i = lo; i < hi; i++) {
    const leg = legs[i] ?? 0;
    const left = table.legLeft[leg]!;
    const arrived = table.legArrived[leg]!;
    const dropped = table.legDropped[leg]!;
    if (arrived <= t) continue;
    const n = out.count;
    const side = hop.cell * sideOf(table.size[table.legPacket[leg] ?? 0] ?? 0);
    out.leg[n] = leg;
    out.hop[n] = number;
    out.side[n] = side;
    if (dropped <= t) {
      if (t - dropped >= motion.fall) continue;
      fall(table, hop, leg, (t - dropped) / motion.fall, out, n);
    } else if (left > t) {
      wait(table, hop, leg, t, motion, out, n);
      out.waiting[number]!++;
    } else if (hasModem && t < arrived - delay) {
      out.kind[n] = MODEM;
      out.place[n] = inModem;
      queueUp(hop, inModem++, out, n);
      out.modem[number]!++;
    } else {
      travel(table, hop, leg, hasModem ? arrived - delay : left, arrived, t, out, n);
      out.wire[number]!++;
    }
    out.count++;
  }
}

/** Returns the side of the square for a packet, as a fraction of its cell: an ACK is smaller than a full segment. */
const sideOf = (size: number): number => 0.86 * Math.max(0.42, Math.min(1, Math.sqrt(size / 1500)));

/** Returns the number of the line in which a leg waits, counted from the bottom. */
function rowOf(table: PacketTable, hop: Hop, leg: number): number {
  if (hop.lines.length <= 1) return 0;
  const row = hop.lines.indexOf(table.legLine[leg] ?? 0);
  return row < 0 ? hop.lines.length - 1 : row;
}

/** Computes the distance by which a line still has to move up. While a packet is being sent, the line that it has left
 * moves up by one place. */
function slide(table: PacketTable, hop: Hop, legs: Uint32Array, lo: number, hi: number, t: number, delay: number): void {
  let last = -1;
  let at = -Infinity;
  for (let i = lo; i < hi; i++) {
    const left = table.legLeft[legs[i]!]!;
    if (left > t || left < at) continue;
    last = legs[i]!;
    at = left;
  }
  if (last < 0) return;
  const sending = (table.legArrived[last] ?? Infinity) - delay - at;
  if (sending > 0 && t - at < sending) moved[rowOf(table, hop, last)] = 1 - (t - at) / sending;
}

function wait(table: PacketTable, hop: Hop, leg: number, t: number, motion: Motion, out: Scene, n: number): void {
  const row = rowOf(table, hop, leg);
  const place = inRow[row] ?? 0;
  inRow[row] = place + 1;
  out.kind[n] = WAITING;
  out.place[n] = place;
  cellAt(hop, row, place + (moved[row] ?? 0), out, n);
  // a packet that has just arrived slides in from the side of its sender. In a row that fills towards the sender, it
  // reaches its place directly; in a row that fills away from the sender, it moves above the packets that are already
  // there
  const age = (t - table.legEntered[leg]!) / motion.ease;
  if (age < 1 && hop.chosen) {
    const x = hop.way > 0 ? hop.queue.x - 12 : hop.queue.x + hop.queue.w + 12;
    const far = (1 - age) * (1 - age);
    out.x[n]! += (x - out.x[n]!) * far;
    if (Math.floor(place / hop.columns) % 2 === 1) out.y[n]! -= hop.cell * Math.min(1, 4 * far);
  }
}

/** Computes the point for a place in a line. The rows of a line are stacked from the bottom up. Each row runs in the
 * direction opposite to the row below and is joined to it by a semicircle. A semicircle is 1.57 cells long and takes
 * only TURN (1.2) places, so packets keep their distance there, too. */
function cellAt(hop: Hop, row: number, place: number, out: Scene, n: number): void {
  const { queue, cell, columns, way } = hop;
  // `along` is the distance, in cells, from the start of the straight part of the lowest row. Place 0 lies half a cell
  // before that start, next to the gate
  const along = place - 0.5;
  const turn = Math.max(0, Math.floor(along / columns));
  const straight = Math.max(0, columns - TURN);
  const inRow = along - turn * columns;
  const angle = inRow <= straight ? 0 : (Math.PI * (inRow - straight)) / (columns - straight);
  const column = Math.min(inRow, straight) + Math.sin(angle) / 2;
  const gate = way > 0 ? queue.x + queue.w : queue.x;
  out.x[n] = gate - way * (1 + (turn % 2 === 0 ? column : straight - column)) * cell;
  out.y[n] = hop.bases[row]! - (turn + 1 - Math.cos(angle) / 2) * cell;
}

function queueUp(hop: Hop, place: number, out: Scene, n: number): void {
  const { modem, way } = hop;
  const pitch = Math.min(out.side[n]! + 1, 8);
  const x = Math.min(place * pitch, modem.w - pitch);
  out.x[n] = way > 0 ? modem.x + modem.w - pitch / 2 - x : modem.x + pitch / 2 + x;
  out.y[n] = hop.y;
}

/** Computes the position of a packet on the wire. Without a modem, the first fifth of the path leads from the head of the
 * packet's line to the wire. */
function travel(table: PacketTable, hop: Hop, leg: number, begin: number, arrived: number, t: number, out: Scene, n: number): void {
  const share = arrived > begin && arrived !== Infinity ? (t - begin) / (arrived - begin) : 0;
  out.kind[n] = WIRE;
  out.place[n] = share;
  cellAt(hop, rowOf(table, hop, leg), 0, out, n);
  const fromX = hop.modem.w > 0 ? hop.x0 : out.x[n]!;
  const fromY = hop.modem.w > 0 ? hop.y : out.y[n]!;
  out.x[n] = fromX + (hop.x1 - fromX) * share;
  out.side[n]! *= 1 - (1 - hop.onWire / hop.cell) * Math.min(1, 5 * share);
  out.y[n] = fromY + (hop.y - fromY) * Math.min(1, 5 * share);
}

/** Computes the position of a dropped packet. It falls from the near end of the wire if the link lost it, from the head
 * of its line if it had waited, and otherwise from the entrance of the queue. */
function fall(table: PacketTable, hop: Hop, leg: number, share: number, out: Scene, n: number): void {
  const [entered, left, dropped] = [table.legEntered[leg] ?? 0, table.legLeft[leg] ?? Infinity, table.legDropped[leg] ?? 0];
  const row = rowOf(table, hop, leg);
  out.kind[n] = FALLING;
  out.place[n] = share;
  if (left <= dropped) [out.x[n], out.y[n]] = [hop.x0, hop.y];
  else if (entered < dropped) cellAt(hop, row, 0, out, n);
  else [out.x[n], out.y[n]] = [hop.way > 0 ? hop.queue.x - 10 : hop.queue.x + hop.queue.w + 10, hop.chosen ? hop.queue.y + hop.cell / 2 : hop.y];
  out.y[n]! += (hop.chosen ? 110 : 20) * share * share;
  out.x[n]! += hop.way * 8 * share;
}
