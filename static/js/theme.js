// Light, dark or as the system says. Loaded in <head> before any style, so that no page flashes in the wrong colours.
(() => {
  "use strict";
  const KEY = "synthweb-theme";
  const dark = window.matchMedia("(prefers-color-scheme: dark)");

  const chosen = () => {
    try {
      return localStorage.getItem(KEY) || "system";
    } catch {
      return "system";
    }
  };
  const apply = () => {
    const choice = chosen();
    const theme = choice === "system" ? (dark.matches ? "dark" : "light") : choice;
    document.documentElement.setAttribute("data-bs-theme", theme);
    for (const button of document.querySelectorAll("[data-theme-choice]")) {
      const active = button.dataset.themeChoice === choice;
      button.classList.toggle("active", active);
      button.setAttribute("aria-pressed", String(active));
    }
    document.dispatchEvent(new CustomEvent("themechange", { detail: { theme } }));
  };

  apply();
  dark.addEventListener("change", apply);
  // Paper is white: print in the light tones, whatever the screen shows.
  window.addEventListener("beforeprint", () => {
    document.documentElement.setAttribute("data-bs-theme", "light");
    document.dispatchEvent(new CustomEvent("themechange", { detail: { theme: "light" } }));
  });
  window.addEventListener("afterprint", apply);
  document.addEventListener("DOMContentLoaded", apply);
  document.addEventListener("click", (event) => {
    const button = event.target.closest("[data-theme-choice]");
    if (!button) return;
    try {
      localStorage.setItem(KEY, button.dataset.themeChoice);
    } catch {
      /* a browser that keeps nothing still shows the system's theme */
    }
    apply();
  });
})();
