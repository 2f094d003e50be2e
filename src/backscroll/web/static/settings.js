// @ts-check
// The choice of a theme.

import { setTheme, theme, times } from "./base.js";

const fields = document.getElementById("theme");
if (fields) {
  fields.hidden = false;
  const show = () => {
    for (const field of fields.querySelectorAll("input")) field.checked = field.value === theme();
  };
  show();
  fields.addEventListener("change", (event) => {
    if (event.target instanceof HTMLInputElement) setTheme(event.target.value);
  });
  new MutationObserver(show).observe(document.documentElement, { attributeFilter: ["data-theme"] });
}

// While a sync runs, its section is loaded again until it has ended.
const syncing = document.querySelector("#sync");
const look = async () => {
  const shown = syncing?.querySelector("[data-syncing]");
  if (!shown) return;
  await new Promise((resolve) => setTimeout(resolve, 1000));
  const answer = await fetch("/settings/sync");
  if (!answer.ok) return;
  const page = new DOMParser().parseFromString(await answer.text(), "text/html");
  const fresh = page.body.firstElementChild;
  if (fresh) {
    times(fresh);
    shown.replaceWith(fresh);
  }
  void look();
};
void look();
