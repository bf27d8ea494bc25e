"""How close columns are expected to be, from their expected ranges alone."""

from __future__ import annotations

import pytest

from synth_engine.evaluation.expected import ExpectedColumn, ExpectedFigure
from synth_engine.evaluation.expected_quality import (
    ExpectedQuality,
    deviation_of,
    word_of,
)
from synth_engine.evaluation.figure_origins import ExpectedRange, ModelFigure
from synth_engine.evaluation.quality_words import ColumnWord


def figure(key: str, estimate: float, low: float, high: float) -> ExpectedFigure:
    band = ExpectedRange(estimate=ModelFigure(value=estimate), low=low, high=high, level=0.9)
    return ExpectedFigure(key=key, expected=band)


def column(*figures: ExpectedFigure) -> ExpectedColumn:
    return ExpectedColumn(name="a", kind="number", figures=figures)


def test_the_mean_counts_in_standard_deviations_and_quantiles_do_not_count() -> None:
    shown = column(
        figure("mean", 50, 49, 50.5),
        figure("standard_deviation", 20, 5, 90),
        figure("median", 50, 10, 90),
        figure("missing", 0.1, 0.09, 0.12),
    )
    assert deviation_of(shown) == pytest.approx(0.05)


def test_the_farther_end_of_the_widest_share_counts() -> None:
    shown = column(figure("share", 0.5, 0.49, 0.503), figure("share", 0.2, 0.2, 0.204))
    assert deviation_of(shown) == pytest.approx(0.01)


def test_a_column_of_one_value_has_no_spread_to_divide_by() -> None:
    shown = column(figure("mean", 3, 3, 3), figure("standard_deviation", 0, 0, 0))
    assert deviation_of(shown) == 0


@pytest.mark.parametrize(
    ("high", "word"),
    [
        (0.5, "found"),
        (0.549, "found"),
        (0.56, "coarse"),
        (0.649, "coarse"),
        (0.66, "not found"),
    ],
)
def test_a_word_for_each_deviation(high: float, word: ColumnWord) -> None:
    assert word_of(column(figure("share", 0.5, 0.5, high))) == word


def test_half_of_the_columns_with_bands_decide_the_word() -> None:
    found = column(figure("share", 0.5, 0.5, 0.5))
    lost = column(figure("share", 0.5, 0.1, 0.9))
    assert ExpectedQuality.of([found, lost, column()]).word == "found"
    assert ExpectedQuality.of([found, lost, lost]).word == "not found"
    assert ExpectedQuality.of([column(), column()]).word == "unknown"
    assert ExpectedQuality.of([found, lost, column()]) == ExpectedQuality(
        found_columns=1, coarse_columns=0, not_found_columns=1, unknown_columns=1
    )
