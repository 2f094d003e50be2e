// @ts-check
// The page that compares branches: choosing a branch shows it at once.

import { command, key } from "./base.js";

const form = document.getElementById("compare-choice");

if (form instanceof HTMLFormElement) {
  form.querySelector("button")?.remove(); // a change is enough
  form.addEventListener("change", () => form.requestSubmit());
}

/** @param {string} id */
const click = (id) => () => document.getElementById(id)?.click();
key("x", "Swap the branches", click("swap"));
key("f", "Show where the branches part", click("fork"));
command("Swap the branches", click("swap"));
command("Show where the branches part", click("fork"));
