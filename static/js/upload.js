// The upload form: refuse what is too large before sending it, and show how much has been sent.
(() => {
  "use strict";
  const say = (form, text) => {
    const place = form.querySelector("#upload-problem");
    place.textContent = text;
    place.hidden = !text;
    return text;
  };
  const problem = (form) => {
    const file = form.querySelector("input[type=file]").files[0];
    if (!file) return "";
    const packed = /\.gz$/i.test(file.name);
    if (!/\.((csv|tsv|txt)(\.gz)?|parquet|pq)$/i.test(file.name)) return "This is neither CSV nor Parquet by its name. Save the table as CSV UTF-8 first.";
    if (!packed && file.size > Number(form.dataset.maxBytes)) return "This table is too large. Leave out columns that are not needed.";
    return "";
  };
  document.addEventListener("change", (event) => {
    const form = event.target.closest("form.upload");
    if (!form || event.target.type !== "file") return;
    say(form, problem(form));
    const name = form.querySelector("input[name=name]");
    if (name && !name.value && event.target.files[0]) name.placeholder = event.target.files[0].name.replace(/\.((csv|tsv|txt)(\.gz)?|parquet|pq)$/i, "");
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
