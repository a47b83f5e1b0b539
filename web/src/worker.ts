// The simulator in its own thread. A run proceeds in slices of some milliseconds; between slices the worker handles
// messages, so a run can be cancelled.

import type { Answer, Request } from "./types";

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
}

const SLICE_MS = 25;

let module: WebAssembly.Module;
let core: Exports;
let current: { id: number; points: number; begun: number; busy: number } | null = null;

const reply = (answer: Answer) => postMessage(answer);

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

/** Calls the simulator. After a trap its memory may be corrupt, so a new instance replaces it. */
function guarded(id: number, act: () => void): void {
  try {
    act();
  } catch (error) {
    const message = core.bl_output_length() > 0 ? output() : String(error);
    current = null;
    instantiate();
    reply({ kind: "bug", id, message: message.slice(0, 500) });
  }
}

const pause = new MessageChannel();
pause.port1.onmessage = () => step();

function step(): void {
  const run = current;
  if (run === null) return;
  guarded(run.id, () => {
    const begun = performance.now();
    let done = 0;
    do done = core.bl_go_on();
    while (done < 1 && performance.now() - begun < SLICE_MS);
    if (done < 1) {
      run.busy += performance.now() - begun;
      reply({ kind: "progress", id: run.id, done });
      pause.port2.postMessage(null);
      return;
    }
    current = null;
    core.bl_finish(run.points);
    const text = output();
    reply({ kind: "answer", id: run.id, text, ms: run.busy + performance.now() - begun });
  });
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
        const begun = performance.now();
        write(request.scenario);
        core.bl_begin();
        const text = output();
        if (text !== "{}") return reply({ kind: "answer", id: request.id, text, ms: 0 });
        current = { id: request.id, points: request.points, begun, busy: performance.now() - begun };
        step();
      });
  }
};
