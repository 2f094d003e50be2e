// @ts-check
// Replaces a message by its newer state, and keeps what the reader expanded.

import { renew } from "./message_actions.js";

/**
 * A name for a part of a message that is the same in all states of the message.
 * @param {Element} part
 * @param {Element} article
 */
function nameOf(part, article) {
  const holder = part.closest("[id]") ?? article;
  const same = [...holder.querySelectorAll(part.localName)];
  return `${holder === article ? "" : holder.id} ${part.localName} ${same.indexOf(part)}`;
}

/**
 * @param {HTMLElement} old
 * @param {HTMLElement} fresh
 */
export function replaceArticle(old, fresh) {
  const focus = old.contains(document.activeElement) ? document.activeElement : null;
  const focusName = focus && focus !== old ? nameOf(focus, old) : "";
  /** @type {Map<string, HTMLDetailsElement>} */
  const folds = new Map([...old.querySelectorAll("details")].map((one) => [nameOf(one, old), one]));
  // Calls that were loaded in full stay so, unless they have changed.
  for (const whole of old.querySelectorAll("section.tool[data-whole]")) {
    const other = fresh.querySelector(`[id="${CSS.escape(whole.id)}"]`);
    if (other && other.className === whole.className) other.replaceWith(whole);
  }
  old.replaceWith(fresh);
  /** @type {HTMLDetailsElement[]} */
  const again = [];
  for (const one of fresh.querySelectorAll("details")) {
    const before = folds.get(nameOf(one, fresh));
    if (!before || before === one) continue;
    one.open = before.open;
    if (!one.dataset.src || !before.dataset.loaded) continue;
    const [said, place] = [before.querySelector(":scope > .agent-messages"), one.querySelector(":scope > .agent-messages")];
    if (said && place) place.replaceWith(said); // until the newer one is loaded
    one.dataset.loaded = "yes";
    again.push(one);
  }
  for (const one of again) renew(one);
  if (!focus) return;
  fresh.tabIndex = -1;
  const part = focusName ? [...fresh.querySelectorAll(focus.localName)].find((one) => nameOf(one, fresh) === focusName) : fresh;
  if (part instanceof HTMLElement) part.focus({ preventScroll: true });
}
