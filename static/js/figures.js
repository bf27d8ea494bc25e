// Draws every element with data-figure: the id of a json_script element, or an address that answers with a Plotly
// figure. Figures are drawn when they come near the screen, in the colours of the page's theme, and again when the
// theme, their width or, through htmx, the page changes. Plotly (1.2 MB) is loaded with the first figure. Before printing all
// figures are drawn, also those that nobody scrolled to.
(() => {
  "use strict";
  const files = document.currentScript.dataset; // plotly, plotlyStyle: addresses of vendored files
  // With this id in the page Plotly does not inject a style element, which the CSP would refuse.
  const STYLE = "plotly.js-style-global";
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
      if (!document.getElementById(STYLE)) {
        const link = document.createElement("link");
        Object.assign(link, { rel: "stylesheet", href: files.plotlyStyle, id: STYLE, className: "no-inline-styles" });
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

  // A figure in the tones of the page, so many pixels wide.
  const prepared = async (figure, width) => {
    const style = getComputedStyle(document.documentElement);
    const now = tones(document.documentElement);
    const { data, layout } = toned(figure, new Map(lightTones().map((tone, index) => [tone, now[index]])));
    // Titles and names in the language of the page, of figures that have them beside.
    for (const [path, text] of figure.words ?? []) {
      const holder = path.slice(0, -1).reduce((part, key) => part[key], { data, layout });
      holder[path.at(-1)] = text;
    }
    layout.paper_bgcolor = style.getPropertyValue("--panel").trim(); // a saved picture has the page's ground
    layout.font = { family: style.getPropertyValue("--bs-font-sans-serif").trim(), ...layout.font };
    layout.width = width;
    return { data: layout.meta?.map ? await onGround(data, layout, style) : data, layout };
  };

  const drawNow = async (element) => {
    const Plotly = await plotly();
    const figure = drawn.get(element);
    if (!figure || !element.isConnected) return;
    const width = Math.min(Math.floor(element.getBoundingClientRect().width), widest);
    if (width <= 0) return;
    element.dataset.figureWidth = width;
    const { data, layout } = await prepared(figure, width);
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

  // A figure as a file. JSON: the numbers with the words that stand on the page; CSV: a line for each mark.
  const SAVED_WIDTH = 900; // pixels of a picture of a figure that was not drawn yet
  const UNITS = ["x", "y", "z", "base", "width", "lowerfence", "q1", "median", "mean", "q3", "upperfence"];
  const plain = (text) => new DOMParser().parseFromString(text.replaceAll("<br>", " "), "text/html").body.textContent;
  const marks = (trace, lists) => {
    if (!Array.isArray(trace.z?.[0])) {
      const length = Math.max(0, ...lists.map((list) => (Array.isArray(trace[list]) ? trace[list].length : 0)));
      return Array.from({ length }, (_, mark) => lists.map((list) => trace[list]?.[mark] ?? ""));
    }
    const cells = trace.z.flatMap((row, down) => row.map((z, across) => ({ x: trace.x?.[across], y: trace.y?.[down], z })));
    return cells.filter(({ z }) => z !== null).map((cell) => lists.map((list) => cell[list] ?? ""));
  };
  const numbers = ({ data, layout }, red) => {
    const lists = UNITS.filter((list) => data.some((trace) => Array.isArray(trace[list])));
    const title = (list) => layout[`${list}axis`]?.title?.text;
    const head = ["series", ...lists.map((list) => (title(list) ? `${list}: ${plain(title(list))}` : list))];
    const rows = data.flatMap((trace) =>
      marks(trace, lists).map((row) => [plain(trace.name ?? ""), ...row.map((cell) => (typeof cell === "string" ? plain(cell) : cell))]),
    );
    // What is not private says so in each line: a line outlives its file.
    return red ? [[...head, "note"], ...rows.map((row) => [...row, red])] : [head, ...rows];
  };
  const picture = async (figure, element, format) => {
    const Plotly = await plotly();
    const width = Number(element?.dataset.figureWidth) || SAVED_WIDTH;
    const { data, layout } = await prepared(figure, width);
    const size = { format, width, height: layout.height ?? 450, scale: format === "png" ? 2 : 1 };
    const address = await Plotly.toImage({ data, layout, config: CONFIG }, size);
    const text = address.slice(address.indexOf(",") + 1);
    if (format === "svg") return new Blob([decodeURIComponent(text)], { type: "image/svg+xml" });
    return new Blob([Uint8Array.from(atob(text), (byte) => byte.charCodeAt(0))], { type: "image/png" });
  };
  const save = async (button) => {
    const { figureSave: name, figureFormat: format = "json", fileName, figureRed } = button.dataset;
    const { saveFile, csv } = window.synthwebFiles; // of files.js
    const figure = await source(name);
    const { titles: _titles, ...plain } = figure; // what is saved as numbers is English
    if (format === "json") saveFile(new Blob([JSON.stringify(plain, null, 1)], { type: "application/json" }), fileName);
    else if (format === "csv") saveFile(csv(numbers(figure, figureRed)), fileName);
    else saveFile(await picture(figure, document.querySelector(`[data-figure="${CSS.escape(name)}"]`), format), fileName);
  };

  document.addEventListener("DOMContentLoaded", () => scan(document));
  // Also where no figure is near the screen: whoever prints has all of them.
  window.addEventListener("load", () => {
    if (document.querySelector("[data-figure]")) (window.requestIdleCallback ?? setTimeout)(() => plotly());
  });
  document.addEventListener("htmx:load", (event) => scan(event.target));
  document.addEventListener("themechange", redraw);
  // The browser prints once this returns and the promises are done that need no network: Plotly was loaded after the page.
  window.addEventListener("beforeprint", () => {
    widest = PAPER;
    document.documentElement.toggleAttribute("data-printing", true); // shows what waits behind a choice
    redraw();
    for (const element of document.querySelectorAll("[data-figure]")) {
      if (drawn.has(element)) continue;
      nearby.unobserve(element);
      start(element);
    }
  });
  window.addEventListener("afterprint", () => {
    widest = Infinity;
    document.documentElement.toggleAttribute("data-printing", false);
    redraw();
  });
  document.addEventListener("click", (event) => {
    const button = event.target.closest("[data-figure-save]");
    if (button) save(button);
  });
})();
