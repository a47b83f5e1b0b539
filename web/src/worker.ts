// Runs the simulator in its own thread. A run proceeds in slices of about 25 ms; between slices the worker handles messages,
// so a run can be cancelled. Jobs (packet windows, searches for landmarks, runs for comparison) wait while a run is in progress.

import type { Answer, Job, Request } from "./types";

interface Exports {
  memory: WebAssembly.Memory;
  bl_input(length: number): number;
  bl_output(): number;
  bl_output_length(): number;
  bl_describe(): void;
  bl_read(json: number): void;
  bl_toml(): void;
  bl_begin(): void;
  bl_go_on(): number;
  bl_finish(points: number): void;
  bl_window(from: number, until: number, most: number): void;
  bl_find(after: number): void;
  bl_window_go_on(): number;
  bl_window_finish(): void;
  bl_find_finish(): number;
}

const SLICE_MS = 25;

let module: WebAssembly.Module;
let core: Exports;
let current: { id: number; points: number; busy: number } | null = null;

let jobs: Job[] = [];
/** True if the first job in the list has begun. */
let begun = false;

const reply = (answer: Answer, transfer: Transferable[] = []) => postMessage(answer, { transfer });

function write(text: string): void {
  const bytes = new TextEncoder().encode(text);
  new Uint8Array(core.memory.buffer, core.bl_input(bytes.length), bytes.length).set(bytes);
}

function output(): string {
  return new TextDecoder().decode(new Uint8Array(core.memory.buffer, core.bl_output(), core.bl_output_length()));
}

function instantiate(): void {
  core = new WebAssembly.Instance(module).exports as unknown as Exports;
  core.bl_describe();
}

/** Calls the simulator. After a trap, its memory may be corrupt, so the simulator is instantiated again. */
function guarded(id: number, act: () => void): void {
  try {
    act();
  } catch (error) {
    const message = core.bl_output_length() > 0 ? output() : String(error);
    current = null;
    jobs = jobs.filter((job) => job.id !== id);
    begun = false;
    instantiate();
    reply({ kind: "bug", id, message: message.slice(0, 500) });
  }
}

const pause = new MessageChannel();
pause.port1.onmessage = () => step();

function step(): void {
  const run = current;
  if (run === null) return work();
  guarded(run.id, () => {
    const since = performance.now();
    let done = 0;
    do done = core.bl_go_on();
    while (done < 1 && performance.now() - since < SLICE_MS);
    if (done < 1) {
      run.busy += performance.now() - since;
      reply({ kind: "progress", id: run.id, done });
      pause.port2.postMessage(null);
      return;
    }
    current = null;
    core.bl_finish(run.points);
    const text = output();
    reply({ kind: "answer", id: run.id, text, ms: run.busy + performance.now() - since });
    pause.port2.postMessage(null);
  });
}

/** Runs the next slice of the first job. */
function work(): void {
  const job = jobs[0];
  if (job === undefined) return;
  guarded(job.id, () => {
    if (!begun) {
      const refused = begin(job);
      if (refused !== null) return finish({ kind: "answer", id: job.id, text: refused, ms: 0 });
      begun = true;
    }
    const since = performance.now();
    let done = 0;
    do done = job.kind === "beside" ? core.bl_go_on() : core.bl_window_go_on();
    while (done >= 0 && done < 1 && performance.now() - since < SLICE_MS);
    if (done >= 1) return finish(answerOf(job));
    // another run has replaced the job's run in the simulator, so the job must begin again
    if (done < 0) begun = false;
    pause.port2.postMessage(null);
  });
}

/** Begins a job; returns the simulator's reason if it refuses the job, otherwise null. */
function begin(job: Job): string | null {
  if (job.kind === "find") {
    write(JSON.stringify({ scenario: JSON.parse(job.scenario), landmark: job.landmark, link: job.link }));
    core.bl_find(job.after);
  } else {
    write(job.scenario);
    if (job.kind === "window") core.bl_window(job.from, job.until, job.most);
    else core.bl_begin();
  }
  const text = output();
  return text === "{}" ? null : text;
}

function answerOf(job: Job): Answer {
  const { id } = job;
  switch (job.kind) {
    case "find": return { kind: "answer", id, text: String(core.bl_find_finish()), ms: 0 };
    case "beside": core.bl_finish(job.points); return { kind: "answer", id, text: output(), ms: 0 };
    case "window": {
      core.bl_window_finish();
      const at = core.bl_output();
      return { kind: "table", id, bytes: core.memory.buffer.slice(at, at + core.bl_output_length()) };
    }
  }
}

/** Answers the first job, and continues with the next. */
function finish(answer: Answer): void {
  jobs.shift();
  begun = false;
  reply(answer, answer.kind === "table" ? [answer.bytes] : []);
  pause.port2.postMessage(null);
}

onmessage = (event: MessageEvent<Request>) => {
  const request = event.data;
  switch (request.kind) {
    case "start":
      module = new WebAssembly.Module(request.wasm);
      instantiate();
      return reply({ kind: "ready", text: output() });
    case "cancel":
      if (current !== null) reply({ kind: "dropped", id: current.id });
      current = null;
      return work();
    case "forget":
      begun &&= jobs[0] !== undefined && !request.ids.includes(jobs[0].id);
      jobs = jobs.filter((job) => !request.ids.includes(job.id));
      return;
    case "window":
    case "find":
    case "beside":
      jobs.push(request);
      if (jobs.length === 1) pause.port2.postMessage(null);
      return;
    case "read":
      return guarded(request.id, () => {
        write(request.text);
        core.bl_read(request.json ? 1 : 0);
        reply({ kind: "answer", id: request.id, text: output(), ms: 0 });
      });
    case "toml":
      return guarded(request.id, () => {
        write(request.tree);
        core.bl_toml();
        reply({ kind: "answer", id: request.id, text: output(), ms: 0 });
      });
    case "run":
      return guarded(request.id, () => {
        const since = performance.now();
        // the core holds one run at a time. So if a job of the kind `beside` (a run for comparison) is in progress,
        // this run replaces the job's run, and the job begins again afterwards
        if (jobs[0]?.kind === "beside") begun = false;
        write(request.scenario);
        core.bl_begin();
        const text = output();
        if (text !== "{}") return reply({ kind: "answer", id: request.id, text, ms: 0 });
        current = { id: request.id, points: request.points, busy: performance.now() - since };
        step();
      });
  }
};
