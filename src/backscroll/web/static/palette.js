// @ts-check
// The command palette (Ctrl-K), and the list of keyboard shortcuts (?).

import { commands, cross, keys } from "./base.js";
import { connect, fillList, optionsIn, resultsFor, selectOption, WAIT } from "./result_list.js";

const MAX_COMMANDS = 8;
/** @type {Record<string, number>} */
const STEPS = { ArrowDown: 1, ArrowUp: -1, "Ctrl+n": 1, "Ctrl+p": -1 };

/** @type {HTMLDialogElement | null} */
let palette = null;
let asked = 0;
let timer = 0;
/**
 * What the list was made for: Enter waits until that is what was typed.
 * @type {string | null}
 */
let shown = null;

/** Open it, or close it where it is open. */
export function openPalette() {
  palette ??= makePalette();
  if (palette.open) {
    palette.close();
    return;
  }
  const field = /** @type {HTMLInputElement} */ (palette.querySelector("input"));
  field.value = "";
  shown = null;
  palette.showModal();
  field.focus();
  void fill(palette, "");
}

/** Show all keys that are bound on this page. */
export function openHelp() {
  document.querySelector("dialog.keys")?.remove();
  const dialog = document.createElement("dialog");
  dialog.className = "keys";
  const list = document.createElement("dl");
  for (const { keys: names, help } of [...keys].reverse().filter((bound) => bound.help)) {
    const [line, term] = [document.createElement("div"), document.createElement("dt")];
    for (const name of names) {
      const cap = document.createElement("kbd");
      cap.textContent = name.replace("Ctrl+k", "Ctrl K").replace("Arrow", "").replace("Escape", "Esc");
      term.append(cap, " ");
    }
    const told = document.createElement("dd");
    told.textContent = help;
    line.append(term, told);
    list.append(line);
  }
  const title = document.createElement("h2");
  title.textContent = "Keyboard shortcuts";
  title.id = "keys-title";
  dialog.setAttribute("aria-labelledby", title.id);
  const form = document.createElement("form");
  form.method = "dialog";
  const close = document.createElement("button");
  close.className = "quiet icon-only sheet-close";
  close.ariaLabel = "Close";
  close.append(cross());
  form.append(close);
  dialog.append(title, list, form);
  dialog.addEventListener("close", () => dialog.remove());
  closeOutside(dialog);
  document.body.append(dialog);
  dialog.showModal();
}

function makePalette() {
  const dialog = document.createElement("dialog");
  dialog.className = "palette";
  dialog.setAttribute("aria-label", "Command palette");
  const field = document.createElement("input");
  field.type = "search";
  field.placeholder = "Search chats, go to a page, or run a command";
  field.autocomplete = "off";
  field.setAttribute("aria-label", field.placeholder);
  field.setAttribute("aria-expanded", "true");
  const list = document.createElement("div");
  connect(field, list, "palette");
  dialog.append(field, list);
  field.addEventListener("input", () => {
    clearTimeout(timer);
    timer = setTimeout(() => void fill(dialog, field.value), WAIT);
  });
  field.addEventListener("keydown", (event) => onKey(event, dialog, field));
  list.addEventListener("click", (event) => {
    const option = event.target instanceof Element ? event.target.closest("[role=option]") : null;
    if (option instanceof HTMLElement) choose(dialog, option, event);
  });
  closeOutside(dialog);
  document.body.append(dialog);
  return dialog;
}

/**
 * @param {KeyboardEvent} event
 * @param {HTMLDialogElement} dialog
 * @param {HTMLInputElement} field
 */
function onKey(event, dialog, field) {
  const list = listOf(dialog);
  const options = optionsIn(list);
  const at = options.findIndex((option) => option.getAttribute("aria-selected") === "true");
  const step = STEPS[event.ctrlKey ? `Ctrl+${event.key}` : event.key] ?? 0;
  if (step && options.length) {
    selectOption(field, list, (at + step + options.length) % options.length);
    event.preventDefault();
  } else if (event.key === "Enter") {
    event.preventDefault();
    void chooseSelected(event, dialog, field);
  } else if (event.key === "Escape") {
    event.preventDefault(); // a search field would only empty itself
    dialog.close();
  }
}

/**
 * @param {KeyboardEvent} event
 * @param {HTMLDialogElement} dialog
 * @param {HTMLInputElement} field
 */
async function chooseSelected(event, dialog, field) {
  clearTimeout(timer);
  if (shown !== field.value) await fill(dialog, field.value);
  const option = dialog.querySelector("[role=option][aria-selected=true]");
  if (shown === field.value && dialog.open && option instanceof HTMLElement) choose(dialog, option, event);
}

/** @param {HTMLDialogElement} dialog */
function listOf(dialog) {
  return /** @type {HTMLElement} */ (dialog.querySelector("[role=listbox]"));
}

/** @type {WeakMap<HTMLElement, () => unknown>} */
const runs = new WeakMap();

/**
 * @param {HTMLDialogElement} dialog
 * @param {HTMLElement} option
 * @param {Event} event
 */
function choose(dialog, option, event) {
  const run = runs.get(option);
  const held = event instanceof MouseEvent || event instanceof KeyboardEvent ? event.ctrlKey || event.metaKey : false;
  if (!run && option instanceof HTMLAnchorElement) {
    if (event instanceof MouseEvent) return; // the link goes there by itself
    if (held) window.open(option.href, "_blank");
    else location.assign(option.href);
    return;
  }
  dialog.close();
  run?.();
}

/**
 * @param {HTMLDialogElement} dialog
 * @param {string} query
 */
async function fill(dialog, query) {
  const number = ++asked;
  const list = listOf(dialog);
  const field = /** @type {HTMLInputElement} */ (dialog.querySelector("input"));
  const own = matching(query).map(optionOf); // without the server there are still the commands
  const results = await resultsFor(query);
  if (number !== asked) return;
  fillList(list, results);
  if (query) list.prepend(...own);
  else list.append(...own);
  selectOption(field, list, 0);
  shown = query;
}

/** @param {string} query */
function matching(query) {
  const words = query.toLowerCase().split(/\s+/).filter(Boolean);
  const found = commands.filter(({ name }) => words.every((word) => name.toLowerCase().includes(word)));
  return query ? found.slice(0, MAX_COMMANDS) : found;
}

/** @param {import("./base.js").Command} entry */
function optionOf({ name, run }) {
  const option = document.createElement("div");
  option.setAttribute("role", "option");
  option.textContent = name;
  runs.set(option, run);
  return option;
}

/** @param {HTMLDialogElement} dialog */
function closeOutside(dialog) {
  dialog.addEventListener("click", (event) => {
    if (event.target === dialog) dialog.close();
  });
}
