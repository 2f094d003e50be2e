// @ts-check
// Messages are loaded about a hundred at a time, when the reader comes near them, and any of them can be gone to.

import { address, arrived, articlesOf, ask, attempt, below, box, branch, chat, idOf, isAtEnd, key, messageElement, outlineLines, parsed, pause, sections, toast } from "./reading.js";

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

/** Load what the reader is near to, the nearest first; what was only passed by is left alone. */
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
 * Load the messages of a section, unless they are there.
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
    // What was followed live is there already, wherever it was put.
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
  told.append(`${link?.textContent ?? "These messages"} could not be loaded. `, again);
  section.querySelector(".chunk-failed")?.remove();
  section.append(told);
}

/**
 * From now on a section is laid out only when it comes near the window; until then it has the size that it has now.
 * @param {HTMLElement} section
 */
export function rest(section) {
  section.style.setProperty("contain-intrinsic-height", `auto ${section.offsetHeight}px`);
  section.classList.add("rested");
}

/**
 * Change the page above or below without moving what is being read. Browsers try the same by themselves, but may hold on
 * to the very section that changes.
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

/** The first message in the window. @param {Element} [except] the section where it is not looked for */
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

let moves = 0;
for (const name of ["wheel", "touchstart", "keydown", "pointerdown"]) {
  addEventListener(name, () => moves++, { passive: true, capture: true });
}

/**
 * Scroll somewhere and stay there until sizes are known, unless the reader moves on.
 * @param {() => void} scroll
 */
export async function settle(scroll) {
  const mine = ++moves;
  let calm = 0;
  let before = NaN;
  for (let frame = 0; frame < 40 && calm < 4 && mine === moves; frame++) {
    scroll();
    calm = scrollY === before ? calm + 1 : 0;
    before = scrollY;
    await new Promise((resolve) => requestAnimationFrame(resolve));
  }
}

/**
 * Show an element: open what hides it, scroll to it, and give it the focus.
 * @param {HTMLElement} target
 * @param {{top?: number, focus?: boolean}} [how] where on the screen its top shall be
 */
export async function show(target, { top, focus = true } = {}) {
  for (let outer = target.closest("details"); outer; outer = outer.parentElement?.closest("details") ?? null) outer.open = true;
  if (!target.checkVisibility?.() && target.closest("#messages")) box.dispatchEvent(new CustomEvent("reveal"));
  if (focus) {
    if (!target.hasAttribute("tabindex")) target.tabIndex = -1;
    target.focus({ preventScroll: true });
  }
  await settle(() => {
    if (top === undefined) target.scrollIntoView({ block: "start" });
    else scrollBy(0, target.getBoundingClientRect().top - top);
  });
}

/**
 * Go to a message, wherever it is.
 * @param {string} id
 * @param {{chunk?: number | string, top?: number, focus?: boolean}} [how] the chunk that it stands in, if that is known
 * @returns {Promise<boolean>}
 */
export async function go(id, how = {}) {
  let target = messageElement(id);
  if (!target) {
    const number = how.chunk ?? outlineLines().find((line) => line.id === id)?.chunk;
    const section = number === undefined ? sections().find((one) => one.dataset.first === id) : sectionOf(number);
    if (section) {
      try {
        await fill(section);
      } catch {
        await show(section);
        return false;
      }
      target = messageElement(id);
    }
  }
  if (target) {
    await show(target, how);
    return true;
  }
  const at = new URLSearchParams({ branch, at: id });
  if (new URLSearchParams(location.search).get("at") === id) toast("This message is not on this branch");
  else location.assign(`${address}?${at}#m-${encodeURIComponent(id)}`);
  return false;
}

/** Go to what the part of an address behind `#` names. @param {string} hash */
export async function goToHash(hash) {
  let name = hash.slice(1);
  attempt(() => (name = decodeURIComponent(name)));
  if (name.startsWith("m-")) return go(name.slice(2));
  const target = document.getElementById(name);
  if (target) await show(target);
  return Boolean(target);
}

export async function goToEnd() {
  const last = sections().at(-1);
  if (!last) return;
  await fill(last).catch(() => {});
  const article = articlesOf(last).filter((one) => one.checkVisibility?.() ?? true).at(-1);
  if (article) {
    article.tabIndex = -1;
    article.focus({ preventScroll: true });
  }
  await settle(() => scrollTo(0, document.documentElement.scrollHeight));
}

export async function goToStart() {
  const first = sections()[0];
  if (first) await fill(first).catch(() => {});
  await settle(() => scrollTo(0, 0));
}

/** Watch the sections that are empty, and give them about the height that they are going to have. */
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

/** What was being read when the page was left, to come back to when it is loaded again. */
function rememberPlace() {
  const anchor = scrollY > 0 ? anchored() : null;
  const section = anchor?.closest(".chunk");
  const place = anchor && section instanceof HTMLElement ? { id: idOf(anchor), chunk: section.dataset.chunk, top: anchor.getBoundingClientRect().top } : null;
  attempt(() => sessionStorage.setItem(`place:${location.pathname}`, JSON.stringify(place)));
}

/** Where the page is to be opened; false if at its beginning. */
async function openAt() {
  const navigation = performance.getEntriesByType("navigation")[0];
  const again = navigation instanceof PerformanceNavigationTiming && navigation.type !== "navigate";
  let place = null;
  attempt(() => (place = JSON.parse(sessionStorage.getItem(`place:${location.pathname}`) ?? "null")));
  const { id, chunk, top } = /** @type {{id?: string, chunk?: string, top?: number}} */ (place ?? {});
  if (again && id) return go(id, { chunk, top, focus: false });
  if (location.hash.length > 1) return goToHash(location.hash);
  const at = new URLSearchParams(location.search).get("at");
  return at ? go(at) : false;
}

/** @param {MouseEvent} event */
function onClick(event) {
  const link = event.target instanceof Element ? event.target.closest("[data-message], a[href*='#']") : null;
  if (!link || event.defaultPrevented || event.button || event.ctrlKey || event.metaKey || event.shiftKey) return;
  const named = link instanceof HTMLElement || link instanceof SVGElement ? link.dataset : {};
  const url = link instanceof HTMLAnchorElement ? new URL(link.href) : null;
  if (url && (url.pathname !== location.pathname || (url.searchParams.get("branch") ?? "1") !== branch)) return;
  const hash = named.message ? `#m-${encodeURIComponent(named.message)}` : url?.hash ?? "";
  if (!/^#[mt]-/.test(hash)) return;
  event.preventDefault();
  void follow(hash, named.chunk);
}

/**
 * As a link does it, but that what it leads to may have to be loaded first.
 * @param {string} hash
 * @param {string} [chunk]
 */
async function follow(hash, chunk) {
  const section = chunk === undefined ? null : sectionOf(chunk);
  if (section && !document.getElementById(decodeURIComponent(hash.slice(1)))) await fill(section).catch(() => {});
  if (location.hash === hash) await goToHash(hash);
  else location.hash = hash; // which is then gone to
}

export function start() {
  if (!chat) return;
  chat.classList.add("lively");
  history.scrollRestoration = "manual";
  observe();
  void openAt();
  chat.addEventListener("click", onClick);
  addEventListener("hashchange", () => void goToHash(location.hash));
  addEventListener("pagehide", rememberPlace);
  key("End", "", () => void goToEnd());
  key("Home", "", () => void goToStart());
}
