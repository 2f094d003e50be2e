// @ts-check
// The choice of a theme.

import { setTheme, theme } from "./base.js";

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
