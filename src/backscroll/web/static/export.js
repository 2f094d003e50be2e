// @ts-check
// Features of an exported file, offline: choose a branch and a detail level, go to a message, find a chat.
(() => {
  "use strict";
  const root = document.documentElement;
  // Before the first paint: what belongs to other branches must not flash.
  root.dataset.branch = branchAsked() ?? "1";

  /** @returns {string | null} */
  function branchAsked() {
    const asked = new URLSearchParams(location.search).get("branch");
    return asked !== null && /^[1-9][0-9]{0,5}$/.test(asked) ? asked : null;
  }

  /** @param {string} id @returns {HTMLElement | null} */
  const byId = (id) => document.getElementById(id);

  /** @param {EventTarget | null} target @returns {boolean} */
  const isEditing = (target) => target instanceof HTMLElement && target.matches("input, select, textarea");

  // Branches

  /** @param {string} branch */
  function choose(branch) {
    const select = byId("branch");
    if (!(select instanceof HTMLSelectElement)) return;
    if (![...select.options].some((option) => option.value === branch)) branch = "1";
    select.value = branch;
    root.dataset.branch = branch;
  }

  /** @param {number} step */
  function nextBranch(step) {
    const select = byId("branch");
    if (!(select instanceof HTMLSelectElement)) return;
    const to = Math.min(Math.max(select.selectedIndex + step, 0), select.options.length - 1);
    choose(select.options[to]?.value ?? "1");
  }

  // Messages

  /** @param {string} hash */
  function go(hash) {
    let id = hash.slice(1);
    try {
      id = decodeURIComponent(id);
    } catch {
      // As it stands.
    }
    const target = id ? byId(id) : null;
    if (!target) return;
    const segment = target.closest("[data-branches]");
    const branches = segment?.getAttribute("data-branches")?.split(" ") ?? [];
    if (branches.length && !branches.includes(root.dataset.branch ?? "")) choose(branches[0] ?? "1");
    for (let around = target.parentElement; around; around = around.parentElement)
      if (around instanceof HTMLDetailsElement) around.open = true;
    if (!target.checkVisibility()) level("everything");
    // What is far away gets its true height only when it comes near, so go there twice.
    target.scrollIntoView();
    requestAnimationFrame(() => target.scrollIntoView());
    if (!target.hasAttribute("tabindex")) target.tabIndex = -1;
    target.focus({ preventScroll: true });
  }

  /** @param {string} selector @param {number} step */
  function step(selector, step) {
    const all = [...document.querySelectorAll(`#messages .chunk > ${selector}`)].filter((one) => one.checkVisibility());
    const bar = (document.querySelector(".bar")?.getBoundingClientRect().bottom ?? 0) + 24;
    const tops = all.map((one) => one.getBoundingClientRect().top - bar);
    const at = step > 0 ? tops.findIndex((top) => top > 2) : tops.findLastIndex((top) => top < -2);
    const next = all[at];
    if (!(next instanceof HTMLElement)) return;
    next.scrollIntoView();
    next.tabIndex = -1;
    next.focus({ preventScroll: true });
  }

  // Detail

  /** @param {string} name */
  function level(name) {
    const box = byId("messages");
    const inputs = [...document.querySelectorAll("#levels input")].filter((input) => input instanceof HTMLInputElement);
    if (!box || !inputs.some((input) => input.value === name)) return;
    box.dataset.level = name;
    for (const input of inputs) input.checked = input.value === name;
  }

  function nextLevel() {
    const names = [...document.querySelectorAll("#levels input")].map((input) => input.getAttribute("value") ?? "");
    const at = names.indexOf(byId("messages")?.dataset.level ?? "");
    level(names[(at + 1) % names.length] ?? "");
  }

  // Dark or light

  function theme() {
    const isDark = root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
    root.dataset.theme = isDark ? "light" : "dark";
  }

  // The list of a folder of chats

  /** @param {string} text */
  const folded = (text) => text.normalize("NFKD").replace(/\p{M}/gu, "").toLowerCase();

  function list() {
    const data = byId("chats-data");
    const field = byId("chats-find");
    const form = byId("chats-form");
    const count = byId("chats-count");
    if (!data || !(field instanceof HTMLInputElement) || !form || !count) return;
    const rows = [...document.querySelectorAll("#chats tbody tr")];
    /** @type {{text: string, prompts: string[]}[]} */
    const chats = JSON.parse(data.textContent ?? "[]");
    const texts = chats.map((chat) => folded([chat.text, ...chat.prompts].join("\n")));
    const find = () => {
      const words = folded(field.value).split(/\s+/).filter(Boolean);
      let shown = 0;
      rows.forEach((row, at) => {
        const isFound = words.every((word) => texts[at]?.includes(word));
        if (row instanceof HTMLElement) row.hidden = !isFound;
        shown += Number(isFound);
        const place = row.querySelector(".found");
        const prompt = words.length ? chats[at]?.prompts.find((one) => words.some((word) => folded(one).includes(word))) : "";
        if (place) place.textContent = isFound && prompt ? prompt : "";
      });
      count.textContent = words.length ? `${shown} of ${rows.length} chats` : "";
    };
    form.hidden = false;
    form.addEventListener("submit", (event) => event.preventDefault());
    field.addEventListener("input", find);
    if (field.value) find();
  }

  function start() {
    choose(root.dataset.branch ?? "1");
    byId("branch")?.addEventListener("change", (event) => {
      if (event.target instanceof HTMLSelectElement) choose(event.target.value);
    });
    byId("levels")?.addEventListener("change", (event) => {
      if (event.target instanceof HTMLInputElement) level(event.target.value);
    });
    byId("theme")?.addEventListener("click", theme);
    for (const shown of document.querySelectorAll(".branch-choice, #levels, #theme"))
      if (shown instanceof HTMLElement) shown.hidden = false;
    for (const time of document.querySelectorAll("time[datetime]")) {
      const when = new Date(time.getAttribute("datetime") ?? "");
      if (!Number.isNaN(when.getTime()) && time instanceof HTMLElement) time.title = when.toLocaleString();
    }
    document.addEventListener("click", (event) => {
      if (!(event.target instanceof Element) || event.ctrlKey || event.metaKey || event.shiftKey) return;
      const bar = event.target.closest(".minimap g[data-message]");
      if (bar) {
        go(`#m-${encodeURIComponent(bar.getAttribute("data-message") ?? "")}`);
        return;
      }
      const href = event.target.closest("a")?.getAttribute("href") ?? "";
      const way = /^\?branch=([0-9]+)(#.*)$/.exec(href);
      if (way) {
        event.preventDefault();
        choose(way[1] ?? "1");
        go(way[2] ?? "");
      } else if (href.startsWith("#m-")) {
        event.preventDefault();
        history.replaceState(null, "", href);
        const side = byId("side");
        if (side?.matches(":popover-open")) side.hidePopover();
        go(href);
      }
    });
    addEventListener("hashchange", () => go(location.hash));
    document.addEventListener("keydown", (event) => {
      if (event.ctrlKey || event.metaKey || event.altKey || isEditing(event.target)) return;
      /** @type {Record<string, () => void>} */
      const keys = {
        "[": () => nextBranch(-1),
        "]": () => nextBranch(1),
        d: nextLevel,
        j: () => step("article", 1),
        k: () => step("article", -1),
        J: () => step("article.prompt", 1),
        K: () => step("article.prompt", -1),
        "/": () => byId("chats-find")?.focus(),
      };
      const act = keys[event.key];
      if (!act || (event.key === "/" && !byId("chats-find"))) return;
      event.preventDefault();
      act();
    });
    list();
    if (location.hash) go(location.hash);
  }

  if (document.readyState === "loading") document.addEventListener("DOMContentLoaded", start);
  else start();
})();
