"""Places: which two columns of a table are the latitude and longitude of one point. A public fact, like the
rest."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass

from synth_engine.errors import DomainError
from synth_engine.kinds.attribute import Attribute
from synth_engine.kinds.fields import Fields
from synth_engine.kinds.integer import Integer
from synth_engine.kinds.number import Number

MAX_PLACES = 8
_LIMITS = {"latitude": 90, "longitude": 180}


@dataclass(frozen=True, kw_only=True)
class Place:
    """A point that every record has, in degrees north and east. `latitude` and `longitude` name columns of
    numbers. `learned`: whether methods that count tables of columns take it as one column of cells, which a
    run learns."""

    name: str
    latitude: str
    longitude: str
    learned: bool = False

    @property
    def columns(self) -> tuple[str, str]:
        return self.latitude, self.longitude

    def to_json(self) -> dict[str, str | bool]:
        document = asdict(self)
        # Left out where it is not so.
        if not self.learned:
            del document["learned"]
        return document


def parse(documents: Sequence[object]) -> tuple[Place, ...]:
    """Places from JSON. Errors: DomainError naming the field."""
    places = []
    for document in documents:
        if not isinstance(document, Mapping):
            raise DomainError(
                "a place is not an object", repair='give it "name", "latitude" and "longitude"'
            )
        fields = Fields(document)
        fields.only("name", "latitude", "longitude", "learned")
        name, latitude, longitude = (
            fields.text(field) for field in ("name", "latitude", "longitude")
        )
        places.append(
            Place(
                name=name,
                latitude=latitude,
                longitude=longitude,
                learned=fields.boolean("learned"),
            )
        )
    return tuple(places)


def check(places: Sequence[Place], attributes: Sequence[Attribute]) -> None:
    """Refuses places of columns that are absent, no numbers, or beyond the globe."""
    if len(places) > MAX_PLACES:
        raise DomainError(f"more than {MAX_PLACES} places", repair="name the ones to compare")
    names = [place.name for place in places]
    if len(set(names)) != len(names) or not all(0 < len(name) <= 100 for name in names):
        raise DomainError(
            "two places have one name, or one has none",
            repair="name each, in up to 100 letters",
        )
    known = {attribute.name: attribute for attribute in attributes}
    for place in places:
        for field, limit in _LIMITS.items():
            column = getattr(place, field)
            attribute = known.get(column)
            if not isinstance(attribute, Number | Integer):
                raise DomainError(
                    f"the {field} of a place is no column of numbers",
                    repair="describe the column as a number, or correct the place",
                    column=column,
                )
            # Exchanged columns are the most frequent mistake, and named before the bounds,
            # which they would break as well.
            other = known.get(place.longitude)
            if (
                field == "latitude"
                and max(-attribute.low, attribute.high) > 90
                and _fits_latitude(other)
            ):
                raise attribute.error(
                    "the latitude and the longitude of a place seem to be swapped",
                    repair="name the column of latitudes first; they are from -90 to 90",
                )
            if attribute.low < -limit or attribute.high > limit:
                raise attribute.error(
                    f"a {field} beyond {limit} degrees",
                    repair="correct the bounds, or the place",
                )
        if place.learned and place.name in known:
            raise DomainError(
                "a place whose cells are learned has the name of a column",
                repair="give the place another name",
                column=place.name,
            )
        if place.latitude == place.longitude:
            raise DomainError(
                "one column is both ends of a place", repair="name two", column=place.latitude
            )


def _fits_latitude(attribute: Attribute | None) -> bool:
    return (
        isinstance(attribute, Number | Integer)
        and attribute.low >= -90
        and attribute.high <= 90
    )
