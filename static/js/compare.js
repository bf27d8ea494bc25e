// The strip of small histograms: a click, Enter or an arrow key shows the large one of that column.
(() => {
  "use strict";
  const strip = document.querySelector("[data-strip]");
  if (!strip) return;
  const picks = [...strip.querySelectorAll("a[href^='#']")];
  const card = (pick) => document.getElementById(pick.hash.slice(1));

  const show = (chosen) => {
    for (const pick of picks) {
      const active = pick === chosen;
      card(pick).hidden = !active;
      pick.classList.toggle("active", active);
      if (active) pick.setAttribute("aria-current", "true");
      else pick.removeAttribute("aria-current");
    }
  };
  const asked = () => picks.find((pick) => pick.hash === window.location.hash);

  const first = asked();
  show(first ?? picks[0]);
  first?.scrollIntoView({ block: "nearest", inline: "center" });
  strip.addEventListener("click", (event) => {
    const pick = event.target.closest("a[href^='#']");
    if (!pick) return;
    event.preventDefault();
    show(pick);
    history.replaceState(null, "", pick.hash);
    card(pick).scrollIntoView({ block: "nearest" });
  });
  strip.addEventListener("keydown", (event) => {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    const place = picks.indexOf(document.activeElement);
    if (!step || place < 0) return;
    event.preventDefault();
    const next = picks[(place + step + picks.length) % picks.length];
    next.focus(); // scrolls the strip as well
    show(next);
  });
  window.addEventListener("hashchange", () => asked() && show(asked()));
})();
