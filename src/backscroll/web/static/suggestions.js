// @ts-check
// Results under the search field, while one types. Enter without a chosen one opens the search page, as without scripts.

import { connect, fillList, optionsIn, resultsFor, selectOption, WAIT } from "./result_list.js";

/** @type {Record<string, number>} */
const STEPS = { ArrowDown: 1, ArrowUp: -1 };

/** @param {HTMLInputElement} field the search field of a form */
export function suggestFor(field) {
  const frame = document.createElement("div");
  frame.className = "suggestions palette";
  const list = document.createElement("div");
  frame.append(list);
  field.form?.append(frame);
  connect(field, list, "suggestions");
  let timer = 0;
  let asked = 0;
  let at = -1;

  /** @param {number} number */
  const select = (number) => {
    at = number;
    selectOption(field, list, at);
  };

  /** @param {boolean} isOpen */
  const show = (isOpen) => {
    frame.hidden = !isOpen;
    field.setAttribute("aria-expanded", String(isOpen));
    select(-1);
  };

  const close = () => {
    asked += 1; // what is under way comes too late
    clearTimeout(timer);
    show(false);
  };

  const fill = async () => {
    const query = field.value.trim();
    if (!query) return close();
    const number = ++asked;
    const results = await resultsFor(query);
    if (number !== asked || document.activeElement !== field) return;
    fillList(list, results);
    show(results !== "");
  };

  field.addEventListener("input", () => {
    clearTimeout(timer);
    timer = window.setTimeout(() => void fill(), WAIT);
  });
  field.addEventListener("keydown", (event) => {
    const step = STEPS[event.key] ?? 0;
    if (frame.hidden) return;
    if (step) {
      asked += 1; // the list stays as the user sees it
      clearTimeout(timer);
      const count = optionsIn(list).length + 1; // one place is the field itself
      select(((at + 1 + step + count) % count) - 1);
    } else if (event.key === "Enter" && at >= 0) {
      optionsIn(list)[at]?.click();
    } else if (event.key === "Escape") {
      close();
    } else {
      return;
    }
    event.preventDefault();
  });
  frame.addEventListener("mousedown", (event) => event.preventDefault()); // the field keeps the focus
  field.addEventListener("blur", close);
  show(false);
}
