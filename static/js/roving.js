// A list of links takes one press of Tab; arrow keys, Home and End go from link to link. data-roving names the links.
(() => {
  "use strict";

  const STEPS = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 };
  const all = (list) => [...list.querySelectorAll(list.dataset.roving)];
  const stopAt = (list, here) => {
    for (const link of all(list)) link.tabIndex = link === here ? 0 : -1;
  };

  const begin = (root) => {
    for (const list of root.querySelectorAll("[data-roving]")) {
      const links = all(list);
      stopAt(list, links.find((link) => link.hasAttribute("aria-current")) ?? links[0]);
    }
  };
  begin(document);
  document.addEventListener("htmx:load", (event) => begin(event.target));

  const listOf = (link) => {
    const list = link.closest?.("[data-roving]");
    return list && all(list).includes(link) ? list : null;
  };
  document.addEventListener("focusin", (event) => {
    const list = listOf(event.target);
    if (list) stopAt(list, event.target);
  });
  document.addEventListener("keydown", (event) => {
    const list = listOf(event.target);
    if (!list || event.ctrlKey || event.metaKey || event.altKey || event.shiftKey) return;
    const links = all(list);
    const step = STEPS[event.key];
    const place = links.indexOf(event.target);
    const next = { Home: links[0], End: links.at(-1) }[event.key] ?? (step && links[(place + step + links.length) % links.length]);
    if (!next) return;
    event.preventDefault();
    next.focus();
  });
})();
