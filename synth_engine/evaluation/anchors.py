"""Public points that a reader may name: a value with a point, a part of a declared partition, or degrees."""

from __future__ import annotations

import re
from collections.abc import Iterator

import numpy as np

from synth_engine.domain import Domain
from synth_engine.domain.names import SEPARATOR
from synth_engine.evaluation import regions
from synth_engine.evaluation.commute_view import NamedPoint
from synth_engine.evaluation.commutes import Flows, by_destination
from synth_engine.indexing.commutes import Commute

DEGREES = re.compile(
    r"\s*([+-]?\d{1,2}(?:\.\d{1,9})?)\s*[,;\s]\s*([+-]?\d{1,3}(?:\.\d{1,9})?)\s*"
)
MAX_SUGGESTIONS = 500  # names, at most: more are found when they are typed


def find(text: str, *, commute: Commute, domain: Domain) -> NamedPoint | None:
    """Finds a public point by its code or name, in any case, or by latitude and longitude; None
    if there is no such point."""
    if (degrees := DEGREES.fullmatch(text)) is not None:
        north, east = float(degrees[1]), float(degrees[2])
        return (
            NamedPoint(text.strip(), north, east)
            if abs(north) <= 90 and abs(east) <= 180
            else None
        )
    # A bare code and a bare name both find a value: labels of a gazetteer join the two.
    wanted = text.strip().casefold()
    return next(
        (spot for spot in _named_points(commute, domain) if wanted in _spellings(spot)), None
    )


def _spellings(spot: NamedPoint) -> set[str]:
    whole = spot.name.casefold()
    return {whole, *whole.split(SEPARATOR, 1)}


def names(*, commute: Commute, domain: Domain) -> list[str]:
    """Names to offer, without repeats: parts before values."""
    unique: dict[str, None] = {}
    for spot in _named_points(commute, domain):
        unique.setdefault(spot.name)
        if len(unique) == MAX_SUGGESTIONS:
            break
    return list(unique)


def busiest_destination(flows: Flows) -> NamedPoint:
    """Returns the point where most synthetic records end; the middle of all ends if there is no
    record."""
    # Only the synthetic side is passed in: a default that followed the real records would show
    # on the page of a private release.
    averages, end = by_destination(flows), flows.commute.destination
    if not averages.positions.size:
        south, west, north, east = end.box
        return NamedPoint("the middle", (south + north) / 2, (west + east) / 2)
    position = int(averages.positions[averages.records.argmax()])
    latitudes, longitudes = end.at(np.array([position]))
    return NamedPoint(end.label(position), float(latitudes[0]), float(longitudes[0]))


def _named_points(commute: Commute, domain: Domain) -> Iterator[NamedPoint]:
    ends = [end for end in (commute.origin, commute.destination) if end.named]
    # Parts come first, so that the limit on suggestions cuts off single values before parts.
    for choice in regions.choices(commute, domain):
        if choice.startswith(regions.DECLARED):
            yield from _points_of(regions.divide(commute, domain, choice)[0])
    for end in ends:
        yield from _points_of(regions.by_value(end))


def _points_of(regions: regions.Regions) -> Iterator[NamedPoint]:
    for name, north, east in zip(
        regions.labels, regions.north.tolist(), regions.east.tolist(), strict=True
    ):
        if not np.isnan(north):
            yield NamedPoint(name, north, east)
