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
    const seen = seenOf(row.dataset.chat ?? "");
    const badge = row.querySelector(".badge.unread");
    if (badge instanceof HTMLElement) badge.hidden = !(seen && Date.parse(seen) < Date.parse(row.dataset.last ?? ""));
  }
}

/**
 * The time of the last message of a chat that was read in this browser.
 * @param {string} chat
 * @returns {string | null}
 */
function seenOf(chat) {
  try {
    const seen = JSON.parse(kept(`seen:${chat}`) ?? "null");
    return typeof seen?.when === "string" ? seen.when : null;
  } catch {
    return null;
  }
}
