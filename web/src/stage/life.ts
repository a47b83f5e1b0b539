// Describes the events of one packet's life in words.

import { h, put } from "../dom";
import { secondsText } from "../quantities";
import { FIN, flowName, PURE_ACK, REASONS, SYN, type PacketTable } from "./table";

interface Event {
  at: number;
  words: string;
}

/** Returns the events of a packet, in order. */
export function lifeOf(table: PacketTable, packet: number): Event[] {
  const found: Event[] = [];
  const add = (at: number | undefined, words: string) => { if (at !== undefined && at !== Infinity) found.push({ at, words }); };
  const legs = [table.first[packet] ?? 0, table.first[packet + 1] ?? 0];
  add(table.sent[packet], table.again[packet] ? "sent again, because the sender considers it lost" : "sent");
  for (let leg = legs[0] ?? 0; leg < (legs[1] ?? 0); leg++) {
    const link = table.head.links[table.legLink[leg] ?? 0];
    const name = link?.name ?? "";
    const [entered, left, arrived, dropped] = [table.legEntered[leg] ?? 0, table.legLeft[leg] ?? 0, table.legArrived[leg] ?? 0, table.legDropped[leg] ?? 0];
    const waited = left - entered;
    if (dropped > entered) add(entered, `in the queue of link ${name}`);
    add(table.legMarked[leg], `marked at ${name}: slow down`);
    if (left !== Infinity) add(left, waited > 0 ? `leaves the queue of link ${name} after ${secondsText(waited / 1e9)}` : `finds the queue of link ${name} empty and leaves at once`);
    if (link?.modem && arrived !== Infinity && arrived - link.delay_ns > left) add(arrived - link.delay_ns, `the modem has sent it, ${secondsText((arrived - link.delay_ns - left) / 1e9)} later`);
    add(dropped, `dropped at ${name}: ${REASONS[table.legReason[leg] ?? 0] ?? ""}`);
  }
  const total = (table.arrived[packet] ?? 0) - (table.sent[packet] ?? 0);
  const late = (table.arrived[packet] ?? 0) > (table.late[packet] ?? Infinity);
  add(table.arrived[packet], `arrives after ${secondsText(total / 1e9)}${late ? ": too late for the listener" : ""}`);
  add(table.acknowledged[packet], "its sender receives the ACK");
  return found.sort((a, b) => a.at - b.at);
}

/** Describes a packet in words: "data of upload, bytes 1 to 1448". */
export function nameOf(table: PacketTable, packet: number): string {
  const flags = table.flags[packet] ?? 0;
  const flow = flowName(table, table.flow[packet] ?? 0);
  const [seq, end] = [table.seq[packet] ?? 0, table.end[packet] ?? 0];
  if ((flags & SYN) !== 0) return `SYN of ${flow}`;
  if ((flags & PURE_ACK) !== 0) return `ACK of ${flow}, up to byte ${seq.toLocaleString("en")}`;
  if (end > 0) return `data of ${flow}, bytes ${seq.toLocaleString("en")} to ${(end - 1).toLocaleString("en")}`;
  return (flags & FIN) !== 0 ? `FIN of ${flow}` : `packet ${seq.toLocaleString("en")} of ${flow}`;
}

/** Returns the next (`step` 1) or previous (-1) packet of the same flow, in sending order; null if the window contains
 * no such packet. */
export function neighbour(table: PacketTable, packet: number, step: 1 | -1): number | null {
  const flow = table.flow[packet];
  for (let i = packet + step; i >= 0 && i < table.packets; i += step) if (table.flow[i] === flow) return i;
  return null;
}

export interface LifeActions {
  go(t: number): void;
  choose(packet: number): void;
}

/** Writes the events of a packet into `panel`. The time of each event is a button that moves the clock to this time. */
export function showLife(panel: HTMLElement, table: PacketTable, packet: number, t: number, act: LifeActions): void {
  const events = lifeOf(table, packet);
  const [before, after] = [neighbour(table, packet, -1), neighbour(table, packet, 1)];
  put(panel,
    h("h3", {}, "One packet: ", h("span", { class: "of" }, `${nameOf(table, packet)}, ${table.size[packet]} bytes`)),
    h("ol", { class: "life" }, ...events.map(({ at, words }) =>
      h("li", { class: at <= t ? "past" : "", "data-at": at }, h("button", { type: "button", onclick: () => act.go(at) }, `${(at / 1e9).toFixed(4)} s`), ` ${words}`))),
    h("div", { class: "buttons" },
      h("button", { type: "button", disabled: before === null, onclick: () => before !== null && act.choose(before) }, "Flow's previous packet"),
      h("button", { type: "button", disabled: after === null, onclick: () => after !== null && act.choose(after) }, "Flow's next packet")));
}
