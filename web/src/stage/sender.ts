// The state of a TCP sender at a moment: its congestion window, its slow start threshold, and its estimate of the round trip.

import { h, put } from "../dom";
import { bytesText, rateText, secondsText } from "../quantities";
import { explained } from "../terms";
import { flowName, type PacketTable } from "./table";

export interface SenderState {
  state: string;
  window: number;
  threshold: number;
  inFlight: number;
  srtt: number;
  rto: number;
  pacing: number;
}

/** Returns the state of a flow's sender at `t`; null if no state has been recorded up to `t`. `sender.t` is in
 * ascending order. */
export function senderAt(table: PacketTable, flow: number, t: number): SenderState | null {
  const times = table.column("sender.t");
  const flows = table.column("sender.flow");
  let [lo, hi] = [0, times.length];
  while (lo < hi) {
    const mid = (lo + hi) >> 1;
    if ((times[mid] ?? 0) <= t) lo = mid + 1;
    else hi = mid;
  }
  let row = lo - 1;
  while (row >= 0 && flows[row] !== flow) row--;
  if (row < 0) return null;
  const of = (name: string) => table.column(`sender.${name}`)[row] ?? NaN;
  return {
    state: table.head.states[of("state")] ?? "", window: of("cwnd_bytes"), threshold: of("ssthresh_bytes"), inFlight: of("in_flight_bytes"),
    srtt: of("srtt_ms"), rto: of("rto_ms"), pacing: of("pacing_rate_mbit"),
  };
}

/** Returns the flow whose sender is shown if the visitor does not follow a packet of a TCP sender: the flow that sent the
 * most TCP data in the window; -1 if no flow sent any. */
export function busiest(table: PacketTable): number {
  let found = busiestOf.get(table);
  if (found === undefined) {
    const sent = new Float64Array(table.head.flows.length);
    for (let i = 0; i < table.packets; i++) if ((table.end[i] ?? 0) > 0) sent[table.flow[i] ?? 0]! += table.size[i] ?? 0;
    found = sent.indexOf(Math.max(0, ...sent));
    if (!((sent[found] ?? 0) > 0)) found = -1;
    busiestOf.set(table, found);
  }
  return found;
}

const busiestOf = new WeakMap<PacketTable, number>();

const STATES: Record<string, string> = { open: "has noticed no loss", disorder: "ACKs hint at a gap", cwr: "slows down after a mark", recovery: "recovers from a loss", loss: "recovers from a timeout" };

/** The panel of a sender's state. The elements are made once; only their text changes with the clock. */
export class SenderPanel {
  readonly root = h("section", { class: "sender-state", "aria-label": "The sender" });
  private readonly of = h("span");
  private readonly state = h("span", { class: "of" });
  private readonly inside = h("span", { class: "inside" });
  private readonly edge = h("span", { class: "edge" });
  private readonly none = h("p", { class: "line" }, "No TCP sender has sent yet.");
  private readonly values = ["in flight", "congestion window", "slow start threshold", "smoothed round trip", "pacing rate"].map((name) => {
    const value = h("dd");
    return { value, row: h("div", {}, h("dt", {}, ...explained(name)), value) };
  });
  private readonly all = h("div", {}, h("div", { class: "window" }, this.inside, this.edge), h("dl", {}, ...this.values.map(({ row }) => row)));

  constructor() {
    this.all.hidden = true;
    put(this.root, h("h3", {}, this.of, this.state), this.none, this.all);
  }

  /** Shows the sender of a flow at `t`; -1 for no flow. */
  show(table: PacketTable, flow: number, t: number, colour: string): void {
    const sender = flow < 0 ? null : senderAt(table, flow, t);
    this.all.hidden = sender === null;
    this.none.hidden = sender !== null;
    write(this.of, sender === null ? "The sender" : `Sender of ${flowName(table, flow)}: `);
    write(this.state, sender === null ? "" : (STATES[sender.state.toLowerCase()] ?? sender.state));
    if (sender === null) return;
    const most = Math.max(sender.window, sender.inFlight, Number.isNaN(sender.threshold) ? 0 : sender.threshold, 1);
    this.inside.style.transform = `scaleX(${Math.min(1, sender.inFlight / most).toFixed(4)})`;
    this.inside.style.background = colour;
    this.edge.style.left = `${Math.min(100, (100 * sender.window) / most).toFixed(1)}%`;
    const texts = [bytesText(sender.inFlight), bytesText(sender.window), Number.isNaN(sender.threshold) ? "no limit yet" : bytesText(sender.threshold),
      Number.isNaN(sender.srtt) ? "not measured" : secondsText(sender.srtt / 1e3), Number.isNaN(sender.pacing) ? "" : rateText(sender.pacing * 1e6)];
    this.values.forEach(({ value, row }, i) => { write(value, texts[i] ?? ""); row.hidden = texts[i] === ""; });
  }
}

function write(element: HTMLElement, text: string): void {
  if (element.textContent !== text) element.textContent = text;
}
