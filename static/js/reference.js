// Swagger UI has its dark colours behind a class of <html>; it follows the theme of every other page.
(() => {
  "use strict";
  const root = document.documentElement;
  const follow = () => root.classList.toggle("dark-mode", root.dataset.bsTheme === "dark");
  new MutationObserver(follow).observe(root, { attributes: true, attributeFilter: ["data-bs-theme"] });
  follow();
})();
