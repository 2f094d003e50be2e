// @ts-check
// The share dialog: shows what will be masked in the chosen file, and saves it.

import { ask, parsed, toast } from "./chat_page.js";
import { onDialog } from "./dialogs.js";

/** @param {HTMLDialogElement} dialog */
function shareDialog(dialog) {
  const form = dialog.querySelector("#share-form");
  const place = dialog.querySelector("#masks");
  if (form instanceof HTMLFormElement && place instanceof HTMLElement) follow(dialog, form, place);
}

/**
 * Show what will be masked, now and after every choice.
 * @param {HTMLDialogElement} dialog
 * @param {HTMLFormElement} form
 * @param {HTMLElement} place
 */
function follow(dialog, form, place) {
  let asked = new AbortController();

  async function look() {
    asked.abort();
    asked = new AbortController();
    const { signal } = asked;
    place.ariaBusy = "true";
    if (!place.childElementCount) place.append(waiting());
    try {
      place.replaceChildren(parsed(await (await ask(`${form.dataset.masks}?${fields(form)}`, signal)).text()));
    } catch {
      if (!signal.aborted) place.replaceChildren("Could not find out what will be masked.");
    }
    if (!signal.aborted) place.ariaBusy = null;
  }

  function change() {
    const isRows = new FormData(form).get("format") === "jsonl";
    for (const part of form.querySelectorAll("#leave-out, #share-branch select")) {
      if (part instanceof HTMLFieldSetElement || part instanceof HTMLSelectElement) part.disabled = isRows;
    }
    void look();
  }

  form.addEventListener("change", change);
  form.addEventListener("submit", () => {
    toast("Saving the file");
    dialog.close();
  });
  dialog.addEventListener("close", () => asked.abort());
  change();
}

/** @param {HTMLFormElement} form */
const fields = (form) => new URLSearchParams([...new FormData(form)].map(([name, value]) => [name, String(value)]));

function waiting() {
  const told = document.createElement("p");
  told.className = "muted waiting";
  told.textContent = "Looking for secrets …";
  return told;
}

export function start() {
  onDialog("share", shareDialog);
}
