// Plays the call of a run aloud when the visitor presses a button.

import { callOf, paint, timeAt } from "./call";
import { byId } from "./dom";
import type { Lab } from "./lab";
import { samples } from "./speech";

/** Maximum duration of the part of a run that is played. In the page's first experiments, the upload has made the call
 * worse by the end of this part. */
const LENGTH_S = 9;
/** Start of the part that the button plays. In the page's first experiments, the upload begins later, at 5 s. */
const FROM_S = 3;

export class Sound {
  private context: AudioContext | null = null;
  private playing: { source: AudioBufferSourceNode; since: number; from: number } | null = null;
  /** True if the next run will be played too, because sound was on when the scenario changed. */
  private again = false;
  private readonly button = byId("hear");

  constructor(private readonly lab: Lab) {
    this.button.addEventListener("click", () => (this.playing === null ? this.play(FROM_S) : this.stop()));
    byId("call-canvas").addEventListener("click", (event) => this.play(timeAt(event)));
    lab.listen({
      // while sound is on, each new run is played
      changed: () => {
        this.again ||= this.playing !== null;
        this.stop();
      },
      shown: (ms) => {
        if (ms === null || !this.again) return;
        this.again = false;
        this.play(FROM_S);
      },
    });
  }

  /** Plays the shown run's call, starting at a given time. */
  play(from: number): void {
    this.stop();
    const { shown } = this.lab;
    const call = shown === null ? null : callOf(shown.result);
    if (shown === null || call === null) return;
    const begin = Math.max(0, Math.min(from, shown.result.summary.duration_s - 1));
    const length = Math.min(LENGTH_S, shown.result.summary.duration_s - begin);
    this.context ??= new AudioContext();
    const { context } = this;
    const buffer = context.createBuffer(1, Math.round(length * 16_000), 16_000);
    buffer.copyToChannel(samples(call, begin, length, 16_000), 0);
    const source = context.createBufferSource();
    source.buffer = buffer;
    source.connect(context.destination);
    source.onended = () => { if (this.playing?.source === source) this.stop(); };
    context.resume().catch(() => undefined);
    source.start();
    this.playing = { source, since: context.currentTime, from: begin };
    this.button.textContent = "Stop";
    this.button.setAttribute("aria-pressed", "true");
    this.follow();
  }

  stop(): void {
    const { playing } = this;
    this.playing = null;
    playing?.source.stop();
    this.button.textContent = "Hear it";
    this.button.setAttribute("aria-pressed", "false");
    if (playing !== null) paint();
  }

  /** Moves the line across the picture while the call is playing. */
  private follow(): void {
    const { playing, context } = this;
    if (playing === null || context === null) return;
    paint(playing.from + context.currentTime - playing.since);
    requestAnimationFrame(() => this.follow());
  }
}
