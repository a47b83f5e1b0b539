// The page's connection to the worker. While a run is in progress, only the newest request for another run waits. If
// the run takes too long, it is cancelled in favour of that request, so the charts keep up with a moving slider.

import type { Answer, Description, Job, Json, Problem, Request, Result, Tree } from "./types";

/** A run that takes longer than this is cancelled when another run is requested. */
const PATIENCE_MS = 250;
const POINTS = 400;

export interface Watch {
  result(result: Result, ms: number, tree: Tree): void;
  problems(problems: Problem[], tree: Tree): void;
  progress(done: number): void;
  bug(message: string, tree: Tree): void;
}

/** A job that has no number yet. */
type Wish = Job extends infer J ? (J extends Job ? Omit<J, "id"> : never) : never;

type Reading = { tree?: Tree; resolved?: Json; problems?: Problem[] };

export class Engine {
  private id = 0;
  private running: { id: number; since: number; tree: Tree } | null = null;
  private next: Tree | null = null;
  private retry = 0;
  private readonly waiting = new Map<number, (answer: Answer) => void>();

  private constructor(private worker: Worker, private readonly make: () => Worker, private readonly wasm: ArrayBuffer, private readonly watch: Watch) {}

  /** Starts the worker from the source and module embedded in the page. */
  static async start(source: string, wasm: ArrayBuffer, watch: Watch): Promise<[Engine, Description]> {
    const url = URL.createObjectURL(new Blob([source], { type: "text/javascript" }));
    const make = () => new Worker(url);
    const worker = make();
    const engine = new Engine(worker, make, wasm, watch);
    const text = await new Promise<string>((resolve, reject) => {
      worker.onmessage = (event: MessageEvent<Answer>) => {
        if (event.data.kind === "ready") resolve(event.data.text);
      };
      worker.onerror = (event) => reject(new Error(event.message));
      engine.send({ kind: "start", wasm });
    });
    worker.onmessage = (event: MessageEvent<Answer>) => engine.receive(event.data);
    return [engine, JSON.parse(text) as Description];
  }

  /** Runs `tree` as soon as possible, unless another run is requested first. */
  run(tree: Tree): void {
    this.next = structuredClone(tree);
    if (this.running === null) return this.begin();
    if (performance.now() - this.running.since > PATIENCE_MS) this.send({ kind: "cancel" });
    else {
      clearTimeout(this.retry); // one timer is enough, however often a moving slider requests a run
      this.retry = setTimeout(() => this.next !== null && this.running !== null && this.run(this.next), PATIENCE_MS);
    }
  }

  /** Ends the run and all jobs at once, by replacing the worker with a new one. */
  stop(): void {
    this.worker.terminate();
    this.worker = this.make();
    this.worker.onmessage = (event: MessageEvent<Answer>) => this.receive(event.data);
    [this.running, this.next] = [null, null];
    const waiting = [...this.waiting];
    this.waiting.clear();
    this.send({ kind: "start", wasm: this.wasm });
    for (const [id, answer] of waiting) answer({ kind: "dropped", id });
  }

  /** Parses text as TOML or JSON. */
  async read(text: string, json = false): Promise<Reading> {
    return JSON.parse(await this.ask((id) => ({ kind: "read", id, text, json }))) as Reading;
  }

  async toml(tree: Tree): Promise<{ toml?: string; problems?: Problem[] }> {
    return JSON.parse(await this.ask((id) => ({ kind: "toml", id, tree: JSON.stringify(tree) })));
  }

  /** Records the packets of a window, as soon as no run is in progress. Returns null if the simulator refuses the
   * scenario, or if the window is no longer wanted. */
  async window(tree: Tree, from: number, until: number, most: number, stop: AbortSignal): Promise<ArrayBuffer | null> {
    const answer = await this.job({ kind: "window", scenario: JSON.stringify(tree), from, until, most }, stop);
    return answer.kind === "table" ? answer.bytes : null;
  }

  /** Finds the first landmark (drop, mark or timeout) after the time `after`; returns its time in ns, or null if there is none. */
  async find(tree: Tree, landmark: string, link: string, after: number, stop: AbortSignal): Promise<number | null> {
    const answer = await this.job({ kind: "find", scenario: JSON.stringify(tree), landmark, link, after }, stop);
    const at = answer.kind === "answer" ? Number(answer.text) : NaN;
    return at >= 0 ? at : null;
  }

  /** Runs a scenario for comparison with the scenario in the charts. Returns null if the simulator refuses the scenario,
   * or if the result is no longer wanted. */
  async beside(tree: Tree, stop: AbortSignal): Promise<Result | null> {
    const answer = await this.job({ kind: "beside", scenario: JSON.stringify(tree), points: POINTS }, stop);
    const read = answer.kind === "answer" ? JSON.parse(answer.text) as Result | { problems: Problem[] } : { problems: [] };
    return "problems" in read ? null : read;
  }

  private job(wish: Wish, stop: AbortSignal): Promise<Answer> {
    const id = ++this.id;
    if (stop.aborted) return Promise.resolve({ kind: "dropped", id });
    return new Promise((resolve) => {
      this.waiting.set(id, resolve);
      stop.addEventListener("abort", () => {
        if (!this.waiting.delete(id)) return;
        this.send({ kind: "forget", ids: [id] });
        resolve({ kind: "dropped", id });
      }, { once: true });
      this.send({ ...wish, id });
    });
  }

  private ask(request: (id: number) => Request): Promise<string> {
    const id = ++this.id;
    return new Promise((resolve) => {
      const bug = JSON.stringify({ problems: [{ path: "", message: "a bug" }] });
      this.waiting.set(id, (answer) => resolve(answer.kind === "answer" ? answer.text : bug));
      this.send(request(id));
    });
  }

  private begin(): void {
    if (this.next === null) return;
    const tree = this.next;
    this.next = null;
    this.running = { id: ++this.id, since: performance.now(), tree };
    this.send({ kind: "run", id: this.id, scenario: JSON.stringify(tree), points: POINTS });
  }

  private send(request: Request): void {
    this.worker.postMessage(request);
  }

  private receive(answer: Answer): void {
    if (answer.kind === "ready") return;
    const waiting = this.waiting.get(answer.id);
    if (waiting !== undefined) {
      this.waiting.delete(answer.id);
      return waiting(answer);
    }
    const run = this.running;
    if (run === null || answer.id !== run.id) return;
    if (answer.kind === "progress") return this.watch.progress(answer.done);
    this.running = null;
    if (answer.kind === "bug") this.watch.bug(answer.message, run.tree);
    if (answer.kind === "answer") {
      const read = JSON.parse(answer.text) as Result | { problems: Problem[] };
      if ("problems" in read) this.watch.problems(read.problems, run.tree);
      else this.watch.result(read, answer.ms, run.tree);
    }
    this.begin();
  }
}
