"""How long pages take in a browser until a person can use them, and how many bytes they are.

    python bench/interactive.py [--columns 100] [--times 3] [--within 2.0] [--megabytes 2.0] [--shots FOLDER]

Builds an installation like that of bench/pages.py with a table of so many columns, starts the server as it is deployed
(gunicorn, one process for each core, SQLite), and opens each page in headless Chromium, with an empty cache and with a
warm one. A page is interactive once its scripts were run, the figures near the screen are drawn and the main thread has
been free for half a second: the time is that at which this half second began. Printed are the medians, the longest task of
the main thread, processor seconds of the page's scripts and layout, and bytes as sent: of the document, and of everything.
--shots keeps a picture of each page. Exit code 1 if a page takes longer than --within seconds with an empty cache, or is
larger than --megabytes.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import denial  # bench/denial.py, whose server this is
import pages  # bench/pages.py, which builds the installation

QUIET = 0.5  # seconds without a long task
PATIENCE = 60.0
WATCH = """
window.__tasks = [];
new PerformanceObserver((list) => {
  for (const task of list.getEntries()) window.__tasks.push([task.startTime, task.duration]);
}).observe({ type: "longtask", buffered: true });
window.__drawn = 0;
document.addEventListener("figuredrawn", () => { window.__drawn = performance.now(); }, true);
"""
STATE = """
const [document_] = performance.getEntriesByType("navigation");
const rows = performance.getEntriesByType("resource");
const near = [...document.querySelectorAll("[data-figure]")].filter((figure) => {
  const box = figure.getBoundingClientRect();
  return box.width && box.top < innerHeight && box.bottom > 0;
});
const settled = (figure) => figure.classList.contains("figure-drawn") || figure.classList.contains("figure-failed");
const ends = window.__tasks.map(([start, length]) => start + length);
return {
  now: performance.now(),
  loaded: document_.loadEventEnd,
  waiting: near.some((figure) => !settled(figure)) || document.querySelector(".htmx-request") !== null,
  busy: Math.max(document_.loadEventEnd, window.__drawn, ...ends),
  longest: Math.max(0, ...window.__tasks.map(([, length]) => length)),
  answered: document_.responseStart,
  page: document_.encodedBodySize,
  all: rows.reduce((sum, row) => sum + row.encodedBodySize, document_.encodedBodySize),
  elements: document.querySelectorAll("*").length,
};
"""


@dataclass(frozen=True, kw_only=True)
class Visit:
    """One page as one browser saw it; times in seconds."""

    interactive: float
    answered: float
    longest: float
    busy: float
    page: int
    everything: int
    elements: int


def addresses(office: pages.Office) -> Iterator[tuple[str, str, str]]:
    """Title, role, address."""
    run, other = office.real[-1], office.real[0]
    release, dataset = run.release.code, run.dataset.code
    yield "describe", "steward", f"/datasets/{dataset}/describe/"
    yield "new release", "steward", f"/datasets/{dataset}/releases/new/"
    yield "compare", "steward", f"/releases/{release}/compare/"
    yield "release", "steward", f"/releases/{release}/"
    yield "look", "analyst", f"/releases/{release}/look/"
    yield "expected", "analyst", f"/releases/{release}/expected/"
    yield "counts", "analyst", f"/releases/{release}/marginals/"
    yield "network", "analyst", f"/releases/{release}/network/"
    yield "receipt", "analyst", f"/releases/{release}/receipt/"
    beside = f"/releases/side-by-side/?release={release}&release={other.release.code}"
    yield "side by side", "steward", beside


def prepare(office: pages.Office) -> None:
    """What a worker prepares of each release when it is published."""
    from synthweb.runs import ranges
    from synthweb.runs import services as runs

    for run in office.real:
        ranges.compute(code=runs.request_ranges(release=run.release).code)


def visit(browser: Any, address: str) -> Visit:
    """Open a page and wait until it is interactive.

    Raises:
        SystemExit: it does not come to rest.
    """
    browser.get("about:blank")
    before = metrics(browser)
    browser.get(address)
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        state = browser.execute_script(STATE)
        rested = state["now"] - state["busy"] > 1000 * QUIET
        if state["loaded"] and rested and not state["waiting"]:
            return Visit(
                interactive=state["busy"] / 1000,
                answered=state["answered"] / 1000,
                longest=state["longest"] / 1000,
                busy=metrics(browser) - before,
                page=state["page"],
                everything=state["all"],
                elements=state["elements"],
            )
        time.sleep(0.1)
    raise SystemExit(f"{address} does not come to rest")


def metrics(browser: Any) -> float:
    """Seconds that the main thread has worked."""
    entries = browser.execute_cdp_cmd("Performance.getMetrics", {})["metrics"]
    return float(next(row["value"] for row in entries if row["name"] == "TaskDuration"))


def sign_in(browser: Any, root: str, person: Any) -> None:
    from django.conf import settings
    from django.test import Client

    client = Client()
    client.force_login(person)
    browser.get(f"{root}/livez")
    browser.delete_all_cookies()
    cookie = client.cookies[settings.SESSION_COOKIE_NAME].value
    browser.add_cookie({"name": settings.SESSION_COOKIE_NAME, "value": cookie})


def measure(browser: Any, address: str, *, times: int) -> tuple[list[Visit], list[Visit]]:
    """Visits with an empty cache, and with what the visit before has left."""
    empty, warm = [], []
    for _ in range(times):
        browser.execute_cdp_cmd("Network.clearBrowserCache", {})
        empty.append(visit(browser, address))
        warm.append(visit(browser, address))
    return empty, warm


def middle(visits: list[Visit], name: str) -> float:
    return statistics.median(getattr(each, name) for each in visits)


def report(options: argparse.Namespace, folder: Path) -> int:
    """Build, measure, print."""
    import logging

    logging.disable(logging.CRITICAL)
    office = pages.Office(datasets=1, releases=2, columns=options.columns)
    prepare(office)
    server = denial.Server(folder)
    from tests import services  # sets the keys of tests, which the server must not have

    slow = False
    print(
        f"{options.columns or 15} columns, median of {options.times}\n{'page':<14} {'empty cache':>11} {'warm':>6} "
        f"{'answered':>9} {'longest':>8} {'busy':>6} {'page kB':>8} {'all kB':>7} {'elements':>9}"
    )
    try:
        with services.chromium() as browser:
            browser.set_window_size(1440, 900)
            browser.execute_cdp_cmd("Performance.enable", {})
            browser.execute_cdp_cmd("Network.enable", {})
            browser.execute_cdp_cmd("Page.addScriptToEvaluateOnNewDocument", {"source": WATCH})
            root = f"http://localhost:{server.port}"
            for title, role, path in addresses(office):
                sign_in(browser, root, office.people[role])
                visit(browser, root + path)  # the server has loaded what it needs
                empty, warm = measure(browser, root + path, times=options.times)
                took, size = middle(empty, "interactive"), middle(empty, "everything")
                late = took > options.within or size > 1e6 * options.megabytes
                slow |= late
                print(
                    f"{title:<14} {took:>11.2f} {middle(warm, 'interactive'):>6.2f} {middle(empty, 'answered'):>9.2f} "
                    f"{middle(empty, 'longest'):>8.2f} {middle(empty, 'busy'):>6.2f} {middle(empty, 'page') / 1e3:>8.0f} "
                    f"{size / 1e3:>7.0f} {middle(empty, 'elements'):>9.0f}{'  SLOW' if late else ''}",
                    flush=True,
                )
                if options.shots:
                    options.shots.mkdir(parents=True, exist_ok=True)
                    browser.save_screenshot(
                        str(options.shots / f"{title.replace(' ', '-')}.png")
                    )
    finally:
        server.stop()
    return int(slow)


def main() -> int:
    parser = argparse.ArgumentParser(description="Time until pages are interactive.")
    parser.add_argument("--columns", type=int, default=100)
    parser.add_argument("--times", type=int, default=3)
    parser.add_argument("--within", type=float, default=2.0)
    parser.add_argument("--megabytes", type=float, default=2.0)
    parser.add_argument("--shots", type=Path)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        pages.begin(Path(name))
        return report(options, Path(name))


if __name__ == "__main__":
    sys.exit(main())
