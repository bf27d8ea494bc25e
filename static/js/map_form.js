// A click on a map of commutes becomes the point of the form, which is then sent as if by its button.
(() => {
  "use strict";
  document.addEventListener("mapclick", ({ target, detail }) => {
    const form = document.querySelector("[data-map-form]");
    if (!form || !target.closest("[data-map-cards]")) return;
    form.elements.near.value = `${detail.north.toFixed(4)}, ${detail.east.toFixed(4)}`;
    form.requestSubmit();
  });
})();
