// Writes WebM with one VP8 track and only the elements that players need.   Source: RFC 8794 (EBML), RFC 9559 (Matroska).

/** An element: its id, and its content, which is a number, a string, bytes or other elements. */
type Element = [id: number, content: number | string | Uint8Array | Element[]];

const SEGMENT = 0x18538067;
/** Length of a cluster. Must be less than 32 s, because block times within a cluster are signed 16-bit numbers.   Unit: ms. */
const CLUSTER_MS = 20_000;

export interface Frame {
  bytes: Uint8Array;
  ms: number;
  key: boolean;
}

function big(n: number, least = 1): number[] {
  const bytes: number[] = [];
  for (let left = n; left > 0 || bytes.length < least; left = Math.floor(left / 256)) bytes.unshift(left % 256);
  return bytes;
}

const joined = (parts: Uint8Array[]): Uint8Array => {
  const all = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0));
  let at = 0;
  for (const part of parts) {
    all.set(part, at);
    at += part.length;
  }
  return all;
};

function content(of: Element[1]): Uint8Array {
  if (typeof of === "number") return Uint8Array.from(big(of));
  if (typeof of === "string") return new TextEncoder().encode(of);
  return of instanceof Uint8Array ? of : joined(of.map(element));
}

/** Encodes an element; all sizes take eight bytes. */
function element([id, of]: Element): Uint8Array {
  const body = content(of);
  return joined([Uint8Array.from(big(id)), Uint8Array.from([0x01, ...big(body.length, 7)]), body]);
}

/** Encodes a frame as a SimpleBlock of track 1. */
const block = (frame: Frame, begin: number): Element =>
  [0xa3, joined([Uint8Array.from([0x81, ...big(frame.ms - begin, 2), frame.key ? 0x80 : 0]), frame.bytes])];

/** Encodes a film from frames, the first of which must be a key frame. */
export function webm(frames: Frame[], width: number, height: number, lengthMs: number): Uint8Array {
  const clusters: Element[] = [];
  let begin = -Infinity;
  for (const frame of frames) {
    if (frame.ms - begin >= CLUSTER_MS) {
      begin = frame.ms;
      clusters.push([0x1f43b675, [[0xe7, begin]]]);
    }
    (clusters[clusters.length - 1]?.[1] as Element[]).push(block(frame, begin));
  }
  const length = new Uint8Array(8);
  new DataView(length.buffer).setFloat64(0, lengthMs);
  const head: Element = [0x1a45dfa3, [[0x4286, 1], [0x42f7, 1], [0x42f2, 4], [0x42f3, 8], [0x4282, "webm"], [0x4287, 2], [0x4285, 2]]];
  const info: Element = [0x1549a966, [[0x2ad7b1, 1_000_000], [0x4489, length], [0x4d80, "bloatlab"], [0x5741, "bloatlab"]]];
  const track: Element = [0xae, [[0xd7, 1], [0x73c5, 1], [0x83, 1], [0x86, "V_VP8"], [0xe0, [[0xb0, width], [0xba, height]]]]];
  return joined([element(head), element([SEGMENT, [info, [0x1654ae6b, [track]], ...clusters]])]);
}
