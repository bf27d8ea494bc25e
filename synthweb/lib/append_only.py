"""Rows that are written once. The database itself refuses UPDATE, DELETE and TRUNCATE, by triggers on the
table of every subclass of `AppendOnly`; the class refuses politely before that.

The triggers are put up by `post_migrate`, so they are there again after a migration that remakes a table
(SQLite does that for most changes and drops the triggers with the old table). A system check says so when one
is missing. Both databases raise IntegrityError. There is no way to switch this off in here on purpose.

On SQLite, REPLACE deletes the row in its way without telling a delete trigger unless `recursive_triggers` is
on: settings turn it on for every connection, and the check reads it back.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NoReturn, TypeVar

from django.apps import AppConfig, apps
from django.core import checks
from django.db import DEFAULT_DB_ALIAS, connections, models, router, transaction
from django.db.backends.base.base import BaseDatabaseWrapper

from synthweb.lib.errors import AppendOnlyViolation

Row = TypeVar("Row", bound=models.Model, covariant=True)
_FUNCTION = "synthweb_refuse_change"


class AppendOnlyQuerySet(models.QuerySet[Row]):
    """Reads and inserts; the rest is refused before it reaches the database."""

    def _refuse(self, *_args: Any, **_kwargs: Any) -> NoReturn:
        raise AppendOnlyViolation(
            f"{self.model._meta.label} is append-only: write a new row instead"
        )

    # bulk_create(update_conflicts=True) is not listed: its UPDATE meets the trigger.
    update = delete = bulk_update = update_or_create = _refuse


class AppendOnly(models.Model):
    """Base of append-only tables."""

    objects = AppendOnlyQuerySet.as_manager()

    class Meta:
        abstract = True

    def save(self, *args: Any, **kwargs: Any) -> None:
        if not self._state.adding:
            raise AppendOnlyViolation(
                f"{self._meta.label} is append-only: write a new row instead"
            )
        # Without force_insert Django may try an UPDATE first where a primary key is set.
        super().save(*args, **{**kwargs, "force_insert": True})

    def delete(self, *_args: Any, **_kwargs: Any) -> NoReturn:
        raise AppendOnlyViolation(
            f"{self._meta.label} is append-only: nothing is ever deleted from it"
        )


def protected_models(app_configs: Iterable[AppConfig] | None = None) -> list[type[AppendOnly]]:
    """Every concrete subclass of AppendOnly, of all apps or of those given."""
    chosen = apps.get_app_configs() if app_configs is None else app_configs
    return [
        model for app in chosen for model in app.get_models() if issubclass(model, AppendOnly)
    ]


def trigger_names(table: str, *, vendor: str) -> tuple[str, ...]:
    """What the triggers of `table` are called."""
    return tuple(f"{table}_refuse_{verb}" for verb in _VERBS[vendor])


def install(
    *, using: str = DEFAULT_DB_ALIAS, app_configs: Iterable[AppConfig] | None = None
) -> None:
    """Put the triggers on the tables that exist; again and again gives the same."""
    connection = connections[using]
    if connection.vendor not in _VERBS:
        raise NotImplementedError(
            f"append-only triggers are written for PostgreSQL and SQLite, not {connection.vendor}"
        )
    tables = _existing_tables(connection, app_configs)
    if not tables:
        return
    with transaction.atomic(using=using), connection.cursor() as cursor:
        if connection.vendor == "postgresql":
            cursor.execute(_POSTGRESQL_FUNCTION)
        for table in tables:
            for statement in _statements(connection, table):
                cursor.execute(statement)


def install_after_migrate(sender: AppConfig, using: str, **_kwargs: Any) -> None:
    """Receiver of post_migrate."""
    install(using=using, app_configs=[sender])


def check_triggers(
    *, app_configs: Sequence[AppConfig] | None, databases: Sequence[str] | None, **_kwargs: Any
) -> list[checks.CheckMessage]:
    """System check: every append-only table has its triggers, and SQLite tells them about REPLACE."""
    problems: list[checks.CheckMessage] = []
    for using in databases or ():
        connection = connections[using]
        present = _present_triggers(connection)
        problems += [
            checks.Error(
                f"Table {table} is append-only, but its triggers are missing from database {using!r}.",
                hint="Find out who removed them, then put them up again with `manage.py migrate "
                "--skip-checks`.",
                id="synthweb.E001",
            )
            for table in _existing_tables(connection, app_configs)
            if not set(trigger_names(table, vendor=connection.vendor)) <= present
        ]
        if connection.vendor == "sqlite" and not _recursive_triggers(connection):
            problems.append(
                checks.Error(
                    f"Database {using!r}: PRAGMA recursive_triggers is off, so REPLACE could overwrite rows.",
                    hint="Keep `PRAGMA recursive_triggers=ON;` in the init_command of the database's "
                    "OPTIONS.",
                    id="synthweb.E002",
                )
            )
    return problems


# --- how each database is told ------------------------------------------------------------------------------
_VERBS = {"postgresql": ("change", "truncate"), "sqlite": ("update", "delete")}

# restrict_violation is of the class of integrity errors: the same exception as RAISE(ABORT) gives on SQLite.
_POSTGRESQL_FUNCTION = f"""
CREATE OR REPLACE FUNCTION {_FUNCTION}() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION '% is append-only: % refused', TG_TABLE_NAME, TG_OP USING ERRCODE = 'restrict_violation';
END $$
"""


def _statements(connection: BaseDatabaseWrapper, table: str) -> list[str]:
    quote = connection.ops.quote_name
    names = trigger_names(table, vendor=connection.vendor)
    if connection.vendor == "postgresql":
        change, truncate = (quote(name) for name in names)
        return [
            f"CREATE OR REPLACE TRIGGER {change} BEFORE UPDATE OR DELETE ON {quote(table)}"
            f" FOR EACH ROW EXECUTE FUNCTION {_FUNCTION}()",
            f"CREATE OR REPLACE TRIGGER {truncate} BEFORE TRUNCATE ON {quote(table)}"
            f" FOR EACH STATEMENT EXECUTE FUNCTION {_FUNCTION}()",
            # ALWAYS: also in a session that plays a replica, where ordinary triggers are silent.
            f"ALTER TABLE {quote(table)} ENABLE ALWAYS TRIGGER {change}, ENABLE ALWAYS TRIGGER {truncate}",
        ]
    return [
        f"CREATE TRIGGER IF NOT EXISTS {quote(name)} BEFORE {verb} ON {quote(table)}"
        f" BEGIN SELECT RAISE(ABORT, '{table} is append-only: {verb} refused'); END"
        for name, verb in zip(names, ("UPDATE", "DELETE"), strict=True)
    ]


def _existing_tables(
    connection: BaseDatabaseWrapper, app_configs: Iterable[AppConfig] | None
) -> list[str]:
    wanted = [
        model._meta.db_table
        for model in protected_models(app_configs)
        if router.allow_migrate_model(connection.alias, model)
    ]
    if not wanted:
        return []
    existing = set(connection.introspection.table_names())
    return [table for table in wanted if table in existing]


def _present_triggers(connection: BaseDatabaseWrapper) -> set[str]:
    query = {
        "sqlite": "SELECT name FROM sqlite_master WHERE type = 'trigger'",
        # 'A': enabled always; a trigger that was disabled or put back to ordinary does not count
        "postgresql": "SELECT tgname FROM pg_trigger WHERE NOT tgisinternal AND tgenabled = 'A'",
    }[connection.vendor]
    with connection.cursor() as cursor:
        cursor.execute(query)
        return {name for (name,) in cursor.fetchall()}


def _recursive_triggers(connection: BaseDatabaseWrapper) -> bool:
    with connection.cursor() as cursor:
        cursor.execute("PRAGMA recursive_triggers")
        return bool(cursor.fetchone()[0])
