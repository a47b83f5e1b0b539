// Computes the layout of the stage from its size, the path of the packets, and the waiting lines in each queue.
// Unit: CSS pixels.

import { choice, get } from "../paths";
import { limit } from "../quantities";
import type { Tree } from "../types";
import type { Way } from "./route";
import { flowName, NO_LINE, type PacketTable } from "./table";

export interface Box {
  x: number;
  y: number;
  w: number;
  h: number;
}

/** One link on the stage. Packets travel to the right in the upper row, and to the left in the lower row. */
export interface Hop {
  /** Number of the link in the table; -1 if the table does not contain the link. */
  link: number;
  name: string;
  /** 1: to the right; -1: to the left. */
  way: 1 | -1;
  queue: Box;
  /** The modem between queue and wire. A width of 0 means that there is no modem. */
  modem: Box;
  /** The x coordinate of the near end of the wire, where packets leave the modem or, if there is none, the queue. */
  x0: number;
  /** The far end of the wire. */
  x1: number;
  /** The y coordinate of the wire. */
  y: number;
  /** Side of the square that one packet takes in the queue. */
  cell: number;
  /** Side of the square for one packet on the wire, on which many packets may travel at once. */
  onWire: number;
  columns: number;
  /** The numbers of the queue's lines (its inner queues), from the bottom up. */
  lines: number[];
  /** The box of each line. */
  boxes: Box[];
  /** For each line, the y coordinate of the bottom of the lowest row of packets. */
  bases: number[];
  /** The name of each line: the name of the inner queue, or the names of the flows whose packets wait in it. The name is
   * empty if the queue has a single line. */
  names: string[];
  chosen: boolean;
}

export interface Node {
  name: string;
  box: Box;
  /** True for the sender and the receiver, false for a node between them. */
  end: boolean;
}

export interface Layout {
  width: number;
  height: number;
  hops: Hop[];
  nodes: Node[];
}

const LARGEST_CELL = 20;
const LEAST_CELL = 2;
/** Number of packets that fit on the semicircle between two rows of a queue. */
export const TURN = 1.2;
/** Width that the semicircles at the two ends of a row take, minus the width of the packets that they hold.   Unit:
 * cells. */
const AT_ENDS = 2 - TURN;
/** Maximum number of lines that have rows of their own; additional lines share the last row. */
const MOST_ROWS = 12;

/** Returns the maximum number of intervals [begin, end) that contain the same moment. `begins` is in ascending order;
 * empty intervals are not counted. */
function mostAtOnce(begins: Float64Array, ends: Float64Array): number {
  ends.sort();
  let most = 0;
  for (let i = 0, gone = 0; i < begins.length; i++) {
    while (gone < ends.length && ends[gone]! <= begins[i]!) gone++;
    most = Math.max(most, i + 1 - gone);
  }
  return most;
}

/** Returns the numbers of the lines in which packets of a link wait, in ascending order. */
const linesOf = (table: PacketTable, link: number): number[] =>
  [...new Set(Array.from(table.legs(link).legs, (leg) => table.legLine[leg]!))].filter((line) => line !== NO_LINE).sort((x, y) => x - y);

/** Returns the maximum number of packets that wait at once in each line of a link's queue, by the line's number. The
 * lines without a row of their own are counted together with the last line that has a row. */
function fullest(table: PacketTable, link: number): Map<number, number> {
  const { legs, entered } = table.legs(link);
  const counts = new Map<number, number>();
  const lines = linesOf(table, link);
  const last = lines[MOST_ROWS - 1] ?? NO_LINE;
  const lineOf = (leg: number): number => { const line = table.legLine[leg]!; return line === NO_LINE ? line : Math.min(line, last); };
  for (const leg of legs) counts.set(lineOf(leg), (counts.get(lineOf(leg)) ?? 0) + 1);
  for (const [line, count] of counts) {
    const [begins, ends] = [new Float64Array(count), new Float64Array(count)];
    let n = 0;
    for (let i = 0; i < legs.length; i++) {
      const leg = legs[i]!;
      if (lineOf(leg) !== line || table.legServed(leg) <= entered[i]!) continue;
      begins[n] = entered[i]!;
      ends[n++] = table.legServed(leg);
    }
    counts.set(line, mostAtOnce(begins.subarray(0, n), ends.subarray(0, n)));
  }
  return new Map([...counts].sort(([x], [y]) => x - y));
}

