// @ts-check
// Interactive charts: tooltips, hiding a series, zooming. All of it is optional.

import { key } from "./base.js";

const SVG = "http://www.w3.org/2000/svg";
const tip = document.createElement("div");
tip.className = "tip";
tip.hidden = true;
tip.setAttribute("role", "status");
document.body.append(tip);

enliven(document);
/** @param {string} selector */
const follow = (selector) => {
  const link = document.querySelector(selector);
  if (link instanceof HTMLAnchorElement) link.click();
};
if (document.querySelector(".ranges [aria-current]")) {
  key("[", "The period before in the list", () => follow(".ranges a:has(+ [aria-current])"));
  key("]", "The next period in the list", () => follow(".ranges [aria-current] + a"));
}
if (document.getElementById("turn-steps")) {
  key("[", "Earlier turn", () => follow("#turn-steps a[rel=prev]"));
  key("]", "Later turn", () => follow("#turn-steps a[rel=next]"));
}
const openMenus = () => [...document.querySelectorAll(":is(.tabs details, .asked .menu)[open]")];
document.addEventListener("click", (event) => {
  for (const menu of openMenus()) {
    if (event.target instanceof Node && !menu.contains(event.target)) menu.removeAttribute("open");
  }
});
document.addEventListener("keydown", (event) => {
  if (event.key !== "Escape") return;
  for (const menu of openMenus()) {
    menu.removeAttribute("open");
    menu.querySelector("summary")?.focus();
  }
});
window.addEventListener("scroll", hideTip, { passive: true });

/**
 * Make the charts in a part of the page interactive.
 * @param {ParentNode} root
 */
export function enliven(root) {
  for (const chart of root.querySelectorAll("figure.chart")) {
    takeTitles(chart);
    chart.addEventListener("pointermove", (event) => point(/** @type {PointerEvent} */ (event)));
    chart.addEventListener("pointerdown", (event) => point(/** @type {PointerEvent} */ (event)));
    chart.addEventListener("pointerleave", hideTip);
    const drawing = chart.querySelector("svg.drawing");
    if (drawing instanceof SVGSVGElement) {
      walkable(drawing);
      zoomable(drawing);
    }
    legend(chart);
  }
}

/**
 * Keep what the browser would show by itself, after a second and without a shape.
 * @param {Element} chart
 */
function takeTitles(chart) {
  for (const title of chart.querySelectorAll("svg title")) {
    const owner = title.parentElement;
    if (!owner) continue;
    if (owner.localName === "svg") owner.setAttribute("aria-label", title.textContent ?? "");
    else owner.dataset.tip = title.textContent ?? "";
    title.remove();
  }
}

/** @param {PointerEvent} event */
function point(event) {
  const place = event.target instanceof Element ? event.target.closest("[data-tip]") : null;
  tip.ariaLive = "off"; // who points can see it
  if (place instanceof SVGElement) showTip(place, event.clientX, event.clientY);
  else hideTip();
}

/**
 * @param {SVGElement} place
 * @param {number} x
 * @param {number} y
 */
function showTip(place, x, y) {
  const [first, ...rest] = (place.dataset.tip ?? "").split("\n");
  const head = document.createElement("strong");
  head.textContent = first;
  tip.replaceChildren(head, ...rest.map(line));
  tip.hidden = false;
  const box = tip.getBoundingClientRect();
  const left = x + 14 + box.width > window.innerWidth ? x - 14 - box.width : x + 14;
  tip.style.left = `${Math.max(4, left)}px`;
  tip.style.top = `${Math.max(4, Math.min(y + 14, window.innerHeight - box.height - 4))}px`;
  cross(place);
}

/** @param {string} text */
function line(text) {
  const made = document.createElement("span");
  made.textContent = text;
  return made;
}

function hideTip() {
  tip.hidden = true;
  for (const old of document.querySelectorAll(".cross")) old.remove();
}

/**
 * A line through the middle of a column.
 * @param {SVGElement} place
 */
function cross(place) {
  for (const old of document.querySelectorAll(".cross")) old.remove();
  const field = place.querySelector(".field");
  if (!field) return;
  const made = document.createElementNS(SVG, "line");
  const x = `${number(field, "x") + number(field, "width") / 2}%`;
  for (const [name, value] of Object.entries({
    x1: x, x2: x, y1: String(number(field, "y")), y2: String(number(field, "y") + number(field, "height")),
  })) made.setAttribute(name, value);
  made.classList.add("cross");
  place.append(made);
}

/**
 * @param {Element} element
 * @param {string} name
 */
