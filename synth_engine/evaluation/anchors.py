"""Public points that a reader may name: a value with a point, a part of a declared partition, or degrees."""

from __future__ import annotations

import re
from collections.abc import Iterator

import numpy as np

from synth_engine.codec.commutes import Commute
from synth_engine.domain import Domain
from synth_engine.domain.names import SEPARATOR
from synth_engine.evaluation import regions
from synth_engine.evaluation.commute_view import Spot
from synth_engine.evaluation.commutes import Flows, by_destination

DEGREES = re.compile(
    r"\s*([+-]?\d{1,2}(?:\.\d{1,9})?)\s*[,;\s]\s*([+-]?\d{1,3}(?:\.\d{1,9})?)\s*"
)
OFFERED = 500  # names, at most: more are found when they are typed


def find(text: str, *, commute: Commute, domain: Domain) -> Spot | None:
    """By its code or its name, whatever its letters' case, or by latitude and longitude; None if there is no such point."""
    if (degrees := DEGREES.fullmatch(text)) is not None:
        north, east = float(degrees[1]), float(degrees[2])
        return (
            Spot(text.strip(), north, east) if abs(north) <= 90 and abs(east) <= 180 else None
        )
    wanted = text.strip().casefold()
    return next((spot for spot in _named(commute, domain) if wanted in _called(spot)), None)


def _called(spot: Spot) -> set[str]:
    whole = spot.name.casefold()
    return {whole, *whole.split(SEPARATOR, 1)}


def names(*, commute: Commute, domain: Domain) -> list[str]:
    """Names to offer, without repeats: parts before values."""
    found: dict[str, None] = {}
    for spot in _named(commute, domain):
        found.setdefault(spot.name)
        if len(found) == OFFERED:
            break
    return list(found)


def busiest(flows: Flows) -> Spot:
    """Where most synthetic records end; the middle of all ends if there is no record."""
    found, end = by_destination(flows), flows.commute.destination
    if not found.positions.size:
        south, west, north, east = end.box
        return Spot("the middle", (south + north) / 2, (west + east) / 2)
    position = int(found.positions[found.records.argmax()])
    latitudes, longitudes = end.at(np.array([position]))
    return Spot(end.label(position), float(latitudes[0]), float(longitudes[0]))


def _named(commute: Commute, domain: Domain) -> Iterator[Spot]:
    ends = [end for end in (commute.origin, commute.destination) if end.named]
    for choice in regions.choices(commute, domain):
        if choice.startswith(regions.DECLARED):
            yield from _spots(regions.divided(commute, domain, choice)[0])
    for end in ends:
        yield from _spots(regions.each(end))


def _spots(found: regions.Parts) -> Iterator[Spot]:
    for name, north, east in zip(
        found.labels, found.north.tolist(), found.east.tolist(), strict=True
    ):
        if not np.isnan(north):
            yield Spot(name, north, east)
