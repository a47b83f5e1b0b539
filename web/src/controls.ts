// The controls for the chosen link (with its queue, and its modem or shaper), for the applications, and for the run.

import { h, put } from "./dom";
import { Form, range, row, type Store } from "./form";
import { choice, get, isTable, set, type Path } from "./paths";
import { limit, limitText, rate, rateText, seconds, secondsText, showLimit, showRate, showSeconds, STEPS, toStep, type LimitUnit, type Scale } from "./quantities";
import type { Schema } from "./schema";
import { explain } from "./terms";
import { MODEMS, baseRtt, bottleneck, directed, linkRate, ratePath, roundTrip, setBaseRtt, tables } from "./topology";
import type { Description, Entry, Json, Problem, Tree } from "./types";

/** The experiment, as read and changed by the controls. */
export interface Desk {
  tree: Tree;
  /** The directed link whose queue is shown in the charts. */
  link: string;
  /** Called after a change of `tree`. `rebuild` is true if the change needs different controls. */
  changed(rebuild: boolean): void;
  /** Shows an error in a text that the visitor has typed. The scenario does not change. */
  refuse(problem: Problem): void;
}

/** Names for the catalogue's discipline types. */
const TYPES: Record<string, string> = { C: "Plain queue", B: "Active queue management", A: "A queue per flow" };
const PACKET = 1500;
/** A typed round-trip time is used this long after the last keystroke, or when the field loses the focus. So incomplete
 * text is not used: between "100ms" and "200ms", "00ms" would set all delays to 0 and lose their ratio.   Unit: ms. */
const TYPING_MS = 300;
const UNITS: [LimitUnit, string][] = [["p", "packets"], ["B", "bytes"], ["s", "ms"]];

export class Controls {
  private readonly form: Form;
  private readonly store: Store;
  /** The last parameters of each discipline. They are restored when the visitor chooses the discipline again. */
  private readonly remembered = new Map<string, Tree>();

  constructor(private readonly desk: Desk, private readonly known: Description, private readonly schema: Schema) {
    this.store = {
      value: (path) => get(desk.tree, path),
      change: (path, value, rebuild = false) => {
        set(desk.tree, path, value);
        desk.changed(rebuild);
      },
    };
    this.form = new Form(schema, this.store);
  }

  /** Rebuilds all controls in `root`; open details stay open. */
  build(root: HTMLElement): void {
    const open = new Set([...root.querySelectorAll<HTMLDetailsElement>("details[open]")].map((d) => d.dataset["key"]));
    const focused = document.activeElement?.id;
    put(root, this.linkPanel(), this.appsPanel(), this.runPanel());
    for (const details of root.querySelectorAll<HTMLDetailsElement>("details")) {
      details.open = open.has(details.dataset["key"]);
    }
    if (focused) document.getElementById(focused)?.focus();
    this.update(root);
  }

  /** Updates the BDP marks and the round-trip time, which depend on other values. */
  update(root: HTMLElement): void {
    for (const shown of root.querySelectorAll(".bdp, .rtt")) shown.dispatchEvent(new Event("sync"));
  }

  private get key(): string {
    return this.desk.link.replace(/^~/, "");
  }

  private get table(): Tree {
    const found = get(this.desk.tree, ["link", this.key]);
    return isTable(found) ? found : {};
  }

  private linkPanel(): HTMLElement {
    const names = directed(this.desk.tree).map((l) => l.name);
    const select = h("select", { id: "link", onchange: () => { this.desk.link = select.value; this.desk.changed(true); } });
    for (const link of directed(this.desk.tree)) select.append(h("option", { value: link.name }, `${link.name}: ${link.from} → ${link.to}`));
    select.value = this.desk.link;
    return h("section", { class: "panel", "aria-label": "The link" },
      h("h2", {}, "The link"),
      names.length > 1 && row("queue of", "The link whose queue the charts show.", ["look"], select),
      this.rate(), this.rtt(), this.buffer(), this.discipline(), this.service(), this.wire());
  }

