// @ts-check
// Results under the search field, while one types. Enter without a chosen one opens the search page, as without scripts.

import { times } from "./base.js";

const WAIT = 40;
/** @type {Record<string, number>} */
const STEPS = { ArrowDown: 1, ArrowUp: -1 };

/** @param {HTMLInputElement} field the search field of a form */
export function suggestFor(field) {
  const list = document.createElement("div");
  list.id = "suggestions";
  list.className = "suggestions palette";
  list.hidden = true;
  const box = document.createElement("div");
  box.setAttribute("role", "listbox");
  box.setAttribute("aria-label", "Results");
  box.id = "suggestions-list";
  list.append(box);
  field.form?.append(list);
  field.setAttribute("role", "combobox");
  field.setAttribute("aria-autocomplete", "list");
  field.setAttribute("aria-controls", box.id);
  field.setAttribute("aria-expanded", "false");
  let timer = 0;
  let asked = 0;
  let at = -1;

  const options = () => /** @type {HTMLElement[]} */ ([...box.querySelectorAll("[role=option]")]);

  const close = () => {
    asked += 1;
    clearTimeout(timer);
    list.hidden = true;
    field.setAttribute("aria-expanded", "false");
    select(-1);
  };

  /** @param {number} number */
  const select = (number) => {
    at = number;
    options().forEach((option, index) => {
      option.id = `suggestion-${index}`;
      option.tabIndex = -1;
      option.setAttribute("aria-selected", String(index === number));
    });
    const chosen = options()[number];
    chosen?.scrollIntoView({ block: "nearest" });
    if (chosen) field.setAttribute("aria-activedescendant", chosen.id);
    else field.removeAttribute("aria-activedescendant");
  };

  const fill = async () => {
    const number = ++asked;
    const query = field.value.trim();
    if (!query) return close();
    let found = "";
    try {
      const answer = await fetch(`/palette?${new URLSearchParams({ q: query })}`);
      if (answer.ok) found = await answer.text();
    } catch {
      // Without the server there is nothing to suggest.
    }
    if (number !== asked || document.activeElement !== field) return;
    box.innerHTML = found; // a fragment of our own server, which escapes what came from transcripts
    times(box);
    list.hidden = !found;
    field.setAttribute("aria-expanded", String(!list.hidden));
    select(-1);
  };

  field.addEventListener("input", () => {
    clearTimeout(timer);
    timer = window.setTimeout(() => void fill(), WAIT);
  });
  field.addEventListener("keydown", (event) => {
    const step = STEPS[event.key] ?? 0;
    if (step && !list.hidden) {
      const count = options().length + 1; // one place is the field itself
      select(((at + 1 + step + count) % count) - 1);
      event.preventDefault();
    } else if (event.key === "Enter" && at >= 0) {
      options()[at]?.click();
      event.preventDefault();
    } else if (event.key === "Escape" && !list.hidden) {
      close();
      event.preventDefault();
    }
  });
  list.addEventListener("mousedown", (event) => event.preventDefault()); // the field keeps the focus
  field.addEventListener("blur", close);
}
