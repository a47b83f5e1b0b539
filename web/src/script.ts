// window.bloatlab: the page's interface for scripts, for example in a notebook, a test or a course page.

import { film, type FilmRequest } from "./film";
import type { Lab } from "./lab";
import { set } from "./paths";
import type { Charts, Json, Summary, Tree } from "./types";

export interface Script {
  readonly version: string;
  /** Returns a copy of the current scenario. */
  scenario(): Tree;
  /** Sets a value by its dotted path; undefined removes the value. The scenario does not run until `run` is called. */
  set(path: string, value?: Json): void;
  /** Runs the given or the current scenario; returns its summary.   Errors: the simulator refuses the scenario, or the run is stopped. */
  run(scenario?: Tree): Promise<Summary>;
  /** Returns the summary of the run shown on the page; null before the first run. */
  summary(): Summary | null;
  /** Returns the data of the charts for the run shown on the page; null before the first run. */
  charts(): Charts | null;
  /** Returns the list of presets and essays, as in the element #index. */
  index(): Json;
  /** Returns a film of the stage, in base64.   Errors: as for `film` in film.ts. */
  film(request: FilmRequest): Promise<string>;
}

declare global {
  interface Window {
    bloatlab: Script;
  }
}

export function offer(lab: Lab, version: string, index: Json): void {
  let next: Tree | null = null;
  lab.listen({ changed: () => { next = null; } });
  const copy = <T>(of: T): T => structuredClone(of);
  window.bloatlab = Object.freeze<Script>({
    version,
    scenario: () => copy(next ?? lab.tree),
    set(path, value) {
      next ??= copy(lab.tree);
      set(next, path.split("."), value);
    },
    run(scenario) {
      const tree = copy(scenario ?? next ?? lab.tree);
      const done = lab.settled();
      if (scenario !== undefined) lab.open(tree);
      else {
        // a pinned run stays pinned, as when the visitor moves a control
        lab.tree = tree;
        lab.changed(true);
      }
      return done.then(copy);
    },
    summary: () => copy(lab.shown?.result.summary ?? null),
    charts: () => copy(lab.shown?.result.charts ?? null),
    index: () => copy(index),
    async film(request) {
      const bytes = await film(request);
      let text = "";
      for (let i = 0; i < bytes.length; i += 8192) text += String.fromCharCode(...bytes.subarray(i, i + 8192));
      return btoa(text);
    },
  });
}