  private rate(): HTMLElement {
    const path = () => ratePath(this.table, this.key);
    const input = h("input", { type: "text", value: String(get(this.desk.tree, path()) ?? ""), placeholder: "none", spellcheck: "false", autocomplete: "off",
      oninput: () => { this.store.change(path(), input.value.trim() || undefined); slider.dispatchEvent(new Event("sync")); } });
    const value = () => { const v = get(this.desk.tree, path()); return typeof v === "number" ? v : rate(String(v ?? "")); };
    const slider = range(() => around({ lo: 1e5, hi: 1e9, zero: false }, value()), value, (bits) => {
      input.value = showRate(bits);
      this.store.change(path(), input.value);
    }, "rate", rateText);
    const field = row("rate", "Long-term rate of the link, in bits per second.", path(), input, slider);
    field.dataset["also"] = `link.${this.key}.rate`;
    return field;
  }

  private rtt(): HTMLElement {
    const value = () => baseRtt(this.desk.tree, this.desk.link);
    let typing = 0;
    /** True if the text was refused. The next change of the experiment then replaces the text, and its error disappears. */
    let refused = false;
    const apply = () => {
      typing = 0;
      // the controls may have been rebuilt in the meantime; this field is then no longer on the page
      if (!input.isConnected) return;
      const time = seconds(input.value);
      refused = !Number.isFinite(time);
      if (refused) {
        this.desk.refuse({ path: "rtt", message: `"${input.value}" is not valid; expected a duration with its unit, such as "20ms" or "1.5s"` });
        return;
      }
      setBaseRtt(this.desk.tree, this.desk.link, time);
      this.desk.changed(false);
    };
    const input = h("input", { type: "text", class: "rtt", value: value() >= 0 ? showSeconds(value()) : "", spellcheck: "false", autocomplete: "off",
      oninput: () => { clearTimeout(typing); typing = setTimeout(apply, TYPING_MS); },
      onchange: () => { if (typing !== 0) { clearTimeout(typing); apply(); } } });
    input.addEventListener("sync", () => {
      if (slider !== document.activeElement) slider.dispatchEvent(new Event("sync"));
      if (typing === 0 && (refused || input !== document.activeElement)) input.value = value() >= 0 ? showSeconds(value()) : "";
      refused = false;
    });
    const slider = range(() => around({ lo: 1e-3, hi: 1, zero: false }, value()), value, (time) => {
      clearTimeout(typing);
      typing = 0;
      setBaseRtt(this.desk.tree, this.desk.link, time);
      // a change of the scenario does not update a field that has the focus, so the field is updated here
      input.value = showSeconds(value());
      this.desk.changed(false);
    }, "RTT", secondsText);
    const field = row("RTT", "Round-trip time of the first transfer through this link with empty queues. A change scales the delays of all links on the path.", ["rtt"], input, slider);
    field.dataset["also"] = roundTrip(this.desk.tree, this.desk.link).map((l) => `link.${l.key}.delay`).join(" ");
    return field;
  }

  /** Returns the name, parameters and schema of the link's discipline, or of the default discipline if the link has
   * none. */
  private queue(): { name: string; params: Tree; schema: Tree | null } {
    const field = this.linkField("queue");
    const given = choice(this.table["queue"]) ?? choice(field["default"]) ?? { name: "", params: {} };
    const variant = this.schema.variants(this.schema.definition("Qdisc")).find((v) => v.name === given.name);
    return { ...given, schema: variant?.params ?? null };
  }

  private linkField(name: string): Tree {
    const shape = this.schema.shape(this.schema.definition("Link"));
    const found = shape.is === "table" ? shape.fields.find(([field]) => field === name)?.[1] : undefined;
    return found ?? {};
  }

  /** Returns the schema of a discipline's `limit`; null if the discipline has no limit that a slider can set. */
  private limitOf(schema: Tree | null): Tree | null {
    const shape = schema === null ? null : this.schema.shape(schema);
    const field = shape?.is === "table" ? shape.fields.find(([name]) => name === "limit")?.[1] : undefined;
    const own = field === undefined ? null : this.schema.shape(field);
    return own?.is === "quantity" && own.kind === "Limit" ? (field ?? null) : null;
  }

