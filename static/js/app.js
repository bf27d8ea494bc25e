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
      button.textContent = "Copied";
    } catch {
      window.getSelection().selectAllChildren(source);
      button.textContent = "Selected: press Ctrl+C";
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

  const tell = (text) => {
    const place = document.getElementById("connection");
    if (!place) return;
    place.textContent = text;
    place.hidden = !text;
  };
  document.addEventListener("htmx:sendError", () => tell("The server does not answer. This page will try again."));
  document.addEventListener("htmx:responseError", (event) => {
    if (event.detail.xhr.status === 403) tell("You are no longer signed in, or may not do this. Load the page again.");
    else if (event.detail.xhr.status === 429) tell("Too much is asked for at once. Wait a few seconds, then change something again.");
    else if (event.detail.xhr.status >= 500) tell("Something went wrong on the server. Nothing was changed.");
  });
  document.addEventListener("htmx:afterOnLoad", () => tell(""));
})();
