// @ts-check
// Pins, tags and notes; copying the resume command and the chat as Markdown.

import { action, address, ask, below, chat, command, copy, cross, key, masked, toast } from "./chat_page.js";

function copyResume() {
  if (chat?.dataset.resume) void copy(chat.dataset.resume, "resume command");
  else toast("This chat cannot be resumed");
}

async function copyChat() {
  try {
    const answer = await ask(below("/markdown"));
    await copy(await answer.text(), `chat as Markdown${masked(answer)}`);
  } catch {
    toast("Could not load the chat");
  }
}

/** @param {SubmitEvent} event */
async function send(event) {
  const form = event.target;
  if (!(form instanceof HTMLFormElement) || !("mark" in form.dataset)) return;
  event.preventDefault();
  const fields = new FormData(form, event.submitter);
  try {
    const answer = await fetch(form.action, { method: "POST", body: new URLSearchParams([...fields].map(([name, value]) => [name, String(value)])) });
    if (!answer.ok) throw new Error(String(answer.status));
  } catch {
    toast("Could not save the change");
    return;
  }
  for (const [name, value] of fields) show(name, String(value), form);
}

/**
 * Show the new state after the server has saved it.
 * @param {string} name
 * @param {string} value
 * @param {HTMLFormElement} form
 */
function show(name, value, form) {
  const place = chat?.querySelector(".chat-marks");
  form.closest("details")?.removeAttribute("open");
  if (name === "pin") {
    const [button, badge] = [document.getElementById("pin"), document.getElementById("pinned-badge")];
    if (badge) badge.hidden = value !== "1";
    if (button instanceof HTMLButtonElement) {
      button.value = value === "1" ? "0" : "1";
      const name = button.querySelector("span") ?? button;
      name.textContent = value === "1" ? "Unpin" : "Pin";
    }
  } else if (name === "untag") {
    form.remove();
  } else if (name === "tag") {
    place?.prepend(tag(value.trim()));
    form.reset();
  } else if (name === "note") {
    const note = document.createElement("p");
    note.className = "note";
    note.textContent = value;
    place?.append(note);
    form.reset();
  }
  toast(name === "pin" ? (value === "1" ? "Pinned" : "Unpinned") : name === "untag" ? "Tag removed" : "Saved");
}

/** @param {string} name */
function tag(name) {
  const [form, field, words, button] = [document.createElement("form"), document.createElement("input"), document.createElement("span"), document.createElement("button")];
  form.method = "post";
  form.action = `${address}/marks`;
  form.className = "tag";
  form.dataset.mark = "";
  field.type = "hidden";
  field.name = "untag";
  field.value = name;
  words.textContent = name;
  button.className = "quiet icon-only";
  button.append(cross());
  button.ariaLabel = `Remove tag ${name}`;
  form.append(field, words, button);
  return form;
}

export function start() {
  if (!chat) return;
  chat.addEventListener("submit", (event) => void send(event));
  // A click outside an open menu closes it.
  document.addEventListener("pointerdown", (event) => {
    for (const menu of document.querySelectorAll("details.menu[open]")) {
      if (!(event.target instanceof Node) || !menu.contains(event.target)) menu.removeAttribute("open");
    }
  });
  action("copy-markdown", () => void copyChat());
  const menu = document.getElementById("more");
  if (menu instanceof HTMLDetailsElement) {
    const close = () => {
      menu.open = false;
      menu.querySelector("summary")?.focus();
    };
    key(".", "More actions: pin, tag, note, copy", () => {
      if (menu.open) return close();
      menu.open = true;
      const first = menu.querySelector("button");
      if (first instanceof HTMLElement) first.focus();
    });
    menu.addEventListener("keydown", (event) => {
      if (event.key === "Escape") close();
    });
  }
  key("c", "Copy the resume command", copyResume);
  command("Copy the resume command", copyResume);
  command("Copy this chat as Markdown", () => void copyChat());
  command("Pin or unpin this chat", () => document.getElementById("pin")?.click());
}
