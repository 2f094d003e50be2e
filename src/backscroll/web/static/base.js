// @ts-check
// Features of every page: keys, commands, buttons, times, toasts, copying and the theme. Pages work without it.

// Loaded with the page, not when it is first used: text typed right after Ctrl-K must reach the palette.
import { openHelp, openPalette } from "./palette.js";
import { suggestFor } from "./suggestions.js";

/** @typedef {{keys: string[], help: string, run: (event: KeyboardEvent) => unknown}} Key */
/** @typedef {{name: string, run: () => unknown}} Command */

const SVG = "http://www.w3.org/2000/svg";

/** @type {Key[]} */
export const keys = [];
/** @type {Command[]} */
export const commands = [];
/** @type {Map<string, (button: HTMLElement, event: Event) => unknown>} */
const actions = new Map();

/**
 * Bind keys: `"j"`, `"Ctrl+k"` (also the command key), or several separated by spaces. The last binding wins; if its
 * `run` returns false, the one before it is tried.
 * @param {string} names
 * @param {string} help its text in the list of shortcuts; empty to leave it out
 * @param {(event: KeyboardEvent) => unknown} run
 */
export function key(names, help, run) {
  keys.unshift({ keys: names.split(" "), help, run });
}

/**
 * Add a command to the palette.
 * @param {string} name
 * @param {() => unknown} run
 */
export function command(name, run) {
  commands.push({ name, run });
}

/**
 * Handle clicks on `[data-action=name]`, also on elements added later, and show such buttons.
 * @param {string} name
 * @param {(button: HTMLElement, event: Event) => unknown} run
 */
export function action(name, run) {
  actions.set(name, run);
  reveal(document);
}

/**
 * Show the buttons that have a handler.
 * @param {ParentNode} root
 */
export function reveal(root) {
  for (const button of root.querySelectorAll("[data-action][hidden]")) {
    if (button instanceof HTMLElement && actions.has(button.dataset.action ?? "")) button.hidden = false;
  }
}

/**
 * Whether the user is typing there.
 * @param {EventTarget | null} target
 */
export function editing(target) {
  const fields = "input:not([type=radio], [type=checkbox]), textarea, select";
  return target instanceof HTMLElement && (target.isContentEditable || target.matches(fields));
}

/** The sign of what closes or removes something. */
export function cross() {
  const [svg, path] = [document.createElementNS(SVG, "svg"), document.createElementNS(SVG, "path")];
  svg.setAttribute("viewBox", "0 0 16 16");
  svg.setAttribute("class", "icon");
  svg.setAttribute("aria-hidden", "true");
  path.setAttribute("d", "m4 4 8 8m0-8-8 8");
  svg.append(path);
  return svg;
}

/**
 * Show a short message.
 * @param {string} text
 */
export function toast(text) {
  let place = document.querySelector(".toasts");
  if (!place) {
    place = document.createElement("div");
    place.className = "toasts";
    place.setAttribute("role", "status");
    document.body.append(place);
  }
  const told = document.createElement("p");
  told.textContent = text;
  place.append(told);
  while (place.children.length > 3) place.firstElementChild?.remove();
  setTimeout(() => told.remove(), 3500);
}

/**
 * Copy a text; returns whether that was possible.
 * @param {string} text
 * @param {string} what what the toast says was copied
 */
export async function copy(text, what = "") {
  let done = false;
  try {
    await navigator.clipboard.writeText(text);
    done = true;
  } catch {
    done = copyBySelection(text); // where the page is no secure context, or may not use the clipboard
  }
  toast(done ? `Copied${what ? ` ${what}` : ""}` : "This browser does not allow copying");
  return done;
}

/** @param {string} text */
function copyBySelection(text) {
  const field = document.createElement("textarea");
  const before = document.activeElement;
  field.value = text;
  field.style.position = "fixed";
  field.style.opacity = "0";
  (document.querySelector("dialog[open]") ?? document.body).append(field);
  field.select();
  const done = document.execCommand("copy");
  field.remove();
  if (before instanceof HTMLElement) before.focus();
  return done;
}

/**
 * Send fields to the server; returns whether it accepted them. A toast shows an error.
 * @param {string} address
 * @param {Record<string, string>} fields
 */
export async function post(address, fields) {
  try {
    const answer = await fetch(address, { method: "POST", body: new URLSearchParams(fields) });
    if (answer.ok) return true;
    toast(`The request failed (${answer.status})`);
  } catch {
    toast("The server does not respond");
  }
  return false;
}

/**
 * Show times as “5 min ago”, exact on hover.
 * @param {ParentNode} root
 */
export function times(root) {
  const now = Date.now();
  for (const element of root.querySelectorAll("time[datetime]")) {
    if (element instanceof HTMLTimeElement) tell(element, now);
  }
}

/**
 * @param {HTMLTimeElement} element
 * @param {number} now
 */
function tell(element, now) {
  const when = new Date(element.dateTime);
  if (Number.isNaN(when.getTime())) return;
  const seconds = (now - when.getTime()) / 1000;
  if (!element.title) element.title = EXACT.format(when);
  if (!("exact" in element.dataset)) element.textContent = ago(when, seconds, new Date(now));
  element.toggleAttribute("data-recent", seconds < 3 * 86400);
}

/**
 * @param {Date} when
 * @param {number} seconds
 * @param {Date} now
 */
