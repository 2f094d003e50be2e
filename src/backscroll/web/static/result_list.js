// @ts-check
// The list of results under a field, shared by the palette and the search field.

import { times } from "./base.js";

/** Milliseconds after a key: keys that come together ask once, and a single one hardly waits. */
export const WAIT = 15;

/**
 * The results for a text, as options; empty if the request fails.
 * @param {string} query
 */
export async function resultsFor(query) {
  try {
    const answer = await fetch(`/palette?${new URLSearchParams({ q: query })}`);
    return answer.ok ? await answer.text() : "";
  } catch {
    return "";
  }
}

/**
 * Show results in a list.
 * @param {HTMLElement} list
 * @param {string} results
 */
export function fillList(list, results) {
  list.innerHTML = results; // a fragment of our own server, which escapes what came from transcripts
  times(list);
}

/** @param {HTMLElement} list */
export function optionsIn(list) {
  return /** @type {HTMLElement[]} */ ([...list.querySelectorAll("[role=option]")]);
}

/**
 * Select an option; -1 selects none.
 * @param {HTMLInputElement} field
 * @param {HTMLElement} list
 * @param {number} at
 */
export function selectOption(field, list, at) {
  const options = optionsIn(list);
  options.forEach((option, number) => {
    option.id = `${list.id}-${number}`;
    option.tabIndex = -1;
    option.setAttribute("aria-selected", String(number === at));
  });
  options[at]?.scrollIntoView({ block: "nearest" });
  if (options[at]) field.setAttribute("aria-activedescendant", options[at].id);
  else field.removeAttribute("aria-activedescendant");
}

/**
 * Make a field control a list.
 * @param {HTMLInputElement} field
 * @param {HTMLElement} list
 * @param {string} id
 */
export function connect(field, list, id) {
  list.id = id;
  list.setAttribute("role", "listbox");
  list.setAttribute("aria-label", "Results");
  field.setAttribute("role", "combobox");
  field.setAttribute("aria-controls", id);
  field.setAttribute("aria-autocomplete", "list");
}
