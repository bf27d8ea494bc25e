"""Identifiers: left out of the table, or made anew by a public pattern, with nothing of the real ones in
them."""

from __future__ import annotations

import string
from dataclasses import dataclass
from functools import cached_property
from math import prod
from typing import ClassVar, Literal, get_args

from synth_engine.kinds.attribute import Attribute, TableSchemaField
from synth_engine.kinds.fields import Fields
from synth_engine.kinds.fragments import NAME, Schema, optional

Regenerate = Literal["sequence", "random", "uuid"]
REGENERATE: tuple[Regenerate, ...] = get_args(Regenerate)
MAX_PATTERN_LENGTH = 64
PLACES = {
    "#": string.digits,
    "@": string.ascii_uppercase,
    "*": string.digits + string.ascii_uppercase,
}
_HEX = "0123456789abcdef"
# Version 4 of RFC 9562: every x is drawn, y says the variant.
_UUID = tuple(
    {"x": _HEX, "y": "89ab"}.get(sign, sign) for sign in "xxxxxxxx-xxxx-4xxx-yxxx-xxxxxxxxxxxx"
)

Template = tuple[str, ...]
"""One text a place: the signs it may hold; a single one stands for itself."""


@dataclass(frozen=True, kw_only=True)
class Identifier(Attribute):
    """A name, number or free text that singles out a record: dropped before anything is counted. With
    `regenerate` a drawn table has new ones, in order ("sequence"), drawn ("random") or as UUIDs ("uuid"),
    unique in it. In `pattern` # is a digit, @ a capital letter, * either, and a backslash takes the next sign
    as it is."""

    kind: ClassVar[str] = "identifier"
    schema_position: ClassVar[int] = 120
    bare: ClassVar[bool] = True
    fact_names: ClassVar[tuple[str, ...]] = ("kind",)

    regenerate: Regenerate | None = None
    pattern: str | None = None

    def check(self) -> None:
        if self.missing is not None:
            raise self.error(
                "an identifier has no missing value",
                repair="leave missing out",
                field="missing",
            )
        if self.regenerate is not None and self.regenerate not in REGENERATE:
            raise self.error(
                "unknown way to regenerate",
                repair=f"use one of {', '.join(REGENERATE)}",
                field="regenerate",
            )
        if self.pattern is None:
            if self.regenerate == "random":
                raise self.error(
                    "random identifiers need a pattern",
                    repair='give one such as "P-####"',
                    field="pattern",
                )
            return
        if self.regenerate not in ("sequence", "random"):
            raise self.error(
                "nothing is made by this pattern",
                repair='set "regenerate" to "sequence" or "random"',
                field="pattern",
            )
        self._check_pattern(self.pattern)

    def _check_pattern(self, pattern: str) -> None:
        if len(pattern) > MAX_PATTERN_LENGTH or not pattern.isprintable():
            raise self.error(
                f"the pattern is longer than {MAX_PATTERN_LENGTH} signs or has control signs",
                repair="shorten it",
                field="pattern",
            )
        if pattern.strip() != pattern:
            raise self.error(
                "the pattern begins or ends with a blank", repair="take it off", field="pattern"
            )
        if self.capacity < 2:
            raise self.error(
                "the pattern has no place to fill",
                repair='put a #, @ or * in it, as in "P-####"',
                field="pattern",
            )

    @cached_property
    def template(self) -> Template:
        """Return the characters that may stand at each place; empty for plain numbers in order."""
        if self.regenerate == "uuid":
            return _UUID
        return template(self.pattern or "")

    @property
    def capacity(self) -> int:
        """Count the identifiers that the pattern allows."""
        return prod(map(len, self.template))

    @property
    def in_table(self) -> bool:
        return self.regenerate is not None

    @property
    def value_labels(self) -> tuple[str, ...]:
        return ()

    @property
    def declared_texts(self) -> tuple[str, ...]:
        return () if self.pattern is None else (self.pattern,)

    def details(self) -> dict[str, object]:
        """Return what is stated: no fields for one that is dropped."""
        made = {"regenerate": self.regenerate, "pattern": self.pattern}
        return {key: value for key, value in made.items() if value is not None}

    @classmethod
    def json_schema(cls) -> tuple[Schema, tuple[str, ...]]:
        own: Schema = {
            "regenerate": optional({"enum": list(REGENERATE)}),
            "pattern": optional(NAME | {"maxLength": MAX_PATTERN_LENGTH}),
        }
        return own, ()

    @classmethod
    def read_json(cls, fields: Fields) -> dict[str, object]:
        return {key: fields.text(key, default=None) for key in ("regenerate", "pattern")}

    def table_schema(self) -> TableSchemaField:
        style = {"format": "uuid"} if self.regenerate == "uuid" else {}
        return TableSchemaField("string", style, {"unique": True})


def template(pattern: str) -> Template:
    """Return the characters that may stand at each place of a text by a pattern."""
    places: list[str] = []
    signs = iter(pattern)
    for sign in signs:
        places.append(next(signs, "\\") if sign == "\\" else PLACES.get(sign, sign))
    return tuple(places)
