// Shows the clock's time on a chart.

import type uPlot from "uplot";
import { h } from "../dom";

/** A line across a chart at the stage's time. It is an element over the chart, so moving it does not redraw the chart. Dragging it,
 * or clicking beside it, moves the clock. */
export class Cursor {
  private readonly line = h("div", { class: "cursor" });
  private at = NaN;
  private pressed = NaN;

  constructor(private readonly seek: (second: number) => void) {}

  /** Attaches the line to a new plot. */
  attach(plot: uPlot): void {
    const { over } = plot;
    const to = (event: PointerEvent | MouseEvent) => this.seek(Math.max(0, plot.posToVal(event.clientX - over.getBoundingClientRect().left, "x")));
    over.append(this.line);
    over.addEventListener("mousedown", (event) => { this.pressed = event.clientX; });
    over.addEventListener("click", (event) => { if (Math.abs(event.clientX - this.pressed) < 3) to(event); });
    this.line.onmousedown = (event) => event.stopPropagation();
    this.line.onpointerdown = (event) => { this.line.setPointerCapture(event.pointerId); };
    this.line.onpointermove = (event) => { if (this.line.hasPointerCapture(event.pointerId)) to(event); };
    this.move(plot, this.at);
  }

  move(plot: uPlot, second: number): void {
    this.at = second;
    const { min, max } = plot.scales["x"] ?? {};
    const seen = second >= (min ?? Infinity) && second <= (max ?? -Infinity);
    this.line.style.display = seen ? "" : "none";
    if (seen) this.line.style.transform = `translateX(${plot.valToPos(second, "x").toFixed(1)}px)`;
  }
}
