// The simulator in Node: the same module that the page's worker runs.

import { readFile } from "node:fs/promises";

/** Instantiates the WebAssembly module in `file`. A `tree` is a scenario as an object. */
export async function engine(file) {
  const { instance } = await WebAssembly.instantiate(await readFile(file));
  const { memory, bl_input, bl_output, bl_output_length, ...functions } = instance.exports;
  const give = (text) => {
    const bytes = new TextEncoder().encode(text);
    new Uint8Array(memory.buffer, bl_input(bytes.length), bytes.length).set(bytes);
  };
  const output = () => new TextDecoder().decode(new Uint8Array(memory.buffer, bl_output(), bl_output_length()));
  const call = (name, ...args) => {
    try {
      return functions[name](...args);
    } catch (error) {
      throw new Error(`${name}: ${error.message}: ${output()}`);
    }
  };
  call("bl_describe");
  const description = output();
  return {
    description: () => JSON.parse(description),
    read(text, json = false) {
      give(text);
      call("bl_read", json ? 1 : 0);
      return JSON.parse(output());
    },
    toml(tree) {
      give(JSON.stringify(tree));
      call("bl_toml");
      return JSON.parse(output());
    },
    /** Runs a scenario, given as JSON text. Returns JSON text: the scenario's problems, or the summary and charts. */
    run(text, points = 400) {
      give(text);
      call("bl_begin");
      const begun = output();
      if (begun !== "{}") return begun;
      while (call("bl_go_on") < 1);
      call("bl_finish", points);
      return output();
    },
  };
}
