// Makes a film of the stage, as WebM or GIF: draws the stage at equal steps of the clock.

import { byId, h } from "./dom";
import { gif } from "./gif";
import { webm, type Frame } from "./webm";

export interface FilmRequest {
  kind: "webm" | "gif";
  /** Start of the film, in seconds of the run. */
  from: number;
  /** End of the film, in seconds of the run. */
  until: number;
  /** Simulated time divided by film time. */
  speed: number;
  /** Frames per second. */
  rate?: number;
}

const MOST_PICTURES = 1500;
const [MARGIN, TITLE, FONT] = [12, 20, 13];

type Drawn = HTMLElement & { stage: { seek(second: number): Promise<void> } };

/** Draws the stage's panes, each with its title, one below another. */
function compose(canvas: HTMLCanvasElement, second: number): void {
  const panes = [...document.querySelectorAll<HTMLElement>("#stage .pane")];
  const boards = panes.map((pane) => [...pane.querySelectorAll("canvas")]);
  const sizes = boards.map(([board]) => ({ width: board?.clientWidth ?? 0, height: board?.clientHeight ?? 0 }));
  const even = (n: number): number => 2 * Math.ceil(n / 2);
  const width = even(Math.max(200, ...sizes.map((s) => s.width)) + 2 * MARGIN);
  const height = even(sizes.reduce((sum, s) => sum + s.height + TITLE + MARGIN, MARGIN));
  if (canvas.width !== width || canvas.height !== height) [canvas.width, canvas.height] = [width, height];
  const ctx = canvas.getContext("2d", { willReadFrequently: true });
  if (ctx === null) throw new Error("this browser draws no canvas");
  const style = getComputedStyle(document.documentElement);
  ctx.fillStyle = style.getPropertyValue("--paper");
  ctx.fillRect(0, 0, width, height);
  ctx.fillStyle = style.getPropertyValue("--ink");
  ctx.font = `${FONT}px sans-serif`;
  let y = MARGIN;
  panes.forEach((pane, i) => {
    const words = [...(pane.querySelector(".of")?.children ?? [])].map((part) => part.textContent).join(": ");
    ctx.fillText(words.slice(0, 120), MARGIN, y + FONT, width - 110);
    for (const board of boards[i] ?? []) ctx.drawImage(board, MARGIN, y + TITLE, sizes[i]?.width ?? 0, sizes[i]?.height ?? 0);
    y += TITLE + (sizes[i]?.height ?? 0) + MARGIN;
  });
  ctx.textAlign = "right";
  ctx.fillText(`${second.toFixed(4)} s`, width - MARGIN, MARGIN + FONT);
  ctx.textAlign = "left";
}

/** Makes a film.   Errors: the request is invalid, the film is too long, or (for WebM) the browser cannot encode VP8. */
export async function film({ kind, from, until, speed, rate = 25 }: FilmRequest): Promise<Uint8Array> {
  const pictures = Math.max(1, Math.round(((until - from) / speed) * rate));
  if (!(until > from && speed > 0 && rate > 0)) throw new Error("a film needs a later end, a speed and a rate");
  if (pictures > MOST_PICTURES) throw new Error(`${pictures} pictures; a film has at most ${MOST_PICTURES}: shorten it or raise its speed`);
  const canvas = h("canvas");
  const { stage } = byId("stage") as Drawn;
  const each = async (act: (i: number) => void | Promise<void>) => {
    for (let i = 0; i < pictures; i++) {
      const second = from + (i / rate) * speed;
      await stage.seek(second);
      compose(canvas, second);
      await act(i);
    }
  };
  if (kind === "webm") return encoded(canvas, pictures, rate, each);
  const all: ImageData[] = [];
  await each(() => { all.push(canvas.getContext("2d")!.getImageData(0, 0, canvas.width, canvas.height)); });
  return gif(all, 1000 / rate);
}

async function encoded(canvas: HTMLCanvasElement, pictures: number, rate: number, each: (act: (i: number) => Promise<void>) => Promise<void>): Promise<Uint8Array> {
  const frames: Frame[] = [];
  let failed: Error | null = null;
  const encoder = new VideoEncoder({
    output: (chunk) => {
      const bytes = new Uint8Array(chunk.byteLength);
      chunk.copyTo(bytes);
      frames.push({ bytes, ms: Math.round(chunk.timestamp / 1000), key: chunk.type === "key" });
    },
    error: (error) => { failed = error; },
  });
  await each(async (i) => {
    if (i === 0) encoder.configure({ codec: "vp8", width: canvas.width, height: canvas.height, bitrate: 4_000_000, framerate: rate });
    const frame = new VideoFrame(canvas, { timestamp: Math.round((i * 1e6) / rate) });
    encoder.encode(frame, { keyFrame: i % (4 * rate) === 0 });
    frame.close();
    if (encoder.encodeQueueSize > 8) await encoder.flush();
  });
  await encoder.flush();
  if (failed !== null) throw failed;
  return webm(frames, canvas.width, canvas.height, (pictures / rate) * 1000);
}
