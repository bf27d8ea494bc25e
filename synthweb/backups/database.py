"""Copies of the database by its own tools, consistent while others write.

Not `manage.py dumpdata`: it truncates times to milliseconds, and the hashes of ledger and audit log cover
microseconds.
"""

from __future__ import annotations

import os
import shutil
import sqlite3
import subprocess
from contextlib import closing
from pathlib import Path

from django.db import connection

from synthweb.backups.errors import BackupError

LINK = ("sslmode", "sslrootcert", "sslcert", "sslkey", "sslcrl")
"""Parameters of libpq that an address of a database may have, each with a variable of its own."""

_MIGRATIONS = "django_migrations"
"""A table of every installation."""


def engine() -> str:
    """`sqlite` or `postgresql`: a copy of one cannot be restored to the other."""
    return connection.vendor


def dump(path: Path) -> None:
    """Write a copy of the whole database to a new file."""
    if engine() == "sqlite":
        connection.ensure_connection()
        with closing(sqlite3.connect(path)) as copy:
            connection.connection.backup(copy)
        return
    # The custom format has rights, triggers and owners, and pg_restore puts triggers after the rows.
    _run("pg_dump", "--format=custom", f"--file={path}")


def is_empty() -> bool:
    """Whether there is no table yet."""
    # SQLite makes a file as soon as it is asked.
    if engine() == "sqlite" and not Path(connection.settings_dict["NAME"]).exists():
        return True
    return not connection.introspection.table_names()


def check(path: Path) -> None:
    """Errors: BackupError for what is no copy of a database, or a damaged one. The database itself is not
    touched."""
    # The tools take an empty file, or one whose list of contents is damaged, for a database without tables.
    if not (_is_whole_sqlite(path) if engine() == "sqlite" else _MIGRATIONS in _listed(path)):
        raise BackupError(
            "the copy of the database in the backup is damaged: use another backup"
        )


def _is_whole_sqlite(path: Path) -> bool:
    address = f"{path.as_uri()}?mode=ro&immutable=1"
    try:
        with closing(sqlite3.connect(address, uri=True)) as copy:
            copy.execute(f"SELECT 1 FROM {_MIGRATIONS}")  # noqa: S608  # a name of our own
            return bool(copy.execute("PRAGMA quick_check(1)").fetchone() == ("ok",))
    except sqlite3.DatabaseError:
        return False


def _listed(path: Path) -> set[str]:
    """The names of the tables, and other words, of the list of contents of a copy."""
    return set(_run("pg_restore", "--list", str(path)).split())


def restore(path: Path) -> None:
    """Put a copy into the empty database, all of it or nothing."""
    if engine() == "sqlite":
        place = Path(connection.settings_dict["NAME"])
        connection.close()
        part = place.with_name(f"{place.name}.restoring")
        try:
            shutil.copyfile(path, part)
            part.chmod(0o600)
            with part.open("rb") as file:
                os.fsync(file.fileno())
            for side in ("-wal", "-shm"):
                place.with_name(place.name + side).unlink(missing_ok=True)
            part.replace(place)
        finally:
            part.unlink(missing_ok=True)
        return
    name = connection.settings_dict["NAME"]
    connection.close()
    _run("pg_restore", "--exit-on-error", "--single-transaction", f"--dbname={name}", str(path))


def _run(program: str, *arguments: str) -> str:
    """What the program prints. Errors: BackupError if it fails or is not there."""
    settings = connection.settings_dict
    # In the environment: arguments can be read by every user of the machine.
    environment = {
        **os.environ,
        **{
            name: str(value)
            for name, value in (
                ("PGHOST", settings["HOST"]),
                ("PGPORT", settings["PORT"]),
                ("PGUSER", settings["USER"]),
                ("PGPASSWORD", settings["PASSWORD"]),
                ("PGDATABASE", settings["NAME"]),
                # As encrypted, and to the same server, as the connections of the application.
                *((f"PG{name.upper()}", settings["OPTIONS"].get(name)) for name in LINK),
            )
            if value
        },
    }
    try:
        done = subprocess.run(  # noqa: S603  # one of two programs, with paths and names of our own
            [program, *arguments], env=environment, capture_output=True, text=True, check=False
        )
    except FileNotFoundError:
        raise BackupError(
            f"{program} is not installed: install the client of PostgreSQL, as new as the server"
        ) from None
    if done.returncode:
        last = (done.stderr.strip().splitlines() or ["it said nothing"])[-1]
        raise BackupError(f"{program} failed: {last}")
    return done.stdout
