// @ts-check
// Lists of chats and search results: keys, unread marks, pins and tags.

import { action, editing, key, post, reveal, times, toast } from "./base.js";
import { unread } from "./unread.js";

const ROWS = `.results > li > .chat-title, .results .passages > li,
  table.chats tbody tr, ul.items > li, ul.live > li`;

/** The current row. @type {Element | null} */
let here = null;

/** The rows that keys move between. */
function rows() {
  return [...document.querySelectorAll(ROWS)];
}

/** @param {number} step */
function move(step) {
  const all = rows();
  if (!all.length) return false;
  const at = here ? all.indexOf(here) : -1;
  here?.classList.remove("here");
  here = all[at < 0 ? (step > 0 ? 0 : all.length - 1) : Math.min(all.length - 1, Math.max(0, at + step))] ?? null;
  here?.classList.add("here");
  here?.scrollIntoView({ block: "nearest" });
  const link = linkOf(here);
  link?.focus({ preventScroll: true });
  return true;
}

/** @param {Element | null} row */
function linkOf(row) {
  const link = row?.querySelector("a.open") ?? row?.querySelector("a");
  return link instanceof HTMLAnchorElement ? link : null;
}

document.addEventListener("focusin", (event) => {
  const row = event.target instanceof Element ? event.target.closest(ROWS) : null;
  if (!row || row === here) return;
  here?.classList.remove("here");
  here = row;
  here.classList.add("here");
});

key("j", "Next in the list", () => move(1));
key("k", "Previous in the list", () => move(-1));
key("o", "Open", () => {
  const link = linkOf(here);
  if (!link) return false;
  link.click();
  return true;
});
if (document.querySelector("form[data-marks]")) {
  key("p", "Pin or unpin", () => {
    const form = here?.querySelector("form[data-marks]");
    if (!(form instanceof HTMLFormElement)) return false;
    form.requestSubmit();
    return true;
  });
}

/**
 * Reload the list and keep the current row.
 * @param {() => boolean} [isWanted] whether the answer is still waited for when it comes
 */
export async function renew(isWanted = () => true) {
  if (!document.getElementById("chats")) return;
  const focused = here?.getAttribute("data-chat");
  const answer = await fetch(location.href);
  if (!answer.ok) return;
  const page = new DOMParser().parseFromString(await answer.text(), "text/html");
  const fresh = page.getElementById("chats");
  if (!fresh || !isWanted()) return;
  document.getElementById("chats")?.replaceWith(fresh);
  const [total, count] = [document.getElementById("total"), page.getElementById("total")];
  if (total && count) total.replaceWith(count);
  prepare(fresh);
  here = focused ? fresh.querySelector(`[data-chat="${CSS.escape(focused)}"]`) : null;
  here?.classList.add("here");
  if (!editing(document.activeElement)) linkOf(here)?.focus({ preventScroll: true });
}

/** @param {ParentNode} root */
function prepare(root) {
  times(root);
  unread(root);
  reveal(root);
}

document.addEventListener("submit", (event) => {
  const form = event.target;
  if (!(form instanceof HTMLFormElement) || !form.matches("[data-marks]")) return;
  event.preventDefault();
  const button = form.querySelector("button");
  const pin = button?.value ?? "1";
  void post(form.action, { pin }).then((done) => {
    if (!done) return;
    toast(pin === "1" ? "Pinned" : "Unpinned");
    void renew();
  });
});

action("tag", (button) => {
  const dialog = document.createElement("dialog");
  dialog.className = "ask";
  dialog.setAttribute("aria-label", "Tag this chat");
  const form = document.createElement("form");
  form.method = "dialog";
  const label = document.createElement("label");
  label.textContent = "Tag ";
  const field = document.createElement("input");
  field.type = "text";
  field.required = true;
  field.autocomplete = "off";
  field.maxLength = 60;
  label.append(field);
  const save = document.createElement("button");
  save.textContent = "Add";
  const cancel = document.createElement("button");
  cancel.type = "button";
  cancel.className = "quiet";
  cancel.textContent = "Cancel";
  cancel.addEventListener("click", () => dialog.close());
  form.append(label, save, cancel);
  form.addEventListener("submit", () => {
    void post(`/chats/${encodeURIComponent(button.dataset.chat ?? "")}/marks`, { tag: field.value }).then((done) => {
      if (done) void renew();
    });
  });
  dialog.append(form);
  dialog.addEventListener("close", () => dialog.remove());
  document.body.append(dialog);
  dialog.showModal();
  field.focus();
});

for (const select of document.querySelectorAll("select[data-submits]")) {
  select.addEventListener("change", () => select instanceof HTMLSelectElement && select.form?.requestSubmit());
}

unread(document);
