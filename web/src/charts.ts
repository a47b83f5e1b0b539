// Draws the three charts with uPlot. The colours are based on Okabe and Ito's palette, which people with colour
// blindness can distinguish.

import uPlot from "uplot";
import { isDark, put } from "./dom";
import { Cursor } from "./stage/cursor";
import type { Charts, FlowCurve } from "./types";

/** The palette of Okabe & Ito 2008. Olive replaces black, which vanishes on dark pages, and yellow, which vanishes on white. Dark pages use
 * lighter hues, except for orange. */
const LIGHT = ["#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00", "#7f6a00"];
const DARK = ["#6ab4ee", "#e69f00", "#1db98c", "#dd94bd", "#b5e2ff", "#f0793a", "#b8a545"];
const colours = (): string[] => (isDark() ? DARK : LIGHT);
/** The colour of the queue's curve in the distribution chart, and of flows to which `paint` gives no colour. */
const GREY = "#8c8c8c";
const DROP = "#d55e00";
const MARK = "#7f6a00";
/** The dash patterns of curves. If there are more curves than colours, the colours repeat with the next pattern. */
const STROKES: (number[] | null)[] = [null, [2, 3], [9, 3, 2, 3]];
/** The dashes of a pinned run. */
const DASH = [6, 5];

/** Returns the border style of a curve's box in the legend. */
const border = (line: Curve | undefined): CSSStyleDeclaration["borderStyle"] =>
  line?.dashed || line?.dash === STROKES[2] ? "dashed" : line?.dash === STROKES[1] ? "dotted" : "solid";

export interface Curve {
  label: string;
  colour: string;
  values: (number | null)[];
  dash?: number[] | null;
  dashed?: boolean;
  faint?: boolean;
  /** True if the values are packets per bin. They are drawn as ticks at the top of the chart, not as a curve. */
  ticks?: boolean;
}

/** Keeps only the ticks at powers of ten, for a logarithmic axis. */
const decades = (_u: uPlot, ticks: number[]): (number | null)[] =>
  ticks.map((t) => (Math.abs(Math.log10(t) - Math.round(Math.log10(t))) < 1e-6 ? t : null));

interface Style {
  ink: string;
  grid: string;
}

const style = (): Style => {
  const of = getComputedStyle(document.documentElement);
  return { ink: of.getPropertyValue("--muted").trim(), grid: of.getPropertyValue("--grid").trim() };
};

/** At the top of the chart, draws a row of ticks for drops and a row for marks. The more packets in a bin, the darker
 * the bin's tick. */
function rugs(u: uPlot, lines: Curve[]): void {
  const { ctx, bbox } = u;
  const x = u.data[0];
  const high = 7 * devicePixelRatio;
  let row = 0;
  lines.forEach((line, i) => {
    if (!line.ticks || u.series[i + 1]?.show === false) return;
    const values = u.data[i + 1] ?? [];
    const most = Math.max(1, ...values.map((v) => v ?? 0));
    const top = bbox.top + 2 * devicePixelRatio + row++ * (high + 2 * devicePixelRatio);
    ctx.save();
    ctx.fillStyle = line.colour;
    values.forEach((v, k) => {
      if (!v) return;
      const at = u.valToPos(x[k] ?? 0, "x", true);
      if (at < bbox.left || at > bbox.left + bbox.width) return;
      ctx.globalAlpha = 0.35 + 0.65 * Math.sqrt(v / most);
      ctx.fillRect(at, top, Math.max(1, devicePixelRatio), high);
    });
    ctx.restore();
  });
}

interface Kind {
  unit: string;
  x: string;
  log?: boolean;
  sync?: string;
  top?: number;
  least?: number;
  steps?: boolean;
}

/** The content of a chart. */
export interface Drawn {
  title: string;
  kind: Kind;
  x: number[];
  lines: Curve[];
}

/** One chart. It is rebuilt only when its set of curves or the colour scheme changes. */
class Chart {
  private plot: uPlot | null = null;
  private key = "";
  private readonly cursor: Cursor | null;
  private second = NaN;

  constructor(private readonly root: HTMLElement, private readonly kind: Kind, seek?: (second: number) => void) {
    this.cursor = seek === undefined ? null : new Cursor(seek);
    new ResizeObserver(() => this.plot?.setSize(this.size())).observe(root);
  }

