// Bars of shares follow their number fields, and can be dragged. Without this script the fields alone are changed.
(() => {
  "use strict";

  for (const bar of document.querySelectorAll("[data-share-bar]")) {
    const field = document.getElementById(bar.dataset.shareBar);
    const now = bar.querySelector(".share-bar-now");
    if (!field || !now) continue;

    const show = () => {
      const share = Number(field.value.replace(",", "."));
      if (share >= 0 && share <= 100) now.style.width = share + "%";
    };
    const drag = (event) => {
      const { left, width } = bar.getBoundingClientRect();
      const share = Math.min(1, Math.max(0, (event.clientX - left) / width));
      field.value = (100 * share).toFixed(1);
      show();
    };

    bar.dataset.drags = "";
    bar.addEventListener("pointerdown", (event) => {
      bar.setPointerCapture(event.pointerId);
      drag(event);
    });
    bar.addEventListener("pointermove", (event) => {
      if (bar.hasPointerCapture(event.pointerId)) drag(event);
    });
    field.addEventListener("input", show);
    show();
  }
})();
