// The page's address contains the experiment, or names an essay (#essay/ID/STEP) or a preset (#preset/ID).

import { byId } from "./dom";
import { decode, encode, type Experiment } from "./fragment";
import type { Lab } from "./lab";
import { bottleneck } from "./topology";

/** The functions that open the essay step or the preset that an address names. They return false if the page has no
 * step or preset of this name. */
export interface Places {
  essay(id: string, step: number): boolean;
  preset(id: string): Promise<boolean>;
}

const NAMED = /^#(essay|preset)\/([\w-]{1,80})(?:\/(\d{1,3}))?$/;

export class Address {
  private later = 0;
  private changes = 0;
  /** The fragment last written by the page itself. */
  private own = "";
  /** The fragment last written or read by the page. While the address differs from this fragment, the page does not overwrite the address. */
  private seen = location.hash;

  constructor(private readonly lab: Lab, private readonly places: Places) {
    lab.listen({ changed: () => this.remember(), shown: (ms) => { if (ms !== null) this.remember(); } });
  }

  /** Writes the experiment into the address once changes have paused. */
  private remember(): void {
    clearTimeout(this.later);
    this.changes++;
    document.body.dataset["address"] = "old";
    this.later = setTimeout(() => { this.write().catch(() => undefined); }, 250);
  }

  async write(): Promise<void> {
    const { tree, link, pinned, beside } = this.lab;
    const { changes } = this;
    const own = await encode({ scenario: tree, ...(link === bottleneck(tree) ? {} : { link }), ...(pinned === null ? {} : { pinned: pinned.tree }), ...(beside.length === 0 ? {} : { beside }) });
    // nothing is written if the experiment has changed again or the visitor has followed a link
    if (location.hash !== this.seen || changes !== this.changes) return;
    history.replaceState(null, "", own);
    this.own = this.seen = own;
    // tests wait for this attribute, which says that the address now contains the experiment
    document.body.dataset["address"] = "new";
  }

  /** Opens the experiment, essay step or preset in the address; returns false if the address contains nothing new.
   * Errors: the link is damaged, or the page has no essay step or preset of this name. */
  async restore(): Promise<boolean> {
    const { hash } = location;
    this.seen = hash;
    if (hash === this.own && hash !== "") return false;
    const named = NAMED.exec(hash);
    if (named !== null) {
      const [, kind, id = "", step = "1"] = named;
      const found = kind === "essay" ? this.places.essay(id, Number(step) - 1) : await this.places.preset(id);
      if (!found) throw new Error(`this page has no ${kind} of the name ${id}`);
      return true;
    }
    const read = await decode(hash);
    if (read === null) return false;
    this.show(read);
    return true;
  }

  private show(read: Experiment): void {
    this.lab.beside = read.beside ?? [];
    this.lab.open(read.scenario, { look: read.link, against: read.pinned });
  }
}

/** Copies text to the clipboard, and confirms this on the button. If the browser refuses, shows the text in a dialog,
 * where it is selected already. */
export async function copy(text: string, button: HTMLElement, what: string): Promise<void> {
  const label = button.textContent;
  try {
    await navigator.clipboard.writeText(text);
    button.textContent = `${what} copied`;
  } catch {
    // some browsers deny clipboard access to pages opened from a file
    const area = byId<HTMLTextAreaElement>("toml-text");
    area.value = text;
    byId<HTMLDialogElement>("toml").showModal();
    area.select();
  }
  setTimeout(() => { button.textContent = label; }, 1500);
}
