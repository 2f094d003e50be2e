// @ts-check
// The home page: live chats, and the progress of an update.

import { times } from "./base.js";
import { listen } from "./notices.js";
import "./chat_lists.js";
import { unread } from "./unread.js";

const SOON = 250;
const WHILE_READING = 1500;
const WHILE_LIVE = 2000;
const LIVE_CHECK = 30_000;
const READING = "Reading your sessions; chats below are ready to use";
const INDEXING = "Indexing your sessions; you can read them already";
const place = document.getElementById("live");
const progress = document.getElementById("progress");
/** Whether there was no chat yet when the page was made. */
const isEmpty = () => !document.querySelector(".items");

let timer = 0;
let isAsking = false;
let isAskedAgain = false;
let asked = 0;

/** Ask for what is live: at once, but not too often, and never twice at the same time. */
function look() {
  if (isAsking) {
    isAskedAgain = true;
    return;
  }
  timer ||= window.setTimeout(async () => {
    timer = 0;
    isAsking = true;
    asked = performance.now();
    try {
      await renew();
    } catch {
      // The next change asks again.
    }
    isAsking = false;
    if (isAskedAgain) {
      isAskedAgain = false;
      look();
    }
  }, Math.max(0, asked + SOON - performance.now()));
}

let shown = "";

async function renew() {
  if (!place || document.hidden) return;
  const answer = await fetch("/live");
  if (!answer.ok) return;
  const text = await answer.text();
  if (text === shown) return;
  shown = text;
  const active = document.activeElement;
  const focused = active instanceof HTMLAnchorElement && place.contains(active) ? active.href : "";
  place.innerHTML = text; // a fragment of our own server, which escapes what came from transcripts
  times(place);
  const again = [...place.querySelectorAll("a")].find((link) => link.href === focused);
  again?.focus({ preventScroll: true });
}

/**
 * How far the library has come.
 * @param {number} done
 * @param {number} total
 * @param {string} told
 */
function tell(done, total, told) {
  if (!progress) return;
  let line = progress.querySelector(".line");
  if (!line) {
    line = document.createElement("div");
    line.className = "line";
    line.append(document.createElement("p"), document.createElement("progress"));
    progress.querySelector("a.button")?.parentElement?.remove(); // it goes on by itself
    progress.append(line);
  }
  const bar = /** @type {HTMLProgressElement} */ (line.querySelector("progress"));
  bar.max = total;
  bar.value = Math.min(done, total);
  bar.setAttribute("aria-label", "Progress of the update");
  const share = Math.min(100, Math.floor((100 * done) / total));
  /** @type {HTMLElement} */ (line.querySelector("p")).textContent = `${told}: ${share} %`;
  progress.hidden = false;
}

listen(null, (notice) => {
  if (notice.what === "progress") {
    const total = Number(notice.total ?? 0);
    if (total > 0) {
      tell(Number(notice.done ?? 0), total, notice.unit === "bytes" ? READING : INDEXING);
      lookAround(WHILE_READING);
    } else {
      if (progress) progress.hidden = true;
      lookAround(0);
    }
  } else if (notice.what === "changed" || notice.what === "connected") {
    look();
    lookAround(isEmpty() ? SOON : WHILE_LIVE);
  }
});

let around = 0;

/**
 * Put a newer state of a part into the page, unless the reader is in it.
 * @param {Element} old
 * @param {Element} fresh
 */
function takeOver(old, fresh) {
  if (old.contains(document.activeElement) || old.querySelector("details[open], .here")) return;
  old.replaceWith(fresh);
  times(fresh);
  unread(fresh);
}

/**
 * Show the rest of the page as it is by now, after a while: it need not follow every step.
 * @param {number} wait
 */
function lookAround(wait) {
  if (wait === 0) {
    clearTimeout(around);
    around = 0;
  }
  around ||= window.setTimeout(async () => {
    around = 0;
    const answer = await fetch("/").catch(() => null);
    if (!answer?.ok) return;
    const page = new DOMParser().parseFromString(await answer.text(), "text/html");
    if (isEmpty()) {
      const isNothing = page.querySelector(".nothing") && !document.querySelector(".nothing");
      if (isNothing || page.querySelector(".items")) location.reload();
      return;
    }
    for (const name of [".items", ".figures", ".kept", ".activity"]) {
      const [old, fresh] = [document.querySelector(name), page.querySelector(name)];
      if (old && fresh) takeOver(old, fresh);
    }
  }, wait);
}

if (document.querySelector(".counting")) lookAround(WHILE_READING);
document.addEventListener("visibilitychange", () => {
  if (document.hidden) return;
  look();
  lookAround(SOON);
});
// What was live may be so no longer, and a day may have ended, without anything being written.
setInterval(() => {
  if (document.hidden) return;
  if (place?.querySelector("li")) look();
  lookAround(SOON);
}, LIVE_CHECK);
unread(document);
