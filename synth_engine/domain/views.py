"""Views: the tables that are counted of a database, each with a bound on the rows of one privacy unit.

A *table view* has one record for each row of a table: its own columns, numbers of its children, its position
among its siblings, and the columns of all rows above it. A *pair view* has one record for each pair of rows
with one parent. The *view of units* has one record for each privacy unit: about how many rows of each table
it has. From its answers follow smaller bounds on the rows of a unit in the other views. Everything here is
public.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from math import ceil
from typing import Literal

from synth_engine.domain.database import MARK, Database, DatabaseTable, own_attributes
from synth_engine.domain.document import Domain
from synth_engine.kinds.attribute import Attribute
from synth_engine.kinds.integer import Integer
from synth_engine.privacy.unit import PrivacyUnit

Kind = Literal["table", "pairs", "units"]
UNITS = f"{MARK}units"
"""The name of the view of units."""
_LEAST_MAXIMUM = 4
"""Where a unit has at most fewer rows of a table, a smaller bound would gain too little to be paid for."""
_STEPS, _STEPS_A_HALVING = 24, 6
POSITION = f"{MARK}position"
EARLIER = f"{MARK}earlier"


@dataclass(frozen=True, kw_only=True)
class DatabaseView:
    """A table that is counted. own: the columns that a model of this view generates; context: those that are
    known of the rows by then, so that only what the own ones have to do with them is new. domain: all
    columns, own ones first. bounded: whether a unit may have more rows than the view holds of it, so that
    some are selected."""

    table: str
    kind: Kind
    own: tuple[str, ...]
    context: tuple[str, ...]
    domain: Domain
    bounded: bool = False

    @property
    def name(self) -> str:
        """Its name in receipts."""
        match self.kind:
            case "table":
                return self.table
            case "pairs":
                return f"{self.table}:pairs"
            case "units":
                return UNITS


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


def views(
    database: Database, *, bounds: Mapping[str, int] | None = None
) -> tuple[DatabaseView, ...]:
    """All views but that of units, in the order in which they are measured: tables after their parents, pairs
    after their table. bounds: how many rows of a table a unit has in its views at most, where that is less
    than the declared maximum."""
    result = []
    for table in database.tables:
        bound = (bounds or {}).get(table.name, database.max_records(table))
        result.append(_at_most(bound, _table_view(database, table)))
        if table.has_pairs:
            result.append(_at_most(bound, _pair_view(database, table)))
    return tuple(result)


def _at_most(bound: int, view: DatabaseView) -> DatabaseView:
    unit = view.domain.unit
    if bound >= unit.max_records:
        return view
    domain = replace(view.domain, unit=replace(unit, max_records=bound))
    return replace(view, domain=domain, bounded=True)


def bounds_of(most: int) -> tuple[int, ...]:
    """The bounds on the rows of a unit that are considered where at most so many are declared, in increasing
    order."""
    return tuple(
        sorted({ceil(most / 2 ** (step / _STEPS_A_HALVING)) for step in range(_STEPS + 1)})
    )


def units_view(database: Database) -> DatabaseView | None:
    """The view of units: of each table below the root, code k where a unit has more rows than the bound k - 1
    of `bounds_of`, and at most the bound k. None where no table can gain by it."""
    attributes = tuple(
        Integer(
            name=count_of(table),
            low=0,
            high=len(bounds_of(database.max_records(table))) - 1,
            width=1,
            ordered=True,
        )
        for table in database.tables[1:]
        if database.max_records(table) >= _LEAST_MAXIMUM
    )
    if not attributes:
        return None
    domain = Domain(
        attributes=attributes, unit=PrivacyUnit(max_records=1, column=database.root.key)
    )
    return DatabaseView(
        table=database.root.name,
        kind="units",
        own=_names(attributes),
        context=(),
        domain=domain,
    )


def row_attributes(database: Database, table: DatabaseTable) -> tuple[Attribute, ...]:
    """What describes a row by itself: its columns, and the numbers of its children."""
    counts = (
        Integer(name=count_of(child), low=0, high=child.most, width=1, ordered=True)
        for child in database.children(table)
    )
    return (*own_attributes(table), *counts)


def context_attributes(database: Database, table: DatabaseTable) -> tuple[Attribute, ...]:
    """Facts about a row that are known before its own columns: its position where siblings have an order, and
    all rows above it."""
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
