// Puts the stage into the page. It shows the current run, the pinned run, and runs with other disciplines.

import type { Lab } from "../lab";
import { set } from "../paths";
import { board, queueName, shownLink } from "../show";
import type { Description, Tree } from "../types";
import { Stage } from "./stage";

export function openStage(lab: Lab, known: Description): void {
  const stage = new Stage({
    engine: lab.engine,
    disciplines: known.catalogue.qdiscs.map((q) => q.name).filter((name) => name !== "python"),
    colourOf: (app, flow, reverse) => board.colourOf(app, flow, reverse),
    withDiscipline,
    moved: (second) => board.move(second),
    compare: (disciplines) => lab.compare(disciplines),
  });
  board.onSeek = (second) => {
    stage.clock.pause();
    void stage.seekTo(second * 1e9);
  };
  lab.listen({
    changed: () => stage.yield(),
    shown: () => {
      const { shown, pinned } = lab;
      if (shown === null) return;
      const link = shownLink(shown.result.charts, shown.link);
      stage.beside = lab.beside;
      stage.show({ title: queueName(shown.tree, link), tree: shown.tree, link, result: shown.result },
        pinned === null ? null : { title: `pinned: ${queueName(pinned.tree, link)}`, tree: pinned.tree, link, result: pinned.result });
    },
  });
}

/** Returns the scenario with another discipline at a link, with the discipline's default parameters. */
function withDiscipline(of: Tree, link: string, discipline: string): Tree {
  const other = structuredClone(of);
  set(other, ["link", link.replace(/^~/, ""), "queue"], { [discipline]: {} });
  return other;
}
