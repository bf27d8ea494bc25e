"""The offline file: one document, nothing fetched, nothing injected."""

from __future__ import annotations

import json
import re
from html.parser import HTMLParser

import plotly.offline

from synth_engine.evaluation import page, report
from synth_engine.evaluation.report import SampleRows
from tests.engine.evaluation.tables import DOMAIN, HOSTILE, codes, compared, tally

ROWS = [{"colour": HOSTILE, "age": 4}]
MADE = compared(
    codes(100, seed=1), codes(80, seed=2), rows=SampleRows(real=ROWS, synthetic=ROWS)
)
TEXT = page.html(MADE, title="Colours & ages")


class Reader(HTMLParser):
    """Collects tags, addresses and the content of scripts."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.addresses: list[str] = []
        self.scripts: list[str] = []
        self.words: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.addresses += [value or "" for name, value in attrs if name in ("src", "href")]
        if tag == "script":
            self.scripts.append("")

    def handle_data(self, data: str) -> None:
        if self.lasttag == "script" and self.scripts and not self.scripts[-1]:
            self.scripts[-1] = data
        else:
            self.words.append(data)


READ = Reader()
READ.feed(TEXT)


def test_the_file_fetches_nothing() -> None:
    assert READ.addresses and all(address.startswith("#") for address in READ.addresses)
    assert "link" not in READ.tags
    assert "@import" not in TEXT and not re.search(
        r"url\(\s*['\"]?https?:", TEXT.replace(READ.scripts[1], "")
    )


def test_a_value_that_looks_like_a_script_is_text() -> None:
    assert READ.tags.count("script") == 3
    assert any(HOSTILE in words for words in READ.words)
    assert "<script>alert" not in TEXT


def test_the_figures_in_the_file_are_those_of_the_report() -> None:
    drawn = json.loads(READ.scripts[0])
    assert len(drawn) == len(DOMAIN.names) + 6
    assert (
        READ.scripts[1].strip().startswith("/**")
        and plotly.offline.get_plotlyjs_version() in READ.scripts[1][:300]
    )
    assert {f'data-figure="{key}"' in TEXT for key in drawn} == {True}


def test_the_red_bar_stands_on_a_file_with_real_data_and_on_no_other() -> None:
    words = "Real data — not differentially private"
    assert words in TEXT and "Computed on real data: not differentially private" in TEXT
    private = report.compare(
        tally(codes(40, seed=1), private=True), tally(codes(40, seed=2), private=True), DOMAIN
    )
    assert words not in page.html(private)


def test_every_figure_has_its_table_and_its_reading() -> None:
    assert (
        READ.tags.count("table") == len(DOMAIN.names) + 7 + 1 + 2
    )  # columns, other figures, triples, rows of both sides
    assert (
        TEXT.count("<summary>What it shows, and how to read it</summary>")
        == len(DOMAIN.names) + 8
    )