function number(element, name) {
  return parseFloat(element.getAttribute(name) ?? "0") || 0;
}

/**
 * The arrow keys go from column to column.
 * @param {SVGSVGElement} drawing
 */
function walkable(drawing) {
  const columns = [...drawing.querySelectorAll(".column")];
  let here = -1;
  drawing.setAttribute("tabindex", "0");
  drawing.addEventListener("keydown", (event) => {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (!step || !columns.length) return;
    event.preventDefault();
    here = here < 0 ? columns.length - 1 : Math.max(0, Math.min(columns.length - 1, here + step));
    const column = columns[here];
    const box = column.getBoundingClientRect();
    tip.ariaLive = "polite";
    if (column instanceof SVGElement) showTip(column, box.right, box.top);
  });
  drawing.addEventListener("blur", hideTip);
}

/**
 * Dragging along the axis asks for what lies between.
 * @param {SVGSVGElement} drawing
 */
function zoomable(drawing) {
  /** @type {SVGElement[]} */
  const columns = [];
  for (const column of drawing.querySelectorAll(".column[data-since]")) {
    if (column instanceof SVGElement) columns.push(column);
  }
  if (columns.length < 2) return;
  drawing.classList.add("zoomable");
  const hint = document.createElement("p");
  hint.className = "muted zoom-hint";
  hint.textContent = "Drag across the chart to zoom in.";
  drawing.closest(".plot")?.after(hint);
  let from = -1;
  let to = -1;
  drawing.addEventListener("pointerdown", (event) => {
    if (event.pointerType !== "mouse" || event.button !== 0) return;
    event.preventDefault();
    from = to = columnAt(event);
    drawing.setPointerCapture(event.pointerId);
  });
  drawing.addEventListener("pointermove", (event) => {
    if (from < 0) return;
    to = columnAt(event);
    mark();
  });
  drawing.addEventListener("pointerup", () => {
    const [first, last] = [Math.min(from, to), Math.max(from, to)];
    const isChosen = from >= 0 && first !== last;
    stop();
    if (!isChosen) return;
    const address = new URL(window.location.href);
    address.searchParams.set("since", columns[first].dataset.since ?? "");
    address.searchParams.set("until", columns[last].dataset.until ?? "");
    window.location.assign(address);
  });
  drawing.addEventListener("pointercancel", stop);
  window.addEventListener("keydown", (event) => {
    if (event.key === "Escape") stop();
  });

  /** @param {PointerEvent} event */
  function columnAt(event) {
    const box = drawing.getBoundingClientRect();
    const part = (event.clientX - box.left) / box.width;
    return Math.max(0, Math.min(columns.length - 1, Math.floor(part * columns.length)));
  }

  function mark() {
    const [first, last] = [Math.min(from, to), Math.max(from, to)];
    columns.forEach((column, place) => column.classList.toggle("chosen", from >= 0 && place >= first && place <= last));
  }

  function stop() {
    from = to = -1;
    mark();
  }
}

/**
 * The names of series become buttons that hide them.
 * @param {Element} chart
 */
function legend(chart) {
  for (const item of chart.querySelectorAll(".legend li[data-series]")) {
    if (!(item instanceof HTMLElement)) continue;
    const button = document.createElement("button");
    button.type = "button";
    button.className = "quiet";
    button.setAttribute("aria-pressed", "true");
    button.title = "Hide or show";
    button.append(...item.childNodes);
    item.append(button);
    button.addEventListener("click", () => {
      const isShown = button.getAttribute("aria-pressed") !== "true";
      button.setAttribute("aria-pressed", String(isShown));
      item.classList.toggle("series-off", !isShown);
      for (const part of chart.querySelectorAll(`svg [data-series="${item.dataset.series}"]`)) {
        part.toggleAttribute("data-off", !isShown);
      }
      restack(chart);
    });
  }
}

/**
 * What is hidden leaves no hole.
 * @param {Element} chart
 */
function restack(chart) {
  for (const column of chart.querySelectorAll(".chart-stacked .column")) {
    const field = column.querySelector(".field");
    let base = field ? number(field, "y") + number(field, "height") : 0;
    for (const part of column.querySelectorAll("rect[data-series]:not([data-off])")) {
      base -= number(part, "height");
      part.setAttribute("y", String(base));
    }
  }
  for (const bar of chart.querySelectorAll(".bar-drawing")) {
    let left = 0;
    for (const part of bar.querySelectorAll("rect:not([data-off])")) {
      part.setAttribute("x", `${left}%`);
      left += number(part, "width");
    }
  }
}