/** Returns the maximum number of packets that wait at once in any one line of a link's queue. */
export const fullestLine = (table: PacketTable, link: number): number => (link < 0 ? 1 : Math.max(1, ...fullest(table, link).values()));

/** Returns the boxes of the lines in a queue, from the bottom up. Each box has 20 pixels for the name of its line, or
 * less in a low queue. The remaining height is divided in proportion to the lines' numbers of packets. */
function boxesOf(queue: Box, most: number[]): Box[] {
  const least = Math.min(20, queue.h / most.length);
  const sum = most.reduce((a, b) => a + b, 0);
  let bottom = queue.y + queue.h;
  return most.map((n) => {
    const h = least + ((queue.h - least * most.length) * n) / sum;
    bottom -= h;
    return { ...queue, y: bottom, h };
  });
}

/** Returns the name of a line: the name of its queue or, if the queue has only a number, the names of the flows in the
 * line. Several flows are in one line if their hashes collide. */
function lineName(table: PacketTable, link: number, line: number): string {
  const own = table.head.links[link]?.lines[line] ?? "";
  if (!/^\d+$/.test(own)) return own;
  const flows = new Set<string>();
  for (const leg of table.legs(link).legs) if (table.legLine[leg] === line) flows.add(flowName(table, table.flow[table.legPacket[leg] ?? 0] ?? 0));
  const all = [...flows];
  return all.length > 3 ? `${all.slice(0, 2).join(", ")} and ${all.length - 2} more` : all.join(", ");
}

/** Returns the height of the name above the packets, in a line of height `high`. In a low line, this height is 0,
 * because the name is beside the packets. */
export const nameHeight = (high: number): number => (high >= 30 ? 14 : 0);

/** Returns the maximum number of packets that are in a link's modem and on its wire at once. Lost packets do not count. */
function crowd(table: PacketTable, link: number): number {
  const { legs } = table.legs(link);
  const [begins, ends] = [new Float64Array(legs.length), new Float64Array(legs.length)];
  let n = 0;
  for (const leg of legs) {
    if (table.legArrived[leg] === Infinity) continue;
    begins[n] = table.legLeft[leg]!;
    ends[n++] = table.legArrived[leg]!;
  }
  return mostAtOnce(begins.subarray(0, n).sort(), ends.subarray(0, n));
}

/** Returns the number of packets for which a queue is drawn: the queue's limit, if it is given in packets and is at
 * most three times `most`; otherwise `most`, the maximum number of packets that wait. */
function room(tree: Tree, link: string, most: number): number {
  const queue = choice(get(tree, ["link", link.replace(/^~/, ""), "queue"]));
  const [size, unit] = limit(String(queue?.params["limit"] ?? "")) ?? [0, ""];
  return unit === "p" && size <= 3 * most ? size : most;
}

/** Returns the largest side of a cell, at most `largest`, with which `count` packets in rows fit into a box; LEAST_CELL
 * if they do not fit. */
function packed(box: Box, count: number, largest: number): number {
  let cell = Math.min(largest, box.h, Math.sqrt((box.w * box.h) / Math.max(1, count)));
  while (cell > LEAST_CELL && Math.floor(box.w / cell - AT_ENDS) * Math.floor(box.h / cell) < count) cell -= 0.5;
  return Math.max(LEAST_CELL, cell);
}

/** Lays out a pane. The chosen queue has cells for at least `fewest` packets. This number is the same for all panes, so
 * that their cells have similar sizes. */
