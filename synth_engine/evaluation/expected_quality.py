"""How close a release is expected to be to the real table, column by column, in a word: from expected ranges
alone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, get_args

from synth_engine.evaluation.expected import ExpectedColumn, ExpectedFigure

Closeness = Literal["close", "fair", "rough", "unknown"]
"""unknown: the release has no expected range of the column."""
CLOSENESS_LEVELS = get_args(Closeness)

CLOSE, FAIR = 0.01, 0.05
"""The largest deviation of a column that is close, and of one that is fair."""


def deviation_of(column: ExpectedColumn) -> float | None:
    """The farthest end of a band from its estimate: of shares of records as they are, of the mean in standard
    deviations. None where the column has no bands."""
    deviations = (share_deviation(column), mean_deviation(column))
    return max((each for each in deviations if each is not None), default=None)


def share_deviation(column: ExpectedColumn) -> float | None:
    """The same of shares of records alone."""
    shares = (each for each in column.figures if each.key in ("missing", "share"))
    return max(map(_distance, shares), default=None)


def mean_deviation(column: ExpectedColumn) -> float | None:
    """The same of the mean alone, in standard deviations."""
    figures = {each.key: each for each in column.figures}
    if "mean" not in figures:
        return None
    spread = figures["standard_deviation"].expected.estimate.value
    return _distance(figures["mean"]) / max(spread, 1e-300)


def _distance(figure: ExpectedFigure) -> float:
    band = figure.expected
    return max(band.high - band.estimate.value, band.estimate.value - band.low)


def closeness_of(column: ExpectedColumn) -> Closeness:
    """How close a column is expected to be."""
    deviation = deviation_of(column)
    if deviation is None:
        return "unknown"
    return "close" if deviation <= CLOSE else "fair" if deviation <= FAIR else "rough"


@dataclass(frozen=True, kw_only=True)
class ExpectedQuality:
    """How many columns of a release are how close, and the word of their relations (`expected_relations`).
    related: how many of all `pairs` of columns go together in the model."""

    close: int
    fair: int
    rough: int
    unknown: int
    relations: str = "unknown"
    related: int = 0
    pairs: int = 0

    @classmethod
    def of(cls, columns: Sequence[ExpectedColumn]) -> ExpectedQuality:
        every = [closeness_of(column) for column in columns]
        return cls(
            close=every.count("close"),
            fair=every.count("fair"),
            rough=every.count("rough"),
            unknown=every.count("unknown"),
        )

    @property
    def word(self) -> Closeness:
        """The closeness that at least half of the columns with bands reach; unknown where none has bands."""
        known = self.close + self.fair + self.rough
        if not known:
            return "unknown"
        if 2 * self.close >= known:
            return "close"
        return "fair" if 2 * (self.close + self.fair) >= known else "rough"
