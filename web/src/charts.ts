// The three charts. uPlot draws; the colours are Okabe and Ito's, which all eyes tell apart.

import uPlot from "uplot";
import { put } from "./dom";
import type { Charts, FlowLine } from "./types";

/** Okabe & Ito 2008, without black and yellow, which each vanish on one ground. */
const COLOURS = ["#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00", "#8c8c8c", "#7f6a00"];
const DASH = [6, 5];

interface Line {
  label: string;
  colour: string;
  values: (number | null)[];
  dashed?: boolean;
  faint?: boolean;
}

/** Of a logarithmic axis' ticks those at powers of ten. */
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

/** One chart; it is built anew only when its lines are others. */
class Chart {
  private plot: uPlot | null = null;
  private key = "";

  constructor(private readonly root: HTMLElement, private readonly kind: { unit: string; x: string; log?: boolean; sync?: string; top?: number }) {
    new ResizeObserver(() => this.plot?.setSize(this.size())).observe(root);
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.rebuild());
  }

  draw(x: number[], lines: Line[]): void {
    const key = JSON.stringify(lines.map((l) => [l.label, l.colour, l.dashed]));
    const data = [x, ...lines.map((l) => l.values)] as uPlot.AlignedData;
    if (this.plot === null || key !== this.key) {
      this.key = key;
      this.build(data, lines);
    } else this.plot.setData(data);
    // for tests and screen readers: how far the picture goes
    const greatest = Math.max(0, ...lines.filter((l) => !l.dashed).flatMap((l) => l.values.map((v) => v ?? 0)));
    this.root.dataset["greatest"] = String(greatest);
    this.root.dataset["lines"] = lines.map((l) => l.label).join("|");
  }

  private last: { data: uPlot.AlignedData; lines: Line[] } | null = null;

  private rebuild(): void {
    if (this.last !== null) this.build(this.last.data, this.last.lines);
  }

  private size(): { width: number; height: number } {
    return { width: Math.max(200, this.root.clientWidth), height: Number(this.root.dataset["height"] ?? 220) };
  }

  private build(data: uPlot.AlignedData, lines: Line[]): void {
    this.last = { data, lines };
    this.plot?.destroy();
    put(this.root);
    const { ink, grid } = style();
    const axis = { stroke: ink, grid: { stroke: grid, width: 1 }, ticks: { stroke: grid, width: 1 }, font: "12px system-ui, sans-serif" };
    const { unit, x, log, sync, top } = this.kind;
    const digits = (v: number | null): string => (v === null || v === undefined ? "–" : v >= 100 ? v.toFixed(0) : v >= 10 ? v.toFixed(1) : v.toFixed(2));
    const options: uPlot.Options = {
      ...this.size(),
      legend: { live: true },
      cursor: { ...(sync ? { sync: { key: sync } } : {}), drag: { x: true, y: false } },
      scales: {
        x: { time: false, ...(log ? { distr: 3 as const } : {}) },
        y: { range: (_u, _lo, hi) => [0, top ?? Math.max(hi * 1.05, 1e-3)] },
      },
      axes: [
        { ...axis, ...(log ? { filter: decades, values: (_u: uPlot, ticks: (number | null)[]) => ticks.map((t) => (t === null ? "" : String(Number(t.toPrecision(2))))), grid: { ...axis.grid, filter: decades } } : {}) },
        { ...axis, size: 48 },
      ],
      series: [
        { label: x, value: (_u, v) => digits(v) },
        ...lines.map((line): uPlot.Series => ({
          label: line.label, stroke: line.colour, width: line.faint ? 1 : 2, spanGaps: true,
          ...(line.dashed ? { dash: DASH } : {}), ...(line.faint ? { alpha: 0.45 } : {}),
          points: { show: false }, value: (_u, v) => (v === null ? "–" : `${digits(v)} ${unit}`),
        })),
      ],
    };
    this.plot = new uPlot(options, data, this.root);
  }
}

export class Board {
  private readonly delay: Chart;
  private readonly rates: Chart;
  private readonly curves: Chart;

  constructor(delay: HTMLElement, rates: HTMLElement, curves: HTMLElement) {
    this.delay = new Chart(delay, { unit: "ms", x: "time (s)", sync: "time" });
    this.rates = new Chart(rates, { unit: "Mbit/s", x: "time (s)", sync: "time" });
    this.curves = new Chart(curves, { unit: "%", x: "delay (ms)", log: true, top: 100 });
  }

