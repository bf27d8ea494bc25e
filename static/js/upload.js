// The upload form: refuse what is too large before sending it, and show how much has been sent.
(() => {
  "use strict";
  const say = (form, text) => {
    const place = form.querySelector("#upload-problem");
    place.textContent = text;
    place.hidden = !text;
    return text;
  };
  // Which endings are taken, and what is said of others, comes with the input: the page and the server have one list.
  const listed = (input, key) => input.dataset[key].split(" ").filter(Boolean);
  const ending = (input, key) => {
    const name = input.files[0].name.toLowerCase();
    return listed(input, key).filter((one) => name.endsWith(one)).sort((a, b) => b.length - a.length)[0];
  };
  const problem = (form) => {
    const input = form.querySelector("input[type=file]");
    const file = input.files[0];
    if (!file) return "";
    if (!ending(input, "endings")) return input.dataset.unknown;
    if (!ending(input, "packed") && file.size > Number(form.dataset.maxBytes)) return "This table is too large. Leave out columns that are not needed.";
    return "";
  };
  document.addEventListener("change", (event) => {
    const form = event.target.closest("form.upload");
    if (!form || event.target.type !== "file") return;
    say(form, problem(form));
    const name = form.querySelector("input[name=name]");
    const file = event.target.files[0];
    // A name is proposed, to be changed; one that was typed stays.
    if (name && file && (!name.value || name.value === name.dataset.proposed)) {
      name.value = file.name.slice(0, file.name.length - (ending(event.target, "endings") || "").length).slice(0, name.maxLength);
      name.dataset.proposed = name.value;
    }
  });
  document.addEventListener("htmx:confirm", (event) => {
    if (event.target.matches("form.upload") && say(event.target, problem(event.target))) event.preventDefault();
  });
  document.addEventListener("htmx:xhr:progress", (event) => {
    if (!event.target.matches("form.upload") || !event.detail.lengthComputable) return;
    const share = Math.floor((100 * event.detail.loaded) / event.detail.total);
    event.target.querySelector(".upload-progress").hidden = false;
    event.target.querySelector("progress").value = share;
    event.target.querySelector("#upload-share").textContent = `${share} %`;
  });
})();
