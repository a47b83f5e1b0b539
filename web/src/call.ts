// Draws a call over time: a wave of speech with gaps where frames are missing.
// Below the wave are a row of late frames and a row of lost frames.

import { number } from "./cards";
import { byId, put } from "./dom";
import { envelope } from "./speech";
import type { CallFrames, Result, Summary } from "./types";

/** Colours of played and dropped frames, from Okabe and Ito's palette. Late frames are hatched in the page's colour for late packets. */
const COLOURS = { p: "#009e73", d: "#d55e00" };
const HATCH = 6;
const HEIGHT = 92;
const WAVE = 62;
const ROW = 12;

/** Returns the call that is drawn on the page: the first call with frames. */
export const callOf = (result: Result): CallFrames | null => result.charts.calls[0] ?? null;

let drawn: { call: CallFrames; end: number } | null = null;
let late = "";
const canvas = () => byId<HTMLCanvasElement>("call-canvas");

/** Draws a run's call and describes it in a sentence; hides the figure if the run has no call. */
export function drawCall(result: Result, pinned: Result | null): void {
  const call = callOf(result);
  byId("call-figure").hidden = call === null;
  drawn = call === null ? null : { call, end: result.summary.duration_s };
  if (call === null) return;
  const before = pinned === null ? null : callOf(pinned);
  const text = counted(call, result.summary);
  byId("call-title").textContent = `What the listener of ${call.app} hears`;
  put(byId("call-words"), text, before !== null && ` Before: ${counted(before, (pinned ?? result).summary)}`);
  canvas().setAttribute("aria-label", text);
  byId("call-figure").dataset["frames"] = call.frames;
  paint();
}

/** Returns a sentence such as "1690 of 2000 pieces of 20 ms are played; 250 come too late, 60 are lost." The numbers
 * are from the summary, as on the call's card. */
function counted(call: CallFrames, summary: Summary): string {
  const of = (key: string) => number(summary.apps[call.app], call.direction === "reverse" ? "voip_reverse" : "voip", key) ?? 0;
  const all = of("judged");
  const [late, lost] = ["late_percent", "lost_percent"].map((key) => Math.round((of(key) / 100) * all)) as [number, number];
  const played = all - late - lost;
  const missing = [late > 0 && `${late} come too late`, lost > 0 && `${lost} are lost`].filter(Boolean).join(", ");
  const share = (n: number): string => `${n === all ? "All" : n} ${n === all ? all : `of ${all}`}`;
  return `${share(played)} pieces of ${Math.round(call.interval_s * 1000)} ms are played${missing === "" ? "." : `; ${missing}.`}`;
}

/** Draws the figure, with a line at the speech that is being played: at `now` in the run, in s, or null for no line. */
export function paint(now: number | null = null): void {
  if (drawn === null) return;
  const { call, end } = drawn;
  const [width, scale] = [Math.max(200, canvas().parentElement?.clientWidth ?? 600), devicePixelRatio];
  if (canvas().width !== Math.round(width * scale)) {
    canvas().width = Math.round(width * scale);
    canvas().height = Math.round(HEIGHT * scale);
  }
  const ctx = canvas().getContext("2d");
  if (ctx === null) return;
  ctx.setTransform(scale, 0, 0, scale, 0, 0);
  ctx.clearRect(0, 0, width, HEIGHT);
  late = getComputedStyle(document.documentElement).getPropertyValue("--late").trim();
  for (let x = 0; x < width; x++) column(ctx, call, x, (x / width) * end, ((x + 1) / width) * end);
  if (now === null) return;
  ctx.fillStyle = getComputedStyle(document.documentElement).getPropertyValue("--ink");
  ctx.fillRect((now / end) * width - 1, 0, 2, HEIGHT);
}

/** Draws one column of pixels, for the frames whose speech was spoken in [from, until). */
function column(ctx: CanvasRenderingContext2D, call: CallFrames, x: number, from: number, until: number): void {
  const first = Math.max(0, Math.ceil((from - call.start_s) / call.interval_s));
  const after = Math.max(first + 1, Math.ceil((until - call.start_s) / call.interval_s));
  const frames = call.frames.slice(Math.min(first, Math.floor((from - call.start_s) / call.interval_s)), after);
  if (from < call.start_s || frames === "") return;
  const share = (letter: string) => (frames.split(letter).length - 1) / frames.length;
  const high = Math.max(1.5, WAVE * envelope(from));
  ctx.globalAlpha = 1;
  ctx.fillStyle = COLOURS.p;
  const played = high * share("p");
  ctx.fillRect(x, (WAVE - played) / 2, 1, played);
  for (const [row, letter] of (["l", "d"] as const).entries()) {
    if (share(letter) === 0) continue;
    ctx.globalAlpha = 0.35 + 0.65 * share(letter);
    const top = WAVE + 4 + row * (ROW + 1);
    if (letter === "l") hatch(ctx, x, top);
    else {
      ctx.fillStyle = COLOURS[letter];
      ctx.fillRect(x, top, 1, ROW);
    }
  }
}

/** Draws one column of diagonal lines. */
function hatch(ctx: CanvasRenderingContext2D, x: number, top: number): void {
  ctx.fillStyle = late;
  for (let y = -(x % HATCH); y < ROW; y += HATCH) {
    const [from, until] = [Math.max(0, y), Math.min(ROW, y + HATCH / 2)];
    if (until > from) ctx.fillRect(x, top + from, 1, until - from);
  }
}

/** Returns the time in the run at the position of a pointer, in s. */
export function timeAt(event: MouseEvent): number {
  const box = canvas().getBoundingClientRect();
  return ((event.clientX - box.left) / box.width) * (drawn?.end ?? 0);
}

new ResizeObserver(() => paint()).observe(byId("call-canvas").parentElement ?? document.body);
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => paint());
