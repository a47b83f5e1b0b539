// Makes elements. Strings become text nodes and are never parsed as markup.

type Child = Node | string | null | undefined | false;
type Props = Record<string, unknown>;

/** Makes an element with attributes, listeners (`onclick`) and children. */
export function h<K extends keyof HTMLElementTagNameMap>(tag: K, props: Props = {}, ...children: Child[]): HTMLElementTagNameMap[K] {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(props)) {
    if (value === undefined || value === null || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value as EventListener);
    else if (name === "value" || name === "checked") (element as unknown as Props)[name] = value;
    else element.setAttribute(name, value === true ? "" : String(value));
  }
  put(element, ...children);
  return element;
}

/** Returns true if the page uses its dark colours. */
export const isDark = (): boolean => matchMedia("(prefers-color-scheme: dark)").matches;

/** Replaces the children of an element. */
export function put(element: Element, ...children: Child[]): void {
  element.replaceChildren(...children.filter((c): c is Node | string => c !== null && c !== undefined && c !== false));
}

export function byId<T extends HTMLElement = HTMLElement>(id: string): T {
  const found = document.getElementById(id);
  if (found === null) throw new Error(`no element ${id}`);
  return found as T;
}
