"""Define the content of a public reference table, whatever its file looked like."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from synth_engine.errors import TableError
from synth_engine.strict_json import JsonObject

SCHEMA = "synth_engine/reference/1"
MOST_CODES = 500_000


@dataclass(frozen=True, kw_only=True)
class Roles:
    """The roles of the columns of a file. `code` names the places; the others may be absent, but not all of
    them. `parents` are (name of the partition, column), `names` the same of columns that say what people call
    its parts. With `adds`, lines of one code are summed: an earlier release."""

    code: str
    latitude: str | None = None
    longitude: str | None = None
    weight: str | None = None
    parents: tuple[tuple[str, str], ...] = ()
    adds: bool = False
    names: tuple[tuple[str, str], ...] = ()

    def __post_init__(self) -> None:
        if (self.latitude is None) != (self.longitude is None):
            raise TableError(
                "a latitude has no longitude, or the other way round",
                repair="choose a column for both",
            )
        if self.latitude is None and self.weight is None and not self.parents:
            raise TableError(
                "the table says nothing about its codes",
                repair="choose columns of latitude and longitude, a weight, or parts that the codes belong "
                "to",
            )
        if self.latitude is not None and self.latitude == self.longitude:
            raise TableError(
                "one column is both latitude and longitude",
                repair="choose two",
                column=self.latitude,
            )
        names = [name for name, _ in self.parents]
        if len(set(names)) < len(names) or not all(0 < len(name) <= 100 for name in names):
            raise TableError(
                "two partitions have one name, or one has none",
                repair="name each, in up to 100 letters",
            )
        if not {name for name, _ in self.names} <= set(names):
            raise TableError(
                "names of parts of no partition", repair="say the column of the parts too"
            )
        if self.adds and (self.weight is None or self.latitude is not None or self.parents):
            raise TableError(
                "lines are to be summed, but not as numbers alone",
                repair="choose a code and a weight, and nothing else, of an earlier release",
            )

    @property
    def columns(self) -> tuple[str, ...]:
        """All columns of the file that have a role, each once."""
        named = (
            *(self.code, self.latitude, self.longitude, self.weight),
            *(column for _, column in (*self.parents, *self.names)),
        )
        return tuple(column for column in dict.fromkeys(named) if column is not None)

    def to_json(self) -> JsonObject:
        """Return the document by which versions of a table are compared; `names` is absent where none are
        given."""
        # Roles stored before `names` existed must give the same document as they did then.
        document = asdict(self) | {"parents": [list(pair) for pair in self.parents]}
        return (
            document | {"names": [list(pair) for pair in self.names]}
            if self.names
            else _without(document, "names")
        )


def _without(document: JsonObject, key: str) -> JsonObject:
    return {name: value for name, value in document.items() if name != key}


@dataclass(frozen=True, kw_only=True)
class ReferenceSource:
    """The source of a fact of a description: the name, the version and the SHA-256 of the unpacked file."""

    name: str
    version: str
    sha256: str

    def to_json(self) -> dict[str, str]:
        return asdict(self)


@dataclass(frozen=True, kw_only=True)
class Reference:
    """A public table with one line for each code, in the order of the file. `at`: latitude and longitude in
    degrees. `weights`: above or equal to 0, in a unit of their own. `parents`: the part of each partition
    that a code belongs to; "" for none. `names`: by partition, or "" for the codes themselves, what people
    call a part."""

    codes: tuple[str, ...]
    at: tuple[tuple[float, float], ...] | None = None
    weights: tuple[float, ...] | None = None
    parents: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    names: Mapping[str, Mapping[str, str]] = field(default_factory=dict)

    @property
    def kind(self) -> str:
        """ "gazetteer" with points, else "partition" with parts, else "density"."""
        if self.at is not None:
            return "gazetteer"
        return "partition" if self.parents else "density"

    def __len__(self) -> int:
        return len(self.codes)

    def coarsened(self, level: str) -> Reference:
        """The parts of one partition as places of their own: each at the mean of its codes' points by weight
        (by number where the weights are 0 or absent), with their weights' sum, and in the partitions that
        keep it whole."""
        members: defaultdict[str, list[int]] = defaultdict(list)
        for index, part in enumerate(self.parents[level]):
            if part:
                members[part].append(index)
        groups = list(members.values())
        # A partition that splits a part of this level has no single value for it.
        coarser = {
            name: tuple(parts[group[0]] for group in groups)
            for name, parts in self.parents.items()
            if name != level
            and all(len({parts[index] for index in group}) == 1 for group in groups)
        }
        return Reference(
            codes=tuple(members),
            at=None if self.at is None else tuple(self._middle(group) for group in groups),
            weights=None
            if self.weights is None
            else tuple(sum(self.weights[i] for i in group) for group in groups),
            parents=coarser,
            names={
                "" if name == level else name: of
                for name, of in self.names.items()
                if name in (level, *coarser)
            },
        )

    def _middle(self, group: list[int]) -> tuple[float, float]:
        if self.at is None:
            raise TypeError("the reference table has no points")
        weights = [1.0 if self.weights is None else self.weights[index] for index in group]
        total = sum(weights)
        weights, total = (
            (weights, total) if total > 0 else ([1.0] * len(group), float(len(group)))
        )
        # A mean of degrees is no mean on the sphere, but parts of a table of codes are small.
        # Seven decimals are about a centimetre.
        points = [self.at[index] for index in group]
        return (
            round(
                sum(w * latitude for w, (latitude, _) in zip(weights, points, strict=True))
                / total,
                7,
            ),
            round(
                sum(w * longitude for w, (_, longitude) in zip(weights, points, strict=True))
                / total,
                7,
            ),
        )

    def to_json(self) -> JsonObject:
        return {
            "schema": SCHEMA,
            "codes": list(self.codes),
            "at": None if self.at is None else [list(point) for point in self.at],
            "weights": None if self.weights is None else list(self.weights),
            "parents": {name: list(parts) for name, parts in self.parents.items()},
            **(
                {"names": {name: dict(of) for name, of in self.names.items()}}
                if self.names
                else {}
            ),
        }

    @classmethod
    def from_json(cls, document: Mapping[str, Any]) -> Reference:
        """Read what `to_json` wrote; the file it came from was checked when it was read."""
        if document.get("schema") != SCHEMA:
            raise TableError(
                "unknown schema of a reference table", repair="upload the file again"
            )
        at, weights = document["at"], document["weights"]
        return cls(
            codes=tuple(document["codes"]),
            at=None
            if at is None
            else tuple((latitude, longitude) for latitude, longitude in at),
            weights=None if weights is None else tuple(weights),
            parents={name: tuple(parts) for name, parts in document["parents"].items()},
            names=document.get("names", {}),
        )
