"""What only PostgreSQL can show. Its name keeps it out of the run on SQLite; `make test` names it in the run on
PostgreSQL."""

from __future__ import annotations

import random
import threading
import time

import pytest
from django.db import DatabaseError, IntegrityError, connection, connections, transaction

from synthweb.ledger import services as ledger
from synthweb.ledger.amounts import Amount
from synthweb.ledger.models import LedgerEntry
from synthweb.lib import append_only
from tests.web.ledger_setup import dataset, granted, hold, people
from tests.web.test_ledger_hammer import assert_sound, at_once

RUNS = 15
pytestmark = pytest.mark.django_db(transaction=True)


def test_this_runs_on_postgresql():
    assert connection.vendor == "postgresql"


def test_backends_terminated_in_the_middle_leave_the_books_right():
    who = people()
    account = granted(who, dataset(who), amount=Amount(epsilon=10**9))
    over, kills, lost = threading.Event(), [0], [0]

    def killer() -> None:
        dice = random.Random(1)
        with connection.cursor() as cursor:
            while not over.is_set():
                cursor.execute(
                    "SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()"
                    " AND backend_type = 'client backend' AND application_name <> 'test'"
                )
                pids = [pid for (pid,) in cursor.fetchall()]
                if pids:
                    cursor.execute("SELECT pg_terminate_backend(%s)", [dice.choice(pids)])
                    kills[0] += 1
                time.sleep(0.03)

    def worker(name: int) -> None:
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
    """Under a plain FOR UPDATE these two would wait for each other: each has locked the account's key, for its row."""
    who = people()
    account = granted(who, dataset(who), amount=Amount(epsilon=10))
    meet = threading.Barrier(2)

    def submit(number: int) -> None:
        with transaction.atomic():
            with connection.cursor() as cursor:  # what a row with a foreign key to the account does at its commit
                cursor.execute("SELECT 1 FROM ledger_budgetaccount WHERE id = %s FOR KEY SHARE", [account.pk])
            meet.wait(timeout=10)
            hold(account, f"run{number}", (1, 0, 0))

    assert at_once(lambda: submit(1), lambda: submit(2)) == [None, None]


def test_a_session_that_plays_a_replica_is_refused_too():
    who = people()
    granted(who, dataset(who))
    with pytest.raises(IntegrityError, match="append-only"), transaction.atomic(), connection.cursor() as cursor:
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
