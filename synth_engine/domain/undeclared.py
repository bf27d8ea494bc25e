"""Attributes whose categories or bins are not known beforehand: a run buys them first, out of its own budget.

What is declared is wide and public: a set of texts that may be too large to list, or a range far wider than the values.
Until it has been learned, a column of texts has no values but "other" and missing, and one on a scale has the cells of a
public grid.
"""

from __future__ import annotations

import datetime
from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, ClassVar, Literal

from synth_engine.domain.attributes import (
    MAX_CODES,
    MISSING,
    OTHER,
    Attribute,
    Categorical,
    Outside,
)
from synth_engine.domain.completions import Completions
from synth_engine.domain.grids import number_grid, whole_grid
from synth_engine.domain.scales import ISO, Date, Integer, Number
from synth_engine.values import ValueSet

Of = Literal["integer", "number", "date"]
SCALES: tuple[Of, ...] = ("integer", "number", "date")
GRID_DAYS = 1_000
MAX_BINS = 500
DEFAULT_RHO = 0.9


@dataclass(frozen=True, kw_only=True)
class Undeclared(Attribute):
    """What a run has to learn before it can count."""

    @abstractmethod
    def admits(self, resolved: Attribute) -> bool:
        """Whether an attribute is one that this one can become."""


@dataclass(frozen=True, kw_only=True)
class Weak(Undeclared):
    """One of a public set of texts, of which few occur. `rho` is the chance that no text comes out that nobody has. What
    is not found, or not in the set, is "other", or missing if `outside` says so. completions: for a method that finds
    beginnings of texts."""

    kind: ClassVar[str] = "weak"
    fact_names: ClassVar[tuple[str, ...]] = ("kind", "values", "missing")
    outsides: ClassVar[tuple[Outside, ...]] = ("other", "missing")

    values: ValueSet
    rho: float = DEFAULT_RHO
    completions: Completions | None = None
    ordered: bool = field(default=False)

    def check(self) -> None:
        if (
            not isinstance(self.rho, int | float)
            or isinstance(self.rho, bool)
            or not 0 < self.rho < 1
        ):
            raise self.error(
                "rho does not lie strictly between 0 and 1", repair="0.9 is a common choice"
            )
        object.__setattr__(self, "rho", float(self.rho))
        if any(marker in self.values for marker in self.missing or ()):
            raise self.error(
                "a missing marker is also a value", repair="take it off one of the two lists"
            )
        if self.has_other and OTHER in (self.missing or ()):
            raise self.error(
                f"{OTHER!r} is what other values are called",
                repair="take it off the missing markers",
            )

    @property
    def value_labels(self) -> tuple[str, ...]:
        return ()

    @property
    def has_other(self) -> bool:
        return self.outside != "missing"

    @property
    def population(self) -> int:
        """How many values may be found: those of the set, "other" and missing."""
        return self.values.size + self.size

    def rank(self, text: str | None) -> int:
        """The number of a text among them. "Other" follows the set, missing comes last."""
        return self.ranks([text])[0]

    def ranks(self, texts: Sequence[str | None]) -> list[int]:
        """The numbers of many texts."""
        last, gone = self.population - 1, self.missing
        outside = self.values.size if self.has_other else last
        value_ranks = [
            outside if rank is None else rank
            for rank in self.values.ranks([text or "" for text in texts])
        ]
        if gone is None:
            return value_ranks
        missing = [text is None or text in gone for text in texts]
        return [
            last if lacks else rank for rank, lacks in zip(value_ranks, missing, strict=True)
        ]

    def from_ranks(self, ranks: Sequence[int]) -> Categorical:
        """The attribute whose values are those of these ranks, in their order. Of too many the first are kept, so put
        the most frequent there; "other" and missing are never left out."""
        texts = [
            self.values.unrank(rank)
            for rank in sorted(ranks[: MAX_CODES - 2])
            if rank < self.values.size
        ]
        texts = [text for text in texts if text != OTHER]
        facts = dict(self.facts) | {"values": "learned"}
        if not texts:  # nothing but "other" and missing
            return Categorical(
                name=self.name,
                values=(OTHER if self.has_other else self._nothing(),),
                missing=self.missing,
                outside="clamp" if self.has_other else "missing",
                provenance=facts,
            )
        return Categorical(
            name=self.name,
            values=tuple(texts),
            other=self.has_other,
            missing=self.missing,
            outside=self.outside,
            provenance=facts,
        )

    def _nothing(self) -> str:
        """What the one value is called where none was found and all is missing: nothing that a file calls missing."""
        text = MISSING
        while text in (self.missing or ()):
            text = f"({text})"
        return text

    def admits(self, resolved: Attribute) -> bool:
        if not isinstance(resolved, Categorical):
            return False
        ranks = [self.values.rank(text) for text in resolved.values]
        return resolved == self.from_ranks([rank for rank in ranks if rank is not None])

    def details(self) -> dict[str, object]:
        further = (
            {} if self.completions is None else {"completions": self.completions.to_json()}
        )
        return {
            "values": self.values.to_json() | {"size": self.values.size},
            "rho": self.rho,
        } | further

    def _default_outside(self) -> Outside:
        return "other"


