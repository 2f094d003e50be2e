// @ts-check
// The form of a report: each change is shown at once. Without scripts, the form has a button.

import { toast } from "./base.js";
import { enliven } from "./stats.js";

const TYPING_PAUSE = 350;
const form = document.querySelector("form.asked");
/** @type {AbortController | undefined} */
let running;
let waiting = 0;

if (form instanceof HTMLFormElement) {
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    showSoon(form, 0);
  });
  form.addEventListener("input", (event) => {
    const isTyped = event.target instanceof HTMLInputElement && event.target.type === "text";
    showSoon(form, isTyped ? TYPING_PAUSE : 0);
  });
  form.addEventListener("keydown", (event) => {
    if (event.key !== "Enter" || !(event.target instanceof HTMLInputElement)) return;
    event.preventDefault();
    showSoon(form, 0);
  });
}

/**
 * @param {HTMLFormElement} asked
 * @param {number} pause
 */
function showSoon(asked, pause) {
  window.clearTimeout(waiting);
  waiting = window.setTimeout(() => void show(asked), pause);
}

/**
 * Get the report that the form asks for, and put it in the place of this one.
 * @param {HTMLFormElement} asked
 */
async function show(asked) {
  const address = new URL(asked.action);
  for (const [name, value] of new FormData(asked)) {
    if (typeof value === "string" && value.trim()) address.searchParams.set(name, value.trim());
  }
  running?.abort();
  const own = (running = new AbortController());
  document.getElementById("report")?.setAttribute("aria-busy", "true");
  try {
    const answer = await fetch(address, { signal: own.signal });
    const page = new DOMParser().parseFromString(await answer.text(), "text/html");
    if (own !== running) return;
    if (answer.ok) {
      for (const name of ["report-head", "report"]) replace(name, page.getElementById(name));
      window.history.replaceState(null, "", address);
    } else {
      document.getElementById("report")?.replaceChildren(...page.querySelectorAll(".problem"));
    }
  } catch (error) {
    if (own === running) toast("The report could not be loaded. Is the viewer still running?");
  } finally {
    if (own === running) document.getElementById("report")?.removeAttribute("aria-busy");
  }
}

/**
 * @param {string} name
 * @param {Element | null} made
 */
function replace(name, made) {
  const old = document.getElementById(name);
  if (!old || !made) return;
  old.replaceWith(document.adoptNode(made));
  enliven(made);
}
