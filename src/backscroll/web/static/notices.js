// @ts-check
// Notices from the server: through a stream shared by all tabs, or this page's own if that is not possible.

import { stream } from "./event_stream.js";

/** @typedef {import("./event_stream.js").Notice} Notice */

const PATIENCE = 3000;

/** @type {Set<(notice: Notice) => void>} */
const listeners = new Set();
let isConnected = false;
/** @type {(() => void) | null} */
let leave = null;

/**
 * Subscribe to the changes of a chat, or to all notices. After `connected`, check for changes that were missed.
 * @param {string | null} chat
 * @param {(notice: Notice) => void} callback
 * @returns {() => void} to stop
 */
export function listen(chat, callback) {
  /** @param {Notice} notice */
  const listener = (notice) => {
    if (notice.what === "changed" ? !chat || notice.chats.includes(chat) : notice.what !== "progress" || !chat) callback(notice);
  };
  listeners.add(listener);
  if (isConnected) listener({ what: "connected" });
  leave ??= enter();
  return () => {
    listeners.delete(listener);
    if (!listeners.size) part();
  };
}

/** @param {Notice} notice */
function tell(notice) {
  if (notice.what === "connected" || notice.what === "lost") {
    if (notice.what === "lost" && !isConnected) return;
    isConnected = notice.what === "connected";
    showTrouble();
  }
  if (notice.what === "trouble") {
    showTrouble(notice.reason, notice.seconds);
    return;
  }
  for (const listener of listeners) listener(notice);
}

/**
 * Show why there are no live updates; without a reason, remove the notice.
 * @param {string} [reason]
 * @param {number} [seconds] until the next try
 */
function showTrouble(reason, seconds) {
  document.querySelector(".live-trouble")?.remove();
  if (!reason) return;
  const place = document.createElement("p");
  place.className = "live-trouble";
  place.setAttribute("role", "status");
  place.textContent = `Live updates stopped: ${reason}. Trying again in ${seconds}\u00a0s.`;
  document.body.append(place);
}

function part() {
  leave?.();
  leave = null;
  isConnected = false;
}

/** @returns {() => void} to leave */
function enter() {
  if (typeof SharedWorker === "undefined") return stream(tell);
  /** @type {SharedWorker} */
  let worker;
  try {
    worker = new SharedWorker("/static/event_stream.js", { type: "module", name: "backscroll" });
  } catch {
    return stream(tell);
  }
  let stop = () => worker.port.postMessage("bye");
  let isAlone = false;
  const goAlone = () => {
    if (isAlone) return;
    isAlone = true;
    clearTimeout(timer);
    worker.port.close();
    stop = stream(tell);
  };
  const timer = setTimeout(goAlone, PATIENCE);
  worker.onerror = goAlone;
  worker.port.onmessage = ({ data }) => {
    clearTimeout(timer);
    if (data?.what === "unable") goAlone();
    else if (data?.what !== "ready") tell(data);
  };
  worker.port.start();
  return () => {
    clearTimeout(timer);
    stop();
  };
}

// A page in the back-forward cache keeps no connection; when it comes back, it checks for changes that it missed.
addEventListener("pagehide", part);
addEventListener("pageshow", (event) => {
  if (event.persisted && listeners.size) leave ??= enter();
});
