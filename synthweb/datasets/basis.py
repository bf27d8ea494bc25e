"""On what a description rests: where the steward says that its facts are written, and how many of them equal
a suggestion that was read from the data. Nothing here decides who sees what."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypedDict

from django.utils.translation import gettext_noop

from synth_engine.domain import Attribute, public_ranges
from synth_engine.values import is_public_list
from synthweb.datasets import draft as drafts
from synthweb.datasets.draft import Column
from synthweb.datasets.learned import is_found, is_learned
from synthweb.datasets.list_fields import normalise

MAX_STATEMENT_LENGTH = 500
STATEMENT = gettext_noop("Where is it written, independent of this table?")
STATEMENT_NEEDED = gettext_noop(
    "Say first where these facts are written: a codebook, a law, an address. Only what is known without "
    "this table may be confirmed."
)
LEARNED = "Written nowhere: each release learns the bounds privately, within its budget."
"""The statement of a column whose bounds are learned."""
FOUND = "Written nowhere: each release finds the frequent values privately, within its budget."
"""The statement of a column of texts whose values are found."""
PUBLIC_RANGE = "Public by the name of the column: "
"""Begins the statement of a column with a public range; its reason follows."""
PUBLIC_LIST = "Public: a list that is the same in every table, such as yes and no."
"""The statement of a column whose values are such a list."""
# Kinds that leave nothing in the description: the column is left out.
NO_FACTS = {"identifier"}


def known(column: Column, attribute: Attribute | None) -> str | None:
    """The statement of a column that needs none of its steward, because it states nothing or what is public
    whatever a table holds; None where somebody has to say where its facts are written. attribute: how the
    column reads; None where it is not sound."""
    if column.get("kind") in NO_FACTS:
        return ""
    if is_learned(column):
        return LEARNED
    if is_found(column):
        return FOUND
    if attribute is None:
        return None
    public = public_ranges.states(attribute.name, attribute.to_json())
    if public is not None:
        return f"{PUBLIC_RANGE}{public.reason}"
    listed = attribute.kind in ("boolean", "categorical") and not attribute.has_other
    return PUBLIC_LIST if listed and is_public_list(attribute.value_labels) else None


@dataclass(frozen=True, kw_only=True)
class FactCount:
    """How many facts a description states, and how many of them equal a suggestion; None where suggestions
    are not there. names: which of them do, by column."""

    facts: int
    equal: int | None
    names: Mapping[str, list[str]] = field(default_factory=dict)

    def __add__(self, other: FactCount) -> FactCount:
        equal = None if self.equal is None or other.equal is None else self.equal + other.equal
        return FactCount(
            facts=self.facts + other.facts, equal=equal, names={**self.names, **other.names}
        )


def count_facts(
    name: str, column: Column, suggested: Column | None, *, known: bool = True
) -> FactCount:
    """The facts of the column of this name: its kind and everything that is filled in. `known`: whether the
    suggestions of the table are there; a column without one then equals none."""
    kind, fields = column.get("kind"), column.get("fields") or {}
    if kind in NO_FACTS:
        return FactCount(facts=0, equal=0)
    facts = 1 + sum(
        bool(text) for key, text in fields.items() if key in drafts.FIELDS.get(str(kind), ())
    )
    if not known:
        return FactCount(facts=facts, equal=None)
    equal = _equal_facts(column, suggested)
    return FactCount(facts=facts, equal=len(equal), names=_named(name, equal))


def _equal_facts(column: Column, suggested: Column | None) -> list[str]:
    """Which facts of a column equal its suggestion: the names of its inputs, and `kind`."""
    kind = column.get("kind")
    if suggested is None:
        return []
    below = suggested.get("fields") or {}
    equal = [
        key
        for key, text in (column.get("fields") or {}).items()
        if key in drafts.FIELDS.get(str(kind), ())
        and text
        and normalise(text) == normalise(below.get(key, ""))
    ]
    return [*(["kind"] if kind == suggested.get("kind") else []), *equal]


def of_attributes(
    attributes: Sequence[Attribute], *, suggested: Mapping[str, Column] | None
) -> FactCount:
    """The same of a whole description."""
    total = FactCount(facts=0, equal=0)
    for each in attributes:
        column = drafts.typed_from(each.to_json())
        below = (suggested or {}).get(each.name)
        total += count_facts(each.name, column, below, known=suggested is not None)
    return total


def _named(name: str, keys: list[str]) -> dict[str, list[str]]:
    return {name: keys} if keys else {}


def of_draft(columns: Mapping[str, Column]) -> FactCount:
    """The same of the columns of a draft, as it was counted when each was confirmed: suggestions may have
    expired since."""
    total = FactCount(facts=0, equal=0)
    for name, column in columns.items():
        total += FactCount(
            facts=count_facts(name, column, None).facts,
            equal=column.get("as_suggested"),
            names=_named(name, column.get("equal_facts") or []),
        )
    return total


class ColumnsStatement(TypedDict):
    columns: list[str]
    because: str


def statements(columns: Mapping[str, Column]) -> list[ColumnsStatement]:
    """What the steward said of the columns of a draft, one entry for each statement."""
    by_statement: dict[str, list[str]] = {}
    for name, column in columns.items():
        if column.get("because"):
            by_statement.setdefault(str(column["because"]), []).append(name)
    return [{"columns": names, "because": text} for text, names in by_statement.items()]
