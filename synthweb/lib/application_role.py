"""Two roles on PostgreSQL: one owns the tables and migrates, the application's own reads and writes them.

Where SYNTHWEB_APPLICATION_ROLE names a role (for the process that migrates, and for no other), every
`migrate` makes it and gives it exactly its rights: no row of an append-only table can be changed or deleted
by it, no trigger taken down, no table emptied, made or dropped. What the application cannot do, who takes the
application over cannot do either.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from django.apps import AppConfig
from django.conf import settings
from django.core.exceptions import ImproperlyConfigured
from django.db import DEFAULT_DB_ALIAS, connections, transaction
from django.db.migrations.recorder import MigrationRecorder

from synthweb.lib import append_only

if TYPE_CHECKING:
    from psycopg import sql

NAME = re.compile(r"[a-z_][a-z0-9_]{0,62}")


# Django's signature
def grant_after_migrate(sender: AppConfig, using: str, **_kwargs: Any) -> None:  # noqa: ARG001
    """Receiver of post_migrate, connected for one app: by then every migration has run, of all apps."""
    if settings.APPLICATION_ROLE and connections[using].vendor == "postgresql":
        grant(settings.APPLICATION_ROLE, settings.APPLICATION_PASSWORD, using=using)


def grant(role: str, password: str, *, using: str = DEFAULT_DB_ALIAS) -> None:
    """Make the role if it is missing, set its password, and give it its rights and no others."""
    if not NAME.fullmatch(role) or not password:
        raise ImproperlyConfigured(
            "SYNTHWEB_APPLICATION_ROLE needs a name of small letters, digits and _, and "
            "SYNTHWEB_APPLICATION_PASSWORD"
        )
    connection = connections[using]
    append_only_tables = {model._meta.db_table for model in append_only.protected_models()}
    # Which migrations ran is for the owner to write; the application only reads it.
    read_only = append_only_tables | {MigrationRecorder.Migration._meta.db_table}
    with transaction.atomic(using=using), connection.cursor() as cursor:
        tables = set(connection.introspection.table_names(cursor))
        cursor.execute("SELECT 1 FROM pg_roles WHERE rolname = %s", [role])
        verb = "ALTER" if cursor.fetchone() else "CREATE"
        for statement in _statements(
            verb, role, password, tables, read_only=read_only, inserted=append_only_tables
        ):
            cursor.execute(statement)


def _statements(
    verb: str,
    role: str,
    password: str,
    tables: set[str],
    *,
    read_only: set[str],
    inserted: set[str],
) -> list[sql.Composed]:
    from psycopg import sql  # not every machine that runs on SQLite has PostgreSQL's library

    name = sql.Identifier(role)

    def on(text: str, chosen: set[str]) -> list[sql.Composed]:
        names = sql.SQL(", ").join(map(sql.Identifier, sorted(chosen & tables)))
        return [sql.SQL(text).format(tables=names, role=name)] if chosen & tables else []

    # PostgreSQL takes no bound parameters in CREATE ROLE: the password is quoted as a literal.
    return [
        sql.SQL(
            f"{verb} ROLE {{role}} LOGIN NOSUPERUSER NOCREATEDB NOCREATEROLE NOREPLICATION NOBYPASSRLS "
            f"PASSWORD {{password}}"
        ).format(role=name, password=sql.Literal(password)),
        sql.SQL("REVOKE CREATE ON SCHEMA public FROM PUBLIC, {role}").format(role=name),
        sql.SQL("GRANT USAGE ON SCHEMA public TO {role}").format(role=name),
        sql.SQL("GRANT USAGE ON ALL SEQUENCES IN SCHEMA public TO {role}").format(role=name),
        # All rights are revoked first, so that none stays from an earlier version of this list.
        *on("REVOKE ALL ON {tables} FROM PUBLIC, {role}", tables),
        *on("GRANT SELECT, INSERT, UPDATE, DELETE ON {tables} TO {role}", tables - read_only),
        *on("GRANT SELECT ON {tables} TO {role}", read_only),
        *on("GRANT INSERT ON {tables} TO {role}", inserted),
    ]
