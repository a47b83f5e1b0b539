// Synthesises a voice that says vowels instead of words. Missing frames of the call are silent.

import type { CallFrames } from "./types";

const SYLLABLE_S = 0.23;
/** Formants of vowels, Hz (rounded from Peterson and Barney's values for men). */
const VOWELS = [[730, 1090], [270, 2290], [570, 840], [530, 1840], [300, 870]] as const;
const PITCH_HZ = 118;
const HARMONICS = 22;

/** Returns a pseudo-random number in [0, 1) for each whole number: the same number gives the same result in every run. */
function noise(n: number): number {
  const x = Math.sin(n * 127.1 + 11.7) * 43758.5453;
  return x - Math.floor(x);
}

/** Returns the loudness at a time, from 0 to 1. After every six syllables, a breath takes the time of a syllable. */
export function envelope(t: number): number {
  const n = Math.floor(t / SYLLABLE_S);
  if (n % 7 === 6) return 0.03;
  const part = t / SYLLABLE_S - n;
  return (0.45 + 0.55 * noise(n)) * Math.sin(Math.PI * Math.min(1, part * 1.15)) ** 0.7;
}

/** Returns samples of the voice from `from` s on, as a listener receives them: each frame is played or silent. */
export function samples(call: CallFrames, from: number, length: number, rate: number): Float32Array<ArrayBuffer> {
  const out = new Float32Array(Math.round(length * rate));
  let open = 0;
  for (let i = 0; i < out.length; i++) {
    const t = from + i / rate;
    const frame = Math.floor((t - call.start_s) / call.interval_s);
    // speech fades in and out with a time constant of 2 ms, which sounds like the soft click of a phone
    open += ((call.frames[frame] === "p" ? 1 : 0) - open) / (0.002 * rate);
    out[i] = open < 1e-3 ? 0 : open * 0.35 * envelope(t) * voice(t);
  }
  return out;
}

function voice(t: number): number {
  const n = Math.floor(t / SYLLABLE_S);
  const [f1, f2] = VOWELS[Math.floor(noise(n + 0.5) * VOWELS.length)] ?? VOWELS[0];
  const pitch = PITCH_HZ * (0.92 + 0.22 * noise(Math.floor(n / 7)));
  let sum = 0;
  for (let k = 1; k <= HARMONICS; k++) {
    const f = k * pitch;
    const strength = 1 / (1 + ((f - f1) / 110) ** 2) + 0.5 / (1 + ((f - f2) / 160) ** 2) + 0.04 / k;
    sum += strength * Math.sin(2 * Math.PI * f * t);
  }
  return sum / 2;
}
