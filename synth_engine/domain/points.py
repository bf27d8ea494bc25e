"""Points: where values of a column lie, or where records of a place can be at all, as a gazetteer has it. A
public fact: no coordinate may come from the table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from synth_engine.domain import names as naming
from synth_engine.domain import sources
from synth_engine.domain.names import Names
from synth_engine.domain.places import Place
from synth_engine.domain.sources import Source
from synth_engine.errors import DomainError
from synth_engine.kinds.attribute import Attribute
from synth_engine.kinds.fields import Fields
from synth_engine.kinds.integer import Integer
from synth_engine.kinds.number import Number
from synth_engine.kinds.undeclared import Undeclared

_REPAIR = (
    'give "column" and "at", an object of values and [latitude, longitude] or [latitude, longitude, weight]; '
    'or "place" and "at", a list of these'
)
_NUMBERS = {int, float}  # and no truth values
Point = tuple[float, float, float]


@dataclass(frozen=True, kw_only=True)
class PointSet:
    """`at`: latitude and longitude in degrees and a weight (residents, or 1). Of `column`: of each declared
    value, in order; "other" and missing have none. Of `place`, instead: of every point where a record may be,
    in any order. `names`: what people call values."""

    at: tuple[Point, ...]
    column: str = ""
    place: str = ""
    source: Source | None = None
    names: Names = ()

    def check(self, by_name: Mapping[str, Attribute], places: Sequence[Place]) -> None:
        """Refuses points of another column, and points that lie nowhere. `by_name`: the attributes of the
        domain."""
        if bool(self.column) == bool(self.place):
            raise DomainError("points of no column and no place, or of both", repair=_REPAIR)
        for latitude, longitude, weight in self.at:
            if not (-90 <= latitude <= 90 and -180 <= longitude <= 180):
                raise self._error(
                    "a point is no latitude and longitude in degrees",
                    repair="write degrees with decimals, latitude first",
                )
            # Geocoders write (0, 0), a point in the ocean, where they fail.
            if latitude == longitude == 0:
                raise self._error("a point is at (0, 0)", repair="look the place up")
            if not 0 < weight < float("inf"):
                raise self._error(
                    "a weight of a point is not above 0",
                    repair="leave weights out, or give all",
                )
        if self.column:
            attribute = by_name.get(self.column)
            if (
                not attribute
                or not attribute.size
                or isinstance(attribute, Undeclared)
                or len(self.at) != attribute.value_count
            ):
                raise self._error("points are not one for each declared value", repair=_REPAIR)
        else:
            place = next((each for each in places if each.name == self.place), None)
            if place is None or not self.at:
                raise self._error(
                    "points of a place that is not declared, or none at all", repair=_REPAIR
                )
            self._check_bounds(by_name[place.latitude], by_name[place.longitude])

    def _check_bounds(self, north: Attribute, east: Attribute) -> None:
        """Refuses points beyond the declared bounds of the place's columns."""
        if not (isinstance(north, Integer | Number) and isinstance(east, Integer | Number)):
            raise TypeError("a coordinate is not a number")
        beyond = [
            not (north.low <= a <= north.high and east.low <= b <= east.high)
            for a, b, _ in self.at
        ]
        if not any(beyond):
            return
        if all(
            north.low <= b <= north.high and east.low <= a <= east.high for a, b, _ in self.at
        ):
            raise self._error(
                "latitude and longitude of points are swapped", repair="write latitude first"
            )
        raise self._error(
            f"{sum(beyond):,} of {len(beyond):,} public points are outside the bounds of {north.name} and "
            f"{east.name}",
            repair="widen low and high of these columns, or leave such points out",
        )

    def _error(self, rule: str, *, repair: str) -> DomainError:
        rule = f"place {self.place!r}: {rule}" if self.place else rule
        return DomainError(rule, repair=repair, column=self.column or None)

    def to_json(self, attributes: Sequence[Attribute]) -> dict[str, object]:
        source: dict[str, object] = (
            {} if self.source is None else {"source": self.source.to_json()}
        )
        if self.place:
            return {"place": self.place, "at": [list(each) for each in self.at], **source}
        [attribute] = [each for each in attributes if each.name == self.column]
        at = {k: list(v) for k, v in zip(attribute.value_labels, self.at, strict=True)}
        return {
            "column": self.column,
            "at": at,
            **source,
            **({"names": dict(self.names)} if self.names else {}),
        }


def parse(documents: Sequence[object], attributes: Sequence[Attribute]) -> tuple[PointSet, ...]:
    """Read points from JSON. Errors: DomainError naming the column or the place."""
    point_sets = []
    by_name = {attribute.name: attribute for attribute in attributes}
    for document in documents:
        if not isinstance(document, Mapping) or not isinstance(
            document.get("at"), Mapping | list
        ):
            raise DomainError("points are no objects with places", repair=_REPAIR)
        fields = Fields(document)
        fields.only(
            "column", "place", "at", "source", *(["names"] if document.get("column") else [])
        )
        column, place = fields.text("column"), fields.text("place")
        of = {"column": column, "place": place, "source": sources.parse(document.get("source"))}
        at = _all(document["at"], by_name, column=column, place=place)
        names = naming.parse(document.get("names"), document["at"], column=column)
        point_sets.append(PointSet(at=at, names=names, **of))
    if len({(each.column, each.place) for each in point_sets}) < len(point_sets):
        raise DomainError(
            "points of one column or place are given twice", repair="give them once"
        )
    return tuple(point_sets)


def _all(
    at: Any, by_name: Mapping[str, Attribute], *, column: str, place: str
) -> tuple[Point, ...]:
    name = column or place or None
    if isinstance(at, list) != bool(place):
        raise DomainError(
            "points of a column are an object, of a place a list", repair=_REPAIR, column=name
        )
    if isinstance(at, list):
        return tuple(_point(each, column=name) for each in at)
    labels = by_name[column].value_labels if column in by_name else ()
    if set(at) != set(labels):
        raise DomainError(
            "points are not one for each declared value", repair=_REPAIR, column=name
        )
    return tuple(_point(at[label], column=name) for label in labels)


def _point(document: object, *, column: str | None) -> Point:
    if (
        not isinstance(document, list)
        or len(document) not in (2, 3)
        or not {*map(type, document)} <= _NUMBERS
    ):
        raise DomainError(
            "a point is no list of two or three numbers", repair=_REPAIR, column=column
        )
    return (
        float(document[0]),
        float(document[1]),
        float(document[2]) if len(document) == 3 else 1.0,
    )
