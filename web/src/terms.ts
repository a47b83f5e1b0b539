// Technical terms. Each is a button that shows its entry of docs/glossary.md when it is hovered, focused or tapped.

import { byId, h, put } from "./dom";

/** The entries of docs/glossary.md that the page needs, by word. build.mjs writes them into the page. */
const GLOSSARY = JSON.parse(byId("glossary").textContent ?? "{}") as Record<string, string>;
const WORDS = new RegExp(`(?<![\\w-])(?:${Object.keys(GLOSSARY).join("|")})(?![\\w-])`, "g");

const idOf = (word: string): string => `word-${word.replace(/\W/g, "-")}`;

/** Turns the first occurrence of each technical term in a text into a button. */
export function explained(text: string): (string | HTMLElement)[] {
  const parts: (string | HTMLElement)[] = [];
  const seen = new Set<string>();
  let end = 0;
  for (const { 0: word, index } of text.matchAll(WORDS)) {
    if (seen.has(word)) continue;
    seen.add(word);
    const term = h("button", { type: "button", class: "term", "aria-describedby": idOf(word) }, word);
    // a line break may precede a button, and would separate an opening bracket from the term
    if (text[index - 1] === "(") parts.push(text.slice(end, index - 1), h("span", { class: "joined" }, "(", term));
    else parts.push(text.slice(end, index), term);
    end = index + word.length;
  }
  return [...parts, text.slice(end)];
}

/** Replaces the text of an element. If the text is the same as before, leaves the element as it is, so that a button in
 * it keeps the focus. */
export function explain(element: HTMLElement, text: string): void {
  if (element.textContent !== text) put(element, ...explained(text));
}

/** Shows the entry of a word while the pointer or the focus is on the word; Escape hides the entry. */
export function listenToTerms(): void {
  const tip = byId("tip");
  // screen readers read this description along with a term
  put(byId("words"), ...Object.entries(GLOSSARY).map(([word, means]) => h("p", { id: idOf(word) }, means)));
  const termOf = (target: EventTarget | null) => (target instanceof Element ? target.closest<HTMLElement>(".term") : null);
  const hide = () => { tip.hidden = true; };
  const show = (term: HTMLElement) => {
    tip.textContent = GLOSSARY[term.textContent ?? ""] ?? "";
    tip.hidden = false;
    const [at, own] = [term.getBoundingClientRect(), tip.getBoundingClientRect()];
    tip.style.left = `${Math.max(8, Math.min(at.left, document.documentElement.clientWidth - own.width - 8))}px`;
    tip.style.top = `${at.bottom + own.height + 4 < innerHeight ? at.bottom : at.top - own.height}px`;
  };
  for (const kind of ["pointerover", "focusin", "click"]) {
    document.addEventListener(kind, (event) => {
      const term = termOf(event.target);
      if (term !== null) show(term);
    });
  }
  document.addEventListener("pointerout", (event) => {
    const to = event.relatedTarget;
    if ((termOf(event.target) !== null || event.target === tip) && to !== tip && termOf(to) === null && termOf(document.activeElement) === null) hide();
  });
  document.addEventListener("focusout", (event) => { if (termOf(event.target) !== null) hide(); });
  document.addEventListener("keydown", (event) => { if (event.key === "Escape") hide(); });
  addEventListener("scroll", hide, { capture: true, passive: true });
}
