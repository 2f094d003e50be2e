// @ts-check
// The detail level: everything, normal, or prompts and answers only.

import { anchored } from "./chunks.js";
import { settle } from "./navigation.js";
import { box, command, key, toast } from "./chat_page.js";

const NAMES = { everything: "Everything", normal: "Normal", talk: "Prompts and answers" };
/** @typedef {keyof typeof NAMES} Level */
const LEVELS = /** @type {Level[]} */ (Object.keys(NAMES));

/** @param {string} level @param {boolean} [isKept] */
function set(level, isKept = true) {
  const inputs = document.querySelectorAll("#levels input");
  const anchor = scrollY > 100 ? anchored() : null;
  const top = anchor?.getBoundingClientRect().top ?? 0;
  box.dataset.level = level;
  for (const input of inputs) if (input instanceof HTMLInputElement) input.checked = input.value === level;
  if (anchor?.checkVisibility?.()) void settle(() => scrollBy(0, anchor.getBoundingClientRect().top - top));
  try {
    if (isKept) localStorage.setItem("level", level);
  } catch {
    // Without storage, it only applies to this page.
  }
}

function cycle() {
  const now = LEVELS.indexOf(/** @type {Level} */ (box.dataset.level ?? "normal"));
  const level = LEVELS[(now + 1) % LEVELS.length] ?? "normal";
  set(level);
  toast(`Detail: ${NAMES[level]}`);
}

export function start() {
  const field = document.getElementById("levels");
  if (field) field.hidden = false;
  let kept = null;
  try {
    kept = localStorage.getItem("level");
  } catch {
    // Without storage, use the level of the page.
  }
  if (kept && kept in NAMES && kept !== box.dataset.level) set(kept);
  field?.addEventListener("change", (event) => {
    if (event.target instanceof HTMLInputElement) set(event.target.value);
  });
  // A message that is navigated to must be visible at any level.
  box.addEventListener("reveal", () => set("everything", false));
  key("d", "Detail: everything, normal, prompts and answers", cycle);
  for (const level of LEVELS) command(`Detail: ${NAMES[level]}`, () => set(level));
}
