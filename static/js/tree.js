// A square of the map that is clicked becomes the point of the form, which is then sent as if by its button.
(() => {
  "use strict";
  const form = () => document.querySelector("[data-tree-form]");
  const choose = (event) => {
    const point = event.points?.[0];
    const fields = form()?.elements;
    if (!point || !fields?.north) return;
    fields.north.value = Number(point.y).toFixed(5);
    fields.east.value = Number(point.x).toFixed(5);
    form().requestSubmit();
  };
  document.addEventListener("figuredrawn", ({ target }) => {
    if (target.closest("[data-tree-map] #place")) target.on("plotly_click", choose);
  });
  // Another place has another box: the point of the last one would lie outside.
  document.addEventListener("change", ({ target }) => {
    if (target.name === "place" && target.form === form() && form().elements.north) {
      form().elements.north.value = form().elements.east.value = "";
    }
  });
})();
