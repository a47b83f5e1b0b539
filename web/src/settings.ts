// The settings beside the result. They are initially folded away if the address contains no experiment; a button opens them.

import { byId } from "./dom";

const button = (): HTMLElement => byId("settings");

export function fold(folded: boolean): void {
  document.body.classList.toggle("folded", folded);
  button().setAttribute("aria-expanded", String(!folded));
  button().textContent = folded ? "Change the settings" : "Hide the settings";
}

export function listenToSettings(): void {
  button().addEventListener("click", () => {
    fold(!document.body.classList.contains("folded"));
    // on a narrow screen, the settings are below the charts, out of sight
    if (!document.body.classList.contains("folded") && byId("controls").getBoundingClientRect().top > innerHeight / 2) byId("controls").scrollIntoView();
  });
}
