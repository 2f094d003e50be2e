// @ts-check
// Remembers how far this chat was read in this browser, and marks what is new since.

import { keepPlace } from "./chunks.js";
import { go } from "./navigation.js";
import { articlesOf, box, branch, chat, cross, idOf, onArrival, sections } from "./chat_page.js";

/** @typedef {{message: string, when: string, chunk?: string, branch?: string, visited?: string}} Seen */

const name = `seen:${chat?.dataset.chat ?? ""}`;

/** @returns {Seen | null} */
function recall() {
  try {
    const seen = JSON.parse(localStorage.getItem(name) ?? "null");
    return seen && typeof seen.message === "string" && typeof seen.when === "string" ? seen : null;
  } catch {
    return null;
  }
}

/** @param {Element} article */
const timeOf = (article) => (article instanceof HTMLElement && article.dataset.time) || "";

/** Save the furthest message that was on the screen. */
function note() {
  if (document.hidden) return;
  /** @type {HTMLElement | null} */
  let furthest = null;
  for (const section of sections()) {
    const place = section.getBoundingClientRect();
    if (place.top > innerHeight) break;
    if (place.bottom < 0) continue;
    for (const article of articlesOf(section)) {
      const { top, height } = article.getBoundingClientRect();
      if (height && top < innerHeight - 40) furthest = article;
    }
  }
  if (!furthest) return;
  const when = timeOf(furthest);
  const before = recall();
  const section = furthest.closest(".chunk");
  const isFurther = when && (!before || before.when < when);
  if (!isFurther && !before) return;
  /** @type {Seen} */
  const seen = isFurther || !before ? { message: idOf(furthest), when, chunk: section instanceof HTMLElement ? section.dataset.chunk : undefined, branch } : before;
  seen.visited = new Date().toISOString();
  try {
    localStorage.setItem(name, JSON.stringify(seen));
  } catch {
    // Without storage, the position is not saved.
  }
}

/**
 * Add a line above the first unread message, once it is on the page.
 * @param {Seen} seen
 */
function divide(seen) {
  const last = document.getElementById(`m-${seen.message}`);
  const next = last?.nextElementSibling ?? last?.closest(".chunk")?.nextElementSibling?.querySelector("article");
  if (!next || box.querySelector(".since")) return;
  const line = document.createElement("p");
  line.className = "since";
  const isNew = seen.visited !== undefined && timeOf(next) > seen.visited;
  line.textContent = isNew ? "New since your last visit" : "You read up to here";
  keepPlace(() => next.before(line));
}

/**
 * Offer to continue at the last position.
 * @param {Seen} seen
 */
function offer(seen) {
  const [place, button, close] = [document.createElement("p"), document.createElement("button"), document.createElement("button")];
  place.className = "go-on";
  button.type = close.type = "button";
  button.textContent = "Continue where you left off";
  close.append(cross());
  close.className = "quiet icon-only";
  close.ariaLabel = "Dismiss";
  button.addEventListener("click", () => {
    place.remove();
    void go(seen.message, { chunk: seen.chunk });
  });
  close.addEventListener("click", () => place.remove());
  place.append(button, close);
  chat?.querySelector(".pill-place")?.append(place); // over the page, so that nothing moves
}

export function start() {
  if (!chat?.dataset.chat) return;
  const seen = recall();
  const first = sections()[0];
  if (seen) {
    const lastShown = [...box.querySelectorAll(":scope > .chunk:last-child > article")].at(-1);
    const hasMore = !lastShown || timeOf(lastShown) > seen.when;
    const isFar = !first || articlesOf(first).indexOf(/** @type {HTMLElement} */ (document.getElementById(`m-${seen.message}`))) < 0 || articlesOf(first).length > 20;
    if (hasMore) onArrival(() => divide(seen));
    if (isFar && seen.branch === branch && !location.hash && !new URLSearchParams(location.search).has("at")) offer(seen);
  }
  let timer = 0;
  const soon = () => {
    timer ||= window.setTimeout(() => {
      timer = 0;
      note();
    }, 700);
  };
  addEventListener("scroll", soon, { passive: true });
  addEventListener("pagehide", note);
  document.addEventListener("visibilitychange", soon);
  onArrival(soon);
}
