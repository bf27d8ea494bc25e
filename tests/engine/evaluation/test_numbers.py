"""Median, mean, spread and missing numbers of numeric columns, from tallies of single columns."""

from __future__ import annotations

import json

import numpy as np
import pytest

from synth_engine.domain import Categorical, Domain, Integer, Number
from synth_engine.evaluation import page, report, tallies, view

DOMAIN = Domain(
    attributes=(
        Integer(name="age", low=0, high=9, missing=("",)),
        Number(name="height", low=0.0, high=10.0, edges=(0.0, 2.0, 10.0)),
        Categorical(name="job", values=("cook", "smith"), other=True),
    )
)


def compared(**columns: tuple[list[int], list[int]]) -> report.Report:
    sides = []
    for side in (0, 1):
        codes = {name: np.array(column[side]) for name, column in columns.items()}
        source = tallies.CodedTable(codes=codes, domain=DOMAIN, private=side == 1)
        sides.append(report.tally(source))
    return report.compare(*sides, DOMAIN)


def test_numbers_are_read_at_the_centres_of_bins_and_missing_ones_apart() -> None:
    made = compared(
        age=([1, 1, 2, 10], [9, 10, 10, 10]),
        height=([0, 0, 0, 1], [1] * 4),
        job=([0] * 4, [1] * 4),
    )
    age, height = made["numbers"]
    assert age["name"] == "age" and age["median"] == {"real": 1.0, "synthetic": 9.0}
    assert age["mean"]["real"] == pytest.approx(4 / 3)
    assert age["standard_deviation"]["real"] == pytest.approx(np.std([1, 1, 2]))
    assert age["missing"] == {"real": 0.25, "synthetic": 0.75}
    # The bins of height reach from 0 to 2 and from 2 to 10.
    assert height["median"] == {"real": 1.0, "synthetic": 6.0}
    assert height["quantile_5"]["real"] == 1.0 and height["quantile_95"]["real"] == 6.0
    assert height["missing"] == {"real": 0.0, "synthetic": 0.0}
    assert json.loads(json.dumps(made, allow_nan=False)) == made


def test_quantiles_are_those_of_the_numbers_themselves_where_bins_hold_one_each() -> None:
    real = np.random.default_rng(1).integers(0, 10, 1000).tolist()
    [age, _] = compared(age=(real, real), height=([0] * 1000,) * 2, job=([0] * 1000,) * 2)[
        "numbers"
    ]
    for name, level in (("quantile_5", 0.05), ("median", 0.5), ("quantile_95", 0.95)):
        expected = np.quantile(real, level, method="inverted_cdf")
        assert age[name] == {"real": expected, "synthetic": expected}


def test_the_card_has_a_line_for_each_column_and_side_and_says_which_mean_moved_most() -> None:
    made = compared(
        age=([1, 3, 3, 10], [4, 6, 6, 10]),
        height=([0, 1, 1, 1], [0, 1, 1, 1]),
        job=([0] * 4,) * 2,
    )
    [card] = view.lay_out(made).cards("numeric")
    assert [row[:2] for row in card.table.rows] == [
        (name, side) for name in ("age", "height") for side in ("real", "synthetic")
    ]
    assert card.verdict.startswith("The mean of age moved most") and card.red
    assert "Median, mean and spread" in page.html(made)


def test_a_side_without_any_number_has_no_measures() -> None:
    made = compared(age=([1] * 4, [10] * 4), height=([0] * 4,) * 2, job=([0] * 4,) * 2)
    assert made["numbers"][0]["mean"] == {"real": 1.0, "synthetic": None}
    [card] = view.lay_out(made).cards("numeric")
    assert card.table.rows[1][2:] == ("–",) * 5 + ("100.00%",)
    assert card.verdict == "No mean can be compared."


def test_stored_comparisons_without_numbers_are_still_shown() -> None:
    made = compared(age=([1] * 4,) * 2, height=([0] * 4,) * 2, job=([0] * 4,) * 2)
    del made["numbers"], made["reading"]["numbers"]
    assert view.lay_out(made).cards("numeric") == []
