// Keeps the slider and the number field of a privacy loss in step. The slider is logarithmic: 100 steps a factor of ten.
(() => {
  "use strict";

  const range = document.getElementById("epsilon-range");
  if (!range) return;
  const field = document.querySelector(range.dataset.follows);

  const show = (value) => {
    const number = Number(value);
    if (!/^[0-9.]+(e-?[0-9]+)?$/i.test(value) || !(number > 0)) return;
    range.value = String(Math.round(100 * Math.log10(number)));
    range.setAttribute("aria-valuetext", "ε " + value);
  };
  const announce = () => field.dispatchEvent(new Event("input", { bubbles: true }));

  range.addEventListener("input", (event) => {
    event.stopPropagation();
    field.value = String(Number((10 ** (Number(range.value) / 100)).toPrecision(2)));
    range.setAttribute("aria-valuetext", "ε " + field.value);
    announce();
  });
  range.addEventListener("change", (event) => event.stopPropagation());
  field.addEventListener("input", () => show(field.value));
  show(field.value);

  // What is wrong stands below its field; assistive techniques and the field's edge say so, too.
  const form = field.form;
  const mark = () => {
    for (const place of form.querySelectorAll("[id$='-errors']")) {
      const input = form.elements.namedItem(place.id.slice(0, -"-errors".length));
      if (!(input instanceof HTMLElement)) continue; // several radio buttons
      const wrong = place.childElementCount > 0;
      input.classList.toggle("is-invalid", wrong);
      if (wrong) input.setAttribute("aria-invalid", "true");
      else input.removeAttribute("aria-invalid");
    }
  };
  document.addEventListener("htmx:afterSettle", mark);
  mark();
})();
