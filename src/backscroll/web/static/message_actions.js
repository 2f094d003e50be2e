// @ts-check
// Expands and copies parts of messages: raw rows, long outputs, sub-agents, code.

import { arrived, ask, below, chat, copy, idOf, masked, onArrival, parsed, toast } from "./chat_page.js";

/**
 * Show the row as it was written behind the part that it belongs to, or take it away again.
 * @param {HTMLAnchorElement} link
 */
async function toggleRaw(link) {
  const part = link.closest(".tool-body, .aside-body, article") ?? link.parentElement;
  const shown = part?.querySelector(`:scope > .raw-row[data-of="${CSS.escape(link.href)}"]`);
  if (shown || !part) {
    shown?.remove();
    link.setAttribute("aria-expanded", "false");
    return;
  }
  const place = document.createElement("pre");
  place.className = "raw-row plain";
  place.dataset.of = link.href;
  place.tabIndex = 0;
  place.textContent = "…";
  part.append(place);
  link.setAttribute("aria-expanded", "true");
  try {
    place.textContent = pretty(await (await ask(link.href)).text());
  } catch {
    place.textContent = "Could not load the row.";
  }
}

/** @param {string} text */
function pretty(text) {
  let shown = text;
  try {
    shown = JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    // As it is.
  }
  // What cannot be seen, or turns around what stands beside it, as JSON writes it.
  return shown.replace(UNSEEN, (found) => `\\u${found.charCodeAt(0).toString(16).padStart(4, "0")}`);
}

const UNSEEN = /[\0-\x08\x0b-\x1f\x7f-\x9f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]/g;

/**
 * Put all of a tool call where only its beginning was.
 * @param {HTMLAnchorElement} link
 */
async function showAll(link) {
  const section = link.closest("section.tool");
  if (!(section instanceof HTMLElement) || link.ariaBusy === "true") return;
  link.ariaBusy = "true";
  try {
    const whole = parsed(await (await ask(link.dataset.fill || link.href)).text()).firstElementChild;
    if (!(whole instanceof HTMLElement)) throw new Error("nothing came");
    section.replaceWith(whole);
    whole.dataset.whole = "yes";
    arrived([whole]);
    focusSummary(whole);
  } catch {
    link.ariaBusy = null;
    toast("Could not load the rest; try again");
  }
}

/** @param {HTMLElement} section */
function focusSummary(section) {
  section.querySelector("summary")?.focus({ preventScroll: true });
}

/**
 * Load what stands in a part that is unfolded for the first time.
 * @param {HTMLDetailsElement} details
 */
async function loadInto(details) {
  const where = details.dataset.src;
  if (!where || details.dataset.loaded) return;
  details.dataset.loaded = "yes";
  const place = details.querySelector(":scope > .agent-messages") ?? document.createElement("div");
  if (!place.childNodes.length) place.textContent = "Loading …";
  if (!place.isConnected) details.append(place);
  try {
    const content = parsed(await (await ask(where)).text());
    place.replaceChildren(content);
    if (place instanceof HTMLElement) arrived([place]);
  } catch {
    delete details.dataset.loaded;
    place.textContent = "Could not load this. Collapse and expand it to try again.";
  }
}

/**
 * Load it anew if it is unfolded: something has been said there since.
 * @param {HTMLDetailsElement} details
 */
export function renew(details) {
  delete details.dataset.loaded;
  if (details.open) void loadInto(details);
}

/** @param {HTMLElement} article */
export async function copyMarkdown(article) {
  try {
    const answer = await ask(below(`/messages/${encodeURIComponent(idOf(article))}/markdown`));
    await copy(await answer.text(), `as Markdown${masked(answer)}`);
  } catch {
    toast("Could not load the message");
  }
}

/** @param {HTMLElement} article */
export function copyLink(article) {
  const link = new URL(chat ? below("", { at: idOf(article) }) : location.pathname, location.href);
  link.hash = `m-${encodeURIComponent(idOf(article))}`;
  void copy(link.href, "link");
}

/** @param {MouseEvent} event */
function onClick(event) {
  if (!(event.target instanceof Element) || event.button || event.ctrlKey || event.metaKey || event.shiftKey) return;
  const code = event.target.closest(".copy-code")?.closest("pre");
  if (code) {
    void copy(textOf(code), "code");
    return;
  }
  const article = event.target.closest("article");
  if (article && event.target.closest(".copy-message")) void copyMarkdown(article);
  const link = event.target.closest("a[data-raw], a[data-fill], a[data-link]");
  if (!(link instanceof HTMLAnchorElement)) return;
  if (article && "link" in link.dataset) {
    copyLink(article); // and the page goes there, as with any link
    return;
  }
  if (event.defaultPrevented) return;
  event.preventDefault();
  void ("raw" in link.dataset ? toggleRaw(link) : showAll(link));
}

/**
 * Buttons are made when the pointer or the focus comes near: thousands of them would be waiting for nothing.
 * @param {Event} event
 */
function offerCopy(event) {
  if (!(event.target instanceof Element)) return;
  const tools = event.target.closest(".chunk > article")?.querySelector(":scope > .message-head .message-tools");
  if (chat && tools && !tools.querySelector(".copy-message")) tools.append(button("copy-message", "copy"));
  const code = event.target.closest("#messages pre");
  if (!(code instanceof HTMLElement) || code.querySelector(":scope > .copy-code")) return;
  code.classList.add("copyable");
  code.append(button("copy-code", "Copy"));
}

/** What can be read in a piece of code, without our own button. @param {HTMLElement} code */
function textOf(code) {
  const copied = /** @type {HTMLElement} */ (code.cloneNode(true));
  for (const made of copied.querySelectorAll(".copy-code, .line-number")) made.remove();
  return copied.textContent ?? "";
}

/** @param {string} name @param {string} words */
function button(name, words) {
  const made = document.createElement("button");
  made.className = `${name} quiet`;
  made.type = "button";
  made.textContent = words;
  return made;
}

export function start() {
  document.addEventListener("click", onClick);
  document.addEventListener("pointerover", offerCopy, { passive: true });
  document.addEventListener("focusin", offerCopy);
  document.addEventListener(
    "toggle",
    (event) => {
      if (event.target instanceof HTMLDetailsElement && event.target.open) void loadInto(event.target);
    },
    true,
  );
  onArrival((roots) => {
    for (const root of roots) for (const details of root.querySelectorAll("details[open][data-src]")) if (details instanceof HTMLDetailsElement) void loadInto(details);
  });
}
