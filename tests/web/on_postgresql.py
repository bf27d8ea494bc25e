"""What only PostgreSQL can show. Its name keeps it out of the run on SQLite; `make test` names it in the run
on PostgreSQL."""

from __future__ import annotations

import contextlib
import random
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import psycopg
import pytest
from django.core.exceptions import ImproperlyConfigured
from django.core.management import call_command
from django.db import DatabaseError, IntegrityError, connection, connections, transaction

from synthweb.ledger import services as ledger
from synthweb.ledger.amounts import Amount
from synthweb.ledger.models import LedgerEntry
from synthweb.lib import append_only, application_role
from tests.environment import WORKER
from tests.web.ledger_setup import dataset, granted, hold, people
from tests.web.test_ledger_hammer import assert_sound, at_once

RUNS = 15
ROLE = f"limited_{WORKER}"  # roles are the server's, and the workers share it
pytestmark = pytest.mark.django_db(transaction=True)


def test_this_runs_on_postgresql():
    assert connection.vendor == "postgresql"


def test_backends_terminated_in_the_middle_leave_the_books_right():
    who = people()
    account = granted(who, dataset(who), amount=Amount(epsilon=10**9))
    begun, over, kills, lost = threading.Event(), threading.Event(), [0], [0]

    def killer() -> None:
        dice = random.Random(1)
        begun.wait(
            timeout=300
        )  # all have connected: what is cut is their work, not their start
        with connection.cursor() as cursor:
            while not over.is_set():
                cursor.execute(
                    "SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND pid <> "
                    "pg_backend_pid() AND backend_type = 'client backend' AND application_name <> 'test'"
                )
                pids = [pid for (pid,) in cursor.fetchall()]
                if pids:
                    cursor.execute("SELECT pg_terminate_backend(%s)", [dice.choice(pids)])
                    kills[0] += 1
                time.sleep(0.015)

    def worker(name: int) -> None:
        begun.set()
        dice = random.Random(name)
        for number in range(RUNS):
            run_code = f"{name}-{number}"
            while True:  # after a lost connection the same is asked for again: nothing doubles
                try:
                    hold(account, run_code, (1, 0, 0))
                    if dice.random() < 0.5:
                        ledger.charge(run_code=run_code)
                    break
                except DatabaseError:
                    lost[0] += 1
                    connection.close()

    with connection.cursor() as cursor:
        cursor.execute("SET application_name = 'test'")
    end = threading.Timer(60, over.set)
    end.start()

    def workers() -> None:
        at_once(*(lambda name=name: worker(name) for name in range(8)))
        over.set()

    results = at_once(killer, workers)
    end.cancel()
    assert results == [None, None]
    assert kills[0] > 10 and lost[0] > 0
    assert LedgerEntry.objects.filter(kind="HOLD").count() == 8 * RUNS
    assert_sound(account)


def test_a_row_that_refers_to_the_account_is_no_deadlock_for_two_submissions():
    """Under a plain FOR UPDATE these two would wait for each other: each has locked the account's key, for
    its row."""
    who = people()
    account = granted(who, dataset(who), amount=Amount(epsilon=10))
    meet = threading.Barrier(2)

    def submit(number: int) -> None:
        with transaction.atomic():
            with (
                connection.cursor() as cursor
            ):  # what a row with a foreign key to the account does at its commit
                cursor.execute(
                    "SELECT 1 FROM ledger_budgetaccount WHERE id = %s FOR KEY SHARE",
                    [account.pk],
                )
            meet.wait(timeout=300)
            hold(account, f"run{number}", (1, 0, 0))

    assert at_once(lambda: submit(1), lambda: submit(2)) == [None, None]


def test_a_session_that_plays_a_replica_is_refused_too():
    who = people()
    granted(who, dataset(who))
    with (
        pytest.raises(IntegrityError, match="append-only"),
        transaction.atomic(),
        connection.cursor() as cursor,
    ):
        cursor.execute("SET LOCAL session_replication_role = replica")
        cursor.execute("DELETE FROM ledger_ledgerentry")


def test_the_check_notices_a_trigger_that_is_there_but_switched_off():
    with connection.cursor() as cursor:
        cursor.execute("ALTER TABLE ledger_ledgerentry DISABLE TRIGGER USER")
    try:
        found = append_only.check_triggers(app_configs=None, databases=["default"])
        assert [message.id for message in found] == ["synthweb.E001"]
    finally:
        append_only.install()
    assert append_only.check_triggers(app_configs=None, databases=list(connections)) == []