@dataclass(frozen=True, kw_only=True)
class Range(Undeclared):
    """Numbers or days within a range that is declared wide, from `low` to `high`; where they lie in it, and bins that
    suit them, up to `bins`, are learned on a public grid."""

    kind: ClassVar[str] = "range"
    fact_names: ClassVar[tuple[str, ...]] = ("kind", "bounds", "missing")

    of: Of
    low: Any
    high: Any
    bins: int = 16
    format: str = ISO
    ordered: bool = True

    def check(self) -> None:
        if self.of not in SCALES:
            raise self.error("unknown scale", repair=f"set of to one of {', '.join(SCALES)}")
        if type(self.bins) is not int or not 2 <= self.bins <= MAX_BINS:
            raise self.error(
                f"bins is not a whole number from 2 to {MAX_BINS}",
                repair="16 is a common choice",
            )
        kind = (
            datetime.date
            if self.of == "date"
            else int
            if self.of == "integer"
            else (int, float)
        )
        if any(
            not isinstance(bound, kind) or isinstance(bound, bool)
            for bound in (self.low, self.high)
        ):
            raise self.error(f"a bound is no {self.of}", repair="give low and high")
        if self.of != "date" and self.format != ISO:
            raise self.error("a format is for dates", repair="leave it out")
        if not self.low < self.high:
            raise self.error("low is not below high", repair="swap them, or widen the range")
        self.grid  # noqa: B018  # what is wrong with the bounds is said now

    @cached_property
    def grid(self) -> Integer | Number | Date:
        """The same column cut into public cells: fine near zero, or everywhere alike where zero is far."""
        if self.of == "date":
            days = -(-((self.high - self.low).days + 1) // GRID_DAYS)
            return Date(
                **self._shared(),
                low=self.low,
                high=self.high,
                step_days=days,
                format=self.format,
            )
        if self.of == "integer":
            return Integer(
                **self._shared(),
                low=self.low,
                high=self.high,
                edges=whole_grid(self.low, self.high),
            )
        return Number(
            **self._shared(),
            low=self.low,
            high=self.high,
            edges=number_grid(self.low, self.high),
        )

    def _shared(self) -> dict[str, Any]:
        facts = {
            "kind": self.facts["kind"],
            "bounds": "learned",
            "missing": self.facts["missing"],
        }
        return {
            "name": self.name,
            "missing": self.missing,
            "outside": self.outside,
            "provenance": facts,
        }

    @property
    def value_labels(self) -> tuple[str, ...]:
        return self.grid.value_labels

    @property
    def value_count(self) -> int:
        return self.grid.value_count

    def cut(self, places: Sequence[int]) -> Attribute:
        """The attribute with bins from each of these cells of the grid to the next; the last place is an end. Days have
        bins of equal width, so of those the first and the last place count, and how many there are."""
        grid = self.grid
        if isinstance(grid, Date):
            cells = -(-(places[-1] - places[0]) // (len(places) - 1))
            low, high = grid.days(places[0])[0], grid.days(places[-1] - 1)[1]
            return Date(
                **self._shared(),
                low=low,
                high=high,
                step_days=cells * grid.step_days,
                format=self.format,
            )
        if isinstance(grid, Integer):
            return _whole_bins([grid.cuts[place] for place in places], shared=self._shared())
        edges = tuple(grid.cuts[place] for place in places)
        return Number(**self._shared(), low=edges[0], high=edges[-1], edges=edges)

    def admits(self, resolved: Attribute) -> bool:
        """Whether every cell of the grid lies in one bin."""
        grid = self.grid
        if type(resolved) is not type(grid) or resolved.facts["bounds"] != "learned":
            return False
        if (resolved.missing, resolved.outside) != (self.missing, self.outside):
            return False
        if isinstance(resolved, Date) and isinstance(grid, Date):
            offset = (resolved.low - grid.low).days
            return resolved.step_days % grid.step_days == 0 and offset % grid.step_days == 0
        assert not isinstance(resolved, Date) and not isinstance(grid, Date)  # noqa: S101 - looked at above
        return set(resolved.cuts) <= set(grid.cuts)

    def details(self) -> dict[str, object]:
        bounds = [
            bound.isoformat() if self.of == "date" else bound for bound in (self.low, self.high)
        ]
        shared: dict[str, object] = {
            "of": self.of,
            "low": bounds[0],
            "high": bounds[1],
            "bins": self.bins,
        }
        return shared | ({"format": self.format} if self.of == "date" else {})


def _whole_bins(cuts: list[int], *, shared: dict[str, Any]) -> Integer:
    """Whole numbers with these bins. The upper edge of the last bin is its largest number, so it cannot have one number
    alone, unless all bins do."""
    low, high = cuts[0], cuts[-1] - 1
    if len(cuts) == high - low + 2:  # increasing, so every number is a bin
        return Integer(**shared, low=low, high=high, width=1)
    if cuts[-2] == high:
        cuts = [*cuts[:-2], cuts[-1]]
    return Integer(**shared, low=low, high=high, edges=(*cuts[:-1], high))
