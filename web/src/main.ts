// Connects the parts of the playground.

import { Address, copy } from "./address";
import { Controls } from "./controls";
import { byId, h, put } from "./dom";
import { Engine } from "./engine";
import { Essays, fillClass } from "./essays";
import { ALONE, First } from "./first";
import { inflate, unbase64 } from "./fragment";
import { Lab } from "./lab";
import { exportButtons } from "./out";
import { Schema } from "./schema";
import { fold, listenToSettings } from "./settings";
import { offer } from "./script";
import { board, watch } from "./show";
import { openStage } from "./stage/open";
import { Sound } from "./sound";
import { listenToTerms } from "./terms";
import { listenToFiles, listenToToml, notice, Presets } from "./toml";
import type { Json } from "./types";

/** Fades the lower end of the controls while the visitor can scroll further. */
function fade(): void {
  const column = byId("controls");
  column.classList.toggle("more", column.scrollTop + column.clientHeight < column.scrollHeight - 4);
}

function listenToScrolling(): void {
  byId("controls").addEventListener("scroll", fade, { passive: true });
  byId("controls").addEventListener("toggle", fade, { capture: true });
  addEventListener("resize", fade);
}

/** With `?embed` in the address, shows only the result and a link to the whole page, so that another page can show the
 * result in a frame. */
function embed(lab: Lab): void {
  if (!new URLSearchParams(location.search).has("embed")) return;
  document.body.classList.add("embedded");
  const whole = h("a", { target: "_blank", rel: "noopener" }, "Change it in the playground");
  put(byId("whole"), whole);
  const follow = () => setTimeout(() => { whole.href = location.href.replace(/\?[^#]*/, ""); }, 600);
  lab.listen({ shown: follow });
}

function listen(lab: Lab, address: Address): void {
  byId("pin").addEventListener("click", () => lab.pin());
  byId("share").addEventListener("click", async () => {
    await address.write();
    await copy(location.href, byId("share"), "Link");
  });
  for (const button of document.querySelectorAll("dialog .close")) button.addEventListener("click", () => button.closest("dialog")?.close());
  for (const name of ["delay", "rate", "cdf"] as const) byId(`${name}-title`).after(exportButtons(name, () => board.drawn(name, byId(`${name}-title`).textContent ?? "")));
  listenToToml(lab);
  listenToFiles(lab, notice);
  listenToScrolling();
  listenToSettings();
  listenToTerms();
  addEventListener("hashchange", () => { address.restore().then((found) => { if (found) fold(false); }).catch(sayError); });
}

const sayError = (error: unknown): void => notice(error instanceof Error ? error.message : String(error));

async function start(): Promise<void> {
  fold(location.hash === "");
  const packed = unbase64(byId("wasm").textContent?.trim() ?? "");
  const lab = new Lab(ALONE);
  const [engine, known] = await Engine.start(byId("worker").textContent ?? "", (await inflate(packed)).buffer, lab);
  lab.engine = engine;
  const controls = new Controls(lab, known, new Schema(known.schema));
  lab.listen({
    changed: (rebuild) => {
      if (rebuild) controls.build(byId("controls"));
      else controls.update(byId("controls"));
      fade();
      notice("");
    },
  });
  watch(lab, known);
  openStage(lab, known);
  const presets = new Presets(lab);
  const essays = new Essays(lab);
  const address = new Address(lab, { essay: (id, step) => essays.open(id, step), preset: (id) => presets.open(id) });
  new First(lab, {
    essay: () => { essays.open("bloat", 0); },
    rate: () => {
      fold(false);
      byId("controls").querySelector<HTMLElement>("input[type=range]")?.focus();
    },
    own: () => byId("show-toml").click(),
  });
  new Sound(lab);
  byId("version").textContent = `bloatlab ${known.version}`;
  offer(lab, known.version, JSON.parse(byId("index").textContent ?? "{}") as Json);
  fillClass(essays);
  listen(lab, address);
  embed(lab);
  await begin(lab, address);
  document.body.dataset["ready"] = "true";
}

/** Opens the experiment in the address or, if the address contains none, the first experiment: a call that has the line
 * to itself. */
async function begin(lab: Lab, address: Address): Promise<void> {
  try {
    if (await address.restore()) return;
    lab.changed(true);
  } catch (error) {
    lab.changed(true);
    sayError(error);
  }
}

start().catch((error: unknown) => {
  put(byId("problems"), h("p", {}, `The playground cannot start in this browser: ${error instanceof Error ? error.message : String(error)}`));
});