  draw(x: number[], lines: Curve[]): void {
    const key = JSON.stringify([isDark(), lines.map((l) => [l.label, l.colour, l.dashed, l.dash])]);
    const data = [x, ...lines.map((l) => l.values)] as uPlot.AlignedData;
    this.shown = { x, lines };
    if (this.plot === null || key !== this.key) {
      this.key = key;
      this.build(data, lines);
    } else this.plot.setData(data);
    // tests read the maximum of the curves, without dashed ones (such as those of the pinned run) and ticks
    const greatest = Math.max(0, ...lines.filter((l) => !l.dashed && !l.ticks).flatMap((l) => l.values.map((v) => v ?? 0)));
    this.root.dataset["greatest"] = String(greatest);
    this.root.dataset["lines"] = lines.map((l) => l.label).join("|");
  }

  private shown: { x: number[]; lines: Curve[] } | null = null;

  drawn(title: string): Drawn | null {
    return this.shown === null ? null : { title, kind: this.kind, ...this.shown };
  }

  /** Moves the vertical line that marks the stage's time. */
  move(second: number): void {
    this.second = second;
    if (this.plot !== null) this.cursor?.move(this.plot, second);
  }

  private size(): { width: number; height: number } {
    return { width: Math.max(200, this.root.clientWidth), height: Number(this.root.dataset["height"] ?? 220) };
  }

  private build(data: uPlot.AlignedData, lines: Curve[]): void {
    this.plot?.destroy();
    put(this.root);
    const { ink, grid } = style();
    const axis = { stroke: ink, grid: { stroke: grid, width: 1 }, ticks: { stroke: grid, width: 1 }, font: "12px system-ui, sans-serif" };
    const { unit, x, log, sync, top, least, steps } = this.kind;
    const stepped = steps ? uPlot.paths.stepped?.({ align: 1 }) : undefined;
    const digits = (v: number | null): string => (v === null || v === undefined ? "–" : v >= 100 ? v.toFixed(0) : v >= 10 ? v.toFixed(1) : v.toFixed(2));
    const options: uPlot.Options = {
      ...this.size(),
      legend: { live: true, markers: { width: 3, dash: (_u, i) => border(lines[i - 1]) } },
      cursor: { ...(sync ? { sync: { key: sync } } : {}), drag: { x: true, y: false } },
      scales: {
        x: { time: false, ...(log ? { distr: 3 as const } : {}) },
        y: { range: (_u, _lo, hi) => [0, top ?? Math.max((hi ?? 0) * (1.05 + 0.07 * lines.filter((l) => l.ticks).length), least ?? 1)] },
        n: { auto: false, range: [0, 1] },
      },
      // the legend shows values only while the pointer is over the chart
      hooks: { draw: [(u) => { rugs(u, lines); this.cursor?.move(u, this.second); this.root.dataset["top"] = String(u.scales["y"]?.max); }], setLegend: [(u) => this.root.classList.toggle("pointed", u.legend.idx !== null && u.legend.idx !== undefined)] },
      axes: [
        { ...axis, size: 28, values: (_u: uPlot, ticks: (number | null)[]) => ticks.map((t) => (t === null ? "" : `${Number(t.toPrecision(log ? 2 : 8))} ${log ? "ms" : "s"}`)), ...(log ? { filter: decades, grid: { ...axis.grid, filter: decades } } : {}) },
        { ...axis, size: 48 },
      ],
      series: [
        { label: x, value: (_u, v) => digits(v) },
        ...lines.map((line): uPlot.Series => line.ticks
          ? { label: line.label, stroke: line.colour, scale: "n", paths: () => null, points: { show: false }, value: (_u, v) => (v === null ? "–" : String(v)) }
          : {
            label: line.label, stroke: line.colour, width: line.faint ? 1 : 2, spanGaps: true,
            ...(line.dashed ? { dash: DASH } : line.dash ? { dash: line.dash } : {}), ...(line.faint ? { alpha: 0.45 } : {}),
            ...(stepped ? { paths: stepped } : {}), points: { show: false }, value: (_u, v) => (v === null ? "–" : `${digits(v)} ${unit}`),
          }),
      ],
    };
    this.plot = new uPlot(options, data, this.root);
    this.cursor?.attach(this.plot);
  }
}

export class Board {
  private readonly delay: Chart;
  private readonly rates: Chart;
  private readonly curves: Chart;

  private paint: Paint = paint([]);
  private last: [now: Charts, link: string, pinned: Charts | null] | null = null;

  /** Called with the time in s to which the visitor drags the charts' vertical line, or at which they click a chart. */
  onSeek: (second: number) => void = () => undefined;

