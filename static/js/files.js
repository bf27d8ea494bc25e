// What a page shows as files: pictures that the page holds as SVG, and tables as CSV. `data-picture-save` and `data-table-save`
// name the id of an element that holds the picture or the table; figures.js saves figures by the same two helpers.
(() => {
  "use strict";
  const FORMULA = /^[=+\-@\t\r]/; // beginnings of texts that a spreadsheet would run
  const NUMBER = /^[+-]?(\d[\d,]*)?(\.\d+)?([eE][+-]?\d+)?$/;
  const SCALE = 2; // pixels of a PNG for each of the page

  const saveFile = (blob, name) => {
    const address = URL.createObjectURL(blob);
    Object.assign(document.createElement("a"), { href: address, download: name }).click();
    setTimeout(() => URL.revokeObjectURL(address), 1000);
  };
  const field = (value) => {
    const text = String(value ?? "");
    const harmless = typeof value === "string" && FORMULA.test(text) && !NUMBER.test(text) ? `'${text}` : text;
    return /[",\r\n]/.test(harmless) ? `"${harmless.replaceAll('"', '""')}"` : harmless;
  };
  const csv = (rows) => new Blob([rows.map((row) => `${row.map(field).join(",")}\r\n`).join("")], { type: "text/csv" });

  const tableOf = (element) => (element.matches("table") ? element : element.querySelector("table"));
  // `data-value` has a number in full where the cell shows it rounded.
  const cellText = (cell) => cell.dataset.value ?? cell.textContent.replace(/\s+/g, " ").trim();
  const tableRows = (table) => [...table.rows].map((row) => [...row.cells].map(cellText));

  // An SVG without the page's style sheets: what they say of each element goes with it.
  const STYLES = ["fill", "stroke", "stroke-width", "stroke-dasharray", "opacity", "font-family", "font-size", "font-weight",
    "text-anchor", "dominant-baseline"]; // prettier-ignore
  const standalone = (svg) => {
    const copy = svg.cloneNode(true);
    const [originals, copies] = [svg, copy].map((root) => [root, ...root.querySelectorAll("*")]);
    originals.forEach((element, place) => {
      const style = getComputedStyle(element);
      for (const name of STYLES) copies[place].style.setProperty(name, style.getPropertyValue(name));
    });
    const { width, height } = svg.getBoundingClientRect();
    copy.setAttribute("xmlns", "http://www.w3.org/2000/svg");
    copy.setAttribute("width", Math.round(width));
    copy.setAttribute("height", Math.round(height));
    copy.style.setProperty("background", getComputedStyle(document.documentElement).getPropertyValue("--panel").trim());
    return { text: new XMLSerializer().serializeToString(copy), width, height };
  };
  const png = async ({ text, width, height }) => {
    const image = new Image();
    image.src = `data:image/svg+xml,${encodeURIComponent(text)}`;
    await image.decode();
    const canvas = Object.assign(document.createElement("canvas"), { width: width * SCALE, height: height * SCALE });
    const context = canvas.getContext("2d");
    context.fillStyle = getComputedStyle(document.documentElement).getPropertyValue("--panel").trim();
    context.fillRect(0, 0, canvas.width, canvas.height);
    context.drawImage(image, 0, 0, canvas.width, canvas.height);
    return new Promise((resolve) => canvas.toBlob(resolve, "image/png"));
  };

  const files = { saveFile, csv };
  window.synthwebFiles = files;

  document.addEventListener("click", async (event) => {
    const button = event.target.closest("[data-picture-save], [data-table-save]");
    if (!button) return;
    const { pictureSave, tableSave, fileName } = button.dataset;
    if (tableSave) {
      files.saveFile(csv(tableRows(tableOf(document.getElementById(tableSave)))), fileName);
      return;
    }
    const picture = document.getElementById(pictureSave);
    const drawing = standalone(picture.matches("svg") ? picture : picture.querySelector("svg"));
    const blob = fileName.endsWith(".png") ? await png(drawing) : new Blob([drawing.text], { type: "image/svg+xml" });
    files.saveFile(blob, fileName);
  });
})();
