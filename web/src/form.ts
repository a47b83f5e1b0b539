// Controls for every key declared in the schema. Nothing here is specific to a discipline or an application.

import { h } from "./dom";
import { choice, get, isTable, type Path } from "./paths";
import { fromStep, parse, show, STEPS, text, toStep, type Kind, type Scale } from "./quantities";
import type { Schema, Shape, Variant } from "./schema";
import type { Json, Problem, Tree } from "./types";

/** The values read and written by a form. */
export interface Store {
  value(path: Path): Json | undefined;
  /** Sets a value; undefined removes it, so the default applies. `rebuild` is true if the set of controls depends on the value. */
  change(path: Path, value: Json | undefined, rebuild?: boolean): void;
}

const words = (name: string): string => name.replaceAll("_", " ");
const shown = (value: Json | undefined): string =>
  value === undefined || value === null ? "" : typeof value === "string" ? value : JSON.stringify(value);

/** Slider ranges by kind, for keys with no default or with the default 0, and for all probabilities. */
const RANGES: Record<Kind, Scale> = {
  BitRate: { lo: 1e5, hi: 1e9, zero: false },
  Bytes: { lo: 100, hi: 1e8, zero: false },
  Duration: { lo: 1e-4, hi: 10, zero: true },
  Limit: { lo: 1, hi: 10000, zero: false },
  Prob: { lo: 1e-4, hi: 1, zero: true },
};
const LIMIT_RANGES = { p: RANGES.Limit, B: { lo: 1e3, hi: 1e8, zero: false }, s: { lo: 1e-3, hi: 10, zero: false } };

/** Values for required keys without a default. `n` counts the keys of one kind in a table: 1, 2, ... */
const USUAL: Record<Kind, (n: number) => Json> = {
  BitRate: (n) => `${n}mbit`, Bytes: (n) => `${15 * n}KB`, Duration: (n) => `${10 * n}ms`, Limit: (n) => `${100 * n}p`, Prob: (n) => n / 100,
};

/** Returns a row of a form: a label, controls, and a line for errors at the row's path or at paths below it. */
export function row(label: string, doc: string, path: Path, ...controls: HTMLElement[]): HTMLElement {
  const own = controls.find((c) => c.matches("input, select, textarea")) ?? controls[0]?.querySelector("input, select");
  const id = `f-${path.join("-").replace(/[^\w-]/g, "_")}`;
  if (own) own.id = id;
  const name = h("label", { for: id, title: doc }, label);
  return h("div", { class: "row", "data-path": path.join(".") }, name, ...controls, h("p", { class: "error", role: "alert" }));
}

export class Form {
  constructor(private readonly schema: Schema, private readonly store: Store) {}

  /** Returns a row for every field of a table except the fields in `without`. */
  fields(schema: Tree, path: Path, without: readonly string[] = []): HTMLElement[] {
    const shape = this.schema.shape(schema);
    if (shape.is !== "table") return [this.field(path[path.length - 1] ?? "", schema, path)];
    return shape.fields.filter(([name]) => !without.includes(name)).map(([name, of]) => this.field(name, of, [...path, name]));
  }

  field(name: string, schema: Tree, path: Path, label = words(name)): HTMLElement {
    const shape = this.schema.shape(schema);
    switch (shape.is) {
      case "quantity": return row(label, shape.doc, path, ...this.quantity(shape, shape.kind, path));
      case "number": return row(label, shape.doc, path, ...this.number(shape, path));
      case "flag": return row(label, shape.doc, path, this.flag(shape, path));
      case "text": return row(label, shape.doc, path, this.text(shape, path));
      case "choice": return this.choice(label, shape, shape.variants, path);
      case "table": return this.group(label, shape, schema, path);
      case "other": return row(label, shape.doc, path, this.raw(shape, path));
    }
  }

  private text(shape: Shape, path: Path, read: (text: string) => Json = (t) => t): HTMLInputElement {
    const input = h("input", {
      type: "text", value: shown(this.store.value(path)), placeholder: shown(shape.fallback) || (shape.nullable ? "none" : ""),
      spellcheck: "false", autocomplete: "off",
      oninput: () => this.store.change(path, input.value.trim() === "" ? undefined : read(input.value.trim())),
    });
    return input;
  }

