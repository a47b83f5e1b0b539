// The packets of a window: the columns written by the simulator, and values derived from them. Times are nanoseconds
// since the start of the run; Infinity means never. crates/face/src/window.rs describes the bytes.

export interface Head {
  from_ns: number;
  until_ns: number;
  /** True if the window ends earlier than requested, because it would otherwise contain too many packets or bytes. */
  shortened: boolean;
  links: { name: string; from: string; to: string; delay_ns: number; modem: boolean; discipline: string; lines: string[] }[];
  apps: { name: string; kind: string; late_after_ns: number | null }[];
  /** For each flow: application, number, connection, direction (1: reverse), minimum one-way delay. */
  flows: [string | null, number, number, 0 | 1, number][];
  states: string[];
  columns: [string, "f64" | "u32" | "u16" | "u8", number, number][];
}

type Column = Float64Array | Uint32Array | Uint16Array | Uint8Array;

/** The line number of every packet in a queue with a single line, and of a packet whose line is unknown. */
export const NO_LINE = 0xffff;
/** Flags of a packet (crates/packet/src/meta.rs). */
export const PURE_ACK = 1, SYN = 2, FIN = 4;

/** Drop reasons, by number (crates/packet/src/fate.rs). */
export const REASONS = ["the queue was full", "the queue was full: the packet at its head was dropped", "the law dropped it on arrival", "the law dropped it at the head",
  "the modem's transmit queue was full", "the link lost it", "its flow was gone", "pushed out of a full queue", "a newer ACK made it redundant"];

/** The legs on one link (a leg is a packet's passage over one link), in the order in which they entered its queue. */
export interface LinkLegs {
  /** The numbers of the legs. */
  legs: Uint32Array;
  /** For each leg, the time at which this leg and all legs before it have ended. These times ascend, so the legs in
   * progress can be found by bisection. */
  latest: Float64Array;
  entered: Float64Array;
}

export class PacketTable {
  readonly sent: Float64Array;
  readonly arrived: Float64Array;
  readonly acknowledged: Float64Array;
  readonly seq: Float64Array;
  readonly end: Float64Array;
  readonly flow: Uint32Array;
  readonly size: Uint16Array;
  readonly flags: Uint16Array;
  readonly ecn: Uint8Array;
  readonly again: Uint8Array;
  /** The number of each packet's first leg. A last entry holds the number of legs. */
  readonly first: Uint32Array;
  readonly legEntered: Float64Array;
  readonly legLeft: Float64Array;
  readonly legArrived: Float64Array;
  readonly legDropped: Float64Array;
  readonly legMarked: Float64Array;
  readonly legLink: Uint16Array;
  readonly legLine: Uint16Array;
  readonly legReason: Uint8Array;
  readonly legPacket: Uint32Array;
  /** For each packet of a call, the time after which it is too late to be played; Infinity for all other packets. */
  readonly late: Float64Array;
  private senders: Set<number> | null = null;
  private readonly onLink = new Map<number, LinkLegs>();

  private constructor(readonly head: Head, private readonly columns: Map<string, Column>) {
    const f64 = (name: string) => this.column(name) as Float64Array;
    const u16 = (name: string) => this.column(name) as Uint16Array;
    const u8 = (name: string) => this.column(name) as Uint8Array;
    [this.sent, this.arrived, this.acknowledged] = [f64("packet.sent"), f64("packet.arrived"), f64("packet.acknowledged")];
    [this.seq, this.end] = [f64("packet.seq"), f64("packet.end")];
    this.flow = this.column("packet.flow") as Uint32Array;
    [this.size, this.flags] = [u16("packet.size"), u16("packet.flags")];
    [this.ecn, this.again] = [u8("packet.ecn"), u8("packet.again")];
    [this.legEntered, this.legLeft, this.legArrived] = [f64("leg.entered"), f64("leg.left"), f64("leg.arrived")];
    [this.legDropped, this.legMarked] = [f64("leg.dropped"), f64("leg.marked")];
    [this.legLink, this.legLine, this.legReason] = [u16("leg.link"), u16("leg.line"), u8("leg.reason")];
    const count = this.sent.length;
    this.first = new Uint32Array(count + 1);
    this.legPacket = new Uint32Array(this.legEntered.length);
    this.late = new Float64Array(count).fill(Infinity);
    const legs = u8("packet.legs");
    const lateAfter = new Map(head.apps.map((app) => [app.name, app.late_after_ns ?? Infinity]));
    const deadline = Float64Array.from(head.flows, ([app, , , , least]) => least + (lateAfter.get(app ?? "") ?? Infinity));
    for (let i = 0, leg = 0; i < count; i++) {
      this.first[i] = leg;
      for (let n = legs[i]!; n > 0; n--) this.legPacket[leg++] = i;
      this.first[i + 1] = leg;
      this.late[i] = this.sent[i]! + deadline[this.flow[i]!]!;
    }
  }

