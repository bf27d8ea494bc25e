"""What a page weighs on its reader: words, controls, height, sizes of type, kilobytes; measured in a browser,
kept in docs/pages.md with a bound for each.

A bound never rises by itself: `python -m tests.pages` writes what it measures, and a lower bound where there
is room. Whoever makes a page longer raises its bound by hand, where a reviewer sees it.
"""

from __future__ import annotations

import math
import re
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

from selenium import webdriver

from tests.e2e.patience import until

SHEET = Path(__file__).parents[2] / "docs" / "pages.md"
WIDE, NARROW = 1440, 390
MEASURE = """
const done = arguments[arguments.length - 1];
const main = document.querySelector("main") ?? document.body;
const seen = (one) => one.checkVisibility({contentVisibilityAuto: true, visibilityProperty: true})
    && !one.closest(".visually-hidden, svg, [hidden]");
const sizes = new Set();
let words = 0;
const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
for (let text = texts.nextNode(); text; text = texts.nextNode()) {
  const said = text.data.trim(), around = text.parentElement;
  if (!said || !seen(around) || around.closest("script, style, noscript, option")) continue;
  sizes.add(Math.round(10 * parseFloat(getComputedStyle(around).fontSize)) / 10);
  if (main.contains(around)) words += said.split(/\\s+/).length;
}
const stops = main.querySelectorAll("a[href], button, input:not([type=hidden]), select, textarea, summary");
const controls = [...stops].filter(seen).length;
const packed = async (address) => {
  const stream = (await fetch(address)).body.pipeThrough(new CompressionStream("gzip"));
  return (await new Response(stream).arrayBuffer()).byteLength;
};
const loaded = performance.getEntriesByType("resource").map((one) => one.name);
const files = [...new Set(loaded)].filter((name) => name.includes("/static/"));
const page = performance.getEntriesByType("navigation")[0].encodedBodySize;
Promise.all(files.map(packed)).then((bytes) => done({
  words, controls, sizes: [...sizes].sort((a, b) => b - a),
  bytes: bytes.reduce((sum, each) => sum + each, page),
  draws: files.some((name) => name.includes("plotly")),
}));
"""
"""What is visible of `main`; sizes of type of the whole page, figures aside; bytes as a server with
compressed static files sends them to an empty cache."""
HEIGHT = "return document.documentElement.scrollHeight"
IS_AT_REST = """
return document.readyState === "complete" && !document.querySelector(".htmx-request")
    && document.fonts.status === "loaded";
"""


@dataclass(frozen=True, kw_only=True)
class Weight:
    """Of one page, or the bounds of one. wide and narrow: its height in pixels at both widths. types: sizes
    of type. kilobytes: of 1,000 bytes."""

    words: int
    controls: int
    wide: int
    narrow: int
    types: int
    kilobytes: int


ROOM = Weight(words=110, controls=110, wide=125, narrow=130, types=100, kilobytes=115)
"""What a bound is, in percent of what was measured: noise of a release changes a few words of its pages, and
fonts of a machine the height of all."""
MARGIN = Weight(words=40, controls=5, wide=100, narrow=200, types=0, kilobytes=8)


@dataclass(frozen=True)
class Measured:
    """sizes: of type, in pixels. draws: whether it has a figure of Plotly."""

    weight: Weight
    sizes: tuple[float, ...]
    draws: bool


def measure(browser: webdriver.Chrome, address: str) -> Measured:
    """Open the page at both widths, and weigh it."""
    browser.set_window_size(NARROW, 844)
    narrow = _height(browser, address)
    browser.set_window_size(WIDE, 900)
    wide = _height(browser, address)
    found: dict[str, Any] = browser.execute_async_script(MEASURE)
    weight = Weight(
        words=found["words"],
        controls=found["controls"],
        wide=wide,
        narrow=narrow,
        types=len(found["sizes"]),
        kilobytes=math.ceil(found["bytes"] / 1000),
    )
    return Measured(weight, tuple(found["sizes"]), found["draws"])


def _height(browser: webdriver.Chrome, address: str) -> int:
    """The height of the page once nothing of it is on its way."""
    browser.get(address)
    heights: list[int] = []

    def is_still(page: webdriver.Chrome) -> bool:
        heights.append(page.execute_script(HEIGHT))
        return bool(page.execute_script(IS_AT_REST)) and heights[-3:] == [heights[-1]] * 3

    until(browser, is_still)
    return heights[-1]


def bound_of(weight: Weight, earlier: Weight | None) -> Weight:
    """The bounds of a page that weighs so much; none is above an earlier one."""
    fresh = {
        name: math.ceil(value * getattr(ROOM, name) / 100) + getattr(MARGIN, name)
        for name, value in asdict(weight).items()
    }
    kept = asdict(earlier) if earlier else fresh
    return Weight(**{name: min(value, kept[name]) for name, value in fresh.items()})


def excess(weight: Weight, bound: Weight) -> list[str]:
    """What is above its bound, in words."""
    return [
        f"{name} {getattr(weight, name)}, at most {getattr(bound, name)}"
        for name in asdict(weight)
        if getattr(weight, name) > getattr(bound, name)
    ]


# --- docs/pages.md ------------------------------------------------------------------------------------------
HEAD = """# How much a page asks of its reader

`.venv/bin/python -m tests.pages` opens each page in a browser, as the person named, on a table of fifteen
columns, and writes what it finds: words and controls that are visible before anything is opened, height in
pixels at 1440 and at 390, sizes of type, kilobytes as a server with compressed static files sends them to an
empty cache. After each figure stands its bound, which `tests/e2e/test_pages.py` holds.

| page | person | words | controls | px at 1440 | px at 390 | sizes of type | kB |
|---|---|---|---|---|---|---|---|
"""
LINE = re.compile(r"^\| ([^|]+) \| ([^|]*) \|((?: \d+ / \d+ \|){6})$", re.MULTILINE)


def bounds() -> dict[str, Weight]:
    """The bounds of docs/pages.md, by the title of the page."""
    names = [field.name for field in fields(Weight)]
    text = SHEET.read_text("utf-8") if SHEET.exists() else ""
    return {
        title: Weight(
            **dict(zip(names, map(int, re.findall(r"/ (\d+)", figures)), strict=True))
        )
        for title, _person, figures in LINE.findall(text)
    }


def sheet(rows: list[tuple[str, str, Weight, Weight]]) -> str:
    """The whole page. rows: title, person, weight and bounds of each, the longest first."""
    lines = []
    for title, person, weight, bound in sorted(rows, key=lambda row: -row[2].wide):
        pairs = zip(asdict(weight).values(), asdict(bound).values(), strict=True)
        cells = "".join(f" {value} / {most} |" for value, most in pairs)
        lines.append(f"| {title} | {person or 'visitor'} |{cells}\n")
    return HEAD + "".join(lines)