  private buffer(): HTMLElement | null {
    const queue = this.queue();
    const schema = this.limitOf(queue.schema);
    if (schema === null) return null;
    const path = ["link", this.key, "queue", queue.name, "limit"];
    const shape = this.schema.shape(schema);
    // if the default depends on other keys, the schema mentions it only in the description: "null: 128p"
    const fallback = typeof shape.fallback === "string" ? shape.fallback : (/null: (\d+p)/i.exec(shape.doc)?.[1] ?? "");
    const current = () => limit(String(get(this.desk.tree, path) ?? fallback));
    const scale = (): Scale => {
      const [value, unit] = current() ?? [NaN, "p" as LimitUnit];
      const perSecond = { p: this.speed() / 8 / PACKET, B: this.speed() / 8, s: 1 }[unit];
      const top = (Number.isNaN(perSecond) ? { p: 1e4, B: 1e7, s: 10 }[unit] : perSecond * 10);
      return around({ lo: { p: 1, B: PACKET, s: 1e-3 }[unit], hi: Math.max(top, 4 * this.bdp(unit) || 0), zero: false }, value);
    };
    const input = h("input", { type: "text", value: String(get(this.desk.tree, path) ?? ""), placeholder: fallback, spellcheck: "false", autocomplete: "off",
      oninput: () => { this.store.change(path, input.value.trim() || undefined); slider.dispatchEvent(new Event("sync")); sync(); } });
    const slider = range(scale, () => current()?.[0] ?? NaN, (value) => {
      input.value = showLimit(value, current()?.[1] ?? "p");
      this.store.change(path, input.value);
    }, "buffer", (value) => limitText(value, current()?.[1] ?? "p"));
    const units = h("select", { "aria-label": "unit of the buffer", class: "unit", onchange: () => this.convert(path, fallback, units.value as LimitUnit) });
    for (const [unit, name] of UNITS) units.append(h("option", { value: unit }, name));
    const mark = h("span", { class: "bdp" });
    const sync = () => {
      const unit = current()?.[1] ?? "p";
      units.value = unit;
      const bdp = this.bdp(unit);
      const place = toStep(scale(), bdp) / STEPS;
      mark.hidden = Number.isNaN(bdp) || bdp <= 0;
      mark.style.setProperty("--at", String(place));
      mark.classList.toggle("right", place > 0.6);
      explain(mark, `BDP ${limitText(bdp, unit)}`);
      slider.dispatchEvent(new Event("sync"));
    };
    mark.addEventListener("sync", sync);
    const field = row("buffer", `${shape.doc} The mark is the bandwidth-delay product (BDP): the bytes in flight that fill the link.`, path,
      h("span", { class: "pair" }, input, units), h("span", { class: "marked" }, slider, mark));
    field.classList.add("tall");
    return field;
  }

  private speed(): number {
    return linkRate(this.desk.tree, this.key);
  }

  private bdp(unit: LimitUnit): number {
    const rtt = baseRtt(this.desk.tree, this.desk.link);
    return { p: (this.speed() * rtt) / 8 / PACKET, B: (this.speed() * rtt) / 8, s: rtt }[unit];
  }

  /** Converts the buffer to another unit, at the link's rate. Without a rate, sets the buffer to 1000 packets. */
  private convert(path: Path, fallback: string, to: LimitUnit): void {
    const [value, from] = limit(String(get(this.desk.tree, path) ?? fallback)) ?? [1000, "p" as LimitUnit];
    const second = { p: this.speed() / 8 / PACKET, B: this.speed() / 8, s: 1 };
    const next = (value / second[from]) * second[to];
    this.store.change(path, showLimit(Number.isNaN(next) ? 1000 : next, Number.isNaN(next) ? "p" : to), true);
  }

