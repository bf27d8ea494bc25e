"""Where a figure comes from, as a type: counted from real cells, computed from a model, expected with a band,
or paid for.

Figures of real cells are for the data steward alone. Those of models and ranges follow from released
documents, and the guarantee of the release covers them. Paid figures are measured with noise, under a
guarantee and a receipt of their own. No function turns an exact figure into another: tests walk the fields
that an analyst can reach.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class ExactFigure:
    """A figure of real cells: not private, for the data steward alone."""

    value: float


@dataclass(frozen=True, kw_only=True)
class ModelFigure:
    """A figure of a model: post-processing of noisy answers."""

    value: float


@dataclass(frozen=True, kw_only=True)
class ExpectedRange:
    """A figure of a model with the band in which the figure of the real table is expected, from the public
    law of the noise.

    level: the share of releases whose band holds it, as far as the noise is concerned.
    """

    estimate: ModelFigure
    low: float
    high: float
    level: float

    def holds(self, exact: ExactFigure) -> bool:
        """Whether the band holds the figure of the real table; for benchmarks."""
        return self.low <= exact.value <= self.high


@dataclass(frozen=True, kw_only=True)
class SyntheticRow:
    """One record drawn from a model, as texts: post-processing of noisy answers.

    cells: the text of each column, None where the value is missing. ranks: of each cell among those of its
    column in the rows that were drawn with it, to sort them by.
    """

    cells: tuple[str | None, ...]
    ranks: tuple[int, ...]


@dataclass(frozen=True, kw_only=True)
class PaidFigure:
    """A figure that was measured with budget: noisy, with the interval that its noise allows.

    level: the share of checks whose interval holds the figure of the real table.
    """

    value: float
    low: float
    high: float
    level: float
