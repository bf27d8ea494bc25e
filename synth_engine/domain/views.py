"""Views: the tables that are counted of a database, each with a bound on the rows of one privacy unit.

A *table view* has one record for each row of a table: its own columns, numbers of its children, its position among its siblings, and
the columns of all rows above it. A *pair view* has one record for each pair of rows with one parent. Everything here is public.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Literal

from synth_engine.domain.database import MARK, Database, DatabaseTable, own_attributes
from synth_engine.domain.document import Domain
from synth_engine.kinds.attribute import Attribute
from synth_engine.kinds.integer import Integer
from synth_engine.privacy.unit import PrivacyUnit

Kind = Literal["table", "pairs"]
POSITION = f"{MARK}position"
EARLIER = f"{MARK}earlier"


@dataclass(frozen=True, kw_only=True)
class DatabaseView:
    """A table that is counted. own: the columns that a model of this view generates; context: those that are known of the
    rows by then, so that only what the own ones have to do with them is new. domain: all columns, own ones first."""

    table: str
    kind: Kind
    own: tuple[str, ...]
    context: tuple[str, ...]
    domain: Domain

    @property
    def name(self) -> str:
        """Its name in receipts."""
        return self.table if self.kind == "table" else f"{self.table}:pairs"


def count_of(child: DatabaseTable) -> str:
    """The name of the column of a parent that holds the number of its rows in a child table."""
    return f"{MARK}{child.name}"


def is_number(column: str) -> bool:
    """Whether a column of a row, among its own ones, holds a number of children."""
    return column.startswith(MARK)


def column_above(table: DatabaseTable, column: str) -> str:
    """The name that a column of a table has in views of the tables below it."""
    return f"{table.name}.{column}"


def earlier(column: str) -> str:
    """The name in a pair view of a column of the earlier row."""
    return f"{EARLIER}.{column}"


def views(database: Database) -> tuple[DatabaseView, ...]:
    """All views, in the order in which they are measured: tables after their parents, pairs after their table."""
    result = []
    for table in database.tables:
        result.append(_table_view(database, table))
        if table.has_pairs:
            result.append(_pair_view(database, table))
    return tuple(result)


def row_attributes(database: Database, table: DatabaseTable) -> tuple[Attribute, ...]:
    """What describes a row by itself: its columns, and the numbers of its children."""
    counts = (
        Integer(name=count_of(child), low=0, high=child.most, width=1, ordered=True)
        for child in database.children(table)
    )
    return (*own_attributes(table), *counts)


def context_attributes(database: Database, table: DatabaseTable) -> tuple[Attribute, ...]:
    """What is known of a row before its own columns are: its position where siblings have an order, and all rows above it."""
    positions = (
        (Integer(name=POSITION, low=1, high=table.most, width=1, ordered=True),)
        if table.order is not None and table.most > 1
        else ()
    )
    above = (
        replace(attribute, name=column_above(ancestor, attribute.name))
        for ancestor in database.ancestors(table)
        for attribute in row_attributes(database, ancestor)
    )
    return (*positions, *above)


def _table_view(database: Database, table: DatabaseTable) -> DatabaseView:
    own, context = row_attributes(database, table), context_attributes(database, table)
    domain = Domain(
        attributes=(*own, *context),
        unit=PrivacyUnit(max_records=database.max_records(table), column=database.root.key),
        constraints=table.domain.constraints,
    )
    return DatabaseView(
        table=table.name, kind="table", own=_names(own), context=_names(context), domain=domain
    )


def _pair_view(database: Database, table: DatabaseTable) -> DatabaseView:
    own = own_attributes(table)
    before = tuple(replace(attribute, name=earlier(attribute.name)) for attribute in own)
    pairs = database.max_records(table) // table.most * (table.most - 1)
    domain = Domain(
        attributes=(*own, *before),
        unit=PrivacyUnit(max_records=pairs, column=database.root.key),
    )
    return DatabaseView(
        table=table.name, kind="pairs", own=_names(own), context=_names(before), domain=domain
    )


def _names(attributes: Iterable[Attribute]) -> tuple[str, ...]:
    return tuple(attribute.name for attribute in attributes)