  private discipline(): HTMLElement {
    const { name, schema } = this.queue();
    const base = ["link", this.key, "queue"];
    const select = h("select", { onchange: () => this.choose(select.value) });
    for (const type of [...new Set(this.known.catalogue.qdiscs.map((q) => q.type ?? ""))]) {
      const group = h("optgroup", { label: TYPES[type] ?? type });
      for (const q of this.known.catalogue.qdiscs.filter((q) => q.type === type)) group.append(h("option", { value: q.name, title: q.summary }, q.name));
      select.append(group);
    }
    select.value = name;
    const doc = this.known.catalogue.qdiscs.find((q) => q.name === name)?.summary ?? "";
    const field = row("discipline", "Decides which packet is dropped and which is sent next.", base, select);
    field.append(h("p", { class: "hint" }, doc));
    const rows = schema === null ? [] : this.form.fields(schema, [...base, name], this.limitOf(schema) === null ? [] : ["limit"]);
    if (rows.length > 0) field.append(details(`queue-${name}`, `${rows.length} parameters of ${name}`, ...rows));
    return field;
  }

  /** Switches to another discipline, with the parameters that it had last. The current buffer, if it is set, is kept if
   * both disciplines have one. */
  private choose(name: string): void {
    const before = this.queue();
    this.remembered.set(before.name, structuredClone(before.params));
    const variant = this.schema.variants(this.schema.definition("Qdisc")).find((v) => v.name === name);
    const params: Tree = structuredClone(this.remembered.get(name) ?? {});
    const limit = before.params["limit"];
    if (limit !== undefined && this.limitOf(before.schema) !== null && this.limitOf(variant?.params ?? null) !== null) params["limit"] = limit;
    this.store.change(["link", this.key, "queue"], { [name]: params }, true);
  }

  /** Returns the control that selects what sets the queue's rate: the link itself, a cable modem or a shaper. */
  private service(): HTMLElement {
    const base = ["link", this.key];
    const modem = MODEMS.find((key) => isTable(this.table[key]));
    const shaper = this.table["shaper"] === undefined ? "" : choice(this.table["shaper"])?.name === "htb" ? "htb" : "shaper";
    const now = modem ?? shaper;
    const select = h("select", { onchange: () => this.serve(select.value) });
    for (const [value, label] of [["", "the wire itself"], ["docsis", "cable modem (DOCSIS 3.0)"], ["docsis31", "cable modem (DOCSIS 3.1)"], ["shaper", "shaper: dual token bucket"], ["htb", "shaper: HTB"]] as const) {
      select.append(h("option", { value }, label));
    }
    select.value = now;
    const field = row("served by", "Takes packets out of the queue.", ["served"], select);
    const doc = this.schema.shape(this.linkField(modem ?? "shaper")).doc;
    if (now !== "") field.append(h("p", { class: "hint" }, doc));
    const place = now === "htb" ? [...base, "shaper", "htb"] : [...base, modem ?? "shaper"];
    const params = { "": undefined, docsis: "DocsisParams", docsis31: "Docsis31Params", htb: "HtbParams", shaper: "ShaperParams" }[now];
    if (params !== undefined) field.append(details(`service-${now}`, "parameters", ...this.form.fields(this.schema.definition(params), place)));
    return field;
  }

  private serve(kind: string): void {
    const { table } = this;
    const sustained = showRate(this.speed() || 5e6);
    for (const key of [...MODEMS, "shaper"]) delete table[key];
    if (kind === "docsis31") {
      // a link with a DOCSIS 3.1 modem has no `rate`, because the modem's channel has its own rate
      delete table["rate"];
      table["docsis31"] = { flow: { max_sustained_rate: sustained }, ...(this.queue().name === "docsis_lld" ? { low_latency: {} } : {}) };
    } else if (kind === "docsis") {
      table["docsis"] = { flow: { max_sustained_rate: sustained } };
      // the modem shares the channel with others, so the channel's rate must be higher than the modem's
      if (!(linkRate(this.desk.tree, this.key) < rate(String(table["rate"] ?? "")))) table["rate"] = showRate(Math.max(1e8, 10 * rate(sustained)));
    } else {
      table["rate"] = sustained;
      if (kind === "htb") table["shaper"] = { htb: {} };
      if (kind === "shaper") {
        table["shaper"] = { max_sustained_rate: sustained };
        table["rate"] = showRate(10 * rate(sustained));
      }
    }
    this.desk.changed(true);
  }

