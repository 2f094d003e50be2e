// @ts-check
// What the parts of the chat page share: its elements, requests to the server, and the reading position.

/** @typedef {{toast: (text: string) => void, copy: (text: string, what?: string) => unknown, times: (root: ParentNode) => void, cross: () => Node,
 *   key: (keys: string, help: string, run: (event: KeyboardEvent) => unknown) => void,
 *   command: (name: string, run: () => unknown) => void, reveal: (root: ParentNode) => void,
 *   action: (name: string, run: (button: HTMLElement, event: Event) => unknown) => void}} Base */

const nothing = () => {};

/** The features of every page; without them a chat can still be read. */
const base = /** @type {Partial<Base>} */ (await import("./base.js").catch(() => ({})));
export const toast = base.toast ?? nothing;
export const copy = base.copy ?? ((/** @type {string} */ text) => navigator.clipboard.writeText(text));
export const times = base.times ?? nothing;
export const key = base.key ?? nothing;
export const command = base.command ?? nothing;
export const action = base.action ?? nothing;
export const reveal = base.reveal ?? nothing;
export const cross = base.cross ?? (() => document.createTextNode("×"));

/** The element of the chat; the page of a sub-agent has none. */
export const chat = document.getElementById("chat");
export const box = document.getElementById("messages") ?? document.createElement("div");
export const address = chat?.dataset.address ?? "";
export const branch = chat?.dataset.branch ?? "1";

/**
 * An address below the chat's, for the shown branch.
 * @param {string} path
 * @param {Record<string, string>} [fields]
 */
export function below(path, fields = {}) {
  return `${address}${path}?${new URLSearchParams({ branch, ...fields })}`;
}

/**
 * Fetch from the server; a failure is an error.
 * @param {string} where
 * @param {AbortSignal} [signal]
 */
export async function ask(where, signal) {
  const answer = await fetch(where, { signal, headers: { Accept: "*/*" } });
  if (!answer.ok) throw new Error(`${answer.status} ${where}`);
  return answer;
}

/**
 * What a toast says of the secrets that the server masked in a text to be copied.
 * @param {Response} answer
 */
export function masked(answer) {
  const count = Number(answer.headers.get("backscroll-masked") ?? 0);
  return count ? `, ${count} ${count === 1 ? "secret" : "secrets"} masked` : "";
}

/** @param {number} milliseconds */
export const pause = (milliseconds) => new Promise((resolve) => setTimeout(resolve, milliseconds));

/**
 * Parse markup from the server, which has cleaned it.
 * @param {string} html
 */
export function parsed(html) {
  const template = document.createElement("template");
  template.innerHTML = html;
  return template.content;
}

/** @type {((roots: HTMLElement[], asked: number) => void)[]} */
const arrivals = [];

/**
 * Call `run` for markup that was added to the page, with the time of its request; at once for what is there already.
 * @param {(roots: HTMLElement[], asked: number) => void} run
 */
export function onArrival(run) {
  arrivals.push(run);
  if (box.isConnected) run([box], 0);
}

/**
 * @param {HTMLElement[]} roots
 * @param {number} [asked] when, by `performance.now()`
 */
export function arrived(roots, asked = performance.now()) {
  if (!roots.length) return;
  for (const root of roots) {
    times(root);
    reveal(root);
  }
  for (const run of arrivals) attempt(() => run(roots, asked));
}

/**
 * Run something; log an error to the console instead of throwing it.
 * @param {() => unknown} run
 */
export function attempt(run) {
  try {
    run();
  } catch (error) {
    console.warn(error);
  }
}

/** @param {string} id */
export const messageElement = (id) => document.getElementById(`m-${id}`);

/** @param {Element} article */
export const idOf = (article) => article.id.slice(2);

/** The sections of messages, in order. @returns {HTMLElement[]} */
export const sections = () => [...box.querySelectorAll(":scope > .chunk")].filter((one) => one instanceof HTMLElement);

/** The messages of a section (a sub-agent's messages stand deeper). @param {ParentNode} section @returns {HTMLElement[]} */
export const articlesOf = (section) => [...section.querySelectorAll(":scope > article[id^='m-']")].filter((one) => one instanceof HTMLElement);

/** @typedef {{link: HTMLAnchorElement, id: string, chunk: string}} Line */
/** @type {{list: Element | null, lines: Line[]}} */
let outline = { list: null, lines: [] };

/** The prompts in the outline, in order. */
export function outlineLines() {
  const list = document.querySelector(".outline");
  if (outline.list !== list || outline.lines.length !== (list?.childElementCount ?? 0)) {
    const links = [...(list?.querySelectorAll("a") ?? [])];
    outline = { list, lines: links.map((link) => ({ link, id: decodeURIComponent(link.hash.slice(3)), chunk: link.dataset.chunk ?? "" })) };
  }
  return outline.lines;
}

/** The reading line: its distance from the top of the window. */
export const line = () => Math.min(160, innerHeight / 4);

/** The message that is being read: the focused one, or the one at the reading line. */
export function current() {
  const focused = document.activeElement?.closest(".chunk > article");
  if (focused instanceof HTMLElement && isNear(focused)) return focused;
  return atLine();
}

/** @param {HTMLElement} element */
function isNear(element) {
  const { top, bottom } = element.getBoundingClientRect();
  return bottom > 0 && top < innerHeight;
}

/** The message at the reading line, or the first below it. @returns {HTMLElement | null} */
export function atLine() {
  const y = scrollY < 40 ? 0 : line();
  for (const section of sections()) {
    if (section.getBoundingClientRect().bottom <= y) continue;
    for (const article of articlesOf(section)) {
      const place = article.getBoundingClientRect();
      if (place.height && place.bottom > y) return article;
    }
  }
  return articlesOf(sections().at(-1) ?? box).at(-1) ?? null;
}

/** Whether the reader is at the end. */
export const isAtEnd = () => innerHeight + scrollY >= document.documentElement.scrollHeight - 120;
