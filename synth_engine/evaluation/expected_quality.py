"""How close a release is expected to be to the real table, column by column, in a word: from expected ranges
alone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from synth_engine.evaluation import quality_words
from synth_engine.evaluation.expected import ExpectedColumn, ExpectedFigure
from synth_engine.evaluation.quality_words import ColumnWord


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


def word_of(column: ExpectedColumn) -> ColumnWord:
    """How well a column is expected to be known: by the worse of its shares and its mean."""
    words = []
    if (share := share_deviation(column)) is not None:
        words.append(quality_words.of_share(share))
    if (mean := mean_deviation(column)) is not None:
        words.append(quality_words.of_mean(mean))
    return quality_words.worst_column(words)


@dataclass(frozen=True, kw_only=True)
class ExpectedQuality:
    """How many columns of a release have which word, and the word of their relations (`expected_relations`).
    related: how many of all `pairs` of columns go together in the model."""

    found_columns: int
    coarse_columns: int
    not_found_columns: int
    unknown_columns: int
    relations: str = "unknown"
    related: int = 0
    pairs: int = 0

    @classmethod
    def of(cls, columns: Sequence[ExpectedColumn]) -> ExpectedQuality:
        every = [word_of(column) for column in columns]
        return cls(
            found_columns=every.count("found"),
            coarse_columns=every.count("coarse"),
            not_found_columns=every.count("not found"),
            unknown_columns=every.count("unknown"),
        )

    @property
    def word(self) -> ColumnWord:
        """The word that at least half of the columns with bands reach; unknown where none has bands."""
        known = self.found_columns + self.coarse_columns + self.not_found_columns
        if not known:
            return "unknown"
        if 2 * self.found_columns >= known:
            return "found"
        return (
            "coarse" if 2 * (self.found_columns + self.coarse_columns) >= known else "not found"
        )
