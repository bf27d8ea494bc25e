"""Columns of baskets: a cell holds any number of items, and mechanisms see one yes/no column for each item on
a public list.

Which items are on the list is declared (`Basket`), or a run chooses a number of them out of a public set with
its own budget (`WeakBasket`). An item outside the list or set is left out of its basket; one that stands in a
basket twice is there once; a basket may be empty.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, ClassVar

from synth_engine.kinds.attribute import Attribute
from synth_engine.kinds.boolean import Boolean
from synth_engine.kinds.fields import Fields
from synth_engine.kinds.fragments import TEXTS, VALUE_SET, Schema, optional
from synth_engine.kinds.undeclared import Undeclared
from synth_engine.values import ValueSet

MAX_ITEMS = 2_000
"""Items that a table may have columns for."""
MAX_CANDIDATES = 1_000_000
"""Items that a choice may be made from: each gets its noise, so all are written down once."""
SEPARATORS = (" ", ",", ";", "|", "\t")
_LONGEST_NAME = 200
PRESENT = "1"
ABSENT = "0"
_BASKETS: Schema = {"separator": {"enum": list(SEPARATORS)}, "wide": {"type": "boolean"}}


def _read_baskets(fields: Fields) -> dict[str, object]:
    return {"separator": fields.text("separator", default=None), "wide": fields.boolean("wide")}


@dataclass(frozen=True, kw_only=True)
class Baskets(Attribute):
    """What both kinds share. separator: between the items of a cell, a blank standing for any white space.
    wide: whether a drawn table has a column for each item instead of baskets."""

    bare: ClassVar[bool] = True
    fact_names: ClassVar[tuple[str, ...]] = ("kind", "items")

    separator: str = " "
    wide: bool = False

    def _check_baskets(self) -> None:
        if self.missing is not None:
            raise self.error(
                "a basket has no missing value",
                repair="leave missing out; an empty one has no items",
                field="missing",
            )
        if self.ordered:
            raise self.error(
                "baskets have no order", repair="leave ordered out", field="ordered"
            )
        if self.separator not in SEPARATORS:
            raise self.error(
                "unknown separator",
                repair="use a blank, a comma, a semicolon, a bar or a tab",
                field="separator",
            )

    def _check_item(self, item: str) -> None:
        """An item that a cell can hold, and whose column can have its name."""
        if not item or item != item.strip() or not item.isprintable() or self._is_split(item):
            raise self.error(
                "an item is empty, has control characters, or has the separator in it",
                repair="declare another separator, or other items",
                field="items",
            )
        self._check_length(len(item))

    def _check_length(self, longest: int) -> None:
        if len(self.name) + 1 + longest > _LONGEST_NAME:
            raise self.error(
                f"the name of an item's column is longer than {_LONGEST_NAME} characters",
                repair="shorten the items, or the name of the column",
            )

    def _is_split(self, text: str) -> bool:
        return len(text.split()) > 1 if self.separator == " " else self.separator in text

    @property
    def in_table(self) -> bool:
        return True

    @property
    def table_columns(self) -> tuple[Attribute, ...]:
        return self.parts if self.wide else (self,)

    @property
    def value_labels(self) -> tuple[str, ...]:
        return ()

    def _default_outside(self) -> Any:
        return "clamp"


@dataclass(frozen=True, kw_only=True)
class Basket(Baskets):
    """Any number of the listed `items`, between them the `separator`; items that are not listed are left out.
    Mechanisms see a column NAME=ITEM of 0 and 1 for each; so does who draws a table, if `wide` says so. With
    `reads`, a public set, every spelling of an item that the set knows is that item."""

    kind: ClassVar[str] = "basket"
    schema_position: ClassVar[int] = 100

    items: tuple[str, ...]
    reads: ValueSet | None = field(default=None, repr=False)

    def check(self) -> None:
        object.__setattr__(self, "items", tuple(self.items))
        self._check_baskets()
        self._check_texts(self.items, what="item", field="items")
        if len(self.items) > MAX_ITEMS:
            raise self.error(
                f"more than {MAX_ITEMS:,} items",
                repair='list fewer, or let a run choose some: kind "weak-basket"',
                field="items",
            )
        for item in self.items:
            self._check_item(item)
        if self.reads is not None and any(
            rank is None or self.reads.unrank(rank) != item
            for item, rank in zip(self.items, self.reads.ranks(self.items), strict=True)
        ):
            raise self.error(
                "an item that the set in reads does not have in this spelling",
                repair="spell it as the set does, or leave reads out",
                field="items",
            )

    def place(self, text: str) -> int | None:
        """Where in the list the item is that a text stands for, a function of this text alone; None for
        another one."""
        return self._places.get(text if self.reads is None else self.reads.rank(text))

    @cached_property
    def _places(self) -> dict[str | int | None, int]:
        keys = self.items if self.reads is None else self.reads.ranks(self.items)
        return {key: place for place, key in enumerate(keys)}

    @cached_property
    def parts(self) -> tuple[Attribute, ...]:
        facts = {
            "kind": self.facts["kind"],
            "values": self.facts["items"],
            "missing": self.facts["kind"],
        }
        return tuple(
            Boolean(name=f"{self.name}={item}", true=PRESENT, false=ABSENT, provenance=facts)
            for item in self.items
        )

    def details(self) -> dict[str, object]:
        return {
            "items": list(self.items),
            "separator": self.separator,
            "wide": self.wide,
            **({} if self.reads is None else {"reads": self.reads.to_json()}),
        }

    @classmethod
    def json_schema(cls) -> tuple[Schema, tuple[str, ...]]:
        own = {"items": TEXTS | {"maxItems": MAX_ITEMS}, "reads": optional(VALUE_SET)}
        return own | _BASKETS, ("items",)

    @classmethod
    def read_json(cls, fields: Fields) -> dict[str, object]:
        return (
            fields.needed(items=fields.texts("items"))
            | {"reads": fields.value_set("reads")}
            | _read_baskets(fields)
        )


@dataclass(frozen=True, kw_only=True)
class WeakBasket(Baskets, Undeclared):
    """Any number of items of a public set, of which a run chooses `keep`, those that most baskets have, with
    noise and out of its own budget. Items that are not chosen are left out."""

    kind: ClassVar[str] = "weak-basket"
    schema_position: ClassVar[int] = 110

    values: ValueSet
    keep: int = 50

    def check(self) -> None:
        self._check_baskets()
        size = self.values.size
        if size > MAX_CANDIDATES:
            raise self.error(
                f"a set of more than {MAX_CANDIDATES:,} items to choose from",
                repair="declare a narrower range, or list the items that matter",
                field="values",
            )
        if type(self.keep) is not int or not 1 <= self.keep <= min(MAX_ITEMS, size):
            raise self.error(
                f"keep is not a whole number from 1 to {min(MAX_ITEMS, size):,}",
                repair="50 is a common choice",
                field="keep",
            )
        self._check_length(self.values.longest)
        if self._may_be_split():
            raise self.error(
                "an item of the set has the separator in it",
                repair="declare another separator, or set",
                field="separator",
            )

    def _may_be_split(self) -> bool:
        signs = self.values.characters
        if signs is None:
            return any(
                self._is_split(self.values.unrank(rank)) for rank in range(self.values.size)
            )
        # Between two letters, because `split` passes over blanks at the ends.
        return any(not sign.isprintable() or self._is_split(f"x{sign}x") for sign in signs)

    def from_ranks(self, ranks: Sequence[int]) -> Basket:
        """The basket whose items are those of these ranks, in the order of the set."""
        # In the order of the set, so that `admits` finds the same basket whatever the order of
        # ranks.
        texts = (self.values.unrank(rank) for rank in sorted(ranks))
        return Basket(
            name=self.name,
            items=tuple(texts),
            separator=self.separator,
            wide=self.wide,
            provenance=dict(self.facts) | {"items": "learned"},
            # Whoever reads the table again counts each item as the run did.
            reads=None if self.values.is_exact else self.values.reader,
        )

    def admits(self, resolved: Attribute) -> bool:
        if not isinstance(resolved, Basket):
            return False
        ranks = [self.values.rank(item) for item in resolved.items]
        known = [rank for rank in ranks if rank is not None]
        return len(set(known)) == len(ranks) <= self.keep and resolved == self.from_ranks(known)

    def details(self) -> dict[str, object]:
        values = self.values.to_json() | {"size": self.values.size}
        return {
            "values": values,
            "keep": self.keep,
            "separator": self.separator,
            "wide": self.wide,
        }

    @classmethod
    def json_schema(cls) -> tuple[Schema, tuple[str, ...]]:
        keep: Schema = {"type": "integer", "minimum": 1, "maximum": MAX_ITEMS}
        return {"values": VALUE_SET, "keep": keep} | _BASKETS, ("values",)

    @classmethod
    def read_json(cls, fields: Fields) -> dict[str, object]:
        return (
            fields.needed(values=fields.value_set("values"))
            | {"keep": fields.integer("keep")}
            | _read_baskets(fields)
        )
