"""The kinds of attributes, each a frozen value that checks itself.

A value of an attribute is stored as a code 0 … size-1. Codes run through the declared values or bins in order, then
"other" where it is declared, then missing. Every value whatever has a code: one outside the declaration goes where
`outside` says (a code of its own, the missing code, or the nearest declared one), so that no record can cause an error.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar, Literal

from synth_engine.domain import facts
from synth_engine.domain.facts import Provenance
from synth_engine.errors import DomainError

MAX_CODES = 10_000
MAX_PLACED_CODES = 65_535
"""Codes of a column whose values have public points: census blocks are many. A code is stored in 16 bits."""
OTHER = "(other)"
MISSING = "(missing)"

Outside = Literal["other", "missing", "clamp"]


@dataclass(frozen=True, kw_only=True)
class Attribute:
    """What all kinds share. `missing` lists the markers that stand for a missing value in a file, the first of them
    being the one written; None means that the attribute has no missing value. `ordered` tells mechanisms that
    neighbouring codes mean neighbouring values."""

    kind: ClassVar[str]
    fact_names: ClassVar[tuple[str, ...]]
    outsides: ClassVar[tuple[Outside, ...]] = ("clamp", "missing")
    most_codes: ClassVar[int] = MAX_CODES

    name: str
    provenance: Provenance | Mapping[str, Provenance] = "declared"
    missing: tuple[str, ...] | None = None
    outside: Outside | None = None
    ordered: bool = False

    def __post_init__(self) -> None:
        self._check_name()
        object.__setattr__(
            self,
            "provenance",
            facts.complete(self.provenance, facts=self.fact_names, name=self.name),
        )
        if self.missing is not None:
            object.__setattr__(self, "missing", tuple(self.missing))
            self._check_texts(self.missing, what="missing marker")
        self.check()
        object.__setattr__(self, "outside", self._resolved_outside())
        if self.size > self.most_codes:
            raise self.error(
                f"more than {self.most_codes:,} codes", repair="use fewer values or wider bins"
            )

    # What each kind says for itself.
    def check(self) -> None:
        """Refuses a contradictory description."""

    @property
    def value_labels(self) -> tuple[str, ...]:
        """The text of each code that stands for a declared value or bin."""
        raise NotImplementedError

    def details(self) -> dict[str, object]:
        """The JSON fields of this kind alone."""
        raise NotImplementedError

    @property
    def value_count(self) -> int:
        """How many codes stand for declared values or bins."""
        return len(self.value_labels)

    # What follows from that.
    @property
    def has_other(self) -> bool:
        return False

    @property
    def other_code(self) -> int | None:
        return self.value_count if self.has_other else None

    @property
    def missing_code(self) -> int | None:
        return None if self.missing is None else self.value_count + self.has_other

    @property
    def size(self) -> int:
        """Number of codes, other and missing included."""
        return self.value_count + self.has_other + (self.missing is not None)

    @property
    def in_table(self) -> bool:
        """Whether a drawn table has this column."""
        return bool(self.size)

    @property
    def parts(self) -> tuple[Attribute, ...]:
        """The attributes that mechanisms see in its place: itself, or nothing, or, of baskets, one for each item."""
        return (self,) if self.size else ()

    @property
    def table_columns(self) -> tuple[Attribute, ...]:
        """The columns that a drawn table has of it."""
        return (self,) if self.in_table else ()

    @property
    def labels(self) -> tuple[str, ...]:
        """The text of every code."""
        tail = ((OTHER,) if self.has_other else ()) + (
            (MISSING,) if self.missing is not None else ()
        )
        return self.value_labels + tail

    @property
    def facts(self) -> Mapping[str, Provenance]:
        """The origin of each fact."""
        assert not isinstance(self.provenance, str)  # noqa: S101  # __post_init__ spelled it out
        return self.provenance

    def to_json(self) -> dict[str, object]:
        document: dict[str, object] = {"name": self.name, "kind": self.kind, **self.details()}
        if self.size:
            document |= {
                "missing": None if self.missing is None else list(self.missing),
                "outside": self.outside,
                "ordered": self.ordered,
            }
        return document | {"provenance": facts.shortest(self.facts)}

    def error(self, rule: str, *, repair: str) -> DomainError:
        return DomainError(rule, repair=repair, column=self.name)

    def _check_name(self) -> None:
        if not isinstance(self.name, str) or not self.name.strip():
            raise DomainError("a column has no name", repair="give every column a name")
        if len(self.name) > 200 or not self.name.isprintable():
            raise DomainError(
                "a column name is longer than 200 characters or has control characters",
                repair="rename the column",
            )

    def _check_texts(self, texts: tuple[str, ...], *, what: str) -> None:
        if not texts:
            raise self.error(
                f"an empty list of {what}s",
                repair=f"list at least one {what}, or leave the list out",
            )
        if not all(isinstance(text, str) for text in texts):
            raise self.error(
                f"a {what} that is not text", repair="put every one in quotation marks"
            )
        seen: set[str] = set()
        for position, text in enumerate(texts, start=1):
            if text in seen:
                raise self.error(
                    f"{what} {position} is listed twice", repair="list each one once"
                )
            seen.add(text)

    def _check_apart_from_missing(self, texts: tuple[str, ...]) -> None:
        if set(texts) & set(self.missing or ()):
            raise self.error(
                "a missing marker is also a value", repair="take it off one of the two lists"
            )

    def _resolved_outside(self) -> Outside:
        outside = self.outside or self._default_outside()
        if outside not in self.outsides:
            raise self.error(
                "outside is not usable here", repair=f"use one of {', '.join(self.outsides)}"
            )
        if (outside == "missing" and self.missing is None) or (
            outside == "other" and not self.has_other
        ):
            raise self.error(
                f"outside is {outside!r}, which this column does not have",
                repair=f"declare {outside}",
            )
        return outside

    def _default_outside(self) -> Outside:
        return "clamp"


@dataclass(frozen=True, kw_only=True)
class Categorical(Attribute):
    """One of a list of texts. A text not listed is "other", else missing, else (`outside="clamp"`, to be asked for)
    the first of the list."""

    kind: ClassVar[str] = "categorical"
    fact_names: ClassVar[tuple[str, ...]] = ("kind", "values", "missing")
    outsides: ClassVar[tuple[Outside, ...]] = ("other", "missing", "clamp")
    most_codes: ClassVar[int] = (
        MAX_PLACED_CODES  # beyond MAX_CODES they need points: see Domain
    )

    values: tuple[str, ...]
    other: bool = False

    def check(self) -> None:
        object.__setattr__(self, "values", tuple(self.values))
        self._check_texts(self.values, what="value")
        self._check_apart_from_missing(self.values)
        if self.other and OTHER in self.values + (self.missing or ()):
            raise self.error(
                f"{OTHER!r} is what other values are called", repair="rename that value"
            )

    @property
    def value_labels(self) -> tuple[str, ...]:
        return self.values

    @property
    def has_other(self) -> bool:
        return self.other

    def details(self) -> dict[str, object]:
        return {"values": list(self.values), "other": self.other}

    def _default_outside(self) -> Outside:
        if self.other:
            return "other"
        if self.missing is not None:
            return "missing"
        raise self.error(
            "a text that is not listed has nowhere to go",
            repair='set "other": true, declare missing markers, or set "outside": "clamp" for the first value',
        )


@dataclass(frozen=True, kw_only=True)
class Boolean(Attribute):
    """Two texts. Anything else is missing, or false where nothing can be missing. Code 0 is false."""

    kind: ClassVar[str] = "boolean"
    fact_names: ClassVar[tuple[str, ...]] = ("kind", "values", "missing")

    true: str = "true"
    false: str = "false"

    def check(self) -> None:
        self._check_texts((self.false, self.true), what="value")
        self._check_apart_from_missing((self.false, self.true))

    @property
    def value_labels(self) -> tuple[str, ...]:
        return (self.false, self.true)

    def details(self) -> dict[str, object]:
        return {"true": self.true, "false": self.false}

    def _default_outside(self) -> Outside:
        return "clamp" if self.missing is None else "missing"