  constructor(delay: HTMLElement, rates: HTMLElement, curves: HTMLElement) {
    const seek = (second: number) => this.onSeek(second);
    this.delay = new Chart(delay, { unit: "ms", x: "time (s)", sync: "time", least: 1 }, seek);
    this.rates = new Chart(rates, { unit: "Mbit/s", x: "time (s)", sync: "time", least: 0.1 }, seek);
    this.curves = new Chart(curves, { unit: "%", x: "delay (ms)", log: true, top: 100, steps: true });
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => { if (this.last !== null) this.draw(...this.last); });
  }

  /** Returns the content of a chart, in the light theme's colours; null before the first run. */
  drawn(name: "delay" | "rate" | "cdf", title: string): Drawn | null {
    const found = { delay: this.delay, rate: this.rates, cdf: this.curves }[name].drawn(title);
    return found && { ...found, lines: found.lines.map((line) => ({ ...line, colour: LIGHT[DARK.indexOf(line.colour)] ?? line.colour })) };
  }

  draw(now: Charts, link: string, pinned: Charts | null): void {
    this.last = [now, link, pinned];
    const grid = axis(now, pinned);
    this.delay.draw(grid, [
      ...delayLines(now, link, grid),
      ...(pinned === null ? [] : delayLines(pinned, link, grid).filter((l) => !l.faint && !l.ticks).map(asPinned)),
    ]);
    const colour = this.paint = paint([now, pinned]);
    this.rates.draw(grid, [
      ...rateLines(now, grid, colour),
      ...(pinned === null ? [] : rateLines(pinned, grid, colour).map((l) => ({ ...l, label: `pinned: ${l.label}`, dashed: true }))),
    ]);
    this.curves.draw(...curveLines(now, link, pinned, colour));
  }

  /** Moves the vertical line on the charts over time. */
  move(second: number): void {
    this.delay.move(second);
    this.rates.move(second);
  }

  /** Returns the colour of a flow's curve. ACKs have the colour of the data that they acknowledge. */
  colourOf(app: string, flow: number, reverse: boolean): string {
    return this.paint.of(app, flow, reverse ? "reverse" : "forward");
  }
}

/** Returns the times of both runs, merged, in ascending order. */
function axis(now: Charts, pinned: Charts | null): number[] {
  return pinned === null ? now.t_s : [...new Set([...now.t_s, ...pinned.t_s])].sort((a, b) => a - b);
}

/** Resamples values to the times of `grid`: each time gets the value of the bin containing it. */
function onto(grid: number[], charts: Charts, values: (number | null)[]): (number | null)[] {
  if (grid === charts.t_s) return values;
  const end = (charts.t_s[charts.t_s.length - 1] ?? 0) + charts.width_s;
  let bin = 0;
  return grid.map((t) => {
    while (bin + 1 < charts.t_s.length && (charts.t_s[bin + 1] ?? Infinity) <= t) bin++;
    return t < end ? (values[bin] ?? null) : null;
  });
}

/** Returns the curves of the delay chart: the mean wait (for a dual queue, one in the L queue and one in the C queue),
 * the longest wait, drops and marks. */
function delayLines(charts: Charts, link: string, grid: number[]): Curve[] {
  const of = charts.links[link];
  if (of === undefined) return [];
  const line = (label: string, colour: string | undefined, values: (number | null)[], more: Partial<Curve> = {}): Curve =>
    ({ label, colour: colour ?? "", values: onto(grid, charts, values), ...more });
  const waits = of.wait_l_ms && of.wait_c_ms
    ? [line("in L", colours()[2], of.wait_l_ms), line("in C", colours()[0], of.wait_c_ms)]
    : [line("mean", colours()[0], of.delay_ms)];
  const some = (values: number[]): boolean => values.some((n) => n > 0);
  return [
    ...waits,
    line("longest", colours()[4], of.delay_ms_max, { faint: true }),
    ...(some(of.dropped) ? [line("drops", DROP, of.dropped, { ticks: true })] : []),
    ...(some(of.marked) ? [line("marks", MARK, of.marked, { ticks: true })] : []),
  ];
}

/** Colours of a pinned run's curves in the delay chart, by the label of the current run's curve. */
const PINNED: Record<string, string> = { mean: "#cc79a7", "in C": "#cc79a7", "in L": "#e69f00" };

const asPinned = (line: Curve): Curve => ({ ...line, label: `pinned: ${line.label}`, colour: PINNED[line.label] ?? line.colour, dashed: true });

interface Paint {
  (app: string, flow: number | null, direction: string): Pick<Curve, "colour" | "dash">;
  /** Returns only the colour. A flow without a curve has the colour of its other direction or, if that direction has no
   * curve either, the colour of its application. */
  of(app: string, flow: number, direction: string): string;
}