  /** Returns a text field for a quantity with its unit, and a slider. */
  private quantity(shape: Shape, kind: Kind, path: Path): HTMLElement[] {
    const numeric = kind === "Prob" || kind === "BitRate" || kind === "Bytes";
    const input = this.text(shape, path, (t) => (numeric && t !== "" && !Number.isNaN(Number(t)) ? Number(t) : t));
    const current = () => shown(this.store.value(path) ?? shape.fallback);
    const slider = range(() => scale(kind, shape, current()), () => parse(kind, current()), (value) => {
      const off = value === 0 && shape.nullable;
      const next = off ? undefined : show(kind, value, current() || shown(shape.fallback));
      input.value = shown(next);
      this.store.change(path, next);
    }, words(path[path.length - 1] ?? ""), (value) => text(kind, value, current() || shown(shape.fallback)));
    input.addEventListener("input", () => slider.dispatchEvent(new Event("sync")));
    return [input, slider];
  }

  private number(shape: Shape & { is: "number" }, path: Path): HTMLElement[] {
    const read = (t: string): Json => (Number.isNaN(Number(t)) ? t : Number(t));
    const input = this.text(shape, path, read);
    input.inputMode = "decimal";
    const fallback = typeof shape.fallback === "number" ? shape.fallback : undefined;
    if (fallback === undefined || fallback < 0 || fallback > 1e7) return [input];
    const hi = shape.whole ? Math.max(32, fallback * 8) : Math.max(fallback * 10, 1e-3);
    const lo = shape.whole ? 1 : Math.max(fallback / 50, 1e-6);
    const current = () => Number(this.store.value(path) ?? fallback);
    const slider = range(() => ({ lo, hi, zero: !shape.whole && fallback === 0 }), current, (value) => {
      const next = shape.whole ? Math.max(1, Math.round(value)) : value;
      input.value = String(next);
      this.store.change(path, next);
    }, words(path[path.length - 1] ?? ""), String);
    input.addEventListener("input", () => slider.dispatchEvent(new Event("sync")));
    return [input, slider];
  }

  private flag(shape: Shape, path: Path): HTMLElement {
    const value = this.store.value(path) ?? shape.fallback;
    const box = h("input", {
      type: "checkbox", checked: value === true,
      onchange: () => this.store.change(path, box.checked === (shape.fallback === true) ? undefined : box.checked),
    });
    return box;
  }

  /** Returns the row of a choice: a list of the variants, and below it the parameters of the chosen variant. */
  private choice(label: string, shape: Shape, variants: Variant[], path: Path): HTMLElement {
    const given = choice(this.store.value(path));
    const fallback = choice(shape.fallback ?? undefined);
    const name = given?.name ?? "";
    const none = fallback === null ? (shape.nullable ? "—" : "") : `${fallback.name} (default)`;
    const select = h("select", {
      onchange: () => {
        const chosen = variants.find((v) => v.name === select.value);
        const value = chosen === undefined ? undefined : chosen.params === null ? chosen.name : { [chosen.name]: this.needed(chosen.params) };
        this.store.change(path, value, true);
      },
    });
    select.append(h("option", { value: "" }, none));
    for (const variant of variants) select.append(h("option", { value: variant.name, title: variant.doc }, variant.name));
    select.value = name;
    const field = row(label, shape.doc, path, select);
    const chosen = variants.find((v) => v.name === name);
    if (chosen?.params) {
      const inner = this.schema.shape(chosen.params);
      if (inner.is === "table") field.append(h("div", { class: "inner" }, ...this.fields(chosen.params, [...path, name])));
    }
    return field;
  }

  /** Returns the controls for a table within a table. An optional table has a checkbox. */
  private group(label: string, shape: Shape, schema: Tree, path: Path): HTMLElement {
    const there = isTable(this.store.value(path)) || isTable(shape.fallback);
    const meant = "$ref" in schema || !Array.isArray(schema["anyOf"]) ? schema : referred(schema);
    const rows = () => this.fields({ ...meant }, path);
    if (!shape.nullable) return h("div", { class: "group", "data-path": path.join(".") }, h("h4", { title: shape.doc }, label), h("p", { class: "error", role: "alert" }), ...rows());
    const box = h("input", {
      type: "checkbox", checked: there,
      onchange: () => this.store.change(path, box.checked ? this.needed(meant) : undefined, true),
    });
    const field = row(label, shape.doc, path, box);
    if (there) field.append(h("div", { class: "inner" }, ...rows()));
    return field;
  }

