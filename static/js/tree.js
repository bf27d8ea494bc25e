// A point of the map that is clicked becomes the point of the form, which is then sent as if by its button.
(() => {
  "use strict";
  const form = () => document.querySelector("[data-tree-form]");
  document.addEventListener("mapclick", ({ target, detail }) => {
    const fields = form()?.elements;
    if (!fields?.north || !target.closest("[data-tree-map] #place")) return;
    fields.north.value = detail.north.toFixed(5);
    fields.east.value = detail.east.toFixed(5);
    form().requestSubmit();
  });
  // Another place has another box: the point of the last one would lie outside.
  document.addEventListener("change", ({ target }) => {
    if (target.name === "place" && target.form === form() && form().elements.north) {
      form().elements.north.value = form().elements.east.value = "";
    }
  });
})();
