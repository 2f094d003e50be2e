// @ts-check
// Which chats went on since they were last read in this browser.

import { kept } from "./base.js";

/**
 * Mark the chats that grew since they were last read here; chats never read here get no mark.
 * @param {ParentNode} root
 */
export function unread(root) {
  for (const row of root.querySelectorAll("[data-chat][data-last]")) {
    if (!(row instanceof HTMLElement)) continue;
    const read = readUntil(row.dataset.chat ?? "");
    const badge = row.querySelector(".badge.unread");
    if (badge instanceof HTMLElement) badge.hidden = !(read && read < Date.parse(row.dataset.last ?? ""));
  }
}

/**
 * Until when a chat was looked at in this browser: what came later is new, however far one read.
 * @param {string} chat
 */
function readUntil(chat) {
  try {
    const seen = JSON.parse(kept(`seen:${chat}`) ?? "null");
    return Math.max(Date.parse(seen?.when) || 0, Date.parse(seen?.visited) || 0);
  } catch {
    return 0;
  }
}
