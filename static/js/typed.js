// What is typed in a form with `data-keeps-typed` survives a page that is loaded anew, and the end of a session. It stays in this tab,
// until it is saved, the form is left for another page, or one signs out. The attribute is what is said when it is back.
(() => {
  "use strict";
  const PREFIX = "typed:";
  const UPLOADS = "uploads-begun"; // upload.js: what the files of unfinished uploads are called
  const { person = "" } = document.body.dataset; // empty where nobody is signed in: a page on the way to signing in
  const forms = () => [...document.querySelectorAll("form[data-keeps-typed]")];
  const keyOf = (form) => `${PREFIX}${location.pathname}#${form.id}`;
  const keys = () => Object.keys(sessionStorage).filter((key) => key.startsWith(PREFIX));
  const read = (key) => {
    try {
      return JSON.parse(sessionStorage.getItem(key));
    } catch {
      return null;
    }
  };
  const write = (key, kept) => {
    try {
      sessionStorage.setItem(key, JSON.stringify(kept));
    } catch {
      // A browser that keeps nothing, or no more: then it is as without this script.
    }
  };

  const ticks = (control) => control.type === "checkbox" || control.type === "radio";
  const isKept = (control) => control.name && control.matches("input, select, textarea")
    && !["hidden", "password", "file", "submit", "button"].includes(control.type);
  const isChanged = (control) => {
    if (ticks(control)) return control.checked !== control.defaultChecked;
    if (control.matches("select")) return [...control.options].some((option) => option.selected !== option.defaultSelected && (option.selected || control.multiple));
    return control.value !== control.defaultValue;
  };
  const keep = (form) => {
    const values = [...form.elements].filter((control) => isKept(control) && isChanged(control))
      .map((control) => ({ name: control.name, value: control.value, checked: ticks(control) ? control.checked : null }));
    if (values.length) write(keyOf(form), { person, sent: false, values });
    else sessionStorage.removeItem(keyOf(form));
  };
  const find = (form, { name, value, checked }) =>
    [...form.elements].find((control) => control.name === name && isKept(control) && (checked === null || control.value === value));

  // Lines of Describe whose editors are shut again have no inputs: the page is asked for once more, with them open.
  const opens = (form, values) => {
    const shut = values.filter((kept) => !find(form, kept)).map(({ name }) => /^([0-9]+)-/.exec(name)?.[1]).filter(Boolean);
    const address = new URL(location.href);
    if (!shut.length || address.searchParams.has("edit")) return false;
    address.searchParams.set("edit", [...new Set(shut)].join(","));
    location.replace(address);
    return true;
  };
  const bring = (form, { values }) => {
    if (opens(form, values)) return;
    let back = 0;
    for (const kept of values) {
      const control = find(form, kept);
      if (!control) continue;
      if (kept.checked === null) control.value = kept.value;
      else control.checked = kept.checked;
      back += 1;
    }
    if (!back) return;
    const note = document.createElement("p");
    note.className = "alert alert-info";
    note.setAttribute("role", "status");
    note.dataset.typedBack = String(back);
    note.textContent = form.dataset.keepsTyped;
    form.prepend(note);
  };

  const isNew = performance.getEntriesByType("navigation")[0]?.type === "navigate";
  for (const key of keys()) {
    const kept = read(key);
    // On the way to signing in: what was sent then was not saved.
    if (!person) write(key, { ...kept, sent: false });
    else if (!kept || kept.person !== person || !forms().some((form) => keyOf(form) === key) || (kept.sent && isNew)) sessionStorage.removeItem(key);
  }
  for (const form of person ? forms() : []) {
    const kept = read(keyOf(form));
    if (kept) bring(form, kept);
  }

  for (const name of ["input", "change"]) {
    document.addEventListener(name, (event) => {
      if (event.target.form?.matches("[data-keeps-typed]")) keep(event.target.form);
    });
  }
  document.addEventListener("htmx:afterSettle", () => forms().forEach(keep));
  document.addEventListener("submit", (event) => {
    if (event.target.matches("[data-signs-out]")) {
      for (const key of [...keys(), UPLOADS]) sessionStorage.removeItem(key);
    } else if (event.target.matches("[data-keeps-typed]") && !event.defaultPrevented) {
      const kept = read(keyOf(event.target));
      if (kept) write(keyOf(event.target), { ...kept, sent: true });
    }
  });
  // The session has ended: the page of signing in is no part of this page, and leads back to it.
  document.addEventListener("htmx:beforeSwap", (event) => {
    const address = event.detail.xhr.responseURL;
    if (!address || new URL(address).pathname !== document.body.dataset.signIn) return;
    event.detail.shouldSwap = false;
    location.assign(location.href);
  });
})();
