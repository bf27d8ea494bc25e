// The map of a point: drag to draw the box, click to set its centre, wheel or buttons to come nearer; the fields follow
// the box and the box the fields. Coasts, borders and towns come from base_map.js. In another unit than degrees the map is a plane around the box. Without this script the fields alone do it all.
(() => {
  "use strict";
  const form = document.querySelector("[data-box-form]");
  const map = form?.querySelector("[data-box-map]");
  if (!map) return;
  const fields = form.elements;
  const drawn = map.querySelector(".box-drawn"), lines = map.querySelector(".box-lines"), ground = map.querySelector(".box-ground");
  const told = form.querySelector("[data-box-told]"), tools = form.querySelector("[data-box-tools]");
  const WORLD = { x: -180, y: -90, width: 360, height: 180 };
  const SVG = "http://www.w3.org/2000/svg";
  let view = { ...WORLD };
  tools.hidden = false;

  const degrees = () => fields.unit.value === "degrees";
  const box = () => {
    const [north, south, west, east] = ["north", "south", "west", "east"].map((key) => (fields[key].value.trim() === "" ? NaN : Number(fields[key].value)));
    return south < north && west < east ? { north, south, west, east } : null;
  };

  // --- drawing: x is east, y is minus north ----------------------------------------------------------------------
  const step = (width) => {
    const rough = width / 10, power = 10 ** Math.floor(Math.log10(rough));
    const times = degrees() && power === 10 ? [1, 2, 3, 6] : [1, 2, 5, 10]; // 30 and 60 degrees divide the world
    return times.map((each) => each * power).find((size) => size >= rough) ?? 10 * power;
  };
  const named = (value, size, plus, minus) => {
    const number = Number(Math.abs(value).toFixed(Math.max(0, -Math.floor(Math.log10(size)))));
    if (!degrees()) return String(value < 0 ? -number : number);
    return number ? `${number}° ${value < 0 ? minus : plus}` : "0°";
  };
  const label = (x, y, words, letter) => {
    const text = document.createElementNS(SVG, "text");
    text.setAttribute("x", x + letter / 3);
    text.setAttribute("y", y - letter / 3);
    text.setAttribute("font-size", letter);
    text.textContent = words;
    return text;
  };
  const graticule = () => {
    const size = step(view.width), letter = (11 * view.width) / (map.clientWidth || 960);
    const parts = [], labels = [];
    for (let n = Math.ceil(view.x / size); n * size <= view.x + view.width; n += 1) {
      parts.push(`M${n * size} ${view.y}v${view.height}`);
      if (n * size + 4 * letter < view.x + view.width) labels.push(label(n * size, view.y + view.height, named(n * size, size, "E", "W"), letter));
    }
    for (let n = Math.ceil(view.y / size); n * size <= view.y + view.height; n += 1) {
      parts.push(`M${view.x} ${n * size}h${view.width}`);
      if (n * size - 2 * letter > view.y && n * size + 2 * letter < view.y + view.height) labels.push(label(view.x, n * size, named(-n * size, size, "N", "S"), letter));
    }
    const path = document.createElementNS(SVG, "path");
    path.setAttribute("d", parts.join(""));
    lines.replaceChildren(path, ...labels);
  };
  // --- coasts, borders and towns ----------------------------------------------------------------------------------
  let base = null, groundOf = "";
  const pathOf = ({ x, y }) => x.map((east, at) => (east === null ? "" : `${at && x[at - 1] !== null ? "L" : "M"}${east} ${-y[at]}`)).join("");
  const groundLines = (kinds, name) => {
    const path = document.createElementNS(SVG, "path");
    path.setAttribute("class", name);
    path.setAttribute("d", pathOf(window.baseMap.lines(base, seen(), kinds)));
    return path;
  };
  const seen = () => ({ west: view.x, east: view.x + view.width, north: -view.y, south: -view.y - view.height });
  const townNames = () => {
    const scale = (map.clientWidth || 960) / view.width, letter = 11;
    const toPixel = (town) => ({ x: (town.east - view.x) * scale, y: (-town.north - view.y) * scale });
    const size = { width: view.width * scale, height: view.height * scale };
    const edges = [{ left: 0, right: 48, top: 0, bottom: size.height }, { left: 0, right: size.width, top: size.height - 18, bottom: size.height }]; // of the degrees
    const font = `${letter}px ${getComputedStyle(map).fontFamily}`;
    return window.baseMap.placed(base.towns, toPixel, size, { font, letter, taken: edges }).flatMap((town) => {
      const dot = document.createElementNS(SVG, "path"); // a line without length: its round end is a dot of any zoom
      dot.setAttribute("class", "box-town");
      dot.setAttribute("d", `M${town.east} ${-town.north}h0`);
      const text = document.createElementNS(SVG, "text");
      const shift = { "middle right": [5, 4], "middle left": [-5, 4], "top center": [0, -5], "bottom center": [0, 14] }[town.position];
      text.setAttribute("x", town.east + shift[0] / scale);
      text.setAttribute("y", -town.north + shift[1] / scale);
      text.setAttribute("font-size", letter / scale);
      text.setAttribute("stroke-width", 3 / scale);
      text.setAttribute("text-anchor", { "middle right": "start", "middle left": "end" }[town.position] ?? "middle");
      text.textContent = town.name;
      return [dot, text];
    });
  };
  const showGround = () => {
    const now = base && degrees() ? `${view.x} ${view.y} ${view.width} ${map.clientWidth}` : "";
    if (now === groundOf) return; // the box alone has changed
    groundOf = now;
    ground.replaceChildren(
      ...(now ? [groundLines(["county"], "box-county"), groundLines(["state", "country"], "box-border"), groundLines(["coast", "world"], "box-coast"), ...townNames()] : []),
    );
  };
  window.baseMap.load().then((loaded) => {
    base = loaded;
    showGround();
  }, console.error); // the lines of degrees are enough to draw a box

  const show = () => {
    map.setAttribute("viewBox", `${view.x} ${view.y} ${view.width} ${view.height}`);
    graticule();
    showGround();
    for (const dot of map.querySelectorAll("circle")) dot.setAttribute("r", view.width / 300);
    const found = box();
    if (found) {
      drawn.setAttribute("x", found.west);
      drawn.setAttribute("y", -found.north);
    }
    drawn.setAttribute("width", found ? found.east - found.west : 0);
    drawn.setAttribute("height", found ? found.north - found.south : 0);
    const middle = found && degrees() ? Math.cos((((found.north + found.south) / 2) * Math.PI) / 180) : 1;
    const parts = 2 ** Number(fields.halvings.value);
    const round = (value) => Number(value.toPrecision(3));
    const unit = degrees() ? "km" : "units", scale = degrees() ? 111.2 : 1;
    told.textContent = found
      ? `The box is ${round((found.east - found.west) * middle * scale)} × ${round((found.north - found.south) * scale)} ${unit}, its smallest parts ${round(((found.east - found.west) * middle * scale) / parts)} × ${round(((found.north - found.south) * scale) / parts)} ${unit}.`
      : "There is no box yet.";
  };

  // --- nearer and farther ------------------------------------------------------------------------------------------
  const zoom = (factor, x = view.x + view.width / 2, y = view.y + view.height / 2) => {
    view = { x: x - (x - view.x) * factor, y: y - (y - view.y) * factor, width: view.width * factor, height: view.height * factor };
    if (degrees() && view.width > WORLD.width) view = { ...WORLD };
    show();
  };
  const toBox = () => {
    const found = box();
    if (!found) return;
    const width = 1.6 * Math.max(found.east - found.west, 2 * (found.north - found.south));
    view = { x: (found.west + found.east - width) / 2, y: -(found.north + found.south) / 2 - width / 4, width, height: width / 2 };
    show();
  };
  const actions = { in: () => zoom(0.5), out: () => zoom(2), box: toBox, world: () => { view = { ...WORLD }; show(); } };
  tools.addEventListener("click", (event) => actions[event.target.closest("[data-zoom]")?.dataset.zoom]?.());

  const at = (event) => {
    const point = new DOMPoint(event.clientX, event.clientY).matrixTransform(map.getScreenCTM().inverse());
    const clip = (value, most) => (degrees() ? Math.max(-most, Math.min(most, value)) : value);
    return { east: clip(point.x, 180), north: clip(-point.y, 90) };
  };
  map.addEventListener("wheel", (event) => {
    if (!event.ctrlKey && !event.shiftKey) return; // the page scrolls as elsewhere
    event.preventDefault();
    const { east, north } = at(event);
    zoom(event.deltaY > 0 ? 1.25 : 0.8, east, -north);
  }, { passive: false });

  // --- the box -----------------------------------------------------------------------------------------------------
  const CLICK = 4; // pixels: a shorter way is a click
  const NEW_BOX = 0.2; // of the map: the sides of a box that a click makes where there is none
  let start = null, pressed = null;
  const put = (end) => {
    const digits = Math.max(0, Math.ceil(2 - Math.log10(view.width / 360)));
    const say = (key, value) => { fields[key].value = String(Number(value.toFixed(Math.min(digits, 6)))); };
    say("north", Math.max(start.north, end.north));
    say("south", Math.min(start.north, end.north));
    say("east", Math.max(start.east, end.east));
    say("west", Math.min(start.east, end.east));
    show();
  };
  // A box around a point: as large as the one there is.
  const putAround = ({ north, east }) => {
    const now = box();
    const high = (now ? now.north - now.south : NEW_BOX * view.height) / 2;
    const wide = (now ? now.east - now.west : NEW_BOX * view.height) / 2;
    const clip = (value, half, most) => (degrees() ? Math.max(half - most, Math.min(most - half, value)) : value);
    const middle = { north: clip(north, high, 90), east: clip(east, wide, 180) };
    start = { north: middle.north + high, east: middle.east - wide };
    put({ north: middle.north - high, east: middle.east + wide });
  };
  const isClick = (event) => Math.hypot(event.clientX - pressed.x, event.clientY - pressed.y) < CLICK;
  map.addEventListener("pointerdown", (event) => {
    if (event.button !== 0) return;
    start = at(event);
    pressed = { x: event.clientX, y: event.clientY };
    map.setPointerCapture(event.pointerId);
    event.preventDefault();
  });
  map.addEventListener("pointermove", (event) => start && !isClick(event) && put(at(event)));
  map.addEventListener("pointerup", (event) => {
    if (start && isClick(event)) putAround(start);
    start = null;
  });
  map.addEventListener("pointercancel", () => { start = null; });
  form.addEventListener("input", show);
  addEventListener("resize", show);
  if (box()) toBox();
  else if (map.querySelector("circle")) {
    const dots = map.querySelector(".box-points").getBBox();
    const width = 1.3 * Math.max(dots.width, 2 * dots.height, 0.1);
    view = { x: dots.x + dots.width / 2 - width / 2, y: -(dots.y + dots.height / 2) - width / 4, width, height: width / 2 };
  }
  show();
})();
