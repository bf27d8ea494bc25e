"""A table of values as integer codes and back, for synthesizers that take codes alone.

The codes of a text are its values in the real table, those of a number are intervals between quantiles of the real
table. Nobody pays for either, which favours whoever is given them. A code of an interval becomes a number drawn evenly from it.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pandas as pd

INTERVALS = 32
Codes = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Texts:
    """The values of a column of texts."""

    values: tuple[str, ...]

    @property
    def size(self) -> int:
        return len(self.values)

    def codes(self, column: pd.Series) -> Codes:
        return pd.Categorical(column, categories=self.values).codes.astype(np.int64)

    def cells(self, codes: Codes, _rng: np.random.Generator) -> pd.Series:
        return pd.Series(np.array(self.values, dtype=object)[codes])


@dataclass(frozen=True)
class Intervals:
    """The edges of the intervals of a column of numbers, both ends included. Cells without a number have the last code."""

    edges: npt.NDArray[np.float64]
    whole: bool

    @property
    def size(self) -> int:
        return self.edges.size

    def codes(self, column: pd.Series) -> Codes:
        numbers = pd.to_numeric(column, errors="coerce").to_numpy(np.float64)
        codes = np.searchsorted(self.edges[1:-1], numbers, side="right")
        return np.where(np.isnan(numbers), self.size - 1, codes).astype(np.int64)

    def cells(self, codes: Codes, rng: np.random.Generator) -> pd.Series:
        known = codes < self.size - 1
        at = np.where(known, codes, 0)
        low, high = self.edges[at], self.edges[at + 1]
        numbers = low + (high - low) * rng.random(codes.size)
        if self.whole:
            # An interval holds the whole numbers from its lower edge to below its upper one.
            numbers = np.floor(np.minimum(numbers, np.maximum(high - 1, low)))
        texts = pd.Series(numbers).map(lambda number: f"{number:.10g}")
        return texts.where(known, "")


@dataclass(frozen=True)
class Coding:
    columns: dict[str, Texts | Intervals]

    @classmethod
    def of(cls, table: pd.DataFrame, *, numeric: Collection[str]) -> Coding:
        """The coding that follows from a real table."""
        return cls(
            {
                name: _intervals(table[name])
                if name in numeric
                else Texts(tuple(sorted(table[name].unique())))
                for name in table
            }
        )

    @property
    def sizes(self) -> dict[str, int]:
        return {name: column.size for name, column in self.columns.items()}

    def codes(self, table: pd.DataFrame) -> pd.DataFrame:
        return pd.DataFrame({n: column.codes(table[n]) for n, column in self.columns.items()})

    def table(self, codes: pd.DataFrame, *, rng: np.random.Generator) -> pd.DataFrame:
        return pd.DataFrame(
            {n: column.cells(codes[n].to_numpy(), rng) for n, column in self.columns.items()}
        )


def _intervals(column: pd.Series) -> Intervals:
    numbers = pd.to_numeric(column, errors="coerce").dropna().to_numpy(np.float64)
    whole = bool((numbers == np.round(numbers)).all())
    inner = np.unique(np.quantile(numbers, np.linspace(0, 1, INTERVALS + 1), method="higher"))
    return Intervals(np.append(inner, inner[-1] + 1), whole)
