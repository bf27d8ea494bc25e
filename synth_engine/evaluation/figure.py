"""The interface of a figure of the comparison: what it counts, its entry in a report, its
cards, and how to read them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, ClassVar, Literal, TypedDict

from synth_engine.codec import Fit, RawColumn
from synth_engine.domain import Attribute, Domain
from synth_engine.evaluation import blind_spots, raw_values, wording
from synth_engine.evaluation.cards import MARKS, Card
from synth_engine.evaluation.dependences import PairDependence, dependence
from synth_engine.evaluation.distances import chance_distance, shares, total_variation
from synth_engine.evaluation.plots import Report
from synth_engine.evaluation.tallies import Clique, Tallies, TallySource, align
from synth_engine.evaluation.wording import Explanation, FigureVerdict, Json, Level


@dataclass(frozen=True)
class FigureSection:
    """A part of the page. `links`: anchor and label of its entries in the list of sections; `layout`: how
    cards are placed; of "maps" a page shows one at a time, beside the first rows of the last one's table."""

    key: str
    title: str
    position: int
    links: tuple[tuple[str, str], ...]
    layout: Literal["list", "pairs", "maps"] = "list"


DISTANCES = FigureSection(
    "distances", "Distances between places", 20, (("distances", "Distances"),)
)
GROUPS = FigureSection(
    "groups",
    "Columns taken together",
    60,
    (("pairs", "Pairs"), ("triples", "Triples")),
    "pairs",
)


@dataclass(frozen=True)
class Tile:
    """One number of the summary. preserved: the share of its parts that is kept, 1 where it has none."""

    title: str
    value: str
    verdict: FigureVerdict
    preserved: float = 1.0

    @classmethod
    def of(cls, title: str, value: str, verdict: FigureVerdict) -> Tile:
        """The tile of a number with its verdict."""
        return cls(title, value, verdict)

    @classmethod
    def of_parts(cls, title: str, *, preserved: int, of: int, verdict: FigureVerdict) -> Tile:
        """The tile of so many parts that are kept of so many."""
        text = f"{preserved} / {of}" if of else "–"
        return cls(title, text, verdict, preserved / of if of else 1.0)

    @property
    def mark(self) -> str:
        """The sign of its level."""
        return MARKS[self.verdict["level"]]

    @property
    def level(self) -> Level:
        """How good it is."""
        return self.verdict["level"]

    @property
    def words(self) -> str:
        """The verdict in words."""
        return self.verdict["words"]


class CliqueDistance(TypedDict):
    """How far the joint values of some columns are apart."""

    cells: int
    tvd: float
    tvd_by_chance: float
    verdict: FigureVerdict


class CliqueEntry(CliqueDistance):
    """The entry of some columns in a report."""

    attributes: list[str]


