// @ts-check
// The event stream: one for all tabs, in a SharedWorker, because a browser opens only six connections to a server.

/** @typedef {{what: "changed", chats: string[]} | {what: "progress", [name: string]: unknown} | {what: "trouble", reason?: string, seconds?: number} | {what: "connected"} | {what: "lost"}} Notice */

const EVENTS = "/api/v1/events";
const SHORTEST = 500;
const LONGEST = 15_000;

/**
 * Listen to the server, and reconnect whenever the connection is lost.
 * @param {(notice: Notice) => void} tell
 * @returns {() => void} to stop
 */
export function stream(tell) {
  /** @type {EventSource | null} */
  let source = null;
  let wait = SHORTEST;
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  let timer;

  /** @param {string} what @param {MessageEvent} event */
  const pass = (what, event) => {
    try {
      tell(/** @type {Notice} */ ({ ...JSON.parse(event.data), what }));
    } catch {
      // Ignore a notice that cannot be parsed.
    }
  };
  const connect = () => {
    source = new EventSource(EVENTS);
    source.addEventListener("changed", (event) => pass("changed", event));
    source.addEventListener("progress", (event) => pass("progress", event));
    source.addEventListener("trouble", (event) => pass("trouble", event));
    source.addEventListener("hello", (event) => {
      if (event.data.includes("true")) tell({ what: "connected" }); // notices were missed: look at everything again
    });
    source.onopen = () => {
      wait = SHORTEST;
      tell({ what: "connected" });
    };
    source.onerror = () => {
      tell({ what: "lost" });
      if (source?.readyState !== EventSource.CLOSED) return; // it tries again by itself
      clearTimeout(timer);
      timer = setTimeout(connect, wait);
      wait = Math.min(wait * 2, LONGEST);
    };
  };
  connect();
  return () => {
    clearTimeout(timer);
    source?.close();
  };
}

if ("SharedWorkerGlobalScope" in globalThis) {
  /** @type {Set<MessagePort>} */
  const ports = new Set();
  let isConnected = false;
  /** Why there are no live updates, for pages that connect later. @type {Notice | null} */
  let trouble = null;
  /** @type {(() => void) | null} */
  let stop = null;

  /** @param {Notice} notice */
  const tellAll = (notice) => {
    if (notice.what === "connected" || notice.what === "lost") [isConnected, trouble] = [notice.what === "connected", null];
    if (notice.what === "trouble") trouble = notice;
    for (const port of ports) port.postMessage(notice);
  };
  /** @type {any} */ (globalThis).onconnect = (/** @type {MessageEvent} */ event) => {
    const port = event.ports[0];
    if (!port) return;
    if (typeof EventSource === "undefined") {
      port.postMessage({ what: "unable" });
      return;
    }
    ports.add(port);
    port.onmessage = ({ data }) => {
      if (data !== "bye") return;
      ports.delete(port);
      if (!ports.size) {
        stop?.();
        stop = null;
        isConnected = false;
      }
    };
    port.postMessage({ what: "ready" });
    if (isConnected) port.postMessage({ what: "connected" });
    if (trouble) port.postMessage(trouble);
    stop ??= stream(tellAll);
  };
}
