"""The format of what an installation keeps: its database, the other files of `var/`, and its backups (ADR
175).

`FORMAT` is raised by one wherever one of them is written otherwise; `python -m tests.one_migration` does so
where a table changes. `migrate` notes it in an empty database, as one more row of Django's table of
migrations: the application's role may not write there, and each copy of a database has it. Whatever is of
another format is refused before anything is changed.
"""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Sequence

    from django.apps import AppConfig
    from django.core.checks import CheckMessage

FORMAT = 6

_APP = "synthweb"
_ROWS = "SELECT app, name FROM django_migrations"
REPAIR = (
    "run the version that made it, or begin anew with an empty database and empty folders (on "
    "one's own machine: make reset)"
)


class OtherFormat(Exception):
    """An installation of another format; the message is one sentence with a repair."""


def require(using: str = "default") -> None:
    """Whether this code may touch the database; one without tables it may.

    Errors: OtherFormat.
    """
    from django.db import connections
    from django.db.migrations.recorder import MigrationRecorder

    _require(set(MigrationRecorder(connections[using]).applied_migrations()))


def require_file(database: Path) -> None:
    """The same of a database of SQLite that no process has opened yet, without Django; one that is not there
    is none.

    Errors: OtherFormat.
    """
    if not database.is_file():
        return
    # Immutable: any other way of opening it makes files beside it. What is in its log alone, `migrate` reads.
    address = f"{database.as_uri()}?mode=ro&immutable=1"
    try:
        with closing(sqlite3.connect(address, uri=True)) as connection:
            rows = set(connection.execute(_ROWS))
    except sqlite3.DatabaseError:
        return  # without tables yet, or damaged: whoever opens it to work with it says so
    _require(rows)


def _require(applied: set[tuple[str, str]]) -> None:
    noted = sorted(name for app, name in applied if app == _APP)
    if not applied or noted == [str(FORMAT)]:
        return
    stated = f"format {noted[0]}" if noted else "a format without a number"
    raise OtherFormat(
        f"This installation has {stated}, and this version of synthweb opens format {FORMAT} alone: {REPAIR}."
    )


def stop_if_other() -> None:
    """End a process that starts on an installation of another format. A database that does not answer is not
    waited for."""
    from django.db import DatabaseError, connections

    try:
        require()
    except OtherFormat as problem:
        raise SystemExit(str(problem)) from None
    except DatabaseError:
        return
    finally:
        connections.close_all()  # children that are forked must not share it


# Django's signature
def note_before_migrate(sender: AppConfig, using: str, **_kwargs: Any) -> None:  # noqa: ARG001
    """Receiver of pre_migrate, connected for one app: before the first table is made or changed.

    Errors: CommandError for a database of another format.
    """
    from django.core.management.base import CommandError
    from django.db import connections
    from django.db.migrations.recorder import MigrationRecorder

    try:
        require(using)
    except OtherFormat as problem:
        raise CommandError(str(problem)) from None
    recorder = MigrationRecorder(connections[using])
    if (_APP, str(FORMAT)) not in recorder.applied_migrations():
        recorder.ensure_schema()
        recorder.record_applied(_APP, str(FORMAT))


def check_format(
    *,
    app_configs: Sequence[AppConfig] | None = None,  # noqa: ARG001 - Django's signature
    databases: Sequence[str] | None = None,
    **_kwargs: Any,
) -> list[CheckMessage]:
    """System check: what each database was made with."""
    from django.core.checks import Error

    problems: list[CheckMessage] = []
    for using in databases or ():
        try:
            require(using)
        except OtherFormat as problem:
            problems.append(Error(str(problem), id="synthweb.E006"))
    return problems
