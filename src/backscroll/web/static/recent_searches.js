// @ts-check
// The last searches that found something. They stay in this browser: no server records what one looks for.

import { kept } from "./base.js";

const MOST = 10;
const LONGEST = 300;
const shown = document.getElementById("recent-searches");
const results = document.querySelector("ol.results");
/** On a team server, each person has their own. */
const name = `searches:${document.querySelector("[data-asker]")?.getAttribute("data-asker") ?? ""}`;

/** @returns {string[]} the latest first */
function recent() {
  try {
    const found = JSON.parse(kept(name) ?? "[]");
    return Array.isArray(found) ? found.filter((query) => typeof query === "string").slice(0, MOST) : [];
  } catch {
    return [];
  }
}

/** @param {string[]} searches */
function keep(searches) {
  try {
    localStorage.setItem(name, JSON.stringify(searches.slice(0, MOST)));
  } catch {
    // Without storage, they are not kept.
  }
}

function list() {
  if (!shown) return;
  const searches = recent();
  shown.hidden = !searches.length;
  shown.querySelector("ul")?.replaceChildren(
    ...searches.map((query) => {
      const link = document.createElement("a");
      link.textContent = query;
      link.href = `/search?${new URLSearchParams({ q: query })}`;
      const item = document.createElement("li");
      item.append(link);
      return item;
    }),
  );
}

const query = new URLSearchParams(location.search).get("q")?.trim() ?? "";
if (results && query && query.length <= LONGEST) keep([query, ...recent().filter((other) => other !== query)]);
shown?.querySelector("button")?.addEventListener("click", () => {
  keep([]);
  list();
});
list();
window.addEventListener("pageshow", list); // also after going back
