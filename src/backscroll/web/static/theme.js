// Applies the theme, and whether the list beside a chat is open, before the first paint. The rest is in base.js.
(() => {
  try {
    const theme = localStorage.getItem("theme");
    if (localStorage.getItem("pane") === "closed") document.documentElement.dataset.pane = "closed";
    if (theme === "dark" || theme === "light") document.documentElement.dataset.theme = theme;
  } catch {
    // Without storage, follow the system.
  }
})();