function ago(when, seconds, now) {
  const size = Math.abs(seconds);
  const [count, unit] = size < 3600 ? [size / 60, "min"] : size < 86400 ? [size / 3600, "h"] : [size / 86400, "d"];
  if (size < 60) return "just now";
  if (size < 14 * 86400) return seconds > 0 ? `${Math.floor(count)} ${unit} ago` : `in ${Math.round(count)} ${unit}`;
  return (when.getFullYear() === now.getFullYear() ? DAY : DAY_OF_YEAR).format(when);
}

const EXACT = new Intl.DateTimeFormat(undefined, { dateStyle: "full", timeStyle: "medium" });
const DAY = new Intl.DateTimeFormat("en-GB", { day: "numeric", month: "short" });
const DAY_OF_YEAR = new Intl.DateTimeFormat("en-GB", { day: "numeric", month: "short", year: "numeric" });

// The theme

const THEMES = ["system", "light", "dark"];

/** The chosen theme: `system`, `light` or `dark`. */
export function theme() {
  const chosen = document.documentElement.dataset.theme;
  return chosen === "light" || chosen === "dark" ? chosen : "system";
}

/** @param {string} name */
export function setTheme(name) {
  if (name === "light" || name === "dark") document.documentElement.dataset.theme = name;
  else delete document.documentElement.dataset.theme;
  try {
    localStorage.setItem("theme", name);
  } catch {
    // It holds for this page.
  }
}

function nextTheme() {
  setTheme(THEMES[(THEMES.indexOf(theme()) + 1) % THEMES.length] ?? "system");
  toast(`Theme: ${theme()}`);
}

/**
 * A value stored in this browser.
 * @param {string} name
 */
export function kept(name) {
  try {
    return localStorage.getItem(name);
  } catch {
    return null;
  }
}

// Built-in keys and commands

/** @param {string} where */
const go = (where) => () => location.assign(where);

/**
 * Leave a field, so that keys act on the page again; a dialog closes by itself.
 * @param {EventTarget | null} field
 */
function leave(field) {
  if (field instanceof HTMLElement && !field.closest("dialog")) field.blur();
}

document.addEventListener("keydown", (event) => {
  if (event.defaultPrevented || event.isComposing || (event.altKey && !event.ctrlKey)) return;
  const ctrl = event.ctrlKey || event.metaKey;
  if (event.key === "Escape" && editing(event.target)) leave(event.target);
  if (!ctrl && (editing(event.target) || document.querySelector("dialog[open]"))) return;
  const pressed = ctrl ? `Ctrl+${event.key.toLowerCase()}` : event.key;
  for (const bound of [...keys]) {
    if (bound.keys.includes(pressed) && bound.run(event) !== false) {
      event.preventDefault();
      return;
    }
  }
});

document.addEventListener("click", (event) => {
  const button = event.target instanceof Element ? event.target.closest("[data-action]") : null;
  if (button instanceof HTMLElement) actions.get(button.dataset.action ?? "")?.(button, event);
});

key("/", "Search everything", () => {
  const field = document.getElementById("search");
  if (!(field instanceof HTMLInputElement)) return false;
  field.focus();
  field.select();
  return true;
});
key("Ctrl+k", "Command palette: pages, chats, commands", openPalette);
key("?", "Keyboard shortcuts", openHelp);
action("palette", openPalette);
action("help", openHelp);
action("theme", nextTheme);
action("copy", (button) => void copy(button.dataset.copy ?? "", button.dataset.what));
command("Go to Home", go("/"));
const isServer = document.body.matches(".on-server, .team"); // of a team
const settings = isServer ? ["Shared", "Devices", "People", "Account"] : ["Settings"];
for (const name of ["Chats", "Projects", "Search", "Prompts", "Spend", "Stats", "Files", ...settings]) {
  command(`Go to ${name}`, go(`/${name.toLowerCase()}`));
}
command("Switch theme: system, light, dark", nextTheme);
command("Show keyboard shortcuts", openHelp);

const searchField = document.getElementById("search");
if (searchField instanceof HTMLInputElement) suggestFor(searchField);

// What matters less is folded where it would push the rest away: on a phone.
for (const part of document.querySelectorAll("details[data-fold]")) {
  if (part instanceof HTMLElement && matchMedia(part.dataset.fold ?? "").matches) part.removeAttribute("open");
  part.removeAttribute("data-fold"); // from now on, it is as the reader wants it
}

// On a team server, days and times are those of the reader's time zone, which only the browser knows.
if (isServer) {
  const zone = encodeURIComponent(Intl.DateTimeFormat().resolvedOptions().timeZone);
  document.cookie = `backscroll-zone=${zone}; path=/; max-age=31536000; samesite=lax`;
}

times(document);
setInterval(() => {
  if (document.hidden) return;
  for (const element of document.querySelectorAll("time[data-recent]")) {
    if (element instanceof HTMLTimeElement) tell(element, Date.now());
  }
}, 30_000);

/** Chats that the server has opened or is opening. @type {Set<string>} */
const warmed = new Set();
let resting = 0;

/** Have the server open a chat when the pointer or the focus rests on its link. @param {Event} event */
function warm(event) {
  const link = event.target instanceof Element ? event.target.closest("a[href^='/chats/']") : null;
  clearTimeout(resting);
  const chat = link?.getAttribute("href")?.match(/^\/chats\/[^/?#]+/)?.[0];
  if (!chat || warmed.has(chat) || location.pathname.startsWith(chat)) return;
  resting = window.setTimeout(() => {
    warmed.add(chat);
    fetch(`${chat}/warm`).catch(() => warmed.delete(chat));
  }, 70);
}
addEventListener("pointerover", warm, { passive: true });
addEventListener("focusin", warm, { passive: true });

document.documentElement.dataset.ready = "";
