// @ts-check
// Live updates of a chat: new messages appear without moving what is being read.

import { anchored, isFilled, keepPlace, observe, rest } from "./chunks.js";
import { go, goToEnd } from "./navigation.js";
import { listen } from "./notices.js";
import { arrived, articlesOf, ask, attempt, below, box, chat, idOf, isAtEnd, messageElement, onArrival, parsed, sections, toast } from "./chat_page.js";
import { replaceArticle } from "./replace_message.js";

/** @typedef {{id: string, after: string | null, html: string}} Change */
/** @typedef {{cursor: string, reset: boolean, messages: Change[], removed: string[], chunks: number, live: boolean, state: string, tool: string, title: string}} Changes */

const STATES = { working: "Claude is working", waiting: "Waiting for you", permission: "Waiting for your permission", idle: "End of the chat" };
const LARGEST = 150;
const SHORTEST_WAIT = 500;
const LONGEST_WAIT = 30_000;

const pill = document.getElementById("pill");
const stateLine = document.getElementById("chat-state");

let cursor = chat?.dataset.cursor ?? "";
let isAsking = false;
let isDue = false;
let wait = SHORTEST_WAIT;
let unread = 0;
/** @type {ReturnType<typeof setTimeout> | undefined} */
let later;
/** Recent changes, which a chunk requested earlier may lack. @type {{when: number, change: Change}[]} */
let recent = [];

/** Fetch changes; one request at a time, and another one if something happened meanwhile. */
async function catchUp() {
  isDue = true;
  if (isAsking) return;
  isAsking = true;
  clearTimeout(later);
  try {
    while (isDue) {
      isDue = false;
      /** @type {Changes} */
      const changes = await (await ask(below("/changes", { since: cursor }))).json();
      if (changes.reset) await renewAll();
      else apply(changes);
      wait = SHORTEST_WAIT;
    }
  } catch {
    later = setTimeout(() => void catchUp(), wait);
    wait = Math.min(wait * 2, LONGEST_WAIT);
  } finally {
    isAsking = false;
  }
}

/** @param {Changes} changes */
function apply(changes) {
  const wasAtEnd = isAtEnd();
  const [now, since] = [performance.now(), newest];
  recent = recent.filter(({ when }) => when > now - 60_000);
  let added = 0;
  /** @type {HTMLElement[]} */
  const put = [];
  keepPlace(() => {
    for (const id of changes.removed) messageElement(id)?.remove();
    for (const change of changes.messages) {
      recent.push({ when: now, change });
      attempt(() => {
        const { article, isNew } = place(change);
        if (article?.isConnected) put.push(article);
        if (isNew && isNews(article, since)) added++;
      });
    }
    addChunks(changes.chunks);
  });
  cursor = changes.cursor;
  arrived(put);
  tellState(changes);
  if (!wasAtEnd || document.hidden) unread += added;
  tellUnread();
}

let newest = new Date().toISOString();
const RANKS = ["talk", "normal", "everything"];

/**
 * Whether a message counts as new: it is visible at this detail level, and not an older one that is not loaded.
 * @param {HTMLElement | null} article
 * @param {string} since
 */
function isNews(article, since) {
  if (!article || RANKS.indexOf(article.dataset.detail ?? "talk") > RANKS.indexOf(box.dataset.level ?? "normal")) return false;
  const when = article.dataset.time ?? "";
  if (when > newest) newest = when;
  return article.isConnected || when > since;
}

/**
 * Insert a message at its position, if that part of the chat is loaded.
 * @param {Change} change
 * @returns {{article: HTMLElement | null, isNew: boolean}}
 */
function place(change) {
  const article = parsed(change.html).querySelector("article");
  const old = messageElement(change.id);
  if (!article || old) {
    if (article && old) {
      article.classList.toggle("continued", old.classList.contains("continued"));
      replaceArticle(old, article);
    }
    return { article, isNew: false };
  }
  const before = change.after === null ? null : messageElement(change.after);
  const last = sections().at(-1) ?? newSection();
  if (before && !isLast(before)) before.after(article);
  else if ((before || change.after === null || !last.childElementCount) && isFilled(last)) {
    (last.childElementCount < LARGEST ? last : newSection()).append(article);
  }
  if (article.isConnected) markContinued(article);
  return { article, isNew: true };
}

