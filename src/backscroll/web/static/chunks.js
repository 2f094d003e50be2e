// @ts-check
// Loads messages in chunks of about a hundred, when the reader comes near them.

import { arrived, articlesOf, ask, below, box, chat, isAtEnd, parsed, pause, sections } from "./chat_page.js";

const AT_ONCE = 2;
const RETRIES = [400, 1500];

/** @type {Map<HTMLElement, Promise<void>>} */
const loading = new Map();
/** @type {Set<HTMLElement>} */
const wanted = new Set();

const observer = new IntersectionObserver(
  (entries) => {
    for (const entry of entries) {
      const section = /** @type {HTMLElement} */ (entry.target);
      if (entry.isIntersecting) wanted.add(section);
      else wanted.delete(section);
    }
    next();
  },
  { rootMargin: "200% 0px" },
);

/** @param {Element} section */
export const isFilled = (section) => section.classList.contains("filled");

/** @param {number | string} number */
export function sectionOf(number) {
  const found = box.querySelector(`:scope > .chunk[data-chunk="${Number(number)}"]`);
  return found instanceof HTMLElement ? found : null;
}

/** Load the sections near the reader, the nearest first; skip those that were only scrolled past. */
function next() {
  const middle = innerHeight / 2;
  /** @param {HTMLElement} section */
  const distance = (section) => {
    const { top, bottom } = section.getBoundingClientRect();
    return top > middle ? top - middle : bottom < middle ? middle - bottom : 0;
  };
  while (loading.size < AT_ONCE) {
    const waiting = [...wanted].filter((section) => !isFilled(section) && !loading.has(section) && !section.dataset.failed);
    if (!waiting.length) return;
    const nearest = waiting.map((section) => ({ section, far: distance(section) })).sort((a, b) => a.far - b.far)[0];
    if (nearest) fill(nearest.section).catch(() => {});
  }
}

/**
 * Load the messages of a section, unless they are already loaded.
 * @param {HTMLElement} section
 * @returns {Promise<void>}
 */
export function fill(section) {
  if (isFilled(section)) return Promise.resolve();
  let promise = loading.get(section);
  if (!promise) {
    promise = load(section).finally(() => {
      loading.delete(section);
      next();
    });
    loading.set(section, promise);
  }
  return promise;
}

/** @param {HTMLElement} section */
async function load(section) {
  section.setAttribute("aria-busy", "true");
  delete section.dataset.failed;
  for (let attempt = 0; ; attempt++) {
    const asked = performance.now();
    try {
      const answer = await ask(below(`/chunks/${section.dataset.chunk}`));
      put(section, parsed(await answer.text()), asked);
      return;
    } catch (error) {
      const delay = RETRIES[attempt];
      if (delay === undefined) {
        fail(section);
        throw error;
      }
      await pause(delay);
    }
  }
}

/**
 * @param {HTMLElement} section
 * @param {DocumentFragment} content
 * @param {number} asked
 */
function put(section, content, asked) {
  if (!section.isConnected) return;
  for (const article of articlesOf(content)) {
    // Messages from live updates are already on the page, perhaps in another section.
    const other = document.getElementById(article.id);
    if (other && !section.contains(other)) article.remove();
  }
  keepPlace(() => {
    section.replaceChildren(content);
    section.classList.add("filled");
    section.removeAttribute("aria-busy");
  }, section);
  rest(section);
  observer.unobserve(section);
  wanted.delete(section);
  arrived([section], asked);
}

/** @param {HTMLElement} section */
function fail(section) {
  section.dataset.failed = "yes";
  section.removeAttribute("aria-busy");
  const told = document.createElement("p");
  const again = document.createElement("button");
  const link = section.querySelector(".chunk-link");
  again.type = "button";
  again.textContent = "Try again";
  again.addEventListener("click", () => {
    told.remove();
    fill(section).catch(() => {});
  });
  told.className = "chunk-failed";
  told.setAttribute("role", "alert");
  told.append(`Could not load ${link?.textContent?.toLowerCase() ?? "these messages"}. `, again);
  section.querySelector(".chunk-failed")?.remove();
  section.append(told);
}

/**
 * From now on, lay out a section only when it is near the window; until then it keeps its current size.
 * @param {HTMLElement} section
 */
export function rest(section) {
  section.style.setProperty("contain-intrinsic-height", `auto ${section.offsetHeight}px`);
  section.classList.add("rested");
}

/**
 * Change the page without moving the text being read. Browsers have scroll anchoring, but may choose the changing
 * section as the anchor.
 * @param {() => void} change
 * @param {Element} [changing] the section that changes
 */
export function keepPlace(change, changing) {
  const root = document.documentElement;
  const wasAtEnd = isAtEnd();
  const anchor = anchored(changing);
  const before = anchor?.getBoundingClientRect().top ?? 0;
  root.style.overflowAnchor = "none";
  change();
  if (wasAtEnd) scrollTo(0, root.scrollHeight);
  else if (anchor?.isConnected) {
    const moved = anchor.getBoundingClientRect().top - before;
    if (moved) scrollBy(0, moved);
  }
  requestAnimationFrame(() => (root.style.overflowAnchor = ""));
}

/** The first message in the window. @param {Element} [except] a section to skip */
export function anchored(except) {
  for (const section of sections()) {
    const { top, bottom } = section.getBoundingClientRect();
    if (bottom <= 60 || section === except) continue;
    if (top > innerHeight) break;
    for (const article of articlesOf(section)) {
      const place = article.getBoundingClientRect();
      if (place.height && place.bottom > 60 && place.top < innerHeight) return article;
    }
  }
  return null;
}

/** Observe empty sections, and give them an estimated height. */
export function observe() {
  const filled = sections().filter((section) => isFilled(section) && section.offsetHeight);
  const height = filled.reduce((sum, section) => sum + section.offsetHeight, 0);
  const messages = filled.reduce((sum, section) => sum + articlesOf(section).length, 0);
  const each = messages > 5 ? Math.min(Math.max(height / messages, 40), 400) : 120;
  box.style.setProperty("--message-height", `${Math.round(each)}px`);
  for (const section of sections()) {
    section.style.setProperty("--messages", section.dataset.messages ?? "100");
    if (isFilled(section)) rest(section);
    else observer.observe(section);
  }
}

let isStarted = false;

export function start() {
  if (!chat || isStarted) return;
  isStarted = true;
  chat.classList.add("lively");
  observe();
}
