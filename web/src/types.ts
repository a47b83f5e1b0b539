// Messages between the page and the simulator.

export type Json = null | boolean | number | string | Json[] | { [key: string]: Json };
export type Tree = { [key: string]: Json };

/** An error in a scenario, and its path. */
export interface Problem {
  path: string;
  message: string;
}

export interface Cdf {
  ms: number[];
  share: number[];
}

export interface LinkCharts {
  delay_ms: (number | null)[];
  delay_ms_max: (number | null)[];
  queue_packets: (number | null)[];
  /** Packets dropped in each bin. */
  dropped: number[];
  /** Packets marked in each bin. */
  marked: number[];
  /** The mean wait in the L queue of a dual-queue discipline. */
  wait_l_ms?: (number | null)[];
  /** The mean wait in the C queue of a dual-queue discipline. */
  wait_c_ms?: (number | null)[];
  cdf: Cdf | null;
}

export interface FlowCurve {
  app: string;
  direction: "forward" | "reverse";
  /** The flow's number; null for the sum of all flows of the application. */
  flow: number | null;
  flows: number;
  mbit: number[];
}

/** The fate of each frame of a call, by the time at which it was spoken. */
export interface CallFrames {
  app: string;
  direction: "forward" | "reverse";
  /** The time at which frame 0 was sent, in s. */
  start_s: number;
  /** The time between frames, in s. */
  interval_s: number;
  late_after_s: number;
  /** One character per frame: p played, l late, d dropped, - in transit at the end. */
  frames: string;
}

export interface Charts {
  t_s: number[];
  width_s: number;
  links: Record<string, LinkCharts>;
  flows: FlowCurve[];
  delays: { app: string; direction: string; cdf: Cdf }[];
  calls: CallFrames[];
}

/** The summary of a run; docs/results.md says what each key means. */
export interface Summary {
  name: string;
  duration_s: number;
  /** Time at the start left out of the summary. */
  warm_up_s: number;
  fairness: number | null;
  latency: { induced_ms: number | null; induced_p99_ms?: number | null; grade: string | null; from: string | null };
  links: Record<string, Tree>;
  apps: Record<string, Tree>;
}

export interface Result {
  summary: Summary;
  charts: Charts;
}

/** A discipline, application or stack in the catalogue. */
export interface Entry {
  name: string;
  type?: string;
  summary?: string;
  doc?: string;
}

export interface Description {
  version: string;
  schema: Tree;
  catalogue: { qdiscs: Entry[]; apps: Entry[]; tcp: Entry[] };
}

export interface Preset {
  id: string;
  group: string;
  title: string;
  toml: string;
}

/** A message to the worker. */
export type Request =
  | { kind: "start"; wasm: ArrayBuffer }
  | { kind: "run"; id: number; scenario: string; points: number }
  | { kind: "cancel" }
  | { kind: "read"; id: number; text: string; json: boolean }
  | { kind: "toml"; id: number; tree: string }
  | Job
  | { kind: "forget"; ids: number[] };

/** Work for the worker. It waits while a run for the charts is in progress. Times are in nanoseconds. */
export type Job =
  | { kind: "window"; id: number; scenario: string; from: number; until: number; most: number }
  | { kind: "find"; id: number; scenario: string; landmark: string; link: string; after: number }
  | { kind: "beside"; id: number; scenario: string; points: number };

/** A message from the worker. `text` is JSON. */
export type Answer =
  | { kind: "ready"; text: string }
  | { kind: "progress"; id: number; done: number }
  | { kind: "answer"; id: number; text: string; ms: number }
  | { kind: "table"; id: number; bytes: ArrayBuffer }
  | { kind: "dropped"; id: number }
  | { kind: "bug"; id: number; message: string };
