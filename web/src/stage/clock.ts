// The clock shared by the stage and the charts: the time in the run, its speed, and whether it is running.

/** The speeds that a visitor can choose: simulated time divided by screen time. */
export const SPEEDS = [1, 0.5, 0.2, 0.1, 0.05, 0.02, 0.01, 0.005, 0.002, 0.001];

/** Number of packets per second of screen time that the eye can follow. */
const EASY_TO_FOLLOW = 25;

/** Returns a speed at which a visitor can follow the packets on a link that carries this number of packets per
 * simulated second. */
export const easySpeed = (packetsPerSecond: number): number =>
  SPEEDS.find((speed) => packetsPerSecond * speed <= EASY_TO_FOLLOW * 1.5) ?? 0.001;

export const speedText = (speed: number): string => (speed === 1 ? "real time" : `${Math.round(1 / speed)} × slower`);

/** Maximum step of the clock. Without this limit, the first step after the page has been hidden would be very long.   Unit: ms. */
const LONGEST_STEP = 100;

export class Clock {
  /** The current time in the run, in ns. */
  t = 0;
  /** The end of the run, in ns. */
  end = 0;
  speed = 0.05;
  playing = false;
  /** The part of the run played in a loop; null without a loop. */
  loop: [number, number] | null = null;
  /** Scheduled speed changes, in order of time. */
  plan: { from: number; speed: number }[] = [];
  private last = 0;
  /** The time before the last step. */
  private before = 0;
  private frame = 0;

  constructor(private readonly tick: (now: number) => void) {}

  play(): void {
    if (this.playing) return;
    if (this.t >= this.end) this.t = 0;
    this.playing = true;
    this.last = performance.now();
    this.request();
  }

  pause(): void {
    this.playing = false;
    cancelAnimationFrame(this.frame);
    this.frame = 0;
  }

  seek(t: number): void {
    this.t = Math.min(Math.max(0, t), this.end);
    this.request();
  }

  /** Schedules a step, which also draws, for the browser's next frame. */
  request(): void {
    if (this.frame === 0) this.frame = requestAnimationFrame((now) => this.step(now));
  }

  private step(now: number): void {
    this.frame = 0;
    this.before = this.t;
    if (this.playing) {
      this.t += Math.min(Math.max(0, now - this.last), LONGEST_STEP) * 1e6 * this.speed;
      this.last = now;
      while (this.plan[0] !== undefined && this.t >= this.plan[0].from) {
        this.speed = this.plan[0].speed;
        this.plan.shift();
      }
      if (this.loop !== null && this.t >= this.loop[1]) this.t = this.loop[0];
      if (this.t >= this.end) {
        this.t = this.end;
        this.playing = false;
      } else this.request();
    }
    this.tick(now);
  }

  /** Undoes the last step. This makes the clock wait while the packets for the new moment are being recorded. */
  hold(): void {
    this.t = this.before;
  }
}