  /** Returns an initial value that the simulator accepts. A new table gets only its required keys; a list is empty. `n`
   * is the number of earlier quantities of the same kind in the table; each quantity is larger than the one before, as
   * percentiles must be. Texts, flags and choices need no value: no table that a form can create requires one. */
  private needed(schema: Tree, n = 0): Json {
    const shape = this.schema.shape(schema);
    if (shape.is === "quantity") return USUAL[shape.kind](n + 1);
    if (shape.is === "number") return Math.max(1, shape.least ?? 1);
    if (shape.is === "other") return [];
    if (shape.is !== "table") return {};
    const kinds: string[] = [];
    const fields = new Map(shape.fields);
    // `required` is in the order of the documentation, with "min" before "max", but the fields are sorted by name
    return Object.fromEntries(shape.required.map((name) => {
      const of = fields.get(name) ?? {};
      const own = this.schema.shape(of);
      const kind = own.is === "quantity" ? own.kind : own.is;
      kinds.push(kind);
      return [name, this.needed(of, kinds.filter((k) => k === kind).length - 1)];
    }));
  }

  /** Returns a text field for the JSON of a value whose type has no special control. */
  private raw(shape: Shape, path: Path): HTMLElement {
    const area = h("textarea", {
      rows: "2", spellcheck: "false", value: shown(this.store.value(path)), placeholder: shown(shape.fallback),
      oninput: () => this.store.change(path, area.value.trim() === "" ? undefined : json(area.value)),
    });
    return area;
  }
}

const referred = (schema: Tree): Tree => {
  const given = Array.isArray(schema["anyOf"]) ? schema["anyOf"].filter(isTable) : [];
  return given.find((s) => "$ref" in s) ?? schema;
};

const json = (text: string): Json => {
  try {
    return JSON.parse(text) as Json;
  } catch {
    return text;
  }
};

function scale(kind: Kind, shape: Shape, current: string): Scale {
  const own = kind === "Limit" ? LIMIT_RANGES[(current.trim().endsWith("p") ? "p" : /s$/.test(current.trim()) ? "s" : "B")] : RANGES[kind];
  const usual = shape.fallback === null || shape.fallback === undefined ? NaN : parse(kind, shape.fallback as string | number);
  const near = usual > 0 && kind !== "Prob" ? { lo: usual / 50, hi: usual * 50, zero: own.zero } : own;
  const value = parse(kind, current);
  // the range is extended if the value is near one of its ends
  return value > 0 ? { ...near, lo: Math.min(near.lo, value / 2), hi: value > near.hi / 3 && kind !== "Prob" ? value * 5 : near.hi } : near;
}

/** Returns a slider over a scale. `said` returns the text read out by screen readers for a value. The event `sync`
 * moves the slider to the current value. */
export function range(scale: () => Scale, current: () => number, moved: (value: number) => void, label: string, said: (value: number) => string): HTMLInputElement {
  let fixed = scale();
  const say = (value: number) => slider.setAttribute("aria-valuetext", Number.isNaN(value) ? "not set" : said(value));
  const slider = h("input", {
    type: "range", min: "0", max: String(STEPS), step: "1", "aria-label": label,
    oninput: () => {
      const value = fromStep(fixed, Number(slider.value));
      moved(value);
      say(value);
    },
  });
  const sync = () => {
    fixed = scale();
    slider.value = String(toStep(fixed, current()));
    say(current());
  };
  slider.addEventListener("sync", sync);
  sync();
  return slider;
}

/** Shows every problem at the field that the problem names, or at the nearest enclosing field; returns the problems
 * that have no such field. */
export function mark(root: ParentNode, problems: Problem[]): Problem[] {
  for (const place of root.querySelectorAll(".error")) place.textContent = "";
  for (const place of root.querySelectorAll("[aria-invalid]")) place.removeAttribute("aria-invalid");
  const rows = [...root.querySelectorAll<HTMLElement>("[data-path]")];
  return problems.filter((problem) => {
    const parts = problem.path.split(".");
    for (let n = parts.length; n > 0; n--) {
      const path = parts.slice(0, n).join(".");
      // a problem may fit several rows, because a row can name further keys in `data-also`. The row with the focus is
      // preferred, then the row whose `data-path` is `path`
      const fitting = rows.filter((r) => r.dataset["path"] === path || r.dataset["also"]?.split(" ").includes(path));
      const found = fitting.find((r) => r.contains(document.activeElement)) ?? fitting.find((r) => r.dataset["path"] === path) ?? fitting[0];
      const place = found?.querySelector(":scope > .error");
      if (!found || !place) continue;
      const rest = parts.slice(n).join(".");
      place.textContent = rest === "" ? problem.message : `${rest}: ${problem.message}`;
      found.querySelector("input, select, textarea")?.setAttribute("aria-invalid", "true");
      for (let box = found.closest("details"); box; box = box.parentElement?.closest("details") ?? null) box.open = true;
      return false;
    }
    return true;
  });
}

export const at = (tree: Tree): ((path: Path) => Json | undefined) => (path) => get(tree, path);
