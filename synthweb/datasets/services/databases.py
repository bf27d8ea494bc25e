"""Databases: several datasets that keys connect, released together under the budget of one of them.

The dataset whose rows are the privacy units is the *root*; the others are tables below it. Each has a file, a
description and pages of its own, as a dataset by itself has. What connects them is kept as it is typed, and
confirmed as a whole: a DatabaseVersion holds the descriptions of all tables as they are then, without keys.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from django.db import transaction
from django.utils.text import slugify

from synth_engine.domain.database import DATABASE_SCHEMA, MAX_TABLES, Database
from synth_engine.domain.lookups import Lookup
from synth_engine.errors import DomainError
from synth_engine.strict_json import JsonObject
from synthweb.accounts.models import User
from synthweb.audit import services as audit
from synthweb.datasets import selectors
from synthweb.datasets.domain_cache import newest
from synthweb.datasets.models import DatabaseTable, DatabaseVersion, Dataset, DomainVersion
from synthweb.datasets.services import describing, records, tables
from synthweb.lib.errors import Conflict

_BESIDE = ("key", "parent", "reference", "most", "order", "siblings")


@transaction.atomic
def add_table(*, actor: User, root: Dataset, dataset: Dataset) -> DatabaseTable:
    """Make a dataset a table of the database below another one. Errors: Conflict for one that spends from a
    budget of its own, or is in a database already."""
    tables.locked(root)
    if selectors.root_above(root) is not None:
        raise Conflict(
            "this dataset is a table of another database",
            repair="add the table to the root of that one",
        )
    if dataset.organisation_id != root.organisation_id or dataset.is_deleted:
        raise Conflict("there is no such table", repair="choose one of your organisation")
    if dataset == root or DatabaseTable.objects.filter(dataset=dataset).exists():
        raise Conflict(
            "this dataset is in a database already",
            repair="take it out of that one first, or choose another table",
        )
    if hasattr(dataset, "coverage"):
        raise Conflict(
            "this dataset has a privacy budget of its own",
            repair="release it by itself, from that budget",
        )
    twins = list(selectors.same_content(dataset))
    others = [one for one in selectors.roots_that_had([dataset, *twins]) if one != root]
    if any(hasattr(one, "coverage") for one in (*twins, *others)):
        raise Conflict(
            "the same table has a privacy budget of its own, or is paid for in another database",
            repair="release it from the budget that it has",
        )
    if DatabaseTable.objects.filter(root=root).count() >= MAX_TABLES:
        raise Conflict(f"a database has at most {MAX_TABLES} tables", repair="leave some out")
    if not DatabaseTable.objects.filter(dataset=root).exists():
        DatabaseTable.objects.create(
            dataset=root, root=root, facts={"name": _free_name(root, root)}
        )
    row = DatabaseTable.objects.create(
        dataset=dataset, root=root, facts={"name": _free_name(root, dataset)}
    )
    _record(actor, root, "database.table_added", table=dataset.code)
    return row


@transaction.atomic
def remove_table(*, actor: User, root: Dataset, dataset: Dataset) -> None:
    """Take a table out of the database; its dataset stays. Releases and confirmed descriptions stay as they
    are."""
    if dataset == root:
        raise Conflict(
            "the root cannot be taken out of its database", repair="take out the others"
        )
    if DatabaseTable.objects.filter(root=root, dataset=dataset).delete()[0]:
        _record(actor, root, "database.table_removed", table=dataset.code)


@transaction.atomic
def keep_keys(
    *,
    actor: User,
    root: Dataset,
    facts: Mapping[str, JsonObject],
    constraints: Sequence[JsonObject],
) -> None:
    """Keep what was typed of keys, maxima and constraints, right or wrong; look-up tables stay. facts: of
    each table, by the code of its dataset."""
    tables.locked(root)
    for row in DatabaseTable.objects.filter(root=root):
        row.facts = dict(facts.get(row.dataset.code, row.facts))
        row.constraints = list(constraints) if row.is_root else []
        row.save()
    _record(actor, root, "database.keys_said")


@transaction.atomic
def add_lookup(*, actor: User, root: Dataset, lookup: Lookup) -> None:
    """Put a public look-up table beside the tables, in the place of one of the same name. Whether its
    references fit is checked when all tables are confirmed. Errors: Conflict where there is no database."""
    first = _root_row(root)
    others = [each for each in first.lookups if each["name"] != lookup.name]
    first.lookups = [*others, lookup.to_json()]
    first.save()
    _record(actor, root, "database.lookup_added", rows=len(lookup.rows))


@transaction.atomic
def remove_lookup(*, actor: User, root: Dataset, number: int) -> None:
    """Take out a look-up table by its number, from 0 on; nothing happens where there is none. Releases stay
    as they are."""
    first = _root_row(root)
    if 0 <= number < len(first.lookups):
        first.lookups = [each for at, each in enumerate(first.lookups) if at != number]
        first.save()
        _record(actor, root, "database.lookup_removed")


def _root_row(root: Dataset) -> DatabaseTable:
    tables.locked(root)
    row = DatabaseTable.objects.filter(root=root, dataset=root).first()
    if row is None:
        raise Conflict("there is no table below this one", repair="add a table first")
    return row


def read(root: Dataset) -> Database:
    """The database as it is described now: the keys as typed, and the description in force of each table.
    Errors: DomainError naming table, column and repair."""
    rows = selectors.database_tables(root)
    if not rows:
        raise DomainError("there is no table below this one", repair="add one")
    entries = []
    for row in rows:
        version = newest(row.dataset)
        if row.dataset.is_deleted or version is None:
            raise DomainError(
                f"table {row.facts['name']!r} was deleted, or has no confirmed description",
                repair="describe its columns and confirm, or take it out of the database",
            )
        entry = {name: value for name, value in row.facts.items() if value not in (None, "")}
        keys = [entry.get("key"), entry.get("reference")]
        _require_keys(row, keys)
        described = _without_keys(version, keys, is_root=row.is_root)
        entries.append(entry | {"file": f"{entry['name']}.csv", "domain": described})
    return Database.from_json(
        {
            "schema": DATABASE_SCHEMA,
            "tables": entries,
            "constraints": rows[0].constraints,
            "lookups": rows[0].lookups,
        }
    )


@transaction.atomic
def confirm(*, actor: User, root: Dataset) -> DatabaseVersion:
    """Make the database, as it is described now, public and final. Errors: as `read`."""
    tables.locked(root)
    database = read(root)
    if database.root.name != selectors.database_tables(root)[0].facts["name"]:
        raise DomainError(
            f"the root is table {database.root.name!r} by its keys, and the budget is that of another one",
            repair="connect the tables so that no table is above the one whose budget pays",
        )
    database.require_confirmed()
    codes = {row.facts["name"]: row.dataset.code for row in selectors.database_tables(root)}
    records.require_same_units(root, database, codes)
    before = selectors.newest_database(root)
    version = DatabaseVersion.objects.create(
        root=root,
        number=1 if before is None else before.number + 1,
        document=database.to_json(),
        datasets=codes,
        confirmed_by=actor,
    )
    _record(actor, root, "database.confirmed", number=version.number)
    return version


@transaction.atomic
def bring_document(
    *,
    actor: User,
    root: Dataset,
    document: Mapping[str, Any],
    because: str,
    lists_because: str = "",
) -> DatabaseVersion:
    """Describe the whole database by the engine's DATABASE.json, with the columns of each table, on the
    steward's word. A table is found by its name. because: where the facts are written; lists_because: as of
    `declare_domain`. Errors: DomainError; then nothing is kept."""
    database = Database.from_json(document)
    rows = {row.facts["name"]: row for row in selectors.database_tables(root)}
    unknown = sorted({table.name for table in database.tables} ^ set(rows))
    if unknown:
        raise DomainError(
            f"table {unknown[0]!r} is in one of description and database only",
            repair="give tables the names that the description has, and add those that are missing",
        )
    facts = {}
    for table in database.tables:
        dataset = rows[table.name].dataset
        describing.declare_domain(
            actor=actor,
            dataset=dataset,
            document=table.domain.to_json(),
            because=because,
            lists_because=lists_because,
        )
        entry = table.to_json()
        facts[dataset.code] = {"name": table.name} | {
            name: entry[name] for name in _BESIDE if entry.get(name) is not None
        }
    keep_keys(
        actor=actor,
        root=root,
        facts=facts,
        constraints=[bound.to_json() for bound in database.bounds],
    )
    lookups = [lookup.to_json() for lookup in database.lookups]
    DatabaseTable.objects.filter(root=root, dataset=root).update(lookups=lookups)
    return confirm(actor=actor, root=root)


def _require_keys(row: DatabaseTable, keys: Sequence[Any]) -> None:
    """Errors: DomainError for a key that is no column of the file."""
    columns = selectors.columns_of(row.dataset)
    for name in keys:
        if name and columns is not None and name not in columns:
            raise DomainError(
                f"table {row.facts['name']!r} has no such column",
                repair="name a column of its header",
                column=str(name),
            )


def _without_keys(
    version: DomainVersion, keys: Sequence[Any], *, is_root: bool
) -> Mapping[str, Any]:
    """A confirmed description as a database has it: keys are generated. Of tables below the root whom they
    protect follows from the keys, so that what their own descriptions say of it does not count."""
    document = dict(version.document)
    document["attributes"] = [
        each for each in document["attributes"] if each["name"] not in keys
    ]
    if not is_root:
        document |= {"relation": "add-remove", "unit": {"max_records": 1, "column": None}}
    return document


def _free_name(root: Dataset, dataset: Dataset) -> str:
    """A short name for a table that no other one has."""
    name = slugify(Path(dataset.name).stem)[:40] or "table"
    taken = {row.facts.get("name") for row in selectors.database_tables(root)}
    numbered = (f"{name}-{number}" for number in range(2, MAX_TABLES + 2))
    return name if name not in taken else next(each for each in numbered if each not in taken)


def _record(actor: User, root: Dataset, action: str, **detail: str | int) -> None:
    audit.record(
        actor=actor,
        action=action,
        target=("dataset", root.code),
        organisation=root.organisation,
        detail=detail,
    )
