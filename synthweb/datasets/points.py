"""Two columns that are one point: a box drawn or typed on a map, how often its sides are halved, and the unit
of its axes.

What comes of it are two columns of numbers as the describe page would have them, and, in degrees, a place."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django import forms
from django.utils.translation import gettext_lazy as _

from synthweb.datasets import draft as drafts
from synthweb.datasets.basis import MAX_STATEMENT_LENGTH, STATEMENT_NEEDED
from synthweb.datasets.draft import Column
from synthweb.datasets.list_fields import plain, quoted, split
from synthweb.lib.number_format import grouped

MAX_HALVINGS = 13
"""8,192 bins: as many codes as one column of numbers may have are 10,000."""
MAX_DRAWN_POINTS = 3_000
"""Public points on the map; of more, every so many-th is drawn."""
UNITS = {"degrees": _("Degrees"), "other": _("Metres, or another")}
SAYS_NORTH, SAYS_EAST = (
    frozenset({"lat", "latitude", "northing"}),
    frozenset({"lon", "long", "lng", "longitude", "easting"}),
)
BEYOND = {"north": 90, "south": 90, "east": 180, "west": 180}
MEANT = "Are north and east swapped?"


class PointForm(forms.Form):
    """One point of every record."""

    name = forms.CharField(
        label=_("Name of the place"), max_length=100, help_text=_("Such as home, or check-in.")
    )
    northing = forms.ChoiceField(label=_("Column that says how far north"))
    easting = forms.ChoiceField(label=_("Column that says how far east"))
    unit = forms.ChoiceField(label=_("Unit of both"), choices=list(UNITS.items()))
    north = forms.FloatField(label=_("North edge"))
    south = forms.FloatField(label=_("South edge"))
    west = forms.FloatField(label=_("West edge"))
    east = forms.FloatField(label=_("East edge"))
    halvings = forms.TypedChoiceField(
        label=_("Each side is halved"),
        coerce=int,
        choices=[
            (str(n), f"{n} times: {grouped(2**n)} parts") for n in range(1, MAX_HALVINGS + 1)
        ],
        initial="8",
    )
    origin = forms.ChoiceField(
        label=_("Where this comes from"), choices=list(drafts.ORIGINS.items())
    )
    because = forms.CharField(
        label=_("Where it is written"),
        max_length=MAX_STATEMENT_LENGTH,
        help_text=_("A law, an address or a map. It is stored with the description."),
        error_messages={"required": STATEMENT_NEEDED},
    )

    def __init__(self, data: Any = None, *, names: Sequence[str], **kwargs: Any) -> None:
        super().__init__(data, **kwargs)
        for key in ("northing", "easting"):
            field = self.fields[key]
            if not isinstance(field, forms.ChoiceField):
                raise TypeError("the field has no choices")
            field.choices = [("", "choose"), *((name, name) for name in names)]

    @property
    def of_columns(self) -> list[forms.BoundField]:
        return [self[key] for key in ("name", "northing", "easting", "unit")]

    @property
    def of_box(self) -> list[forms.BoundField]:
        return [self[key] for key in ("north", "south", "west", "east", "halvings")]

    def clean_name(self) -> str:
        name: str = self.cleaned_data["name"].strip()
        if ":" in name:
            raise forms.ValidationError(_("A name has no colon."))
        return name

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean() or {}
        if cleaned.get("northing") and cleaned.get("northing") == cleaned.get("easting"):
            self.add_error("easting", _("One column is both: choose two."))
        if cleaned.get("unit") == "degrees":
            for key, most in BEYOND.items():
                if abs(cleaned.get(key) or 0) > most:
                    self.add_error(
                        key, _("Beyond %(most)s degrees.") % {"most": most} + f" {MEANT}"
                    )
        for low, high in (("south", "north"), ("west", "east")):
            if low in cleaned and high in cleaned and not cleaned[low] < cleaned[high]:
                self.add_error(
                    high,
                    _("The box has no area: %(high)s is to be above %(low)s.")
                    % {"high": high, "low": low},
                )
        return cleaned


@dataclass(frozen=True, kw_only=True)
class Described:
    """What the draft becomes: two columns, and the lines of places."""

    columns: dict[str, Column]
    places: str


def describe_place(
    given: Mapping[str, Any], *, draft: drafts.Draft, names: Sequence[str]
) -> Described:
    """Of a form that is valid. A place of the same name, or of the same columns, gives way."""
    pair = (given["northing"], given["easting"])
    sides = ((given["south"], given["north"]), (given["west"], given["east"]))
    columns: dict[str, Column] = {
        name: {
            "kind": "number",
            "origin": given["origin"],
            "fields": {
                "low": plain(low),
                "high": plain(high),
                "bins": str(2 ** given["halvings"]),
                "outside": "clamp",
            },
            "confirmed": True,
            "because": given["because"],
            "place": list(names).index(name),
        }
        for name, (low, high) in zip(pair, sides, strict=True)
    }
    other_places = [
        line
        for line in str((draft.get("table") or {}).get("places", "")).splitlines()
        if line.strip() and not _clashes(line, given["name"], pair)
    ]
    if given["unit"] == "degrees":
        other_places.append(
            f"{given['name']}: {', '.join(quoted(name, comma=True) for name in pair)}"
        )
    return Described(columns=columns, places="\n".join(other_places))


def _clashes(line: str, name: str, pair: tuple[str, str]) -> bool:
    known, _, columns = line.partition(":")
    return known.strip() == name or bool(set(split(columns)) & set(pair))


def initial(draft: drafts.Draft, place: str, *, names: Sequence[str] = ()) -> dict[str, object]:
    """The description of a place so far, as the form has it; for one that is not there, the two columns whose
    names say what they are, where only two do."""
    for line in str((draft.get("table") or {}).get("places", "")).splitlines():
        name, _, columns = line.partition(":")
        pair = split(columns)
        if name.strip() == place and len(pair) == 2:
            return {"name": place, "northing": pair[0], "easting": pair[1], **_box(draft, pair)}
    north, east = (_called(names, words) for words in (SAYS_NORTH, SAYS_EAST))
    return {"northing": north[0], "easting": east[0]} if len(north) == len(east) == 1 else {}


def _called(names: Sequence[str], words: frozenset[str]) -> list[str]:
    return [name for name in names if words & set(re.split(r"[^a-z]+", name.lower()))]


def _box(draft: drafts.Draft, pair: Sequence[str]) -> dict[str, str]:
    box: dict[str, str] = {}
    for name, (low, high) in zip(pair, (("south", "north"), ("west", "east")), strict=True):
        fields = drafts.columns(draft).get(name, {}).get("fields") or {}
        box |= {low: fields.get("low", ""), high: fields.get("high", "")}
        bins = fields.get("bins", "")
        if bins.isdecimal() and int(bins) in {2**n for n in range(1, MAX_HALVINGS + 1)}:
            box["halvings"] = str(int(bins).bit_length() - 1)
    return box


def public_points(context: Mapping[str, object]) -> list[tuple[float, float]]:
    """Degrees north and east of the public points that stand beside a draft, thinned to as many as a map
    bears."""
    points = list(_points(context))
    return points[:: max(1, -(-len(points) // MAX_DRAWN_POINTS))]


def _points(context: Mapping[str, Any]) -> Iterator[tuple[float, float]]:
    for entry in context.get("points") or ():
        at = entry.get("at") or ()
        for point in at.values() if isinstance(at, Mapping) else at:
            yield float(point[0]), float(point[1])
