// Arithmetic on a run's numbers, for the text of essays: "apps.upload.goodput_mbit / 8", "mos < before.mos - 1".
//
//   claim      = comparison { "and" comparison }
//   comparison = sum [ ("<" | ">" | "<=" | ">=") sum ]
//   sum        = product { ("+" | "-") product }
//   product    = atom { ("*" | "/") atom }
//   atom       = number | path | "(" claim ")" | "-" atom

export type Lookup = (path: string) => number;

const TOKEN = /\s*(?:(\d+(?:\.\d+)?)|([A-Za-z_][\w~]*(?:\.[\w~]+)*)|(<=|>=|[-+*/()<>]))/y;

class Reader {
  private readonly tokens: string[] = [];
  private at = 0;

  constructor(text: string, private readonly lookup: Lookup) {
    TOKEN.lastIndex = 0;
    while (TOKEN.lastIndex < text.trimEnd().length) {
      const found = TOKEN.exec(text);
      if (found === null) throw new Error(`not an expression: ${text}`);
      this.tokens.push(found[0].trim());
    }
  }

  /** Takes the next token if it is one of these. */
  private take(...of: string[]): string | null {
    const next = this.tokens[this.at];
    if (next === undefined || !of.includes(next)) return null;
    this.at++;
    return next;
  }

  whole(): number {
    const value = this.claim();
    if (this.at < this.tokens.length) throw new Error(`unexpected ${this.tokens[this.at]}`);
    return value;
  }

  private claim(): number {
    let value = this.comparison();
    while (this.take("and") !== null) value = Math.min(value, this.comparison());
    return value;
  }

  private comparison(): number {
    const left = this.sum();
    const sign = this.take("<", ">", "<=", ">=");
    if (sign === null) return left;
    const right = this.sum();
    return Number({ "<": left < right, ">": left > right, "<=": left <= right, ">=": left >= right }[sign]);
  }

  private sum(): number {
    let value = this.product();
    for (let sign = this.take("+", "-"); sign !== null; sign = this.take("+", "-")) value += (sign === "+" ? 1 : -1) * this.product();
    return value;
  }

  private product(): number {
    let value = this.atom();
    for (let sign = this.take("*", "/"); sign !== null; sign = this.take("*", "/")) value = sign === "*" ? value * this.atom() : value / this.atom();
    return value;
  }

  private atom(): number {
    if (this.take("-") !== null) return -this.atom();
    if (this.take("(") !== null) {
      const value = this.claim();
      if (this.take(")") === null) throw new Error("expected )");
      return value;
    }
    const token = this.tokens[this.at++] ?? "";
    return /^\d/.test(token) ? Number(token) : this.lookup(token);
  }
}

/** Returns the value of an expression. A claim has the value 1 if it holds, otherwise 0. */
export const evaluate = (text: string, lookup: Lookup): number => new Reader(text, lookup).whole();
