"""A description held against cells: each kind of damage is named with its repair before anything is
released."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

from synth_engine.domain import parse_attribute
from synth_engine.evaluation.column_check import ColumnCheck, check_column, readings
from synth_engine.formats import Marks
from synth_engine.steward import cell_sample
from tests.web import damaged

TABLE = [line.split(",") for line in damaged.TABLE.splitlines()]
CELLS = {name: Counter(row[place] for row in TABLE[1:]) for place, name in enumerate(TABLE[0])}


def check(description: dict[str, Any], cells: Counter[str]) -> ColumnCheck:
    attribute = parse_attribute(description | {"provenance": "declared"})
    return check_column(attribute, list(cells), list(cells.values()), marks=Marks())


@pytest.mark.parametrize(
    ("name", "repair"),
    [
        ("price", "write the cells without currency and units"),
        ("sold", "declare the format %m/%d/%y"),
        ("area", "widen the bounds by a source, learn them privately, or keep them"),
        ("tax", "give 0 a bin of its own"),
    ],
)
def test_every_damage_of_the_comparison_is_known_before_it(name: str, repair: str) -> None:
    described = next(each for each in damaged.DOCUMENT["attributes"] if each["name"] == name)
    verdict = check(described, CELLS[name])
    assert verdict.light == "unfit"
    assert any(repair in reason for reason in verdict.reasons)


def test_codes_of_one_length_are_a_question_and_leading_zeros_are_lost() -> None:
    described = next(each for each in damaged.DOCUMENT["attributes"] if each["name"] == "zip")
    assert check(described | {"width": 1}, CELLS["zip"]).light == "question"
    zeros = Counter({f"{code:05}": 30 for code in range(2_900, 2_960)})
    lost = check({"name": "zip", "kind": "scale", "of": "integer"}, zeros)
    assert (lost.light, lost.outside) == ("unfit", 0.0)
    assert "categories" in lost.reasons[0]


def test_an_honest_column_fits_and_has_its_values_drawn() -> None:
    described = next(
        each for each in damaged.DOCUMENT["attributes"] if each["name"] == damaged.HONEST
    )
    verdict = check(described, CELLS[damaged.HONEST])
    assert (verdict.light, verdict.reasons, verdict.doubts) == ("fits", (), ())
    assert verdict.histogram is not None
    assert sum(verdict.histogram["shares"]["real"]) == pytest.approx(1.0)


def test_each_cell_is_shown_with_what_becomes_of_it() -> None:
    number = parse_attribute(
        {
            "name": "a",
            "kind": "integer",
            "low": 0,
            "high": 9,
            "missing": [""],
            "outside": "missing",
            "provenance": "declared",
        }
    )
    said = readings(number, ["7", "12", "x", ""], marks=Marks())
    assert said == [
        "7",
        "12 is outside, counts as missing",
        "cannot be read, counts as missing",
        "missing",
    ]
    listed = parse_attribute(
        {
            "name": "b",
            "kind": "categorical",
            "values": ["u", "v"],
            "other": True,
            "provenance": "declared",
        }
    )
    assert readings(listed, ["u", "w"], marks=Marks()) == ["u", "other"]


def test_a_thinned_column_stands_for_all_of_its_rows() -> None:
    counts = Counter({f"{value:05}": 1 + (value % 7 == 0) for value in range(5_000)})
    cells = cell_sample.thinned(counts, 1_000)
    assert len(cells["texts"]) <= 1_000
    assert sum(cells["counts"]) == sum(counts.values())
    low = sum(
        n for text, n in zip(cells["texts"], cells["counts"], strict=True) if text < "02500"
    )
    assert low / sum(counts.values()) == pytest.approx(0.5, abs=0.02)


DAYS = Counter(
    {f"2020-{month:02}-{day:02}": 5 for month in range(1, 13) for day in range(1, 8)}
)
AGES = Counter({str(age): 5 for age in range(60)})


@pytest.mark.parametrize(
    ("described", "cells", "sentinel"),
    [
        ({"kind": "integer", "low": 0, "high": 1_000}, AGES, "999"),
        ({"kind": "scale", "of": "integer"}, AGES, "-1"),
        (
            {"kind": "date", "low": "2000-01-01", "high": "9999-12-31", "step_days": 3_650},
            DAYS,
            "9999-12-31",
        ),
        ({"kind": "scale", "of": "date"}, DAYS, "9999-12-31"),
    ],
)
def test_a_sentinel_inside_the_bounds_is_a_question_until_it_is_a_marker(
    described: dict[str, Any], cells: Counter[str], sentinel: str
) -> None:
    described = {"name": "x", **described}
    assert check(described, cells).doubts == ()
    with_sentinel = cells + Counter({sentinel: 30})
    verdict = check(described, with_sentinel)
    assert "far from all others" in " ".join(verdict.doubts)
    assert sentinel in " ".join(verdict.doubts)
    narrow = {"integer": 90, "date": "2021-12-31"}.get(described["kind"])
    bounds = {"high": narrow} if narrow else {}
    as_marker = check(described | bounds | {"missing": [sentinel]}, with_sentinel)
    assert as_marker.doubts == ()
