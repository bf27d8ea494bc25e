"""The table of `auto` beside all other methods: which runs it compares, its page and its picture."""

from __future__ import annotations

import json
from pathlib import Path
from xml.etree import ElementTree

import pytest

from bench import against, against_page
from bench.against import Block, Cache, Figures
from synth_engine.inference.error_forecast import ErrorForecast

SVG = "{http://www.w3.org/2000/svg}"


def figures(distance: float, *, area: float | None = None) -> Figures:
    distances = {"tvd1": distance / 2, "tvd2": distance, "tvd3": 2 * distance, "whole": 3.0}
    return distances if area is None else distances | {"hgb_auc": area}


def block(own: float = 0.02) -> Block:
    return Block(
        table="gate",
        epsilon="1",
        runs=2,
        figures={
            "auto": figures(own, area=0.895),
            "independent": figures(0.05, area=0.5),
            "mst": figures(0.025, area=0.9),
            "aim": "more than 40 s",
            "real": {"hgb_auc": 0.905},
        },
    )


class Tables:
    """Tables that are measured elsewhere."""

    def __init__(self) -> None:
        self.measured: list[str] = []

    def digest(self, name: str, run: int) -> str:
        return f"{name}{run}"

    def figures(self, name: str, run: int, *, epsilon: str, method: str) -> Figures:
        self.measured.append(method)
        return figures(0.01 * (1 + run))

    def forecast(self, name: str, run: int, *, epsilon: str, method: str) -> ErrorForecast:
        raise NotImplementedError


def test_a_method_is_compared_with_the_best_of_the_others_by_each_figure() -> None:
    assert block().best("tvd2") == ("mst", 0.025)
    assert block().best("hgb_auc") == ("mst", 0.9)
    assert block().ratio("tvd2") == pytest.approx(0.8)
    alone = Block(table="gate", epsilon="1", runs=1, figures={"auto": figures(0.02)})
    assert alone.best("tvd2") is None
    assert alone.ratio("tvd2") is None


def test_the_page_has_means_the_best_others_and_what_they_say() -> None:
    page = against_page.page([block()], picture="images/auto.svg")
    row = (
        "| gate | 1 | 2 | 0.0100 | 0.0250 | 0.0200 | 0.0250 `mst` | 0.0400 | 0.0500 `mst` | 0.895 | 0.900 "
        "`mst` | 0.905 | 3.0 |"
    )
    assert row in page
    assert "is nearest to the real table in 2, and at most 1.05 times" in page
    assert "The worst is 0.80 times." in page
    assert "Of 1 areas under the curve 1 are at most .01 below the best" in page
    worse = against_page.page([block(0.03)], picture="images/auto.svg")
    assert "in 0, and at most 1.05 times as far off as the best other method in 0" in worse
    assert "The worst is 1.20 times." in worse


def test_the_picture_has_both_ratios_of_each_line_and_those_beyond_its_axis_at_the_end() -> (
    None
):
    drawn = ElementTree.fromstring(against_page.chart([block(), block(2.0)]))
    dots = [float(dot.attrib["cx"]) for dot in drawn.iter(f"{SVG}circle")][2:]
    assert dots[0] == dots[1] < dots[2] == dots[3]
    ends = [float(text.attrib["x"]) for text in drawn.iter(f"{SVG}text") if text.text == "2"]
    assert dots[2] in ends


def test_runs_are_stored_and_those_of_auto_belong_to_the_code_that_made_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, tables = tmp_path / "runs.json", Tables()

    def measure() -> list[str]:
        cache = Cache(path, limit=60)
        tables.measured.clear()
        for method in ("auto", "mst"):
            cache.figures(tables, "gate", 0, epsilon="1", method=method)
        return list(tables.measured)

    assert measure() == ["auto", "mst"]
    assert measure() == []
    monkeypatch.setattr(against, "engine_version", lambda: "another")
    assert measure() == ["auto"]
    assert len(json.loads(path.read_text())) == 3


def test_stored_blocks_have_as_many_runs_as_all_their_methods(tmp_path: Path) -> None:
    cache, tables = Cache(tmp_path / "runs.json", limit=60), Tables()
    for method, runs in {"auto": 3, "mst": 2, "aim": 1}.items():
        for run in range(runs):
            cache.figures(tables, "gate", run, epsilon="1", method=method)
    [found] = against.stored(["gate", "xor"], ["1", "10"], runs=10, measure=tables, cache=cache)
    assert (found.table, found.epsilon, found.runs) == ("gate", "1", 2)
    assert found.able["auto"]["tvd2"] == pytest.approx(0.015)
    assert set(found.figures) == {"auto", "mst"}