  draw(now: Charts, link: string, pinned: Charts | null): void {
    const grid = axis(now, pinned);
    this.delay.draw(grid, [
      ...delayLines(now, link, grid),
      ...(pinned === null ? [] : delayLines(pinned, link, grid).slice(0, 1).map((l) => ({ ...l, label: "pinned: mean", colour: COLOURS[5] ?? "", dashed: true }))),
    ]);
    const colour = paint([now, pinned]);
    this.rates.draw(grid, [
      ...rateLines(now, grid, colour),
      ...(pinned === null ? [] : rateLines(pinned, grid, colour).map((l) => ({ ...l, label: `pinned: ${l.label}`, dashed: true }))),
    ]);
    this.curves.draw(...curveLines(now, link, pinned, colour));
  }
}

/** Common times of both runs. */
function axis(now: Charts, pinned: Charts | null): number[] {
  return pinned === null ? now.t_s : [...new Set([...now.t_s, ...pinned.t_s])].sort((a, b) => a - b);
}

/** Values at other times than their own: those of the bin that holds the time. */
function onto(grid: number[], charts: Charts, values: (number | null)[]): (number | null)[] {
  if (grid === charts.t_s) return values;
  const end = (charts.t_s[charts.t_s.length - 1] ?? 0) + charts.width_s;
  let bin = 0;
  return grid.map((t) => {
    while (bin + 1 < charts.t_s.length && (charts.t_s[bin + 1] ?? Infinity) <= t) bin++;
    return t < end ? (values[bin] ?? null) : null;
  });
}

function delayLines(charts: Charts, link: string, grid: number[]): Line[] {
  const of = charts.links[link];
  if (of === undefined) return [];
  return [
    { label: "mean", colour: COLOURS[0] ?? "", values: onto(grid, charts, of.delay_ms) },
    { label: "longest", colour: COLOURS[4] ?? "", values: onto(grid, charts, of.delay_ms_max), faint: true },
  ];
}

type Paint = (app: string, flow: number | null) => string;

/** A colour for each application and flow, the same in both runs. */
function paint(charts: (Charts | null)[]): Paint {
  const names = new Map<string, number>();
  const key = (app: string, flow: number | null) => `${flow ?? 0} ${app}`;
  for (const one of charts) for (const line of one?.flows ?? []) if (!names.has(key(line.app, line.flow))) names.set(key(line.app, line.flow), names.size);
  for (const one of charts) for (const line of one?.delays ?? []) if (!names.has(key(line.app, 0))) names.set(key(line.app, 0), names.size);
  return (app, flow) => COLOURS[(names.get(key(app, flow)) ?? 0) % COLOURS.length] ?? "";
}

const label = (line: FlowLine): string =>
  `${line.app}${line.flows > 1 ? (line.flow === null ? ` (${line.flows} flows)` : ` ${line.flow + 1}`) : ""}${line.direction === "reverse" ? " ↓" : ""}`;

/** Over how much time rates are averaged, s: in less, one sees packets. */
export const window = (charts: Charts): number =>
  charts.width_s * Math.ceil(Math.max(0.5, (charts.width_s * charts.t_s.length) / 120) / charts.width_s);

/** The mean around each bin. */
function smooth(charts: Charts, values: number[]): number[] {
  const [before, bins] = [Math.floor(window(charts) / charts.width_s / 2), Math.round(window(charts) / charts.width_s)];
  return values.map((_, i) => {
    const around = values.slice(Math.max(0, i - before), i - before + bins);
    return around.reduce((a, b) => a + b, 0) / around.length;
  });
}

function rateLines(charts: Charts, grid: number[], colour: Paint): Line[] {
  // what goes back beside a transfer (requests, answers) is not what somebody watches
  const greatest = new Map<string, number>();
  const sum = (line: FlowLine) => line.mbit.reduce((a, b) => a + b, 0);
  for (const line of charts.flows) greatest.set(line.app, Math.max(greatest.get(line.app) ?? 0, sum(line)));
  return charts.flows
    .filter((line) => sum(line) > 0.05 * (greatest.get(line.app) ?? 0))
    .map((line) => ({ label: label(line), colour: colour(line.app, line.flow), values: onto(grid, charts, smooth(charts, line.mbit)) }));
}

/** Curves over common delays: in percent, at each step of any of them. */
function curveLines(now: Charts, link: string, pinned: Charts | null, colour: Paint): [number[], Line[]] {
  const curves = [now, pinned].flatMap((charts, i) => {
    if (charts === null) return [];
    const mark = i === 1 ? "pinned: " : "";
    const queue = charts.links[link]?.cdf;
    const apps = charts.delays.filter((d) => d.cdf.ms.length > 0 && (i === 0 || pinned !== null));
    return [
      ...(queue ? [{ label: `${mark}queue`, colour: "#8c8c8c", cdf: queue, dashed: i === 1 }] : []),
      ...apps.map((d) => ({ label: `${mark}${d.app}${d.direction === "reverse" ? " ↓" : ""}`, colour: colour(d.app, 0), cdf: d.cdf, dashed: i === 1 })),
    ];
  });
  const least = 0.1; // ms: left of it the logarithm has no end
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
