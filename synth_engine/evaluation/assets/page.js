// Draws the figures of an offline report as they come near the screen, in the tones of the reader's colour scheme.
(() => {
  "use strict";
  const numbers = document.getElementById("figures");
  const figures = JSON.parse(numbers.textContent);
  const TONES = JSON.parse(numbers.dataset.tones); // light tone → custom property
  const CONFIG = { displaylogo: false, modeBarButtons: [["toImage"]], toImageButtonOptions: { filename: "figure", scale: 2 } };
  const PAPER = 660;
  const drawn = new Set();
  let widest = Infinity;

  const toned = (node, style) => {
    if (typeof node === "string") return (TONES[node] && style.getPropertyValue(TONES[node]).trim()) || node;
    if (Array.isArray(node)) return node.map((part) => toned(part, style));
    if (!node || typeof node !== "object") return node;
    return Object.fromEntries(Object.entries(node).map(([key, part]) => [key, toned(part, style)]));
  };
  const draw = (element) => {
    drawn.add(element);
    const style = getComputedStyle(document.documentElement);
    const { data, layout } = toned(figures[element.dataset.figure], style);
    layout.width = Math.min(Math.floor(element.getBoundingClientRect().width), widest);
    layout.paper_bgcolor = style.getPropertyValue("--panel").trim();
    element.setAttribute("role", "group");
    element.setAttribute("aria-label", layout.meta.words);
    window.Plotly.react(element, data, layout, CONFIG);
    for (const svg of element.querySelectorAll("svg.main-svg")) svg.setAttribute("aria-hidden", "true");
  };
  const again = () => drawn.forEach(draw);

  const nearby = new IntersectionObserver(
    (entries) => entries.forEach(({ isIntersecting, target }) => isIntersecting && (nearby.unobserve(target), draw(target))),
    { rootMargin: "300px" },
  );
  const all = document.querySelectorAll("[data-figure]");
  all.forEach((element) => nearby.observe(element));
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", again);
  let waiting;
  window.addEventListener("resize", () => (clearTimeout(waiting), (waiting = setTimeout(again, 150))));
  const paper = (printing) => {
    document.documentElement.toggleAttribute("data-paper", printing); // paper is white, whatever the screen shows
    widest = printing ? PAPER : Infinity;
    (printing ? all : drawn).forEach(draw);
  };
  window.addEventListener("beforeprint", () => paper(true));
  window.addEventListener("afterprint", () => paper(false));
})();