# --- the application's own role -----------------------------------------------------------------------------
@pytest.fixture
def as_application(settings: Any) -> Iterator[Callable[[], Any]]:
    """`with as_application():` speaks to the database with the rights that the application's role has."""
    settings.APPLICATION_ROLE, settings.APPLICATION_PASSWORD = ROLE, "limited"
    call_command("migrate", verbosity=0, interactive=False)

    @contextlib.contextmanager
    def role() -> Iterator[None]:
        with connection.cursor() as cursor:
            cursor.execute(f"SET ROLE {ROLE}")
        try:
            yield
        finally:
            with connection.cursor() as cursor:
                cursor.execute("RESET ROLE")

    yield role
    with connection.cursor() as cursor:
        cursor.execute(f"DROP OWNED BY {ROLE}")
        cursor.execute(f"DROP ROLE {ROLE}")


def refused(statement: str) -> bool:
    try:
        with transaction.atomic(), connection.cursor() as cursor:
            cursor.execute(statement)
    except DatabaseError as error:
        assert error.__cause__ is not None
        return isinstance(error.__cause__, psycopg.errors.InsufficientPrivilege)
    return False


@pytest.mark.parametrize(
    "table", [model._meta.db_table for model in append_only.protected_models()]
)
def test_the_applications_role_can_change_nothing_of_an_append_only_table(
    as_application, table
):
    statements = [
        f"UPDATE {table} SET id = id", f"DELETE FROM {table}", f"TRUNCATE {table} CASCADE",
        f"DROP TABLE {table} CASCADE",
        f"ALTER TABLE {table} DISABLE TRIGGER USER", f"DROP TRIGGER {table}_refuse_change ON {table}",
        f"SELECT 1 FROM {table} FOR UPDATE",
    ]  # fmt: skip
    with as_application():
        assert [statement for statement in statements if not refused(statement)] == []
        with connection.cursor() as cursor:
            cursor.execute(f"SELECT count(*) FROM {table}")


def test_the_applications_role_is_nobody_special(as_application):
    with as_application():
        for statement in (
            "CREATE TABLE mine (id int)", "CREATE ROLE mine", "SET session_replication_role = replica",
            "CREATE FUNCTION mine() RETURNS int LANGUAGE sql AS 'SELECT 1'", "DELETE FROM django_migrations",
            "ALTER FUNCTION synthweb_refuse_change() RENAME TO mine",
        ):  # fmt: skip
            assert refused(statement), statement
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT rolsuper OR rolcreatedb OR rolcreaterole FROM pg_roles WHERE rolname = %s",
            [ROLE],
        )
        assert cursor.fetchone() == (False,)


def test_the_application_does_its_work_with_its_role(as_application):
    with as_application():
        who = people()
        account = granted(who, dataset(who), amount=Amount(epsilon=10))
        hold(account, "run1", (1, 0, 0))
        ledger.charge(run_code="run1")
        hold(account, "run2", (1, 0, 0))
        ledger.release(run_code="run2", reason="Cancelled.")
        assert_sound(account)
        assert append_only.check_triggers(app_configs=None, databases=["default"]) == []


def test_the_rights_are_the_same_after_every_migration_and_a_changed_password_holds(
    as_application, settings
):
    def rights() -> list[tuple[str, ...]]:
        with connection.cursor() as cursor:
            cursor.execute(
                "SELECT table_name, privilege_type FROM information_schema.role_table_grants"
                " WHERE grantee = %s ORDER BY 1, 2",
                [ROLE],
            )
            return cursor.fetchall()

    before = rights()
    assert ("ledger_ledgerentry", "INSERT") in before and (
        "ledger_ledgerentry",
        "UPDATE",
    ) not in before
    with connection.cursor() as cursor:
        cursor.execute(f"GRANT UPDATE, DELETE ON ledger_ledgerentry TO {ROLE}")
    settings.APPLICATION_PASSWORD = "another"
    call_command("migrate", verbosity=0, interactive=False)
    assert rights() == before


@pytest.mark.parametrize(
    ("role", "password"), [("Robert; DROP", "x"), ("limited", ""), ("1st", "x")]
)
def test_a_role_that_cannot_be_is_refused(role, password):
    with pytest.raises(ImproperlyConfigured):
        application_role.grant(role, password)
