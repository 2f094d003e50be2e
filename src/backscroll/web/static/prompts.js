// @ts-check
// The page of a saved prompt: its text follows the values as they are typed, and is copied with them.

import { action, copy, key, toast } from "./base.js";

const form = document.getElementById("fill");
const text = document.getElementById("prompt-text");

/** The fields, each with the places of its variable in the text. */
const fields = [...(form?.querySelectorAll("textarea[data-value]") ?? [])].filter((one) => one instanceof HTMLTextAreaElement);

/** @param {HTMLTextAreaElement} field */
function show(field) {
  const name = field.dataset.value ?? "";
  for (const place of text?.querySelectorAll("[data-variable]") ?? []) {
    if (!(place instanceof HTMLElement) || place.dataset.variable !== name) continue;
    place.textContent = field.value || `{{${name}}}`;
    place.classList.toggle("filled", Boolean(field.value));
  }
}

async function copyPrompt() {
  const empty = fields.find((field) => !field.value);
  if (empty) {
    toast(`No value for ${empty.dataset.value}`);
    empty.focus();
    return;
  }
  if (!(await copy(text?.textContent ?? "", "prompt")) || !(form instanceof HTMLFormElement)) return;
  // Counted without a word: the text is copied already.
  await fetch(form.action, { method: "POST", body: new URLSearchParams({ action: "use" }) }).catch(() => null);
}

for (const field of fields) {
  field.addEventListener("input", () => show(field));
  show(field); // a browser keeps what was typed before a reload
}
form?.addEventListener("submit", (event) => {
  event.preventDefault();
  void copyPrompt();
});
action("copy-prompt", () => void copyPrompt());
key("c", "Copy the prompt", () => void copyPrompt());
fields[0]?.focus();
