// Writes an animated GIF with a palette of the 256 most frequent colours and LZW-compressed frames.   Source: CompuServe, GIF89a specification.

const BITS = 8;
const CLEAR = 1 << BITS;
/** Number of different codes: a code has at most 12 bits. */
const MOST = 4096;

const word = (n: number): number[] => [n & 255, n >> 8];

/** Reduces a colour to 5 bits each of red, green and blue (a coarse colour). */
const coarse = (data: Uint8ClampedArray, i: number): number => (((data[i] ?? 0) >> 3) << 10) | (((data[i + 1] ?? 0) >> 3) << 5) | ((data[i + 2] ?? 0) >> 3);

interface Palette {
  /** Red, green and blue of each of 256 colours. */
  colours: number[];
  /** Returns the number, from 0 to 255, of the palette colour closest to the coarse colour `key`. */
  place(key: number): number;
}

/** Returns a palette of the 256 most frequent colours in all pictures. */
function palette(pictures: ImageData[]): Palette {
  const counts = new Map<number, { n: number; rgb: number[] }>();
  for (const { data } of pictures) {
    for (let i = 0; i < data.length; i += 4) {
      const key = coarse(data, i);
      const known = counts.get(key);
      if (known === undefined) counts.set(key, { n: 1, rgb: [data[i] ?? 0, data[i + 1] ?? 0, data[i + 2] ?? 0] });
      else known.n++;
    }
  }
  const chosen = [...counts.values()].sort((a, b) => b.n - a.n).slice(0, 256).map((c) => c.rgb);
  const places = new Map<number, number>();
  const place = (key: number): number => {
    const known = places.get(key);
    if (known !== undefined) return known;
    const rgb = counts.get(key)?.rgb ?? [0, 0, 0];
    const far = chosen.map((c) => c.reduce((sum, x, k) => sum + (x - (rgb[k] ?? 0)) ** 2, 0));
    const nearest = far.indexOf(Math.min(...far));
    places.set(key, nearest);
    return nearest;
  };
  return { colours: [...chosen.flat(), ...new Array<number>(3 * (256 - chosen.length)).fill(0)], place };
}

/** Returns the index of each pixel's colour in the palette. */
function indexed({ data }: ImageData, { place }: Palette): Uint8Array {
  const out = new Uint8Array(data.length / 4);
  for (let i = 0; i < out.length; i++) out[i] = place(coarse(data, 4 * i));
  return out;
}

/** Packs codes of 9 to 12 bits into blocks of at most 255 bytes. */
class Packer {
  readonly bytes: number[] = [];
  private held = 0;
  private bits = 0;
  private block: number[] = [];

  put(code: number, size: number): void {
    this.held |= code << this.bits;
    for (this.bits += size; this.bits >= 8; this.bits -= 8, this.held >>>= 8) this.byte(this.held & 255);
  }

  end(): number[] {
    if (this.bits > 0) this.byte(this.held & 255);
    this.flush();
    this.bytes.push(0);
    return this.bytes;
  }

  private byte(value: number): void {
    this.block.push(value);
    if (this.block.length === 255) this.flush();
  }

  private flush(): void {
    if (this.block.length > 0) this.bytes.push(this.block.length, ...this.block);
    this.block = [];
  }
}

function lzw(pixels: Uint8Array): number[] {
  const out = new Packer();
  let [codes, next, size] = [new Map<number, number>(), CLEAR + 2, BITS + 1];
  out.put(CLEAR, size);
  let prefix = pixels[0] ?? 0;
  for (let i = 1; i < pixels.length; i++) {
    const key = prefix * 256 + (pixels[i] ?? 0);
    const known = codes.get(key);
    if (known !== undefined) {
      prefix = known;
      continue;
    }
    out.put(prefix, size);
    prefix = pixels[i] ?? 0;
    codes.set(key, next);
    if (next++ === 1 << size) size++;
    if (next < MOST) continue;
    out.put(CLEAR, size);
    [codes, next, size] = [new Map(), CLEAR + 2, BITS + 1];
  }
  out.put(prefix, size);
  out.put(CLEAR + 1, size);
  return out.end();
}

/** Writes pictures of equal size as a looping film; each picture is shown for `ms` milliseconds. */
export function gif(pictures: ImageData[], ms: number): Uint8Array {
  const [first] = pictures;
  if (first === undefined) throw new Error("a film needs a picture");
  const colours = palette(pictures);
  const size = [...word(first.width), ...word(first.height)];
  const text = (words: string) => [...new TextEncoder().encode(words)];
  const parts = [[...text("GIF89a"), ...size, 0xf7, 0, 0, ...colours.colours], [0x21, 0xff, 11, ...text("NETSCAPE2.0"), 3, 1, 0, 0, 0]];
  for (const picture of pictures) {
    parts.push([0x21, 0xf9, 4, 4, ...word(Math.round(ms / 10)), 0, 0], [0x2c, 0, 0, 0, 0, ...size, 0, BITS], lzw(indexed(picture, colours)));
  }
  parts.push([0x3b]);
  return Uint8Array.from(parts.flat());
}
