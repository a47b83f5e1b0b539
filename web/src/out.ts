// Saves charts to files: SVG and PNG pictures, and CSV tables.

import { h } from "./dom";
import type { Curve, Drawn } from "./charts";

const [WIDTH, HEIGHT] = [960, 420];
const PLOT = { left: 64, top: 56, right: 940, bottom: 340 };
const NS = "http://www.w3.org/2000/svg";

type Attributes = Record<string, string | number>;

function node(tag: string, attributes: Attributes, ...children: (Node | string)[]): SVGElement {
  const made = document.createElementNS(NS, tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, String(value));
  made.append(...children);
  return made;
}

const round = (x: number): string => x.toFixed(1);
const text = (x: number, y: number, words: string, more: Attributes = {}): SVGElement => node("text", { x: round(x), y: round(y), ...more }, words);

/** Returns two to seven round numbers at equal distances along an axis; only `low` if the axis has no length. */
function ticks(low: number, high: number): number[] {
  const rough = (high - low) / 6;
  if (!(rough > 0)) return [low];
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((n) => n * power).find((s) => s >= rough) ?? power;
  const found: number[] = [];
  for (let n = Math.ceil(low / step); n * step <= high * (1 + 1e-9); n++) found.push(Number((n * step).toPrecision(6)));
  return found;
}

const decades = (low: number, high: number): number[] => {
  const found: number[] = [];
  for (let n = Math.ceil(Math.log10(low) - 1e-9); 10 ** n <= high * (1 + 1e-9); n++) found.push(Number((10 ** n).toPrecision(3)));
  return found;
};

/** Functions that convert values to positions on the picture, and the values at the ticks of both axes. */
interface Scales {
  x(value: number): number;
  y(value: number): number;
  xs: number[];
  ys: number[];
}

function scales({ x, lines, kind }: Drawn): Scales {
  const [low, high] = [x[0] ?? 0, x[x.length - 1] ?? 1];
  const most = kind.top ?? Math.max(kind.least ?? 0, 1.05 * Math.max(0, ...lines.filter((l) => !l.ticks).flatMap((l) => l.values.map((v) => v ?? 0))));
  const part = (v: number) => (kind.log ? Math.log(v / low) / Math.log(high / low) : (v - low) / (high - low));
  return {
    x: (v) => PLOT.left + part(v) * (PLOT.right - PLOT.left),
    y: (v) => PLOT.bottom - (v / most) * (PLOT.bottom - PLOT.top),
    xs: kind.log ? decades(low, high) : ticks(low, high),
    ys: ticks(0, most),
  };
}

/** Returns the SVG path of a curve. As in uPlot, the curve continues across missing values. */
function path(x: number[], values: (number | null)[], at: Scales, steps: boolean): string {
  let [d, last] = ["", 0];
  values.forEach((value, i) => {
    if (value === null || value === undefined) return;
    const [px, py] = [at.x(x[i] ?? 0), at.y(value)];
    d += d === "" ? `M${round(px)} ${round(py)}` : steps ? `H${round(px)}V${round(py)}` : `L${round(px)} ${round(py)}`;
    last = py;
  });
  return Number.isFinite(last) ? d : "";
}

function curve(drawn: Drawn, line: Curve, at: Scales): SVGElement {
  const dash: Attributes = line.dashed ? { "stroke-dasharray": "6 5" } : line.dash ? { "stroke-dasharray": line.dash.join(" ") } : {};
  return node("path", { d: path(drawn.x, line.values, at, drawn.kind.steps === true), fill: "none", stroke: line.colour, "stroke-width": line.faint ? 1 : 2, opacity: line.faint ? 0.5 : 1, ...dash });
}

function rug(drawn: Drawn, line: Curve, at: Scales, row: number): SVGElement {
  const d = line.values.map((v, i) => (v ? `M${round(at.x(drawn.x[i] ?? 0))} ${PLOT.top + 2 + 9 * row}v7` : "")).join("");
  return node("path", { d, stroke: line.colour, "stroke-width": 1 });
}