  /** Returns the controls for the link's remaining keys. */
  private wire(): HTMLElement {
    const without = ["from", "to", "both_ways", "rate", "queue", ...MODEMS, "shaper"];
    return details("wire", "delay, jitter, loss, changes over time", ...this.form.fields(this.schema.definition("Link"), ["link", this.key], without));
  }

  private appsPanel(): HTMLElement {
    const apps = tables(this.desk.tree, "app");
    const add = h("select", { "aria-label": "add an application", onchange: () => this.add(add.value) },
      h("option", { value: "" }, "add …"));
    for (const app of this.known.catalogue.apps) add.append(h("option", { value: app.name, title: app.summary }, `${app.name}: ${app.summary}`));
    return h("section", { class: "panel", "aria-label": "Applications" },
      h("h2", {}, "Applications"),
      apps.length > 0 && this.everyTcp(apps),
      ...apps.map(([name, app]) => this.app(name, app)),
      h("div", { class: "add" }, ...QUICK.map(([kind, label]) =>
        h("button", { type: "button", onclick: () => this.add(kind) }, `+ ${label}`)), add));
  }

  /** Returns the control that selects one TCP stack for all applications. */
  private everyTcp(apps: [string, Tree][]): HTMLElement {
    const used = new Set(apps.map(([, app]) => String(app["tcp"] ?? "")));
    const select = this.stacks(used.size === 1 ? ([...used][0] ?? "") : "*", (value) => {
      for (const [name] of apps) set(this.desk.tree, ["app", name, "tcp"], value);
      this.desk.changed(true);
    });
    if (used.size > 1) select.prepend(h("option", { value: "*", selected: true }, "several"));
    return row("TCP", "TCP stack of every application.", ["tcp"], select);
  }

  private stacks(value: string, chosen: (value: string | undefined) => void): HTMLSelectElement {
    const shape = this.schema.shape(this.schema.definition("App"));
    const fallback = shape.is === "table" ? shape.fields.find(([n]) => n === "tcp")?.[1]["default"] : "";
    const select = h("select", { onchange: () => chosen(select.value || undefined) });
    select.append(h("option", { value: "" }, `${String(fallback)} (default)`));
    const own: Entry[] = tables(this.desk.tree, "tcp").map(([name]) => ({ name, doc: "defined in this scenario" }));
    for (const stack of [...own, ...this.known.catalogue.tcp]) select.append(h("option", { value: stack.name, title: stack.doc }, stack.name));
    if (value !== "*" && ![...select.options].some((o) => o.value === value)) select.append(h("option", { value }, value));
    select.value = value;
    return select;
  }

  private app(name: string, app: Tree): HTMLElement {
    const path = ["app", name];
    const traffic = choice(app["traffic"]);
    const kind = traffic?.name ?? "";
    const schema = this.schema.variants(this.schema.definition("Traffic")).find((v) => v.name === kind)?.params ?? null;
    const summary = this.known.catalogue.apps.find((a) => a.name === kind)?.summary ?? "";
    const flows = schema === null ? null : this.flows(schema, [...path, "traffic", kind]);
    const stack = this.stacks(String(app["tcp"] ?? ""), (value) => this.store.change([...path, "tcp"], value));
    return h("div", { class: "app", "data-path": path.join(".") },
      h("div", { class: "head" }, h("b", {}, name), h("span", { class: "kind", title: summary }, kind),
        h("button", { type: "button", class: "remove", "aria-label": `remove ${name}`, onclick: () => this.store.change(path, undefined, true) }, "×")),
      h("p", { class: "error", role: "alert" }),
      flows,
      details(`app-${name}`, "parameters",
        row("TCP", "TCP stack of both ends.", [...path, "tcp"], stack),
        ...this.form.fields(this.schema.definition("App"), path, ["from", "to", "tcp", "traffic"]),
        ...(schema === null ? [] : this.form.fields(schema, [...path, "traffic", kind], flows === null ? [] : ["flows"]))));
  }

