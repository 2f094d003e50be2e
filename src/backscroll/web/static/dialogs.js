// @ts-check
// Dialogs of the chat page: links marked `data-dialog` open what they lead to as a dialog instead of a page.

import { action, address, ask, chat, command, cross, key, parsed, reveal, times, toast } from "./chat_page.js";

/** @type {Map<string, (dialog: HTMLDialogElement) => unknown>} */
const openers = new Map();

/**
 * Run something for a dialog when it has opened.
 * @param {string} name the value of `data-dialog`
 * @param {(dialog: HTMLDialogElement) => unknown} run
 */
export function onDialog(name, run) {
  openers.set(name, run);
}

/**
 * Open what a link leads to; if that fails, go there.
 * @param {HTMLAnchorElement} link
 */
async function open(link) {
  if (document.querySelector("dialog.sheet")) return;
  const where = new URL(link.href);
  where.searchParams.set("fragment", "1");
  const dialog = document.createElement("dialog");
  dialog.className = "sheet";
  dialog.setAttribute("aria-label", link.dataset.title ?? link.textContent ?? "");
  try {
    dialog.append(parsed(await (await ask(where.href)).text()));
  } catch {
    location.assign(link.href);
    return;
  }
  const close = document.createElement("button");
  close.type = "button";
  close.className = "quiet icon-only sheet-close";
  close.ariaLabel = "Close";
  close.append(cross());
  close.addEventListener("click", () => dialog.close());
  dialog.append(close);
  dialog.addEventListener("close", () => {
    dialog.remove();
    link.focus();
  });
  dialog.addEventListener("click", (event) => {
    if (event.target === dialog) dialog.close(); // beside it
  });
  document.body.append(dialog);
  reveal(dialog);
  times(dialog);
  dialog.showModal();
  const first = dialog.querySelector("[data-autofocus], [data-action='copy'], select, input, a[href], button");
  if (first instanceof HTMLElement) first.focus();
  openers.get(link.dataset.dialog ?? "")?.(dialog);
}

/** @param {string} id */
function openById(id) {
  const link = document.getElementById(id);
  if (link instanceof HTMLAnchorElement) void open(link);
}

export function start() {
  if (!chat) return;
  document.addEventListener("click", (event) => {
    const link = event.target instanceof Element ? event.target.closest("a[data-dialog]") : null;
    if (!(link instanceof HTMLAnchorElement) || event.button || event.ctrlKey || event.metaKey || event.shiftKey) return;
    event.preventDefault();
    void open(link);
  });
  onDialog("resume", resumeDialog);
  key("R", "Resume: command, folder, terminal", () => openById("resume"));
  key("S", "Share: format, branch, what is masked", () => openById("share"));
  key("x", "What fills the context", () => location.assign(`${address}/context`));
  command("What fills the context", () => location.assign(`${address}/context`));
  command("Resume this chat in Claude Code", () => openById("resume"));
  command("Share this chat", () => openById("share"));
  action("close-dialog", (button) => button.closest("dialog")?.close());
}

/** @param {HTMLDialogElement} dialog */
function resumeDialog(dialog) {
  dialog.querySelector("#open-terminal")?.addEventListener("submit", (event) => {
    event.preventDefault();
    if (event.target instanceof HTMLFormElement) void openTerminal(event.target, dialog);
  });
}

/**
 * @param {HTMLFormElement} form
 * @param {HTMLDialogElement} dialog
 */
async function openTerminal(form, dialog) {
  const fields = new URLSearchParams([...new FormData(form)].map(([name, value]) => [name, String(value)]));
  const answer = await fetch(form.action, { method: "POST", body: fields, headers: { Accept: "*/*" } }).catch(() => null);
  if (answer?.ok) {
    toast("Opened a terminal");
    dialog.close();
    return;
  }
  const problem = answer ? parsed(await answer.text()).querySelector(".problem") : null;
  if (problem) form.replaceWith(problem);
  else toast("The server does not respond");
}