const UNSEEN = new Set(["hook", "meta", "note", "attachment", "progress", "unknown"]);

/** Mark an answer that follows another one, so that it does not repeat the speaker. @param {HTMLElement} article */
function markContinued(article) {
  let before = article.previousElementSibling ?? article.parentElement?.previousElementSibling?.lastElementChild;
  while (before instanceof HTMLElement && UNSEEN.has(before.dataset.kind ?? "")) before = before.previousElementSibling;
  if (article.dataset.kind === "answer" && before instanceof HTMLElement && before.dataset.kind === "answer") article.classList.add("continued");
}

/** @param {HTMLElement} article */
function isLast(article) {
  const last = sections().at(-1);
  return article.parentElement === last && articlesOf(last ?? box).at(-1) === article;
}

/** A new section for live messages, without a chunk number; a single one that keeps growing would be slow. */
function newSection() {
  const [before, section] = [sections().at(-1), document.createElement("section")];
  if (before) rest(before);
  section.className = "chunk filled";
  box.append(section);
  return section;
}

/** Add new chunks after one that is not loaded; they are loaded on demand. @param {number} count */
function addChunks(count) {
  const last = sections().at(-1);
  if (!last || isFilled(last)) return;
  for (let number = Number(last.dataset.chunk) + 1; number < count; number++) {
    const section = document.createElement("section");
    section.className = "chunk";
    section.dataset.chunk = String(number);
    section.dataset.messages = "100";
    box.append(section);
  }
  observe();
}

/** @param {Changes} changes */
function tellState({ live, state, tool, title }) {
  const shown = live ? state : "idle";
  const badge = document.getElementById("live-badge");
  if (badge) badge.hidden = !live;
  const words = stateLine?.querySelector(".state-text");
  const name = STATES[/** @type {keyof typeof STATES} */ (shown)] ?? STATES.idle;
  const text = tool && live ? `${name}: ${tool}` : name;
  if (words && words.textContent !== text) words.textContent = text;
  if (stateLine && stateLine.dataset.state !== shown) {
    stateLine.dataset.state = shown;
    if (shown !== "working") void renewSide();
  }
  const heading = document.querySelector("#chat-title .title");
  if (title && heading && heading.textContent !== title) {
    heading.textContent = title;
    document.title = `${title} · backscroll`;
  }
}

const plainTitle = () => document.title.replace(/^\(\d+\) /, "");

function tellUnread() {
  if (isAtEnd() && !document.hidden) unread = 0;
  if (pill) {
    pill.hidden = unread === 0 || (document.hidden && isAtEnd());
    pill.textContent = `↓ ${unread} new`;
  }
  document.title = unread ? `(${unread}) ${plainTitle()}` : plainTitle();
}

/** @param {string} [at] */
async function freshPage(at) {
  const where = at ? below("", { at }) : below("");
  const page = new DOMParser().parseFromString(await (await ask(where)).text(), "text/html");
  if (!page.getElementById("chat")) throw new Error("no chat came");
  return page;
}

/** @param {Document | DocumentFragment} page @param {string} selector */
function takeOver(page, selector) {
  const [old, fresh] = [document.querySelector(selector), page.querySelector(selector)];
  if (!old || !fresh) return;
  const open = [...old.querySelectorAll("details")].map((one) => one.open);
  old.replaceChildren(...[...fresh.childNodes].map((node) => document.importNode(node, true)));
  if (selector !== "#messages") [...old.querySelectorAll("details")].forEach((one, number) => (one.open = open[number] ?? one.open));
  if (old instanceof HTMLElement) arrived([old]);
}

/** Fetch the current outline and facts. */
async function takeSide() {
  const side = parsed(await (await ask(below("/side"))).text());
  takeOver(side, "#side");
  takeOver(side, ".chat-facts");
}

