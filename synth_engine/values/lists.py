"""Sets that are lists: one that a person declares, and public ones that ship with this package or a
library."""

from __future__ import annotations

import gzip
import hashlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache, cached_property
from importlib import resources
from typing import ClassVar, Self

from synth_engine.strict_json import JsonObject
from synth_engine.values.base import MAX_TEXT_LENGTH, ValueSet, checked_size, fields, refuse

MAX_LISTED = 1_000_000
EXACT, CASEFOLD = "exact", "casefold"
SPELLINGS = (EXACT, CASEFOLD)
"""As of identifiers: by spelling, or without the blanks around a text and the case of its letters."""


class Listed(ValueSet):
    """The texts of a list, in its order. spelling: how a text of a table is found in it; one that is spelled
    exactly as it is listed counts as itself in any case."""

    kind: ClassVar[str] = "list"

    def __init__(self, values: Iterable[str], *, spelling: str = EXACT) -> None:
        if spelling not in SPELLINGS:
            refuse("an unknown spelling of a list", repair=f"one of {', '.join(SPELLINGS)}")
        self.values: Sequence[str] = tuple(values)
        self.spelling = spelling
        if len(self.values) > MAX_LISTED:
            refuse(
                f"a list of more than {MAX_LISTED:,} values",
                repair="describe the values by a pattern or a range",
            )
        self.size = checked_size(len(self.values))
        self._check()
        self._ranks = {value: rank for rank, value in enumerate(self.values)}
        if len(self._ranks) < self.size:
            refuse("a value is listed twice", repair="list each value once")
        self._folded = (
            {value.casefold(): rank for rank, value in enumerate(self.values)}
            if spelling == CASEFOLD
            else {}
        )
        self.longest = max(map(len, self.values))
        self.characters = frozenset().union(*self.values)

    def _check(self) -> None:
        if not all(
            isinstance(value, str) and len(value) <= MAX_TEXT_LENGTH for value in self.values
        ):
            refuse(
                f"a listed value is no text of at most {MAX_TEXT_LENGTH} characters",
                repair="list short texts",
            )

    def rank(self, text: str) -> int | None:
        # An exact match wins: two values of a list may differ in case alone.
        rank = self._ranks.get(text)
        if rank is not None or not self._folded:
            return rank
        return self._folded.get(text.strip().casefold())

    def unrank(self, rank: int) -> str:
        return self.values[self.in_range(rank)]

    @property
    def is_exact(self) -> bool:
        return self.spelling == EXACT

    def to_json(self) -> JsonObject:
        further = {} if self.is_exact else {"spelling": self.spelling}
        return {"set": self.kind, "values": list(self.values), **further}

    @classmethod
    def from_json(cls, document: Mapping[str, object]) -> Self:
        spelling = {"spelling": str} if "spelling" in document else {}
        given = fields(document, values=list, **spelling)
        return cls(given.pop("values"), **given)


class Known(Listed):
    """A public list by its name. The document holds its digest, so that a release stays tied to the very list
    that was used; case of letters does not matter in a table."""

    kind: ClassVar[str] = "known"

    def __init__(self, name: str) -> None:
        if name not in SOURCES:
            refuse(
                "there is no public list of this name",
                repair=f"use one of {', '.join(sorted(SOURCES))}",
            )
        self.name = name
        super().__init__(SOURCES[name](), spelling=CASEFOLD)

    @cached_property
    def reader(self) -> ValueSet:
        # Only a list that ships with this package is the same for ever: of any other one a later
        # version of its library may have another, by which a stored release would not load.
        return self if self.name in SHIPPED else Listed(self.values, spelling=self.spelling)

    @cached_property
    def sha256(self) -> str:
        return hashlib.sha256("\n".join(self.values).encode()).hexdigest()

    def to_json(self) -> JsonObject:
        return {"set": self.kind, "name": self.name, "sha256": self.sha256}

    @classmethod
    def from_json(cls, document: Mapping[str, object]) -> Known:
        given = fields({"sha256": "", **document}, name=str, sha256=str)
        known = _known(given["name"])
        # Ranks of another version of the list would give measured counts to other texts.
        if given["sha256"] not in ("", known.sha256):
            refuse(
                "the public list has changed since it was declared",
                repair="confirm the column again",
            )
        return known


@cache
def _known(name: str) -> Known:
    """Return a public list, made once in each process: a set never changes, and the words take a while."""
    return Known(name)


def _english_words() -> list[str]:
    """The ENABLE list, which is in the public domain."""
    packed = (
        resources.files("synth_engine.values")
        .joinpath("data/english_words.txt.gz")
        .read_bytes()
    )
    return gzip.decompress(packed).decode("ascii").split()


def _countries() -> list[str]:
    from iso3166 import countries

    return sorted(
        country.alpha2 for country in countries if country.alpha2 != "XK"
    )  # in use, and not in ISO 3166


def _country_names() -> list[str]:
    from iso3166 import countries

    return sorted(country.apolitical_name for country in countries)


def _us_states() -> list[str]:
    from us.states import STATES

    return sorted([*(state.abbr for state in STATES), "DC"])


def _currencies() -> list[str]:
    from iso4217 import Currency

    return sorted(currency.code for currency in Currency)


def _time_zones() -> list[str]:
    zones = resources.files("tzdata").joinpath("zones").read_text()
    return sorted(zones.split())


SOURCES: dict[str, Callable[[], list[str]]] = {
    "english-words": cache(_english_words),
    "countries": cache(_countries),
    "country-names": cache(_country_names),
    "us-states": cache(_us_states),
    "currencies": cache(_currencies),
    "time-zones": cache(_time_zones),
}
SHIPPED = frozenset({"english-words"})
"""Lists that this package holds itself. They never change."""

FORMS_OF_TWO = frozenset(
    frozenset(pair.split())
    for pair in (
        "yes no", "y n", "true false", "t f", "1 0", "1 2", "on off", "m f", "m w", "male female",
        "man woman", "men women", "ja nein",
        "ja nej", "ja nee", "j n", "oui non", "o n", "sí no", "si no", "s n", "wahr falsch", "an aus",
        "männlich weiblich", "mann frau",
        "h f", "homme femme", "masculin féminin", "hombre mujer", "masculino femenino", "man kvinna", "k m",
        "man vrouw",
    )
)  # fmt: skip
"""Two values that say yes and no, or one of two sexes, in the languages of the pages and some others: nobody
learns from such a list who is in a table."""
_SHORT = ("countries", "country-names", "us-states", "currencies", "time-zones")


def is_public_list(texts: Iterable[str]) -> bool:
    """Returns whether a list of texts is as public as a list can be: one of the short public lists in whole,
    or one of the forms of two values. Case of letters does not matter."""
    folded = frozenset(text.casefold() for text in texts)
    return folded in FORMS_OF_TWO or any(
        len(folded) == _known(name).size
        and folded == {value.casefold() for value in _known(name).values}
        for name in _SHORT
    )
