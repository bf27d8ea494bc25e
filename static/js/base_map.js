// The ground of every map: coasts, borders and the names of the largest towns, from one file of public data
// (static/maps/README.md). figures.js and box.js draw them; nothing is fetched from elsewhere.
window.baseMap = (() => {
  "use strict";
  const address = document.currentScript.dataset.base;
  const STEPS = { coast: "fine", state: "fine", county: "fine", world: "coarse", country: "coarse" };
  const WIDEST = { county: 8, state: 70 }; // degrees: wider maps leave these lines out
  const MOST_NAMES = 18;
  const ROOM = 5; // pixels between two names
  const DOT = 3;

  // --- the file ----------------------------------------------------------------------------------------------------
  // Lines are in the encoded polyline format: differences between points, five bits in each letter.
  const decoded = (text, steps) => {
    const xs = [], ys = [];
    let at = 0, x = 0, y = 0;
    const number = () => {
      let bits = 0, shift = 0, letter;
      do {
        letter = text.charCodeAt(at++) - 63;
        bits |= (letter & 31) << shift;
        shift += 5;
      } while (letter >= 32);
      return bits & 1 ? ~(bits >> 1) : bits >> 1;
    };
    while (at < text.length) {
      x += number();
      y += number();
      xs.push(x / steps);
      ys.push(y / steps);
    }
    return { xs, ys };
  };
  const opened = ({ steps, lines, towns }) => {
    const at = decoded(towns.at, steps.coarse);
    return {
      lines: Object.entries(lines).flatMap(([kind, texts]) =>
        texts.map((text) => {
          const line = decoded(text, steps[STEPS[kind]]);
          const box = { west: Math.min(...line.xs), east: Math.max(...line.xs), south: Math.min(...line.ys), north: Math.max(...line.ys) };
          return { kind, ...line, ...box };
        }),
      ),
      towns: towns.names.map((name, number) => ({ name, east: at.xs[number], north: at.ys[number] })),
    };
  };
  let loading = null;
  const load = () => {
    loading ??= fetch(address).then((answer) => {
      if (!answer.ok) throw new Error(`base map: ${answer.status}`);
      return answer.json();
    }).then(opened);
    return loading;
  };

  // --- what lies in a box --------------------------------------------------------------------------------------------
  const meets = (part, box) => part.west <= box.east && part.east >= box.west && part.south <= box.north && part.north >= box.south;
  // The lines of some kinds as one list of points with null between two lines, without what lies outside of the box.
  const lines = (base, box, kinds) => {
    const width = box.east - box.west;
    const shown = kinds.filter((kind) => width <= (WIDEST[kind] ?? Infinity));
    const x = [], y = [];
    for (const line of base.lines) {
      if (!shown.includes(line.kind) || !meets(line, box)) continue;
      let open = false;
      for (let at = 1; at < line.xs.length; at += 1) {
        const [x0, x1, y0, y1] = [line.xs[at - 1], line.xs[at], line.ys[at - 1], line.ys[at]];
        const near = Math.max(x0, x1) >= box.west && Math.min(x0, x1) <= box.east && Math.max(y0, y1) >= box.south && Math.min(y0, y1) <= box.north;
        if (near && !open) {
          x.push(x0);
          y.push(y0);
        }
        if (near) {
          x.push(x1);
          y.push(y1);
        } else if (open) {
          x.push(null);
          y.push(null);
        }
        open = near;
      }
      if (open) {
        x.push(null);
        y.push(null);
      }
    }
    return { x, y };
  };

  // --- names that do not overlap -------------------------------------------------------------------------------------
  const canvas = document.createElement("canvas").getContext("2d");
  const widthOf = (name, font) => {
    canvas.font = font;
    return canvas.measureText(name).width;
  };
  const SIDES = {
    "middle right": (width, height) => ({ left: DOT + 2, top: -height / 2 }),
    "middle left": (width, height) => ({ left: -DOT - 2 - width, top: -height / 2 }),
    "top center": (width, height) => ({ left: -width / 2, top: -DOT - height }),
    "bottom center": (width, height) => ({ left: -width / 2, top: DOT }),
  };
  const overlap = (a, b) => a.left < b.right + ROOM && b.left < a.right + ROOM && a.top < b.bottom + ROOM && b.top < a.bottom + ROOM;
  // names: in the order of their importance, with `east` and `north`; toPixel: of a point; size: width and height of the
  // map; taken: rectangles where no name may stand. Each name stands beside its dot, where it fits, or is left out.
  const placed = (names, toPixel, { width, height }, { font, letter, taken = [], most = MOST_NAMES }) => {
    const full = [...taken], result = [], seen = new Set();
    for (const one of names) {
      if (result.length >= most) break;
      const { x, y } = toPixel(one);
      const key = one.name.toLowerCase();
      if (seen.has(key) || x < 0 || y < 0 || x > width || y > height) continue;
      const long = widthOf(one.name, font), high = letter * 1.2;
      const dot = { left: x - DOT, right: x + DOT, top: y - DOT, bottom: y + DOT };
      if (full.some((other) => overlap(dot, other))) continue;
      for (const [position, corner] of Object.entries(SIDES)) {
        const { left, top } = corner(long, high);
        const words = { left: x + left, right: x + left + long, top: y + top, bottom: y + top + high };
        const inside = words.left >= 0 && words.right <= width && words.top >= 0 && words.bottom <= height;
        if (!inside || full.some((other) => overlap(words, other))) continue;
        full.push(dot, words);
        result.push({ ...one, x, y, position });
        seen.add(key);
        break;
      }
    }
    return result;
  };

  // --- a Plotly figure in degrees ------------------------------------------------------------------------------------
  // Adds lines below and names above. `layout.meta.map.names`: names of the figure's own, [name, north, east] each. Traces
  // that are a substitute for coasts and borders are left out.
  const addTo = async (data, layout, style) => {
    const base = await load();
    const [west, east] = layout.xaxis.range, [south, north] = layout.yaxis.range;
    const box = { west, east, south, north };
    const ink = style.getPropertyValue("--ink").trim(), surface = style.getPropertyValue("--panel").trim();
    const trace = (kinds, width, opacity) => ({
      type: "scatter", mode: "lines", ...lines(base, box, kinds), line: { color: ink, width }, opacity, hoverinfo: "skip", showlegend: false,
    });
    const margin = layout.margin;
    const space = { width: layout.width - margin.l - margin.r, height: layout.height - margin.t - margin.b };
    // As Plotly does: both axes have one scale, and the one with too much room is made shorter.
    const ratio = layout.yaxis.scaleratio;
    const scale = Math.min(space.width / (east - west), space.height / ((north - south) * ratio));
    const size = { width: scale * (east - west), height: scale * ratio * (north - south) };
    const toPixel = (one) => ({ x: (one.east - west) * scale, y: (north - one.north) * scale * ratio });
    const font = { size: 11, family: layout.font.family, color: ink };
    const own = (layout.meta.map.names ?? []).map(([name, lat, lon]) => ({ name, north: lat, east: lon }));
    const scaleBar = { left: 0, right: size.width / 3, top: size.height - 30, bottom: size.height };
    const names = placed([...own, ...base.towns], toPixel, size, {
      font: `${font.size}px ${font.family}`, letter: font.size, taken: [scaleBar], most: size.width < 420 ? 10 : MOST_NAMES,
    });
    const towns = {
      type: "scatter", mode: "markers+text", x: names.map((one) => one.east), y: names.map((one) => one.north),
      text: names.map((one) => one.name.replace(/&/g, "&amp;").replace(/</g, "&lt;")), textposition: names.map((one) => one.position), cliponaxis: true,
      textfont: { ...font, shadow: `0 0 2px ${surface}, 0 0 3px ${surface}, 0 0 4px ${surface}` }, marker: { size: 4, color: ink, line: { color: surface, width: 1 } },
      hoverinfo: "skip", showlegend: false,
    };
    const figures = data.filter((one) => one.meta !== "substitute");
    return [trace(["county"], 0.7, 0.3), trace(["state", "country"], 1.2, 0.5), trace(["coast", "world"], 1, 0.6), ...figures, towns];
  };

  return { load, lines, placed, addTo };
})();
