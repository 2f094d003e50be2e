// Applies the theme before the first paint. The rest is in base.js.
(() => {
  try {
    const theme = localStorage.getItem("theme");
    if (theme === "dark" || theme === "light") document.documentElement.dataset.theme = theme;
  } catch {
    // Without storage, follow the system.
  }
})();
