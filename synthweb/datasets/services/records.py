"""What a record of a file is, and that all runs that are paid for mean the same by it.

Losses of several runs add up for neighbouring tables that are the same for all of them
(docs/proofs/accounts.md). Whom an account protects, it says itself (`ledger.protection`). What a record is
follows from how the file is read, and whose it is, in a database, from its keys: each run notes both, and one
that means something else is refused.
"""

from __future__ import annotations

import hmac
from collections.abc import Mapping
from typing import Any

from django.core.exceptions import ObjectDoesNotExist
from django.db.models import Q, QuerySet

from synth_engine.domain.database import Database
from synth_engine.errors import DomainError
from synth_engine.formats import Dialect
from synth_engine.strict_json import JsonObject
from synthweb.datasets import sealed_names
from synthweb.datasets.domain_cache import domain_of, newest
from synthweb.datasets.models import DatabaseVersion, Dataset, RunTable, TableVersion
from synthweb.datasets.services.intake import content_secret
from synthweb.lib.errors import Conflict

ROWS = ("quote", "escape", "literal", "extra_rows")
"""What of its form says where a record of a text ends, and which lines are none; the same in every version of
the file."""
LAYOUT = (
    "encoding",
    "delimiter",
    "spaced",
    "header",
    "header_lines",
    "columns",
    "skip",
    "footer",
    "sheet",
    "records",
)
"""What says so of one file alone: its successor may be laid out otherwise."""


def rules_of(
    dataset: Dataset, dialect: Dialect | None = None, *, file: TableVersion | None = None
) -> JsonObject:
    """What a record of its file is, as it is described now, and read in this form, by default its own. file:
    of this version, by default the one in force. No name of a column or sheet is among it: of columns that
    were renamed, the place of the one that identifies persons; of a sheet, a mark of its name."""
    if dialect is None:
        dialect = sealed_names.form_of(file or dataset) or Dialect()
    stated = {name: getattr(dialect, name) for name in (*ROWS, *LAYOUT)}
    stated["sheet"] = _marked(dialect.sheet)
    version = newest(dataset)
    domain = None if version is None else domain_of(version)
    column = None if domain is None else domain.unit.column
    place = dialect.names.index(column) if column and column in dialect.names else None
    repeats = None if domain is None or domain.repeats is None else domain.repeats.most
    return {**stated, "person_at": place, "repeats": repeats}


def _marked(name: str) -> str:
    """A mark by which a name is recognised, and which nobody guesses without the key of this installation;
    none of an empty one."""
    text = f"name:{name}".encode("utf-8", "surrogatepass")
    return name and hmac.new(content_secret(), text, "sha256").hexdigest()


def require_same(
    dataset: Dataset, rules: Mapping[str, Any], *, file: TableVersion | None = None
) -> None:
    """See that these rules are those of all paid runs that read this file, or another version of it. file: by
    default the version in force.

    Errors: Conflict, which says what differs, and as what it was read before."""
    content_key = (file or dataset).content_key
    for earlier in _paid(dataset, content_key).select_related("table"):
        same_file = earlier.table.content_key == content_key
        names = (*ROWS, *LAYOUT, "person_at", "repeats") if same_file else (*ROWS, "repeats")
        for name in names:
            if name in earlier.rules and earlier.rules[name] != rules[name]:
                raise Conflict(
                    "what a record is would change: the runs of this budget read the table with another "
                    f"{name.replace('_', ' ')}",
                    repair=f"have it read with {_spelled(name, earlier.rules[name])}, as before; what was "
                    "spent was spent for those records",
                )


def _paid(dataset: Dataset, content_key: str) -> QuerySet[RunTable]:
    """What the runs noted that spent, or may yet spend, from the account of this dataset, of its files and
    elsewhere of this content."""
    tables = Q(table__dataset=dataset)
    try:
        account = dataset.coverage.account
    except ObjectDoesNotExist:
        pass
    else:
        tables |= Q(table__dataset__coverage__account=account, table__content_key=content_key)
    spent = dataset.runs.model.objects.spending()
    return RunTable.objects.filter(tables, run_code__in=spent.values("code"))


def _spelled(name: str, value: object) -> str:
    if name == "sheet" and value:  # of its name there is only a mark
        return "the sheet of then"
    return f"{name.replace('_', ' ')} {'left out' if value in (None, '') else value}"


def require_same_units(root: Dataset, database: Database, datasets: Mapping[str, str]) -> None:
    """See that a record of each table belongs to the same row of the root as in all paid runs of this
    database.

    datasets: the code of the dataset of each table, by its name. Other maxima and further tables change no
    neighbour of what was paid for. Errors: DomainError naming the table.
    """
    stated = _keys(database.to_json(), datasets)
    for version in _paid_versions(root):
        for code, keys in _keys(version.document, version.datasets).items():
            if code in stated and stated[code] != keys:
                name = next(name for name, one in datasets.items() if one == code)
                raise DomainError(
                    f"table {name!r} had another key, parent or reference in a run that was paid for: its "
                    "rows would be those of others",
                    repair="connect it as before; what was spent was spent for the rows as they were "
                    "connected",
                )


def _paid_versions(root: Dataset) -> list[DatabaseVersion]:
    numbers = root.runs.spending().values_list("spec__parameters__version", flat=True)
    return list(DatabaseVersion.objects.filter(root=root, number__in={n for n in numbers if n}))


def _keys(
    document: Mapping[str, Any], datasets: Mapping[str, str]
) -> dict[str, tuple[str | None, ...]]:
    """By the code of the dataset of each table: its key, of the root; of others the parent, that one's key,
    and the reference to it. The parent by its code, because names may change."""
    key_of = {table["name"]: table.get("key") for table in document["tables"]}
    return {
        datasets[table["name"]]: (
            (datasets[table["parent"]], key_of[table["parent"]], table["reference"])
            if table.get("parent")
            else (table.get("key"),)
        )
        for table in document["tables"]
    }
