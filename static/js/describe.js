// The describe page: find and filter lines as one types, count and take runs of the selected, show the fields of a kind
// when it is chosen, and let Enter confirm the line it was pressed in. Without this script everything works by buttons.
(() => {
  "use strict";
  const byId = (id) => document.getElementById(id);
  const search = byId("column-search"), kind = byId("column-kind"), show = byId("column-show"), light = byId("column-light");
  const together = byId("together"), selectShown = byId("select-shown");
  const lines = () => [...document.querySelectorAll(".columns > .column")];
  const boxOf = (line) => line.querySelector("input[name=select]");
  // Boxes are there once several columns are to be set together: a list of two thousand has one control a line.
  const fillBoxes = () => {
    if (!together?.open) return;
    for (const line of lines()) {
      if (boxOf(line)) continue;
      const box = Object.assign(document.createElement("input"), { type: "checkbox", name: "select", className: "form-check-input" });
      box.value = line.id.replace("line-", "");
      box.setAttribute("aria-label", `${line.parentElement.dataset.select} ${line.querySelector(".column-main").dataset.name}`);
      line.querySelector(".column-select").append(box);
    }
  };
  together?.addEventListener("toggle", fillBoxes);
  fillBoxes();

  // Within the pane alone: the page stays where it is.
  const scrollTo = (line) => { line.parentElement.scrollTop = line.offsetTop - line.parentElement.offsetTop - 80; };

  // --- find -----------------------------------------------------------------------------------------------------
  const filter = () => {
    const words = search.value.toLowerCase().split(/\s+/).filter(Boolean);
    const all = lines();
    let shown = 0;
    for (const line of all) {
      const data = line.querySelector(".column-main").dataset;
      const named = words.every((word) => data.name.toLowerCase().includes(word));
      const asked = "asked" in data;
      const wanted = show.value === "" || { open: data.state !== "confirmed", asked }[show.value] || data.state === show.value;
      line.hidden = !(named && wanted && (light.value === "" || data.light === light.value) && (kind.value === "" || data.kind === kind.value));
      if (!line.hidden) shown += 1;
    }
    const counted = byId("shown-count");
    counted.hidden = shown === all.length;
    counted.textContent = `${shown} of ${all.length} columns shown.`;
    const address = new URL(location.href);
    for (const input of [search, kind, show, light]) {
      if (input.value) address.searchParams.set(input.name, input.value);
      else address.searchParams.delete(input.name);
    }
    history.replaceState(history.state, "", address); // the form posts to this address, which brings one back here
    count();
  };

  // --- select ---------------------------------------------------------------------------------------------------
  const count = () => {
    const chosen = lines().filter((line) => boxOf(line)?.checked);
    const unseen = chosen.filter((line) => line.hidden).length;
    const place = byId("selected-count");
    if (place) place.textContent = chosen.length === 0 ? "" : `${chosen.length} selected${unseen ? `, ${unseen} of them not shown` : ""}`;
  };
  let last = null;
  const selectRun = (box) => {
    const shown = lines().filter((line) => !line.hidden).map(boxOf).filter(Boolean);
    const [from, to] = [shown.indexOf(last), shown.indexOf(box)].sort((a, b) => a - b);
    if (from >= 0) for (const other of shown.slice(from, to + 1)) other.checked = box.checked;
  };
  let shifted = false;
  for (const name of ["keydown", "keyup", "pointerdown"]) document.addEventListener(name, (event) => { shifted = event.shiftKey; }, true);

  if (search) {
    search.addEventListener("input", filter);
    search.addEventListener("keydown", (event) => { if (event.key === "Enter") event.preventDefault(); });
    for (const input of [kind, show, light]) input.addEventListener("change", filter);
  }
  if (selectShown) {
    selectShown.hidden = false;
    selectShown.addEventListener("click", () => {
      const boxes = lines().filter((line) => !line.hidden).map(boxOf).filter(Boolean);
      const all = boxes.every((box) => box.checked);
      for (const box of boxes) box.checked = !all;
      count();
    });
  }

  // --- the lines ------------------------------------------------------------------------------------------------
  document.addEventListener("change", (event) => {
    const { target } = event;
    if (target.name === "select") {
      if (shifted) selectRun(target);
      last = target;
      count();
    }
    if (target.dataset?.fills && target.files.length) {
      target.files[0].text().then((text) => {
        const list = byId(target.dataset.fills);
        list.value = text;
        list.dispatchEvent(new Event("input", { bubbles: true }));
      });
    }
    const press = target.dataset?.press;
    if (press) target.closest(".column-main").querySelector(`button[value="${press}"]`)?.click();
  });
  // Arrows lead from line to line, to the same box or name, past what is filtered out.
  const PLACES = ["input[name=select]", ".column-show"];
  document.addEventListener("keydown", (event) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    const place = step && PLACES.find((each) => event.target.matches(`.column-main ${each}`));
    if (!place) return;
    const shown = lines().filter((line) => !line.hidden);
    const next = shown[shown.indexOf(event.target.closest(".column")) + step];
    if (!next) return;
    event.preventDefault();
    (next.querySelector(place) ?? next.querySelector(PLACES[1])).focus();
  });
  document.addEventListener("keydown", (event) => {
    if (event.key !== "Enter") return;
    if (event.target.matches(".editor input:not([type=checkbox]), .column-asks input")) {
      event.preventDefault();
      event.target.closest(".editor, .column-asks").querySelector('button[value^="confirm:"]').click();
    } else if (event.target.matches("#because")) {
      event.preventDefault();
      together.querySelector('button[value="confirm-selected"]').click();
    } else if (event.target.matches("#because-open")) {
      event.preventDefault();
      document.querySelector('button[value="accept"]').click();
    } else if (event.target.matches(".together-fields input")) {
      event.preventDefault();
      together.querySelector('button[value="set-selected"]').click();
    }
  });
  // A button of a line sends what stands in this line alone.
  document.addEventListener("htmx:configRequest", (event) => {
    const line = event.target.closest?.(".column-main");
    if (!line) return;
    const own = `${line.dataset.index}-`;
    const sent = event.detail.formData;
    for (const name of [...sent.keys()]) {
      if (!name.startsWith(own) && !["do", "total", "csrfmiddlewaretoken"].includes(name)) sent.delete(name);
    }
  });
  // One column is shown whole: when another one is, the former is closed, and what was typed in it is kept.
  document.addEventListener("htmx:afterSettle", (event) => {
    const shown = event.detail.elt.closest?.(".column-main.is-current");
    if (shown) {
      for (const other of document.querySelectorAll(".bench .column-main.is-current")) {
        if (other === shown) continue;
        const shut = other.querySelector(".detail-shut");
        if (shut) shut.click();
        else {
          other.classList.remove("is-current");
          other.querySelector(".column-show").removeAttribute("aria-current");
          if (!other.querySelector(".because")) other.querySelector(".column-detail")?.remove();
        }
      }
    }
    fillBoxes();
    countLights();
    count();
    // After an answer the next question is shown; taking an answer back stays.
    const pressed = event.detail.requestConfig?.elt?.value ?? "";
    if (shown && /^choose-./.test(pressed) && !pressed.startsWith("choose-:")) {
      const asked = lines().filter((line) => line.querySelector("[data-asked]"));
      const here = shown.closest(".column");
      const next = asked.find((line) => here.compareDocumentPosition(line) & Node.DOCUMENT_POSITION_FOLLOWING) ?? asked[0];
      next?.querySelector(".column-show").click();
      if (next) scrollTo(next);
    }
  });
  // A link to something that is folded away opens it.
  const unfold = (place) => {
    const fold = byId(place)?.closest("details");
    if (fold) fold.open = true;
  };
  unfold(location.hash.slice(1));
  document.addEventListener("click", (event) => {
    const place = event.target.closest?.('a[href^="#"]')?.getAttribute("href");
    if (place) unfold(place.slice(1));
  });
  const current = document.querySelector(".bench .column:has(.is-current)");
  if (current) scrollTo(current);
  const countLights = () => {
    for (const option of light.options) {
      if (!option.value) continue;
      const lit = document.querySelectorAll(`.columns .column-main[data-light="${option.value}"]`).length;
      option.textContent = `${option.dataset.label} (${lit})`;
    }
  };
  // A slash leads to the search, as in many programs.
  document.addEventListener("keydown", (event) => {
    if (event.key !== "/" || event.target.matches("input, select, textarea") || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    search.focus();
  });
  // --- who is in a row ------------------------------------------------------------------------------------------
  const who = byId("who"), one = byId("who-one"), several = byId("who-several");
  if (who) {
    who.hidden = false;
    const most = byId("max_records"), person = byId("unit_column");
    one.addEventListener("change", () => { several.checked = false; most.value = "1"; person.value = ""; });
    several.addEventListener("change", () => { one.checked = false; person.focus(); });
    const follow = () => { one.checked = most.value.trim() === "1" && person.value === ""; several.checked = !one.checked; };
    for (const input of [most, person]) input.addEventListener("change", follow);
    // What was typed before may be back.
    addEventListener("pageshow", follow);
  }
  document.documentElement.classList.add("scripted");
  if (search) count();
})();
