// @ts-check
// Navigation: to a message, to the start, to the end, and back to the previous position.

import { anchored, fill, sectionOf, start as startChunks } from "./chunks.js";
import { address, articlesOf, attempt, box, branch, chat, idOf, key, messageElement, outlineLines, sections, toast } from "./chat_page.js";

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
 * @param {{top?: number, focus?: boolean}} [how] the position of its top on the screen
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
 * @param {{chunk?: number | string, top?: number, focus?: boolean}} [how] the chunk that contains it, if known
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

/** Go to the target of a URL fragment. @param {string} hash */
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

/** The message being read, and its position on the screen; null at the start of the page. */
function placeNow() {
  const anchor = scrollY > 0 ? anchored() : null;
  const section = anchor?.closest(".chunk");
  if (!anchor || !(section instanceof HTMLElement)) return null;
  return { id: idOf(anchor), chunk: section.dataset.chunk, top: anchor.getBoundingClientRect().top };
}

/** Save the position when the page is left, for a reload. */
function rememberPlace() {
  const place = placeNow();
  attempt(() => sessionStorage.setItem(`place:${location.pathname}`, JSON.stringify(place)));
}

/** Go to the position at which to open the page; false if that is its start. */
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
 * Follow a link whose target may have to be loaded first.
 * @param {string} hash
 * @param {string} [chunk]
 */
async function follow(hash, chunk) {
  const section = chunk === undefined ? null : sectionOf(chunk);
  if (section && !document.getElementById(decodeURIComponent(hash.slice(1)))) await fill(section).catch(() => {});
  if (location.hash === hash) return void (await goToHash(hash));
  history.replaceState({ place: placeNow() }, ""); // for the back button
  location.hash = hash; // the hashchange event goes there
}

let returning = false;

/** Return to the position before a jump within the page. @param {PopStateEvent} event */
function goBack(event) {
  if (!event.state || !("place" in event.state)) return;
  returning = true;
  const { place } = event.state;
  void (place ? go(place.id, { ...place, focus: false }) : goToStart());
}

export function start() {
  if (!chat) return;
  startChunks(); // sections need their heights before any navigation
  history.scrollRestoration = "manual";
  void openAt();
  chat.addEventListener("click", onClick);
  addEventListener("popstate", goBack); // comes before hashchange
  addEventListener("hashchange", () => {
    if (!returning) void goToHash(location.hash);
    returning = false;
  });
  addEventListener("pagehide", rememberPlace);
  key("End", "", () => void goToEnd());
  key("Home", "", () => void goToStart());
}