  /** Reads the simulator's bytes without copying them. */
  static read(bytes: ArrayBuffer): PacketTable {
    const length = new DataView(bytes).getUint32(0, true);
    const head = JSON.parse(new TextDecoder().decode(new Uint8Array(bytes, 4, length))) as Head;
    const kinds = { f64: Float64Array, u32: Uint32Array, u16: Uint16Array, u8: Uint8Array };
    const columns = new Map(head.columns.map(([name, kind, at, count]): [string, Column] => [name, new kinds[kind](bytes, 4 + length + at, count)]));
    return new PacketTable(head, columns);
  }

  column(name: string): Column {
    const found = this.columns.get(name);
    if (found === undefined) throw new Error(`no column ${name}`);
    return found;
  }

  /** Returns true if the table contains states of a flow's sender. */
  sends(flow: number): boolean {
    return (this.senders ??= new Set(this.column("sender.flow"))).has(flow);
  }

  get packets(): number {
    return this.sent.length;
  }

  link(name: string): number {
    return this.head.links.findIndex((link) => link.name === name);
  }

  /** Returns the time at which a leg ends: the packet arrives at the far end, or is dropped. */
  legEnd(leg: number): number {
    return Math.min(this.legArrived[leg]!, this.legDropped[leg]!);
  }

  /** Returns the time at which a packet stops waiting on a leg: the packet leaves the queue, or is dropped. */
  legServed(leg: number): number {
    return Math.min(this.legLeft[leg]!, this.legDropped[leg]!);
  }

  legs(link: number): LinkLegs {
    let found = this.onLink.get(link);
    if (found === undefined) {
      let count = 0;
      for (let leg = 0; leg < this.legLink.length; leg++) if (this.legLink[leg] === link) count++;
      const legs = new Uint32Array(count);
      let sorted = true;
      for (let leg = 0, n = 0; leg < this.legLink.length; leg++) {
        if (this.legLink[leg] !== link) continue;
        sorted &&= n === 0 || this.legEntered[legs[n - 1]!]! <= this.legEntered[leg]!;
        legs[n++] = leg;
      }
      if (!sorted) legs.sort((a, b) => this.legEntered[a]! - this.legEntered[b]! || a - b);
      found = { legs, latest: new Float64Array(count), entered: new Float64Array(count) };
      for (let i = 0, latest = 0; i < count; i++) {
        const leg = legs[i]!;
        found.entered[i] = this.legEntered[leg]!;
        latest = found.latest[i] = Math.max(latest, this.legEnd(leg));
      }
      this.onLink.set(link, found);
    }
    return found;
  }

  /** Returns the moment in [from, until] at which the most packets wait on a link; null if no packet waits. */
  fullest(link: number, from = 0, until = Infinity): number | null {
    const { legs, entered } = this.legs(link);
    const served = Float64Array.from(legs, (leg) => this.legServed(leg)).sort();
    let [found, most]: [number | null, number] = [null, 0];
    for (let i = 0, gone = 0; i < legs.length; i++) {
      const at = entered[i]!;
      while (served[gone]! <= at) gone++;
      if (i + 1 - gone > most && at >= from && at <= until) [found, most] = [at, i + 1 - gone];
    }
    return found;
  }

  /** Returns the moment halfway between a packet's departure from the queue of a link and its arrival at the far end. The
   * packet is the first that enters at `t` or later and arrives within the window; without one, returns `t`. */
  halfway(link: number, t: number): number {
    const leg = this.legs(link).legs.find((of) => this.legEntered[of]! >= t && this.legArrived[of] !== Infinity && this.legArrived[of]! < this.head.until_ns);
    return leg === undefined ? t : (this.legLeft[leg]! + this.legArrived[leg]!) / 2;
  }

  /** Returns every moment of the window at which something happens on a link, in order. */
  moments(link: number): Float64Array {
    const all: number[] = [];
    for (const leg of this.legs(link).legs) {
      for (const at of [this.legEntered[leg], this.legLeft[leg], this.legArrived[leg], this.legDropped[leg], this.legMarked[leg]]) {
        if (at !== undefined && at !== Infinity && at >= this.head.from_ns && at < this.head.until_ns) all.push(at);
      }
    }
    return Float64Array.from(new Set(all)).sort();
  }
}

/** Returns the name of a flow: the application's name, the flow's number if the application has several flows, and an
 * arrow if its direction is reverse. */
export const flowName = (table: PacketTable, flow: number): string => {
  const [app, number, , reverse] = table.head.flows[flow] ?? [null, 0, 0, 0];
  const several = table.head.flows.some(([other, n]) => other === app && n !== number);
  return `${app ?? "unknown"}${several ? ` ${number + 1}` : ""}${reverse ? " ↓" : ""}`;
};

/** Returns the number of values that are at most `x`. `values` must be in ascending order. */
export function upTo(values: Float64Array, x: number): number {
  let [lo, hi] = [0, values.length];
  while (lo < hi) {
    const mid = (lo + hi) >> 1;
    if ((values[mid] ?? 0) <= x) lo = mid + 1;
    else hi = mid;
  }
  return lo;
}