/** Gives each application, flow and direction a colour and, once all colours are used, a dash pattern. Both runs use
 * the same colours and patterns. */
function paint(charts: (Charts | null)[]): Paint {
  const names = new Map<string, number>();
  const palette = colours();
  const key = (app: string, flow: number | null, direction: string) => `${flow ?? 0} ${direction} ${app}`;
  const add = (name: string) => { if (!names.has(name)) names.set(name, names.size); };
  for (const one of charts) if (one !== null) watched(one).forEach((line) => add(key(line.app, line.flow, line.direction)));
  for (const one of charts) for (const line of one?.delays ?? []) add(key(line.app, 0, line.direction));
  const style = (place: number) => ({ colour: palette[place % palette.length] ?? "", dash: STROKES[Math.floor(place / palette.length) % STROKES.length] ?? null });
  const of = (app: string, flow: number, direction: string): string => {
    const other = direction === "forward" ? "reverse" : "forward";
    const place = [key(app, flow, direction), key(app, flow, other), key(app, 0, direction), key(app, 0, other)].map((k) => names.get(k)).find((n) => n !== undefined);
    return place === undefined ? GREY : style(place).colour;
  };
  return Object.assign((app: string, flow: number | null, direction: string) => style(names.get(key(app, flow, direction)) ?? 0), { of });
}

const label = (line: FlowCurve): string =>
  `${line.app}${line.flows > 1 ? (line.flow === null ? ` (${line.flows} flows)` : ` ${line.flow + 1}`) : ""}${line.direction === "reverse" ? " ↓" : ""}`;

/** Returns the time over which rates are averaged, in s. With a shorter time, single packets would be visible in the
 * curve. */
export const window = (charts: Charts): number =>
  charts.width_s * Math.ceil(Math.max(0.5, (charts.width_s * charts.t_s.length) / 120) / charts.width_s);

/** Returns the running mean over `window(charts)`, centred on each bin. */
function smooth(charts: Charts, values: number[]): number[] {
  const [before, bins] = [Math.floor(window(charts) / charts.width_s / 2), Math.round(window(charts) / charts.width_s)];
  return values.map((_, i) => {
    const around = values.slice(Math.max(0, i - before), i - before + bins);
    return around.reduce((a, b) => a + b, 0) / around.length;
  });
}

/** Returns the flows of the rate chart: each sends more than 5 % of the bytes sent by its application's largest flow.
 * So requests and ACKs are left out, but so is a starved transfer. */
function watched(charts: Charts): FlowCurve[] {
  const greatest = new Map<string, number>();
  const sum = (line: FlowCurve) => line.mbit.reduce((a, b) => a + b, 0);
  for (const line of charts.flows) greatest.set(line.app, Math.max(greatest.get(line.app) ?? 0, sum(line)));
  return charts.flows.filter((line) => sum(line) > 0.05 * (greatest.get(line.app) ?? 0));
}

function rateLines(charts: Charts, grid: number[], colour: Paint): Curve[] {
  return watched(charts).map((line) => ({ label: label(line), ...colour(line.app, line.flow, line.direction), values: onto(grid, charts, smooth(charts, line.mbit)) }));
}

/** Returns the distribution curves in percent, on a common grid of delays. */
function curveLines(now: Charts, link: string, pinned: Charts | null, colour: Paint): [number[], Curve[]] {
  const curves = [now, pinned].flatMap((charts, i) => {
    if (charts === null) return [];
    const mark = i === 1 ? "pinned: " : "";
    const queue = charts.links[link]?.cdf;
    const apps = charts.delays.filter((d) => d.cdf.ms.length > 0);
    return [
      ...(queue ? [{ label: `${mark}queue`, colour: GREY, cdf: queue, dashed: i === 1 }] : []),
      ...apps.map((d) => ({ label: `${mark}${d.app}${d.direction === "reverse" ? " ↓" : ""}`, ...colour(d.app, 0, d.direction), cdf: d.cdf, dashed: i === 1 })),
    ];
  });
  const least = 0.1; // ms; a logarithmic axis must begin above 0
  const grid = [...new Set(curves.flatMap((c) => c.cdf.ms).map((ms) => Math.max(least, ms)))].sort((a, b) => a - b);
  const lines = curves.map(({ cdf, ...line }) => {
    let at = 0;
    const values = grid.map((ms) => {
      while (at < cdf.ms.length && (cdf.ms[at] ?? Infinity) <= ms) at++;
      return at === 0 ? 0 : 100 * (cdf.share[at - 1] ?? 0);
    });
    return { ...line, values };
  });
  return [grid.length > 0 ? grid : [least, 1], lines];
}
