// @ts-check
// Keys of the chat page: move between messages, prompts and branches; collapse, expand, copy.

import { fill, isFilled } from "./chunks.js";
import { copyLink, copyMarkdown } from "./message_actions.js";
import { goToEnd, goToStart, show } from "./navigation.js";
import { address, articlesOf, atLine, box, branch, chat, command, current, key, sections } from "./chat_page.js";

/** @param {HTMLElement} article */
const isShown = (article) => {
  const body = article.querySelector(":scope > .message-body") ?? article; // of a hidden message only the date may be seen
  return body.checkVisibility?.() ?? article.offsetParent !== null;
};

/**
 * The next message in one direction, loading what is not there yet.
 * @param {1 | -1} step
 * @param {(article: HTMLElement) => boolean} wanted
 */
async function nextFrom(step, wanted) {
  const from = current();
  const section = from?.closest(".chunk");
  if (!from || !(section instanceof HTMLElement)) return null;
  const all = sections();
  let place = all.indexOf(section);
  let rest = step > 0 ? articlesOf(section).slice(articlesOf(section).indexOf(from) + 1) : articlesOf(section).slice(0, articlesOf(section).indexOf(from)).reverse();
  // Nothing has the focus yet: then the message at the line of reading is the first to go to.
  if (document.activeElement?.closest(".chunk > article") !== from && step > 0 && wanted(from) && isShown(from)) return from;
  for (;;) {
    const found = rest.find((article) => wanted(article) && isShown(article));
    if (found) return found;
    place += step;
    const next = all[place];
    if (!next) return null;
    if (!isFilled(next)) await fill(next);
    rest = step > 0 ? articlesOf(next) : articlesOf(next).reverse();
  }
}

/** @param {1 | -1} step @param {(article: HTMLElement) => boolean} [wanted] */
async function move(step, wanted = () => true) {
  const article = await nextFrom(step, wanted).catch(() => null);
  if (article) await show(article);
  else if (step > 0 && wanted(box)) await goToEnd();
}

/** @param {HTMLElement} article */
const isPrompt = (article) => article.dataset.kind === "prompt" || article.classList.contains("prompt");

/** @param {1 | -1} step */
function changeBranch(step) {
  const count = Number(chat?.dataset.branches ?? 1);
  const next = Number(branch) + step;
  if (next >= 1 && next <= count) location.assign(`${address}?branch=${next}&from=${branch}`);
}

/** @returns {HTMLElement | null} */
function focusedOrCurrent() {
  const tool = document.activeElement?.closest("#messages .tool");
  return tool instanceof HTMLElement ? tool : current();
}

function fold() {
  const part = focusedOrCurrent();
  const folds = [...(part?.querySelectorAll("details") ?? [])].filter((one) => !one.parentElement?.closest("details") || one.parentElement?.closest("details")?.contains(part));
  const open = folds.some((one) => !one.open);
  for (const one of folds) one.open = open;
  return folds.length > 0;
}

function foldAll() {
  const folds = [...box.querySelectorAll(".tool > details")].filter((one) => one instanceof HTMLDetailsElement);
  const open = !folds.some((one) => one.open);
  const anchor = current();
  const top = anchor?.getBoundingClientRect().top ?? 0;
  for (const one of folds) one.open = open;
  if (anchor) void show(anchor, { top, focus: false });
}

function raw() {
  const part = focusedOrCurrent();
  const link = part?.querySelector(".message-head a[data-raw], a[data-raw]");
  const tool = part?.closest("details") ?? part?.querySelector(":scope > details");
  if (link?.closest("details") === tool) tool?.setAttribute("open", "");
  if (link instanceof HTMLElement) link.click();
}

let pressed = 0;

export function start() {
  if (!box.isConnected) return;
  /** @type {[string, string, () => unknown][]} */
  const ways = [
    ["j", "Next message", () => move(1)],
    ["k", "Previous message", () => move(-1)],
    ["J", "Next prompt", () => move(1, isPrompt)],
    ["K", "Previous prompt", () => move(-1, isPrompt)],
    ["}", "Next branch, from where it leaves this one", () => changeBranch(1)],
    ["{", "Previous branch, from where it leaves this one", () => changeBranch(-1)],
    ["b", "Compare branches", () => document.getElementById("compare")?.click()],
    ["o", "Open or close the tool in focus", fold],
    ["e", "Expand or collapse all tools", foldAll],
    ["r", "Raw row of the message", raw],
    ["G", "End of the chat", goToEnd],
    ["y", "Copy a link to the message", () => withCurrent(copyLink)],
    ["m", "Copy the message as Markdown", () => withCurrent(copyMarkdown)],
  ];
  for (const [name, help, run] of chat ? ways : ways.filter(([name]) => !"{}bm".includes(name))) {
    key(name, help, () => void run());
    command(help, run);
  }
  key("g", "g g: start of the chat", () => {
    const now = performance.now();
    if (now - pressed < 800) void goToStart();
    pressed = now;
  });
  command("Start of the chat", goToStart);
}

/** @param {(article: HTMLElement) => unknown} run */
function withCurrent(run) {
  const article = current() ?? atLine();
  if (article) run(article);
}
