"""Database: the public description of several tables that keys connect; from and to JSON.

One table is the *root*. A row of it, with all rows that lead to it by their references, is the privacy unit.
Every other table has a parent: each of its rows refers to one row of the parent, and a row of the parent has
at most `most` rows of it.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property
from math import prod
from pathlib import Path
from typing import Any, cast

from synth_engine.domain import purchases
from synth_engine.domain.document import MAX_BYTES, MAX_DEPTH, Domain, parse
from synth_engine.domain.lookups import (
    FILES_OF_LOOKUPS,
    MAX_LOOKUPS,
    Lookup,
    ReferringColumn,
    read_lookup,
)
from synth_engine.errors import DomainError
from synth_engine.kinds.attribute import Attribute
from synth_engine.kinds.derived import Derived
from synth_engine.kinds.fields import Fields
from synth_engine.kinds.identifier import Identifier
from synth_engine.privacy.unit import MAX_RECORDS_LIMIT, Relation
from synth_engine.strict_json import JsonObject

DATABASE_SCHEMA = "synth_engine/database/1"
MAX_TABLES = 20
MAX_CHILDREN = 1_000
"""The largest number of rows of a child table that a row of its parent may have: each has a code in the
counts of children."""
MARK = "#"
"""How the names of columns begin that are derived from keys: of numbers of children, and of positions."""


class Siblings(StrEnum):
    """Which pairs of rows with one parent are counted together."""

    NONE = "none"
    CONSECUTIVE = "consecutive"
    """Each row with the one before it."""
    FIRST = "first"
    """Each row with the first one."""


@dataclass(frozen=True, kw_only=True)
class DatabaseTable:
    """One table of a database.

    file: its path, relative to the description. key: the column whose values its children refer to; None
    where nothing refers to it and no key is written. parent, reference: the table above it, and the column
    that holds the parent's key; None of the root. most: how many rows a row of the parent may have. order:
    the column by which rows with one parent are sorted, by increasing codes unless `descending`; None where
    they have no order. siblings: which pairs of them are counted together."""

    name: str
    file: str
    domain: Domain
    key: str | None = None
    parent: str | None = None
    reference: str | None = None
    most: int = 1
    order: str | None = None
    descending: bool = False
    siblings: Siblings = Siblings.CONSECUTIVE

    def __post_init__(self) -> None:
        if (
            not self.name
            or MARK in self.name
            or "." in self.name
            or not self.name.isprintable()
        ):
            raise DomainError(
                "a table of the database has no usable name",
                repair=f"give it one without {MARK!r} and full stops",
            )
        if self.parent is None:
            self._check_root()
        else:
            self._check_child()
        if self.key is not None and self.key == self.reference:
            raise self.error("key and reference are the same column", repair="name two columns")
        described = [attribute.name for attribute in self.domain.attributes]
        for column in (self.key, self.reference):
            if column in described:
                raise self.error(
                    "a key is described as a column too",
                    repair="leave keys out of the described columns: they are generated",
                    column=column,
                )
        if self.order is not None and self.order not in self.domain.names:
            raise self.error(
                "the order is no column of this table",
                repair="name one of its described columns, or leave it out",
                column=self.order,
            )
        self._check_domain()

    def _check_root(self) -> None:
        if self.reference is not None or self.order is not None or self.most != 1:
            raise self.error(
                "a table without a parent has a reference, an order or a maximum",
                repair="name its parent, or leave them out",
            )
        if self.key is None:
            raise self.error(
                "the root table has no key", repair='name its column of unique keys as "key"'
            )

    def _check_child(self) -> None:
        if not self.reference:
            raise self.error(
                "the table has a parent and no reference",
                repair='name the column that holds the key of its parent as "reference"',
            )
        if not 1 <= self.most <= MAX_CHILDREN:
            raise self.error(
                f"the most rows of one parent is not from 1 to {MAX_CHILDREN:,}",
                repair="give the largest number that can be, from what is publicly known",
            )

    def _check_domain(self) -> None:
        domain = self.domain
        if (
            domain.relation is not Relation.ADD_REMOVE
            or domain.unit.max_records != 1
            or domain.unit.column is not None
            or domain.invariants
            or domain.repeats is not None
        ):
            raise self.error(
                "its description states a relation, a privacy unit, invariants or repeats",
                repair="leave them out: the privacy unit is a row of the root table with all rows that "
                "lead to it, added or removed",
            )
        if domain.undeclared or domain.places or domain.baskets:
            raise self.error(
                "its description has undeclared columns, places or baskets",
                repair="declare the values of each column",
            )
        for attribute in domain.attributes:
            if attribute.name.startswith(MARK) or attribute.separate_markers:
                raise self.error(
                    f"a column has separate markers, or a name that begins with {MARK!r}",
                    repair="leave separate markers out, and rename such columns",
                    column=attribute.name,
                )
            if isinstance(attribute, Derived):
                raise self.error(
                    "derived columns are not made in databases",
                    repair="leave the column out, and compute it afterwards",
                    column=attribute.name,
                )

    def error(self, rule: str, *, repair: str, column: str | None = None) -> DomainError:
        """A refusal that names the table."""
        return DomainError(f"table {self.name!r}: {rule}", repair=repair, column=column)

    @property
    def key_columns(self) -> tuple[str, ...]:
        """The columns of keys that are read."""
        return tuple(name for name in (self.key, self.reference) if name is not None)

    @property
    def has_pairs(self) -> bool:
        """Whether pairs of rows with one parent are counted."""
        return self.parent is not None and self.most > 1 and self.siblings is not Siblings.NONE

    def to_json(self) -> JsonObject:
        document: JsonObject = {"name": self.name, "file": self.file, "key": self.key}
        if self.parent is not None:
            order: JsonObject | None = (
                None
                if self.order is None
                else {"column": self.order, "descending": self.descending}
            )
            document |= {
                "parent": self.parent,
                "reference": self.reference,
                "most": self.most,
                "order": order,
                "siblings": self.siblings.value,
            }
        return document | {"domain": cast(JsonObject, self.domain.to_json())}


@dataclass(frozen=True, kw_only=True)
class Bound:
    """A constraint across tables: a value of a row is at least, or at most, one of a row above it.

    table, column: of the row below; ancestor, other: of the row above. at_most: False where it is at least
    that."""

    table: str
    column: str
    ancestor: str
    other: str
    at_most: bool

    def to_json(self) -> JsonObject:
        which = "at_most" if self.at_most else "at_least"
        return {
            "table": self.table,
            "column": self.column,
            which: f"{self.ancestor}.{self.other}",
        }


@dataclass(frozen=True, kw_only=True)
class Database:
    """All tables, each after its parent, constraints across them, and public look-up tables to which their
    columns refer."""

    tables: tuple[DatabaseTable, ...]
    bounds: tuple[Bound, ...] = ()
    lookups: tuple[Lookup, ...] = ()

    def __post_init__(self) -> None:
        if not 1 <= len(self.tables) <= MAX_TABLES:
            raise DomainError(
                f"a database has from 1 to {MAX_TABLES} tables", repair="describe them"
            )
        names = [table.name for table in self.tables]
        names += [lookup.name for lookup in self.lookups]
        for name in names:
            if names.count(name) > 1:
                raise DomainError(
                    f"two tables have the name {name!r}", repair="rename one of them"
                )
        object.__setattr__(self, "tables", _parents_first(self.tables))
        self._check_parents()
        for bound in self.bounds:
            self._check_bound(bound)
        self._check_lookups()

    def _check_parents(self) -> None:
        roots = [table.name for table in self.tables if table.parent is None]
        if len(roots) > 1:
            raise DomainError(
                f"{len(roots)} tables have no parent, among them {roots[1]!r}",
                repair="one table is the root, whose rows are protected; name the parent of each other one",
            )
        for table in self.tables[1:]:
            parent = self.parent_of(table)
            if parent.key is None:
                raise parent.error(
                    f"the table {table.name!r} refers to it, and it has no key",
                    repair='name its column of unique keys as "key"',
                )
            if self.max_records(table) > MAX_RECORDS_LIMIT:
                raise table.error(
                    f"a unit may have more than {MAX_RECORDS_LIMIT:,} rows of it",
                    repair="give smaller maxima",
                )

    def _check_bound(self, bound: Bound) -> None:
        table = self.table(bound.table)
        if bound.ancestor not in {above.name for above in self.ancestors(table)}:
            raise table.error(
                f"a constraint names {bound.ancestor!r}, which is not above it",
                repair="name a table to whose rows its rows lead",
                column=bound.column,
            )
        own = table.domain.attribute(bound.column)
        other = self.table(bound.ancestor).domain.attribute(bound.other)
        if not (own.is_comparable and other.is_comparable and own.kind == other.kind):
            raise table.error(
                "a constraint compares columns of different kinds, or of one that has no order",
                repair="compare two columns of numbers, or two of days",
                column=bound.column,
            )

    def _check_lookups(self) -> None:
        if len(self.lookups) > MAX_LOOKUPS:
            raise DomainError(
                f"a database has at most {MAX_LOOKUPS} look-up tables",
                repair="leave some out",
            )
        for table in self.tables if self.lookups else ():
            if Path(table.file).name.startswith(FILES_OF_LOOKUPS):
                raise table.error(
                    f"the name of its file begins with {FILES_OF_LOOKUPS!r}, as those of look-up tables do",
                    repair="rename its file",
                )
        referring: set[ReferringColumn] = set()
        for lookup in self.lookups:
            for reference in lookup.references:
                table = self.table(reference.table)
                if reference.column not in table.domain.names:
                    raise lookup.error(
                        f"{reference} refers to it, and is not described",
                        repair="describe the column by the list of its values",
                        column=reference.column,
                    )
                lookup.check_reference(reference, table.domain.attribute(reference.column))
                if reference in referring:
                    raise lookup.error(
                        f"{reference} refers to another look-up table already",
                        repair="let each column refer to one",
                        column=reference.column,
                    )
                referring.add(reference)

    @property
    def root(self) -> DatabaseTable:
        """The table whose rows, with all that leads to them, are the privacy units."""
        return self.tables[0]

    def table(self, name: str) -> DatabaseTable:
        """The table of a name. Errors: DomainError."""
        for table in self.tables:
            if table.name == name:
                return table
        raise DomainError(f"there is no table {name!r}", repair="use a table of the database")

    def parent_of(self, table: DatabaseTable) -> DatabaseTable:
        """The parent of a table that is not the root."""
        return self.table(table.parent or "")

    def ancestors(self, table: DatabaseTable) -> tuple[DatabaseTable, ...]:
        """Its parent, the parent of that, and so on, up to the root; none of the root."""
        above = []
        while table.parent is not None:
            table = self.parent_of(table)
            above.append(table)
        return tuple(above)

    def children(self, table: DatabaseTable) -> tuple[DatabaseTable, ...]:
        """The tables whose parent it is."""
        return tuple(child for child in self.tables if child.parent == table.name)

    def max_records(self, table: DatabaseTable) -> int:
        """How many rows of a table a privacy unit has at most: the product of the maxima from the root
        down."""
        return prod(step.most for step in (table, *self.ancestors(table)))

    def require_confirmed(self) -> None:
        """Refuses a description with a fact that was only suggested by the data, or bought: the receipts of
        its views name no purchase."""
        for table in self.tables:
            table.domain.require_confirmed()
            purchases.require_paid((), table.domain.attributes)

    def to_json(self) -> JsonObject:
        document: JsonObject = {
            "schema": DATABASE_SCHEMA,
            "tables": [table.to_json() for table in self.tables],
            "constraints": [bound.to_json() for bound in self.bounds],
        }
        if self.lookups:
            document["lookups"] = [lookup.to_json() for lookup in self.lookups]
        return document

    @cached_property
    def statement(self) -> list[JsonObject]:
        """What a receipt says of the tables: names, keys, maxima, order, and the digest of each description;
        no file."""
        return [
            {
                name: value
                for name, value in table.to_json().items()
                if name not in ("file", "domain")
            }
            | {"domain_sha256": table.domain.digest}
            for table in self.tables
        ]

    @cached_property
    def digest(self) -> str:
        """SHA-256 of the statement as canonical JSON."""
        text = json.dumps(self.statement, sort_keys=True, separators=(",", ":"))
        return hashlib.sha256(text.encode()).hexdigest()

    @classmethod
    def from_json(cls, document: object, *, folder: Path | None = None) -> Database:
        """Reads the document. folder: where paths of descriptions of tables start; None where each is written
        out. Errors: DomainError naming table, column and repair."""
        if not isinstance(document, Mapping):
            raise DomainError("the database is no JSON object", repair="see docs/relational.md")
        reader = Fields(document)
        reader.only("schema", "tables", "constraints", "lookups")
        if reader.text("schema", default=DATABASE_SCHEMA) != DATABASE_SCHEMA:
            raise DomainError("unknown schema", repair=f"write {DATABASE_SCHEMA!r}")
        bounds = reader.list("constraints") if "constraints" in document else []
        lookups = reader.list("lookups") if "lookups" in document else []
        return cls(
            tables=tuple(_table(entry, folder) for entry in reader.list("tables")),
            bounds=tuple(_bound(entry) for entry in bounds),
            lookups=tuple(read_lookup(entry, folder) for entry in lookups),
        )


def read_database(path: Path | str) -> Database:
    """The database in a JSON file; descriptions and files of tables are relative to its folder. Errors:
    DomainError."""
    path = Path(path)
    return Database.from_json(_document(path), folder=path.parent)


def _document(path: Path) -> Any:
    try:
        with path.open("rb") as file:
            raw = file.read(MAX_BYTES + 1)
    except OSError:
        raise DomainError(
            "the description of the database, or of a table, cannot be read",
            repair="check its path and rights",
        ) from None
    return parse(raw, name="description of a database", deepest=MAX_DEPTH + 4)


def _table(entry: Any, folder: Path | None) -> DatabaseTable:
    if not isinstance(entry, Mapping):
        raise DomainError("a table is no JSON object", repair="see docs/relational.md")
    fields = Fields(entry)
    fields.only(
        "name", "file", "key", "parent", "reference", "most", "order", "siblings", "domain"
    )
    described = entry.get("domain")
    if isinstance(described, str) and folder is not None:
        described = _document(folder / described)
    order = entry.get("order")
    if isinstance(order, str):
        order = {"column": order}
    ordering = Fields(order if isinstance(order, Mapping) else {})
    ordering.only("column", "descending")
    siblings = fields.text("siblings", default=Siblings.CONSECUTIVE.value)
    if siblings not in set(Siblings):
        raise DomainError(
            "siblings is unknown", repair=f"use one of {', '.join(Siblings)}, or leave it out"
        )
    return DatabaseTable(
        name=fields.text("name"),
        file=fields.text("file"),
        domain=_domain(described, table=fields.text("name")),
        key=fields.text("key", default=None),
        parent=fields.text("parent", default=None),
        reference=fields.text("reference", default=None),
        most=fields.integer("most", default=1) or 0,
        order=ordering.text("column", default=None),
        descending=ordering.boolean("descending"),
        siblings=Siblings(siblings),
    )


def _domain(document: object, *, table: str) -> Domain:
    try:
        return Domain.from_json(document)
    except DomainError as error:
        raise DomainError(
            f"table {table!r}: {error.rule}",
            repair=error.repair,
            column=error.column,
            field=error.field,
        ) from None


def _bound(entry: Any) -> Bound:
    if not isinstance(entry, Mapping):
        raise DomainError("a constraint is no JSON object", repair="see docs/relational.md")
    fields = Fields(entry)
    fields.only("table", "column", "at_most", "at_least")
    most, least = fields.text("at_most", default=None), fields.text("at_least", default=None)
    named = most if least is None else least
    if (most is None) == (least is None) or "." not in named:
        raise DomainError(
            "a constraint across tables names no column of a table above",
            repair='write "at_most" or "at_least" with "TABLE.COLUMN"',
        )
    ancestor, _, other = named.partition(".")
    return Bound(
        table=fields.text("table"),
        column=fields.text("column"),
        ancestor=ancestor,
        other=other,
        at_most=least is None,
    )


def _parents_first(tables: Sequence[DatabaseTable]) -> tuple[DatabaseTable, ...]:
    """The tables in an order in which each stands after its parent. Errors: DomainError for a parent that is
    not there, and for keys that run in a loop."""
    names = {table.name for table in tables}
    for table in tables:
        if table.parent is not None and table.parent not in names:
            raise table.error(
                f"its parent {table.parent!r} is not in the database",
                repair="describe the parent as well, or describe this table as one of its own",
            )
    ordered: list[DatabaseTable] = []
    waiting = list(tables)
    while waiting:
        placed = {table.name for table in ordered}
        ready = [t for t in waiting if t.parent is None or t.parent in placed]
        if not ready:
            raise waiting[0].error(
                "the keys run in a loop, so that no table is the root",
                repair="leave out the reference that closes the loop",
            )
        ordered += ready
        waiting = [table for table in waiting if table not in ready]
    return tuple(ordered)


def own_attributes(table: DatabaseTable) -> tuple[Attribute, ...]:
    """The described columns of a table that are measured."""
    return tuple(a for a in table.domain.modelled if not isinstance(a, Identifier))
