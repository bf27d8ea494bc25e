// The describe page: find and filter lines as one types, show the fields of a kind when it is chosen, and let Enter
// confirm the line it was pressed in. Without this script everything works by buttons and links.
(() => {
  "use strict";
  const search = document.getElementById("column-search");
  const show = document.getElementById("column-show");
  const selectShown = document.getElementById("select-shown");
  const lines = () => document.querySelectorAll(".columns > .column");

  const filter = () => {
    const words = search.value.toLowerCase().split(/\s+/).filter(Boolean);
    for (const line of lines()) {
      const { name, state } = line.querySelector(".column-main").dataset;
      const named = words.every((word) => name.toLowerCase().includes(word));
      const wanted = show.value === "" || (show.value === "open" ? state !== "confirmed" : state === show.value);
      line.hidden = !(named && wanted);
    }
  };

  if (search && show) {
    for (const tool of [search, show, selectShown]) if (tool) tool.hidden = false;
    search.addEventListener("input", filter);
    search.addEventListener("keydown", (event) => { if (event.key === "Enter") event.preventDefault(); });
    show.addEventListener("change", filter);
  }
  selectShown?.addEventListener("click", () => {
    const boxes = [...lines()].filter((line) => !line.hidden).map((line) => line.querySelector("input[name=select]")).filter(Boolean);
    const all = boxes.every((box) => box.checked);
    for (const box of boxes) box.checked = !all;
  });

  document.addEventListener("change", (event) => {
    const press = event.target.dataset?.press;
    if (press) event.target.closest(".column-main").querySelector(`button[value="${press}"]`)?.click();
  });
  document.addEventListener("keydown", (event) => {
    if (event.key !== "Enter" || !event.target.matches(".editor input:not([type=checkbox])")) return;
    event.preventDefault();
    event.target.closest(".editor").querySelector('button[value^="confirm:"]').click();
  });
  document.documentElement.classList.add("scripted");
})();