function legend(lines: Curve[]): SVGElement[] {
  let [x, y] = [PLOT.left, HEIGHT - 26];
  return lines.flatMap((line) => {
    const label = line.label.slice(0, 40);
    if (x + 30 + 7 * label.length > PLOT.right) [x, y] = [PLOT.left, y + 17];
    const own = [node("rect", { x: round(x), y: round(y - 6), width: 16, height: 3, fill: line.colour }), text(x + 21, y, label)];
    x += 38 + 7 * label.length;
    return own;
  });
}

export function svgOf(drawn: Drawn): string {
  const { lines, kind, title } = drawn;
  const at = scales(drawn);
  const grid: SVGElement[] = [
    ...at.ys.flatMap((v) => [node("path", { d: `M${PLOT.left} ${round(at.y(v))}H${PLOT.right}`, stroke: "#e0e3e6" }), text(PLOT.left - 8, at.y(v) + 4, String(v), { "text-anchor": "end" })]),
    ...at.xs.flatMap((v) => [node("path", { d: `M${round(at.x(v))} ${PLOT.top}V${PLOT.bottom}`, stroke: "#e0e3e6" }), text(at.x(v), PLOT.bottom + 18, String(v), { "text-anchor": "middle" })]),
  ];
  const rugs = lines.filter((l) => l.ticks);
  const root = node("svg", { xmlns: NS, width: WIDTH, height: HEIGHT, viewBox: `0 0 ${WIDTH} ${HEIGHT}`, "font-family": "sans-serif", "font-size": 13, fill: "#1a1d21" },
    node("rect", { width: WIDTH, height: HEIGHT, fill: "#fff" }),
    text(PLOT.left, 28, title, { "font-size": 17, "font-weight": 600 }), ...grid,
    ...lines.filter((l) => !l.ticks).map((line) => curve(drawn, line, at)), ...rugs.map((line, row) => rug(drawn, line, at, row)),
    text((PLOT.left + PLOT.right) / 2, PLOT.bottom + 38, kind.x, { "text-anchor": "middle" }), ...legend(lines));
  return new XMLSerializer().serializeToString(root);
}

/** Returns the data of a chart as CSV: one column for x and one for each curve. */
export function csvOf({ x, lines, kind }: Drawn): string {
  // names are put in double quotes, and a name that a spreadsheet would treat as a formula gets an apostrophe in front
  const cell = (name: string): string => `"${name.replace(/^(?=[=+\-@])/, "'").replaceAll('"', '""')}"`;
  const head = [kind.x, ...lines.map((l) => (l.ticks ? `${l.label} (packets)` : `${l.label} (${kind.unit})`))].map(cell).join(",");
  const number = (v: number | null | undefined): string => (v === null || v === undefined ? "" : String(Number(v.toPrecision(9))));
  return `${[head, ...x.map((t, i) => [t, ...lines.map((l) => l.values[i])].map(number).join(","))].join("\r\n")}\r\n`;
}

/** Returns a chart as a PNG of twice the SVG's size. */
export async function pngOf(drawn: Drawn): Promise<Blob> {
  const image = new Image();
  image.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(svgOf(drawn))}`;
  await image.decode();
  const canvas = h("canvas", { width: 2 * WIDTH, height: 2 * HEIGHT });
  canvas.getContext("2d")?.drawImage(image, 0, 0, 2 * WIDTH, 2 * HEIGHT);
  return new Promise((done, failed) => canvas.toBlob((blob) => (blob === null ? failed(new Error("no picture")) : done(blob)), "image/png"));
}

function save(blob: Blob, name: string): void {
  const url = URL.createObjectURL(blob);
  h("a", { href: url, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(url), 10_000);
}

export function exportButtons(name: string, drawn: () => Drawn | null): HTMLElement {
  const kinds: [string, (of: Drawn) => Blob | Promise<Blob>][] = [
    ["PNG", pngOf],
    ["SVG", (of) => new Blob([svgOf(of)], { type: "image/svg+xml" })],
    ["CSV", (of) => new Blob([csvOf(of)], { type: "text/csv" })],
  ];
  return h("span", { class: "exports" }, ...kinds.map(([kind, make]) => h("button", {
    type: "button", "aria-label": `save the ${name} chart as ${kind}`, title: `Save as ${kind}`,
    onclick: async () => {
      const of = drawn();
      if (of !== null) save(await make(of), `bloatlab-${name}.${kind.toLowerCase()}`);
    },
  }, kind)));
}