@dataclass(frozen=True, kw_only=True, eq=False)
class Sides:
    """Both data sets of a comparison.

    `known`: the cliques of the report that both sides have counted.
    `fits`: how the cells of each real column fit its description, exact counts; empty for a private
    comparison. `unenforced`: violations of each constraint in the same synthetic table before constraints
    were enforced.
    """

    real: Tallies
    synthetic: Tallies
    domain: Domain
    known: Sequence[Clique]
    fits: Mapping[str, Fit] = field(default_factory=dict)
    unenforced: Sequence[int] = ()

    def counted(self, name: str) -> dict[str, Any] | None:
        """Returns what the figure of this field counted, by side; None unless both sides were
        counted."""
        real, synthetic = self.real.figures.get(name), self.synthetic.figures.get(name)
        if real is None or synthetic is None:
            return None
        # A figure is left out unless both sides counted it: one side alone would look like a
        # distance of 1.
        return {"real": real, "synthetic": synthetic}

    def column_entries(
        self, entry: Callable[[Attribute, RawColumn, RawColumn], Json | None]
    ) -> list[Json] | None:
        """Return the entries of all columns whose values were counted on both sides, those that differ most
        beyond chance first; None if there are none. entry: the entry of a column from its real and its
        synthetic values, None where a figure does not apply to it."""
        counted = self.counted("values")
        if counted is None:
            return None
        real, synthetic = counted["real"], counted["synthetic"]
        entries = [
            entry(attribute, real[attribute.name], synthetic[attribute.name])
            for attribute in self.domain.attributes
            if attribute.name in real and attribute.name in synthetic
        ]
        made = [each for each in entries if each is not None]
        return sorted(made, key=lambda each: each["by_chance"] - each["difference"]) or None

    def cliques(self, size: int) -> list[Clique]:
        """The known cliques of this many attributes."""
        return [clique for clique in self.known if len(clique) == size]

    @cached_property
    def columns(self) -> list[Attribute]:
        """The attributes that both sides have counted."""
        return [self.domain.attribute(name) for (name,) in self.cliques(1)]

    @cached_property
    def limits(self) -> dict[str, list[str]]:
        """Returns why the distance of a column says too little, by column."""
        return {
            column.name: blind_spots.limits(column, self.real, self.fits.get(column.name))
            for column in self.columns
        }

    @cached_property
    def values(self) -> dict[str, Json]:
        """Returns the comparison of uncoded values, by column; empty unless both sides have counted them."""
        sides = self.counted("values") or {"real": {}, "synthetic": {}}
        real, synthetic = sides["real"], sides["synthetic"]
        return {
            attribute.name: raw_values.compare_column(
                attribute, real[attribute.name], synthetic[attribute.name]
            )
            for attribute in self.domain.attributes
            if attribute.name in real and attribute.name in synthetic
        }

    def distance(self, clique: Clique, *, hidden: Sequence[str] = ()) -> CliqueDistance:
        """The distance of a clique; not called kept where the comparison cannot see inside the `hidden`
        columns."""
        real, synthetic = align(self.real[clique], self.synthetic[clique])
        value = total_variation(shares(real), shares(synthetic))
        chance = chance_distance(real, synthetic)
        verdict = wording.distance_verdict(value, chance=chance)
        return {
            "cells": self.real[clique].size,
            "tvd": value,
            "tvd_by_chance": chance,
            "verdict": blind_spots.group_verdict(verdict, hidden),
        }

    @cached_property
    def _dependences(self) -> dict[Clique, tuple[PairDependence, PairDependence]]:
        return {}

    def dependences(self, pair: Clique) -> tuple[PairDependence, PairDependence]:
        """How dependent a pair of columns is, in the real and in the synthetic table."""
        if pair not in self._dependences:
            self._dependences[pair] = (
                dependence(self.real[pair].dense()),
                dependence(self.synthetic[pair].dense()),
            )
        return self._dependences[pair]

    def hidden(self, clique: Clique) -> list[str]:
        """The columns of a clique inside which the comparison cannot see, and those that are damaged."""
        return [
            name
            for name in clique
            if self.limits[name] or self._is_damaged(name) or self._is_mostly_other(name)
        ]

    def _is_mostly_other(self, name: str) -> bool:
        """Whether most synthetic cells stand for values that were not declared: then so do the codes of the
        real ones."""
        entry = self.values.get(name, {})
        return bool(entry.get("other", 0.0) > raw_values.MAX_BIN_SHARE)

    def _is_damaged(self, name: str) -> bool:
        verdict = self.values[name]["verdict"] if name in self.values else None
        return verdict is not None and verdict["level"] == "damaged"


class ComparisonFigure:
    """One figure: a module of `evaluation.figures` holds one instance as its `FIGURE`.

    `field`: its field in the report; empty for a figure that shows the entries of another one. `is_purpose`:
    whether a table with such an entry is made for it, so that its tile comes first.
    `position`: its order among the figures. `section`: where its cards stand. `explanations`: texts beside
    its cards.
    """

    field: ClassVar[str] = ""
    is_purpose: ClassVar[bool] = False
    position: ClassVar[int]
    section: ClassVar[FigureSection]
    explanations: ClassVar[Mapping[str, Explanation]] = {}

    def tally(self, _source: TallySource) -> Any:
        """Counts what the figure needs besides the cliques of a report; None where the domain has nothing for
        it."""
        return None

    def entry(self, _sides: Sides) -> Any:
        """The value of the figure's field in a report."""
        return None

    def tiles(self, _report: Report) -> list[Tile]:
        """Numbers of the figure that belong in the summary."""
        return []

    def verdict(self, _report: Report) -> str:
        """A sentence below the title of the section."""
        return ""

    def cards(self, _report: Report) -> list[Card]:
        """The cards of a report, reports without the field included."""
        return []