export function layout(width: number, height: number, way: Way, table: PacketTable, tree: Tree, fewest: number): Layout {
  const narrow = width < 560;
  const end = narrow ? 62 : 88;
  const [top, baseline] = [24, height - 74];
  const back = height - 26;
  const nodes: Node[] = [];
  const names = [way.there[0]?.from ?? way.back[0]?.to ?? "", ...way.there.map((l) => l.to)];
  const weights = way.there.map((_, i) => (i === way.chosen ? 5 : 1));
  const total = weights.reduce((a, b) => a + b, 0);
  const [left, right] = [end, width - end];
  const hops: Hop[] = [];
  let x = left;
  way.there.forEach((link, i) => {
    const w = ((right - left) * (weights[i] ?? 1)) / total;
    hops.push(hop({ table, tree, fewest, link: link.name, way: 1, from: x, to: x + w, top, y: baseline, chosen: i === way.chosen }));
    x += w;
    if (i + 1 < way.there.length) nodes.push({ name: names[i + 1] ?? "", end: false, box: { x: x - 4, y: baseline - 14, w: 8, h: 28 } });
  });
  x = right;
  way.back.forEach((link) => {
    const w = (right - left) / way.back.length;
    hops.push(hop({ table, tree, fewest, link: link.name, way: -1, from: x, to: x - w, top: back - 9, y: back, chosen: false }));
    x -= w;
  });
  nodes.push({ name: names[0] ?? "", end: true, box: { x: 0, y: top, w: end - 10, h: height - top - 8 } });
  nodes.push({ name: names[names.length - 1] ?? "", end: true, box: { x: width - end + 10, y: top, w: end - 10, h: height - top - 8 } });
  return { width, height, hops, nodes };
}

interface Place {
  table: PacketTable;
  tree: Tree;
  fewest: number;
  link: string;
  way: 1 | -1;
  from: number;
  to: number;
  top: number;
  y: number;
  chosen: boolean;
}

function hop({ table, tree, fewest, link: name, way, from, to, top, y, chosen }: Place): Hop {
  const link = table.link(name);
  const long = Math.abs(to - from);
  const known: [number, number][] = link >= 0 ? [...fullest(table, link)] : [];
  const modem = table.head.links[link]?.modem === true;
  const queueWidth = chosen ? long * (modem ? 0.5 : 0.62) : Math.min(long * 0.4, 70);
  const modemWidth = modem ? long * 0.14 : 0;
  const gap = chosen ? 10 : 4;
  const begin = way > 0 ? from + gap : from - gap - queueWidth;
  const high = chosen ? y + 10 - top : 18;
  const named = known.filter(([line]) => line !== NO_LINE);
  const most = Math.max(1, ...known.map(([, n]) => n));
  const several = named.length > 1;
  const lines = several ? named.map(([line]) => line) : [NO_LINE];
  const queue = { x: begin, y: y + (chosen ? 10 : 9) - high, w: queueWidth, h: high };
  // an upper limit in all panes: with larger cells, the fullest line of all panes would not fit
  const largest = chosen ? packed(queue, fewest, Math.min(LARGEST_CELL, queueWidth / 10)) : LARGEST_CELL;
  const counts = several ? named.map(([, n]) => Math.max(1, n)) : [Math.max(room(tree, name, most), chosen ? 6 : 1)];
  const boxes = several ? boxesOf(queue, counts) : [queue];
  const free = boxes.map((box) => (several ? box.h - nameHeight(box.h) - 2 : box.h));
  const cell = Math.min(...boxes.map((box, i) => packed({ ...box, h: free[i] ?? 0 }, counts[i] ?? 1, largest)));
  const columns = Math.max(1, Math.floor(queueWidth / cell - AT_ENDS));
  const bases = boxes.map((box, i) => box.y + box.h - (several ? 1 + Math.max(0, ((free[i] ?? 0) - Math.ceil((counts[i] ?? 1) / columns) * cell) / 2) : 0));
  const after = way > 0 ? begin + queueWidth + (modem ? 6 : 0) : begin - (modem ? 6 : 0) - modemWidth;
  const x0 = way > 0 ? after + modemWidth : modem ? after : begin;
  const onWire = link < 0 ? cell : Math.max(4, Math.min(cell, (1.15 * Math.abs(to - x0)) / Math.max(1, crowd(table, link))));
  // the lines without a row share the last row
  const hidden = several ? linesOf(table, link).length - lines.length : 0;
  const names = lines.map((line, row) => (several ? `${lineName(table, link, line)}${hidden > 0 && row === lines.length - 1 ? ` and ${hidden} more ${hidden === 1 ? "queue" : "queues"}` : ""}` : ""));
  return { link, name, way, names, queue, modem: { x: after, y: y - 12, w: modemWidth, h: 24 }, x0, x1: to, y, cell, onWire, columns, lines, boxes, bases, chosen };
}
