"""The view of commutes that a reader chose: which ones, how they are divided, and each figure's
whole table."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property

from synth_engine.domain import Domain
from synth_engine.evaluation import commute_wording, regions, wording
from synth_engine.evaluation.cards import Card, make_card, make_table
from synth_engine.evaluation.commutes import Flows
from synth_engine.evaluation.curves import Unit
from synth_engine.evaluation.maps import BaseMap, Centre
from synth_engine.evaluation.plots import Figure, Layout, Trace, frame
from synth_engine.evaluation.regions import Regions
from synth_engine.indexing.commutes import Commute

Row = tuple[str, ...]


@dataclass(frozen=True)
class NamedPoint:
    """A public point near which records start, in degrees."""

    name: str
    north: float
    east: float


@dataclass(frozen=True, kw_only=True)
class FullTable:
    """The whole table behind a figure, as texts; the first `names` columns and, with `words`, the last are no
    numbers."""

    key: str
    caption: str
    head: Row
    rows: list[Row]
    words: bool = False
    names: int = 1


@dataclass(frozen=True, kw_only=True, eq=False)
class CommuteView:
    """`sides`: "synthetic" and, for a steward, "real" records; `near` and `within_km`: where records of the
    second curve start; `choice`: one of `parts.choices`."""

    domain: Domain
    commute: Commute
    sides: Mapping[str, Flows]
    near: NamedPoint
    within_km: float
    short_km: float
    unit: Unit
    choice: str

    @property
    def private(self) -> bool:
        # A view with real records is never private, whatever else it shows: from this follow
        # the red bar and the wording.
        return "real" not in self.sides

    @cached_property
    def nearby(self) -> dict[str, Flows]:
        """Selects the records of each side that start near the point."""
        spot = self.near
        return {
            side: flows.homes_within(self.within_km, north=spot.north, east=spot.east)
            for side, flows in self.sides.items()
        }

    @property
    def around(self) -> str:
        """`8 km of Providence`."""
        return f"{self.distance(self.within_km)} of {self.near.name}"

    @cached_property
    def divided(self) -> tuple[Regions, Regions]:
        return regions.divide(self.commute, self.domain, self.choice)

    @cached_property
    def base_map(self) -> BaseMap:
        outlines = regions.outlines(self.commute, self.domain)
        spot = self.near
        centre = Centre(
            name=spot.name, north=spot.north, east=spot.east, within_km=self.within_km
        )
        return BaseMap(
            outlines=outlines,
            declared=bool(self.domain.partitions),
            box=self.box,
            unit=self.unit,
            centre=centre,
            names=self._names,
            grid=self.divided[0].grid,
        )

    @property
    def _names(self) -> list[tuple[str, float, float]]:
        """Names of parts for the map, those with most synthetic records first; real ones would show in their
        order."""
        counts = regions.matrix(self.sides["synthetic"], self.divided)
        return regions.names(self.divided, (counts.sum(axis=1), counts.sum(axis=0)))

    @cached_property
    def box(self) -> tuple[float, float, float, float]:
        return regions.box(self.commute)

    def distance(self, kilometres: float) -> str:
        """Writes a distance in the unit of the reader, to three digits."""
        return f"{self.unit.of(kilometres):.3g} {self.unit.short}"

    def figure(self, traces: list[Trace], layout: Layout, *, words: str) -> Figure:
        return frame(self._report, traces, layout, words=words)

    def card(
        self,
        sheet: FullTable,
        kind: str,
        verdict: str,
        *,
        figure: Figure,
        mark: str = "",
        title: str = "",
    ) -> Card:
        """A card of the readings called `kind`."""
        reading = commute_wording.reading(kind, beside_real=not self.private)
        price = (
            commute_wording.PRICE_OF_RELEASE
            if self.private
            else commute_wording.PRICE_OF_COMPARISON
        )
        text = {**reading, "title": title or reading["title"]}
        table = make_table(
            sheet.caption, sheet.head, sheet.rows, words=sheet.words, names=sheet.names
        )
        made = make_card(self._report, sheet.key, text, table, verdict, figure=figure)
        return replace(made, mark=mark, price=price)

    @property
    def _report(self) -> dict[str, object]:
        """Returns the fields of a report by which a figure states whether it is private."""
        return {
            "private": self.private,
            "notice": wording.PRIVATE if self.private else wording.NOT_PRIVATE,
        }
