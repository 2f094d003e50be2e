// @ts-check
// The outline follows the reading position, and adds new prompts.

import { ask, atLine, below, box, chat, messageElement, onArrival, outlineLines, parsed, sections } from "./chat_page.js";

/** @typedef {import("./chat_page.js").Line} Line */

/** The prompt above the reading position: the last one in the outline that is not below it. */
function promptAbove() {
  const article = atLine();
  const section = article?.closest(".chunk");
  if (!article || !(section instanceof HTMLElement)) return null;
  const all = sections();
  const here = all.indexOf(section);
  const places = new Map(all.map((one, place) => [one.dataset.chunk ?? "", place]));
  let found = null;
  for (const line of outlineLines()) {
    const target = messageElement(line.id);
    const isAbove = target ? target === article || target.compareDocumentPosition(article) & Node.DOCUMENT_POSITION_FOLLOWING : (places.get(line.chunk) ?? Infinity) < here;
    if (!isAbove) break;
    found = line;
  }
  return found;
}

/** @type {Element | null} */
let marked = null;

function mark() {
  const above = promptAbove();
  const line = above?.link ?? null;
  if (line === marked) return;
  marked?.removeAttribute("aria-current");
  marked = line;
  line?.setAttribute("aria-current", "location");
  const side = document.getElementById("side");
  if (line && side && side.checkVisibility?.() && side.scrollHeight > side.clientHeight) {
    const [place, window] = [line.getBoundingClientRect(), side.getBoundingClientRect()];
    // Only the outline itself is moved, never the page.
    if (place.top < window.top + 60 || place.bottom > window.bottom - 60) side.scrollTop += place.top - window.top - window.height / 3;
  }
  markBar(above);
}

/** @param {Line | null} line */
function markBar(line) {
  const bars = [...document.querySelectorAll(".minimap g")];
  const order = new Map(outlineLines().map((one, place) => [one.id, place]));
  const here = order.get(line?.id ?? "") ?? -1;
  let current = null;
  for (const bar of bars) {
    if (!(bar instanceof SVGElement)) continue;
    bar.classList.remove("here");
    if ((order.get(bar.dataset.message ?? "") ?? Infinity) <= here) current = bar;
  }
  current?.classList.add("here");
}

/** Take up prompts that are in the page and not in the outline: the chat has gone on. */
function grow() {
  const list = document.querySelector(".outline");
  const last = sections().at(-1);
  if (!list || !last?.classList.contains("filled")) return;
  const known = new Set(outlineLines().map((line) => line.id));
  const missing = [];
  const prompts = [...box.querySelectorAll(":scope > .chunk:nth-last-child(-n+2) > article[data-kind=prompt]")];
  while (prompts.length && !known.has(prompts.at(-1)?.id.slice(2) ?? "")) missing.unshift(prompts.pop());
  for (const article of missing) {
    const text = article?.querySelector(".typed, .prose")?.textContent?.trim().replace(/\s+/g, " ") ?? "";
    if (!article || !text) continue;
    const [item, line, words] = [document.createElement("li"), document.createElement("a"), document.createElement("span")];
    item.className = "outline-prompt";
    line.href = `#${encodeURIComponent(article.id)}`;
    line.dataset.chunk = last.dataset.chunk;
    words.className = "outline-text";
    words.textContent = text.length > 110 ? `${text.slice(0, 109)}…` : text;
    line.append(words);
    item.append(line);
    list.append(item);
  }
}

/** A long chat has its outline after its messages. */
async function takeLater() {
  const beside = parsed(await (await ask(below("/side"))).text());
  const [side, fresh] = [document.getElementById("side"), beside.querySelector("#side")];
  if (side && fresh) side.replaceChildren(...fresh.childNodes);
  mark();
}

export function start() {
  if (!chat) return;
  if (document.querySelector("#side [data-later]")) takeLater().catch(() => {}); // its link still leads there
  let timer = 0;
  const soon = () => {
    timer ||= window.setTimeout(() => {
      timer = 0;
      mark();
    }, 120);
  };
  addEventListener("scroll", soon, { passive: true });
  onArrival((roots) => {
    if (roots.some((root) => root.matches("article[data-kind=prompt]"))) grow();
    soon();
  });
  // On a phone the outline lies over the page; it goes when something was chosen in it.
  document.getElementById("side")?.addEventListener("click", (event) => {
    const side = event.currentTarget;
    if (side instanceof HTMLElement && event.target instanceof Element && event.target.closest("a[data-chunk], [data-message]") && side.matches(":popover-open")) side.hidePopover();
  });
}
