// @ts-check
// The list of chats beside a chat: shown or hidden, filtered while one types, and stepped through.

import { action, command, key, kept, reveal, times } from "./base.js";
import { listen } from "./notices.js";
import { unread } from "./unread.js";

const WAIT = 60;
const SOON = 3000;
const FILTER = "pane-filter";
const LIVE_CHECK = 30_000;

const pane = document.getElementById("pane");
const rows = document.getElementById("pane-rows") ?? document.createElement("div");
const field = document.getElementById("pane-filter");
const here = () => rows.querySelector("a[aria-current]");
const chat = here()?.closest("[data-chat]")?.getAttribute("data-chat") ?? document.getElementById("chat")?.dataset.chat ?? "";
/** The address of what is shown, to ask for it again. */
let shown = "";
let asked = 0;

/** @param {string} query */
const addressOf = (query) => `/pane?${new URLSearchParams({ chat, ...(query ? { q: query } : {}) })}`;

/**
 * Show other rows. What is asked for later wins.
 * @param {string} where
 */
async function fill(where) {
  const number = ++asked;
  rows.setAttribute("aria-busy", "true");
  try {
    const answer = await fetch(where);
    if (number !== asked || !answer.ok) return;
    const top = rows.scrollTop;
    const focused = document.activeElement?.closest("#pane-rows [data-chat]")?.getAttribute("data-chat");
    rows.innerHTML = await answer.text(); // a fragment of our own server, which escapes what came from transcripts
    if (where === shown) rows.scrollTop = top;
    shown = where;
    times(rows);
    unread(rows);
    const again = focused && rows.querySelector(`[data-chat="${CSS.escape(focused)}"] a`);
    if (again instanceof HTMLElement) again.focus({ preventScroll: true });
  } catch {
    // The rows stay as they are.
  } finally {
    if (number === asked) rows.removeAttribute("aria-busy");
  }
}

/** Scroll the rows, never the page, to the chat that is being read. */
function reach() {
  const link = here();
  if (!(link instanceof HTMLElement)) return;
  const [place, window] = [link.getBoundingClientRect(), rows.getBoundingClientRect()];
  if (place.top < window.top + 40 || place.bottom > window.bottom - 40) rows.scrollTop += place.top - window.top - window.height / 3;
}

const isDrawer = () => !matchMedia("(min-width: 1100px)").matches;

/** @param {boolean} isOpen */
function open(isOpen) {
  if (isDrawer()) {
    pane?.togglePopover(isOpen);
  } else {
    if (isOpen) delete document.documentElement.dataset.pane;
    else document.documentElement.dataset.pane = "closed";
    try {
      localStorage.setItem("pane", isOpen ? "open" : "closed");
    } catch {
      // It holds for this page.
    }
  }
  if (isOpen) reach();
}

const isOpen = () => (isDrawer() ? (pane?.matches(":popover-open") ?? false) : document.documentElement.dataset.pane !== "closed");
const toggle = () => open(!isOpen());

function filter() {
  if (!(field instanceof HTMLInputElement)) return;
  if (!isOpen()) open(true);
  field.focus();
  field.select();
}

/** Open the chat before or after this one in the list. @param {1 | -1} step */
async function go(step) {
  const links = () => [...rows.querySelectorAll(".pane-row a")];
  let all = links();
  const at = all.findIndex((link) => link.hasAttribute("aria-current"));
  /** @type {Element | undefined} */
  let next = at < 0 ? all[0] : all[at + step];
  if (!next) {
    const more = [...rows.querySelectorAll("a[data-pane]")].find((link) => (step > 0 ? link === last(rows) : link === first(rows)));
    if (!(more instanceof HTMLAnchorElement)) return;
    await fill(more.href);
    all = links();
    next = step > 0 ? all[0] : all.at(-1);
  }
  if (next instanceof HTMLAnchorElement) location.assign(next.href);
}

/** @param {Element} list */
const first = (list) => list.querySelector(":scope > .pane-more:first-child a");
/** @param {Element} list */
const last = (list) => list.querySelector(":scope > .pane-more:last-child a");

export function start() {
  if (!pane) return;
  shown = rows.dataset.address ?? addressOf("");
  if (field instanceof HTMLInputElement) {
    field.hidden = false;
    let timer = 0;
    field.addEventListener("input", () => {
      clearTimeout(timer);
      timer = window.setTimeout(() => {
        try {
          sessionStorage.setItem(FILTER, field.value);
        } catch {
          // It holds for this page.
        }
        void fill(addressOf(field.value.trim()));
      }, WAIT);
    });
    field.addEventListener("keydown", (event) => {
      const row = rows.querySelector(".pane-row a");
      if (event.key === "Enter" && row instanceof HTMLAnchorElement) location.assign(row.href);
      else if (event.key === "ArrowDown" && row instanceof HTMLElement) row.focus();
      else return;
      event.preventDefault();
    });
    try {
      field.value = sessionStorage.getItem(FILTER) ?? "";
    } catch {
      // Nothing is filtered.
    }
    if (field.value) void fill(addressOf(field.value.trim())).then(reach);
  }
  rows.addEventListener("click", (event) => {
    const more = event.target instanceof Element ? event.target.closest("a[data-pane]") : null;
    if (!(more instanceof HTMLAnchorElement)) return;
    event.preventDefault();
    const isNewer = more === first(rows);
    void fill(more.href).then(() => (rows.scrollTop = isNewer ? rows.scrollHeight : 0));
  });
  rows.addEventListener("keydown", (event) => {
    const step = event.key === "ArrowDown" ? 1 : event.key === "ArrowUp" ? -1 : 0;
    const links = [...rows.querySelectorAll(".pane-row a")];
    const at = links.findIndex((link) => link === document.activeElement);
    const next = links[at + step];
    if (!step || at < 0 || !(next instanceof HTMLElement)) return;
    next.focus();
    event.preventDefault();
  });
  action("pane", toggle);
  key("]", "Next chat in the list", () => void go(1));
  key("[", "Previous chat in the list", () => void go(-1));
  key("l", "Show or hide the list of chats", toggle);
  key("f", "Filter the list of chats", filter);
  command("Show or hide the list of chats", toggle);
  command("Filter the list of chats", filter);
  if (kept("pane") === "closed") document.documentElement.dataset.pane = "closed";
  reveal(document);
  unread(rows);
  reach();
  let timer = 0;
  const soon = () => {
    timer ||= window.setTimeout(() => {
      timer = 0;
      if (!document.hidden) void fill(shown);
    }, SOON);
  };
  listen(null, ({ what }) => {
    if (what === "changed" || what === "connected") soon(); // before it was connected, something may have been missed
  });
  setInterval(() => {
    if (rows.querySelector(".pane-row.live")) soon(); // what was live may be so no longer
  }, LIVE_CHECK);
}
