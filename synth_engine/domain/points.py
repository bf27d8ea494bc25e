"""Points: where each value of a column lies, as a gazetteer has it. A public fact: no coordinate may come from the table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from synth_engine.domain.attributes import Attribute
from synth_engine.domain.open import Open
from synth_engine.domain.reading import Fields
from synth_engine.errors import DomainError

_REPAIR = 'give "column" and "at", an object of values and [latitude, longitude] or [latitude, longitude, weight]'
Point = tuple[float, float, float]


@dataclass(frozen=True, kw_only=True)
class Points:
    """`at`: latitude and longitude in degrees and a weight (residents, or 1) of each declared value of `column`, in order;
    "other" and missing have none."""

    column: str
    at: tuple[Point, ...]

    def check(self, attributes: Sequence[Attribute]) -> None:
        """Refuses points of another column, and points that lie nowhere."""
        attribute = next((each for each in attributes if each.name == self.column and each.size), None)
        if attribute is None or isinstance(attribute, Open) or len(self.at) != attribute.value_count:
            raise DomainError("points are not one for each declared value", repair=_REPAIR, column=self.column)
        for latitude, longitude, weight in self.at:
            if not (-90 <= latitude <= 90 and -180 <= longitude <= 180):
                raise DomainError(
                    "a point is no latitude and longitude in degrees",
                    repair="write degrees with decimals, latitude first",
                    column=self.column,
                )
            if latitude == longitude == 0:
                raise DomainError("a point is at (0, 0)", repair="look the place up", column=self.column)
            if not 0 < weight < float("inf"):
                raise DomainError(
                    "a weight of a point is not above 0", repair="leave weights out, or give all", column=self.column
                )

    def to_json(self, attributes: Sequence[Attribute]) -> dict[str, object]:
        [attribute] = [each for each in attributes if each.name == self.column]
        return {"column": self.column, "at": {k: list(v) for k, v in zip(attribute.value_labels, self.at, strict=True)}}


def parse(documents: Sequence[object], attributes: Sequence[Attribute]) -> tuple[Points, ...]:
    """From JSON. Errors: DomainError naming the column."""
    found = []
    for document in documents:
        if not isinstance(document, Mapping) or not isinstance(document.get("at"), Mapping):
            raise DomainError("points are no objects with places", repair=_REPAIR)
        fields = Fields(document)
        fields.only("column", "at")
        column, at = fields.text("column"), document["at"]
        labels = next((each.value_labels for each in attributes if each.name == column), ())
        if set(at) != set(labels):
            raise DomainError("points are not one for each declared value", repair=_REPAIR, column=column or None)
        found.append(Points(column=column, at=tuple(_point(at[label], column=column) for label in labels)))
    if len({each.column for each in found}) < len(found):
        raise DomainError("points of one column are given twice", repair="give them once")
    return tuple(found)


def _point(document: object, *, column: str) -> Point:
    numbers = document if isinstance(document, list) and len(document) in (2, 3) else ()
    if not numbers or not all(isinstance(n, int | float) and not isinstance(n, bool) for n in numbers):
        raise DomainError("a point is no list of two or three numbers", repair=_REPAIR, column=column)
    return float(numbers[0]), float(numbers[1]), float(numbers[2]) if len(numbers) == 3 else 1.0
