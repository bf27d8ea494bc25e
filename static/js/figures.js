// Draws every element with data-figure: the id of a json_script element, or an address that answers with a Plotly
// figure. Figures are drawn when they come near the screen, in the colours of the page's theme, and again when the
// theme, their width or, through htmx, the page changes. Plotly (5 MB) is loaded with the first figure.
(() => {
  "use strict";
  const files = document.currentScript.dataset; // plotly, plotlyStyle, mapStyle: addresses of vendored files
  const STYLES = [
    // With these ids in the page Plotly and MapLibre do not inject style elements, which the CSP would refuse.
    ["plotly.js-style-global", files.plotlyStyle],
    ["9f215cf04c5486422605d13261cb87401f4e7763b6296af81e98efbc0130da53", files.mapStyle],
  ];
  // Figures come in the light tones of these tokens and are drawn in those of the page's theme (tones.css, tokens.css).
  const TOKENS = [
    "real", "real-soft", "synthetic", "synthetic-soft", "ink", "grid", "faint", "red-words",
    "difference-low", "difference-lower", "difference-zero", "difference-higher", "difference-high",
    "budget-held", "budget-charged", "budget-free", "budget-free-edge",
  ];
  const CONFIG = {
    responsive: false, // a ResizeObserver does it, for hidden figures too
    displaylogo: false,
    modeBarButtons: [["toImage"]],
    toImageButtonOptions: { filename: "figure", scale: 2 },
    topojsonURL: "", // nothing is ever fetched from elsewhere
  };
  const FAILED = "The figure could not be drawn. Its numbers are in the table.";
  const PAPER = 660; // pixels: what a portrait page takes
  const drawn = new Map(); // element → its figure, as it came
  let widest = Infinity;

  let loading = null;
  const plotly = () => {
    loading ??= new Promise((resolve, reject) => {
      for (const [id, address] of STYLES) {
        if (document.getElementById(id)) continue;
        const link = Object.assign(document.createElement("link"), { rel: "stylesheet", href: address, id });
        link.className = "no-inline-styles";
        document.head.append(link);
      }
      const script = Object.assign(document.createElement("script"), { src: files.plotly });
      script.addEventListener("load", () => resolve(window.Plotly));
      script.addEventListener("error", () => reject(new Error("Plotly did not load")));
      document.head.append(script);
    });
    return loading;
  };

  const source = async (name) => {
    const element = document.getElementById(name);
    if (element) return JSON.parse(element.textContent);
    const answer = await fetch(name, { headers: { Accept: "application/json" }, credentials: "same-origin" });
    if (!answer.ok) throw new Error(`figure: ${answer.status}`);
    return answer.json();
  };

  const tones = (element) => {
    const style = getComputedStyle(element);
    return TOKENS.map((token) => style.getPropertyValue(`--${token}`).trim());
  };
  let light = null; // the light tones, whatever the theme of the page
  const lightTones = () => {
    if (light) return light;
    const sample = Object.assign(document.createElement("span"), { hidden: true });
    sample.dataset.bsTheme = "light";
    document.body.append(sample);
    light = tones(sample);
    sample.remove();
    return light;
  };
  const toned = (node, themed) => {
    if (typeof node === "string") return themed.get(node) || node;
    if (Array.isArray(node)) return node.map((part) => toned(part, themed));
    if (node && typeof node === "object") {
      return Object.fromEntries(Object.entries(node).map(([key, part]) => [key, toned(part, themed)]));
    }
    return node;
  };

  // Figures in degrees stand on coasts, borders and names of towns; without that file they are drawn all the same.
  const onGround = async (data, layout, style) => {
    try {
      return await window.baseMap.addTo(data, layout, style);
    } catch (error) {
      console.error(error);
      return data;
    }
  };

  const drawNow = async (element) => {
    const Plotly = await plotly();
    const figure = drawn.get(element);
    if (!figure || !element.isConnected) return;
    const style = getComputedStyle(document.documentElement);
    const now = tones(document.documentElement);
    let { data, layout } = toned(figure, new Map(lightTones().map((tone, index) => [tone, now[index]])));
    layout.paper_bgcolor = style.getPropertyValue("--panel").trim(); // a saved picture has the page's ground
    layout.font = { family: style.getPropertyValue("--bs-font-sans-serif").trim(), ...layout.font };
    const width = Math.min(Math.floor(element.getBoundingClientRect().width), widest);
    if (width <= 0) return;
    layout.width = width;
    element.dataset.figureWidth = width;
    if (layout.meta?.map) data = await onGround(data, layout, style);
    await Plotly.react(element, data, layout, CONFIG);
    if (!element.classList.contains("figure-drawn")) {
      element.classList.add("figure-drawn");
      element.dispatchEvent(new CustomEvent("figuredrawn", { bubbles: true })); // for scripts that listen to its marks
    }
    for (const svg of element.querySelectorAll("svg.main-svg")) svg.setAttribute("aria-hidden", "true");
  };

  // One drawing of an element after the other: two at once would leave parts of both.
  const turns = new WeakMap();
  const draw = (element) => {
    const turn = (turns.get(element) ?? Promise.resolve()).then(() => drawNow(element));
    turns.set(element, turn.catch(() => {}));
    return turn;
  };

  const start = async (element) => {
    try {
      const figure = await source(element.dataset.figure);
      drawn.set(element, figure);
      element.setAttribute("role", "group"); // not "img": its buttons must stay reachable
      if (figure.layout?.meta?.words) element.setAttribute("aria-label", figure.layout.meta.words);
      element.classList.toggle("figure-on-map", Boolean(figure.layout?.meta?.map));
      element.style.minHeight = figure.layout?.height ? `${figure.layout.height}px` : "";
      await draw(element);
      widths.observe(element);
    } catch (error) {
      element.textContent = FAILED;
      element.classList.add("figure-failed");
      console.error(error);
    }
  };

  const widths = new ResizeObserver((entries) => {
    for (const { target, contentRect } of entries) {
      const width = Math.min(Math.floor(contentRect.width), widest);
      if (width && String(width) !== target.dataset.figureWidth) draw(target);
    }
  });
  const nearby = new IntersectionObserver(
    (entries) => {
      for (const { isIntersecting, target } of entries) {
        if (!isIntersecting) continue;
        nearby.unobserve(target);
        start(target);
      }
    },
    { rootMargin: "300px" },
  );

  const scan = (root) => {
    for (const [element] of drawn) {
      if (element.isConnected) continue;
      widths.unobserve(element);
      window.Plotly?.purge(element);
      drawn.delete(element);
    }
    const found = [...(root.querySelectorAll?.("[data-figure]") ?? [])];
    if (root.matches?.("[data-figure]")) found.push(root);
    for (const element of found) if (!drawn.has(element)) nearby.observe(element);
  };
  const redraw = () => Promise.all([...drawn.keys()].map(draw));

  // A click anywhere on a map is a point in degrees, for the scripts of forms; the fields of the form take it typed, too.
  document.addEventListener("click", (event) => {
    const ground = event.target.closest?.("[data-figure] .nsewdrag");
    const element = ground?.closest("[data-figure]");
    if (!element || !drawn.get(element)?.layout?.meta?.map) return;
    const frame = ground.getBoundingClientRect(), { xaxis, yaxis } = element.layout;
    const [west, east] = xaxis.range, [south, north] = yaxis.range;
    const detail = {
      east: west + ((event.clientX - frame.left) / frame.width) * (east - west),
      north: north - ((event.clientY - frame.top) / frame.height) * (north - south),
    };
    element.dispatchEvent(new CustomEvent("mapclick", { bubbles: true, detail }));
  });

  // A figure as a file: the numbers with the words that stand on the page.
  const save = async (button) => {
    const text = JSON.stringify(await source(button.dataset.figureSave), null, 1);
    const address = URL.createObjectURL(new Blob([text], { type: "application/json" }));
    Object.assign(document.createElement("a"), { href: address, download: button.dataset.fileName }).click();
    setTimeout(() => URL.revokeObjectURL(address), 1000);
  };

  document.addEventListener("DOMContentLoaded", () => scan(document));
  document.addEventListener("htmx:load", (event) => scan(event.target));
  document.addEventListener("themechange", redraw);
  window.addEventListener("beforeprint", () => {
    widest = PAPER;
    redraw();
  });
  window.addEventListener("afterprint", () => {
    widest = Infinity;
    redraw();
  });
  document.addEventListener("click", (event) => {
    const button = event.target.closest("[data-figure-save]");
    if (button) save(button);
  });
})();
