// @ts-check
// The list of chats, kept up to date.

import { renew } from "./chat_lists.js";
import { listen } from "./notices.js";

const SOON = 2000;
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

listen(null, ({ what }) => {
  if (what === "changed") look();
});
document.addEventListener("visibilitychange", () => isLate && look());