let renewed = 0;

/** Update outline, costs and context after a turn, at most every ten seconds. */
async function renewSide() {
  const now = performance.now();
  if (now - renewed < 10_000) return;
  renewed = now;
  try {
    await takeSide();
  } catch {
    // Keep the old ones.
  }
}

/** The page is out of date: reload all messages, and keep the scroll position. */
async function renewAll() {
  let anchor = anchored();
  let page = await freshPage(anchor ? idOf(anchor) : "").catch(() => freshPage()); // the message may have been removed
  for (let attempt = 0; attempt < 3; attempt++) {
    anchor = anchored(); // the reader may have scrolled meanwhile
    if (!anchor || page.getElementById(anchor.id)) break;
    page = await freshPage(idOf(anchor)).catch(() => page);
  }
  const wasAtEnd = isAtEnd() && sections().at(-1)?.classList.contains("filled");
  const [id, top] = [anchor ? idOf(anchor) : "", anchor?.getBoundingClientRect().top ?? 0];
  const open = [...box.querySelectorAll(".tool > details[open]")].map((one) => one.parentElement?.id ?? "");
  takeOver(page, "#messages");
  if (page.querySelector("#side [data-later]")) void takeSide().catch(() => {});
  else takeOver(page, "#side");
  takeOver(page, ".chat-facts");
  cursor = page.getElementById("chat")?.dataset.cursor ?? "";
  recent = [];
  for (const name of open) document.getElementById(name)?.querySelector(":scope > details")?.setAttribute("open", "");
  observe();
  if (wasAtEnd) await goToEnd();
  else if (messageElement(id)) await go(id, { top, focus: false });
  const fresh = page.getElementById("chat-state");
  const tool = fresh?.querySelector(".state-text")?.textContent?.split(": ")[1] ?? "";
  const live = !page.getElementById("live-badge")?.hidden;
  tellState({ ...EMPTY, live, state: fresh?.dataset.state ?? "idle", tool });
}

/** @type {Changes} */
const EMPTY = { cursor: "", reset: false, messages: [], removed: [], chunks: 0, live: false, state: "idle", tool: "", title: "" };

/** Update the running time of running tools. */
function tick() {
  if (document.hidden) return;
  for (const tool of box.querySelectorAll(".tool.running[data-since]")) {
    if (!(tool instanceof HTMLElement)) continue;
    const seconds = Math.max(0, Math.round((Date.now() - Date.parse(tool.dataset.since ?? "")) / 1000));
    const words = tool.querySelector(":scope > details > summary .tool-state");
    if (words && Number.isFinite(seconds)) words.textContent = `running · ${span(seconds)}`;
  }
}

/** @param {number} seconds */
function span(seconds) {
  if (seconds < 60) return `${seconds}s`;
  if (seconds < 3600) return `${Math.floor(seconds / 60)}m ${String(seconds % 60).padStart(2, "0")}s`;
  return `${Math.floor(seconds / 3600)}h ${String(Math.floor((seconds % 3600) / 60)).padStart(2, "0")}m`;
}

export function start() {
  if (!chat?.dataset.chat || !cursor) return;
  let isLost = false;
  listen(chat.dataset.chat, (notice) => {
    chat?.toggleAttribute("data-lost", notice.what === "lost");
    if (notice.what === "lost") isLost = true;
    if (notice.what === "connected" && isLost) toast("Connected again");
    if (notice.what === "connected") isLost = false;
    if (notice.what !== "lost") void catchUp();
  });
  onArrival((roots, asked) => {
    if (roots[0]?.classList.contains("chunk")) for (const { when, change } of recent) if (when >= asked) attempt(() => place(change));
  });
  pill?.addEventListener("click", () => {
    unread = 0;
    tellUnread();
    void goToEnd();
  });
  addEventListener("scroll", () => unread && tellUnread(), { passive: true });
  document.addEventListener("visibilitychange", () => {
    tellUnread();
    if (!document.hidden) void catchUp();
  });
  addEventListener("online", () => void catchUp());
  setInterval(tick, 1000);
  tick();
}
