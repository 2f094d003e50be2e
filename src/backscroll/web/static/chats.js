// @ts-check
// The list of chats, kept up to date.

import { renew } from "./chat_lists.js";
import { listen } from "./notices.js";

const SOON = 2000;
const TYPING = 120;
let timer = 0;
let isLate = false;

function look() {
  isLate = document.hidden;
  if (isLate) return;
  timer ||= window.setTimeout(() => {
    timer = 0;
    if (document.querySelector("dialog[open]")) look(); // not while a dialog about a row is open
    else renew().catch(() => undefined); // the next change asks again
  }, SOON);
}

/** Filter while one types: the address follows, so that the list can be reloaded and shared. */
const form = document.querySelector("form.filter");
if (form instanceof HTMLFormElement) {
  let typed = 0;
  let before = 0;
  form.addEventListener("input", () => {
    clearTimeout(typed);
    typed = window.setTimeout(() => {
      const fields = [...new FormData(form)].filter(([, value]) => value !== "").map(([name, value]) => [name, String(value)]);
      const number = ++before;
      history.replaceState(null, "", `${form.action}?${new URLSearchParams(fields)}`);
      renew(() => number === before).catch(() => undefined); // what is half typed may be no query yet
    }, TYPING);
  });
}

listen(null, ({ what }) => {
  if (what === "changed") look();
});
document.addEventListener("visibilitychange", () => isLate && look());
