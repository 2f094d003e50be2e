// @ts-check
// Find in this chat: the server searches the whole chat, the page steps through the matches.

import { go } from "./navigation.js";
import { ask, below, box, chat, command, key, messageElement, onArrival } from "./chat_page.js";

/** @typedef {{message: string, chunk: number}} Match */

const form = document.getElementById("find-form");
const field = /** @type {HTMLInputElement | null} */ (document.getElementById("find"));
const count = document.getElementById("find-count");

/** @type {Match[]} */
let matches = [];
let total = 0;
let here = -1;
let asked = "";
/** What to mark, in small letters. @type {string[]} */
let texts = [];
/** @type {AbortController | null} */
let asking = null;

/** @type {Highlight | null} */
const highlight = typeof Highlight === "undefined" ? null : new Highlight();

async function find() {
  const text = field?.value.trim() ?? "";
  if (text === asked) return;
  asked = text;
  form?.classList.toggle("active", Boolean(text) || document.activeElement === field);
  asking?.abort();
  [matches, total, here] = [[], 0, -1];
  paint();
  if (!text) {
    tell("");
    return;
  }
  const mine = (asking = new AbortController());
  tell("…");
  try {
    const answer = await (await ask(below("/find", { q: text }), mine.signal)).json();
    if (mine.signal.aborted) return;
    matches = answer.matches ?? [];
    total = answer.total ?? matches.length;
    texts = answer.texts ?? [];
    tell(matches.length ? `${total.toLocaleString()} found` : "no matches");
    paint();
  } catch (error) {
    if (mine.signal.aborted) return;
    asked = "";
    tell("search failed");
  }
}

/** @param {string} text */
function tell(text) {
  if (count) count.textContent = text;
}

/** @param {1 | -1} step */
async function step(step) {
  await find();
  if (!matches.length) return;
  here = here < 0 ? nearest(step) : (here + step + matches.length) % matches.length;
  const match = matches[here];
  if (!match) return;
  tell(`${(here + 1).toLocaleString()} of ${total.toLocaleString()}`);
  const typing = document.activeElement === field;
  await go(match.message, { chunk: match.chunk, focus: !typing });
  mark(match.message);
  paint();
}

/** Mark the message of the current match. @param {string} message */
function mark(message) {
  const article = messageElement(message);
  if (!article) return;
  box.querySelector(".found-here")?.classList.remove("found-here");
  article.classList.add("found-here");
  unfold(article);
}

/** Open the page as a search result that was followed: what was searched for is marked, and the result is the current match. */
async function arrive() {
  const opened = new URLSearchParams(location.search);
  const text = opened.get("find");
  if (!text || !field) return;
  field.value = text;
  await find();
  here = matches.findIndex(({ message }) => message === opened.get("at"));
  if (here < 0) return;
  tell(`${(here + 1).toLocaleString()} of ${total.toLocaleString()}`);
  mark(opened.get("at") ?? "");
}

/** The next match from the current scroll position. @param {1 | -1} step */
function nearest(step) {
  const place = matches.findIndex(({ message }) => (messageElement(message)?.getBoundingClientRect().bottom ?? -1) > 80);
  if (place < 0) return step > 0 ? 0 : matches.length - 1;
  return step > 0 ? place : (place - 1 + matches.length) % matches.length;
}

/** @param {Element} root */
function* ranges(root) {
  const walker = document.createTreeWalker(root, NodeFilter.SHOW_TEXT);
  for (let node = walker.nextNode(); node && texts.length; node = walker.nextNode()) {
    const text = node.nodeValue?.toLowerCase() ?? "";
    for (const word of texts) {
      for (let at = text.indexOf(word); at >= 0; at = text.indexOf(word, at + word.length)) {
        if (at + word.length > (node.nodeValue?.length ?? 0)) break; // some letters are longer in lower case
        const range = new Range();
        range.setStart(node, at);
        range.setEnd(node, at + word.length);
        yield range;
      }
    }
  }
}

/** Expand the first match, unless one is already visible. @param {HTMLElement} article */
function unfold(article) {
  let first = null;
  for (const range of ranges(article)) {
    const parent = range.startContainer.parentElement;
    const folded = parent?.closest("details:not([open])");
    if (!folded || parent?.closest("summary")?.parentElement === folded) return;
    first ??= folded;
  }
  for (let fold = first; fold && article.contains(fold); fold = fold.parentElement?.closest("details:not([open])") ?? null) fold.setAttribute("open", "");
}

/** Highlight the words in the matching messages that are loaded. */
function paint() {
  if (!highlight) return;
  highlight.clear();
  if (!asked) return;
  for (const { message } of matches) {
    const article = messageElement(message);
    if (article && highlight.size < 2000) for (const range of ranges(article)) highlight.add(range);
  }
}

export function start() {
  if (!chat || !form || !field) return;
  form.hidden = false;
  if (highlight) CSS.highlights.set("found", highlight);
  let timer = 0;
  field.addEventListener("input", () => {
    clearTimeout(timer);
    timer = window.setTimeout(() => void find(), 250);
  });
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    void step(1);
  });
  field.addEventListener("keydown", (event) => {
    if (event.key === "Enter" && event.shiftKey) {
      event.preventDefault();
      void step(-1);
    } else if (event.key === "Escape") {
      field.value = "";
      void find();
      field.blur();
    }
  });
  document.getElementById("find-next")?.addEventListener("click", () => void step(1));
  document.getElementById("find-previous")?.addEventListener("click", () => void step(-1));
  onArrival(paint);
  field.addEventListener("blur", () => form.classList.toggle("active", Boolean(field.value.trim())));
  document.getElementById("find-open")?.addEventListener("click", () => focus());
  const focus = () => {
    form.classList.add("active"); // on a phone, the field is folded until then
    field.focus({ preventScroll: true });
    field.select();
  };
  key("s", "Find in this chat", focus);
  key("n", "Next match", () => void step(1));
  key("N", "Previous match", () => void step(-1));
  command("Find in this chat", focus);
  void arrive();
}
