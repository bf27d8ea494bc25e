// Small things every page shares: copying a secret that is shown once, and saying when the server did not answer.
(() => {
  "use strict";

  document.addEventListener("click", async (event) => {
    const button = event.target.closest("[data-copy]");
    if (!button) return;
    const source = document.querySelector(button.dataset.copy);
    if (!source) return;
    try {
      await navigator.clipboard.writeText((source.value ?? source.textContent).trim());
      button.textContent = document.body.dataset.copied;
    } catch {
      window.getSelection().selectAllChildren(source);
      button.textContent = document.body.dataset.selected;
    }
  });

  // How many of one's own runs have ended is in the title, too: it is read from another tab.
  const title = document.title;
  const count = () => {
    const ended = Number(document.getElementById("run-notice")?.dataset.count ?? 0);
    document.title = ended ? `(${ended}) ${title}` : title;
  };
  document.addEventListener("htmx:afterSettle", count);
  document.addEventListener("htmx:oobAfterSwap", count);
  count();

  // A request that no event of a person caused: it does not keep the session from ending.
  document.addEventListener("htmx:configRequest", (event) => {
    if (!event.detail.triggeringEvent) event.detail.headers["X-Background"] = "1";
  });

  // what: of the texts that the place has, "" for none
  const tell = (what) => {
    const place = document.getElementById("connection");
    if (!place) return;
    place.textContent = place.dataset[what] ?? "";
    place.hidden = !place.textContent;
  };
  document.addEventListener("htmx:sendError", () => tell("silent"));
  document.addEventListener("htmx:responseError", (event) => {
    const status = event.detail.xhr.status;
    tell(status >= 500 ? "500" : String(status));
  });
  document.addEventListener("htmx:afterOnLoad", () => tell(""));
})();
