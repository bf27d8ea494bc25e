// The search over everything: Ctrl K or ⌘ K opens it, arrows choose a match, Enter opens the first or the chosen one.
(() => {
  "use strict";

  const dialog = document.getElementById("search");
  if (!dialog) return;
  const field = dialog.querySelector("input[type=search]");
  const matches = () => [...dialog.querySelectorAll("[data-match]")];

  const open = () => {
    if (dialog.open) return;
    dialog.showModal();
    field.select();
    htmx.trigger(field, "opened");
  };

  document.addEventListener("keydown", (event) => {
    if ((event.ctrlKey || event.metaKey) && !event.shiftKey && !event.altKey && event.key.toLowerCase() === "k") {
      event.preventDefault();
      open();
    }
  });
  document.addEventListener("click", (event) => {
    if (event.target.closest("[data-search]")) {
      event.preventDefault();
      open();
    }
    // A click beside the box is one on the dialog itself.
    if (event.target === dialog || event.target.closest("#search [data-close]")) dialog.close();
  });

  dialog.addEventListener("keydown", (event) => {
    const all = matches();
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step && all.length) {
      event.preventDefault();
      const place = all.indexOf(document.activeElement) + step;
      (all[place] ?? (step > 0 ? all.at(-1) : field)).focus();
    } else if (event.key === "Enter" && event.target === field && all.length) {
      // Only if these are the matches of what is in the field: otherwise the form opens the page of the search.
      if (dialog.querySelector(".matches")?.dataset.words !== field.value.trim()) return;
      event.preventDefault();
      all[0].click();
    }
  });
})();