  /** Returns the control for the number of flows, if the application has this parameter. */
  private flows(schema: Tree, path: Path): HTMLElement | null {
    const shape = this.schema.shape(schema);
    const field = shape.is === "table" ? shape.fields.find(([name]) => name === "flows")?.[1] : undefined;
    return field === undefined ? null : this.form.field("flows", field, [...path, "flows"]);
  }

  private add(kind: string): void {
    if (kind === "") return;
    const { tree } = this.desk;
    const apps = tables(tree, "app");
    // client and first server are copied from the first application of the same kind or, if there is none, from the
    // first application of any kind. The start is copied only from an application of the same kind
    const alike = apps.find(([, app]) => get(app, ["traffic", kind]) !== undefined)?.[1];
    const model = alike ?? apps[0]?.[1];
    const link = directed(tree).find((l) => l.name === (this.desk.link || bottleneck(tree)));
    const [from, to] = model === undefined ? [link?.from ?? "", [link?.to ?? ""]] : [model["from"] ?? "", model["to"] ?? []];
    const taken = new Set(apps.map(([name]) => name));
    let name = kind;
    for (let n = 2; taken.has(name); n++) name = `${kind}${n}`;
    const servers = Array.isArray(to) ? to.slice(0, 1) : to;
    const params = this.known.catalogue.apps.find((a) => a.name === kind) === undefined ? {} : this.needed(kind);
    const start = alike?.["start"] === undefined ? {} : { start: alike["start"] };
    set(tree, ["app", name], { from, to: servers, ...start, traffic: { [kind]: params } });
    this.desk.changed(true);
  }

  /** Returns the parameters for a newly added application. An application with the parameter `servers` gets one
   * server, which holds all objects of a web page. A required rate is set to a tenth of the link's rate, or to 100 kbit/s
   * if the link has none. */
  private needed(kind: string): Tree {
    const schema = this.schema.variants(this.schema.definition("Traffic")).find((v) => v.name === kind)?.params;
    const shape = schema ? this.schema.shape(schema) : null;
    const params: Tree = {};
    if (shape?.is !== "table") return params;
    for (const [name, field] of shape.fields) {
      const own = this.schema.shape(field);
      if (name === "servers" && own.fallback !== 1) params[name] = 1;
      if (shape.required.includes(name) && own.is === "quantity" && own.kind === "BitRate") params[name] = showRate((this.speed() || 1e6) / 10);
    }
    if (params["servers"] === 1 && shape.fields.some(([name]) => name === "page")) params["page"] = { uniform: { per_server: 100 } };
    return params;
  }

  private runPanel(): HTMLElement {
    const scenario = this.schema.root;
    const shape = this.schema.shape(scenario);
    const field = (name: string): HTMLElement | null => {
      const of = shape.is === "table" ? shape.fields.find(([n]) => n === name)?.[1] : undefined;
      return of === undefined ? null : this.form.field(name, of, [name]);
    };
    return h("section", { class: "panel", "aria-label": "The run" }, h("h2", {}, "The run"),
      field("duration"), field("seed"), field("name"),
      details("record", "what is recorded", ...this.form.fields(this.schema.definition("Record"), ["record"])));
  }
}

/** Applications that have a button each. The list beside the buttons contains all applications. */
const QUICK: [string, string][] = [["ftp", "upload"], ["voip", "call"], ["web", "pages"], ["game", "game"], ["video", "video"]];

const around = (scale: Scale, value: number): Scale =>
  value > 0 ? { ...scale, lo: Math.min(scale.lo, value), hi: Math.max(scale.hi, value) } : scale;

function details(key: string, title: string, ...children: (HTMLElement | null)[]): HTMLDetailsElement {
  return h("details", { "data-key": key }, h("summary", {}, title), ...children);
}

export type { Json };
