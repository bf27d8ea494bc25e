"""Many at once: threads with connections of their own, and processes that are killed. On whichever database
the tests run; `make test` runs this file on a real PostgreSQL too."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable
from datetime import UTC, datetime

import pytest
from django.conf import settings
from django.db import connection, transaction
from django.utils import timezone

from synthweb.audit import chain as audit_chain
from synthweb.audit import services as audit
from synthweb.audit.models import AuditEntry
from synthweb.ledger import chain, plan_years, publication_plans, selectors
from synthweb.ledger import services as ledger
from synthweb.ledger.amounts import Amount
from synthweb.ledger.models import BudgetAccount, LedgerEntry, PublicationPlan
from synthweb.ledger.publication_plans import PlanChange, PlanTerms
from tests.web.ledger_setup import asked, dataset, granted, hold, people

pytestmark = [pytest.mark.slow, pytest.mark.django_db(transaction=True)]


def at_once(*deeds: Callable[[], object]) -> list[object]:
    """Run every deed in a thread of its own, all released together; their results or exceptions, in order."""
    barrier = threading.Barrier(len(deeds))
    results: list[object] = [None] * len(deeds)

    def play(index: int, deed: Callable[[], object]) -> None:
        try:
            connection.ensure_connection()
            barrier.wait(timeout=300)
            results[index] = deed()
        except Exception as error:  # noqa: BLE001 - the test looks at what it was
            results[index] = error
        finally:
            connection.close()

    threads = [
        threading.Thread(target=play, args=(index, deed)) for index, deed in enumerate(deeds)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=600)
    assert not any(thread.is_alive() for thread in threads), "a deed never ended"
    return results


def kinds(results: list[object]) -> Counter[str]:
    return Counter(type(result).__name__ for result in results)


def assert_sound(account: BudgetAccount) -> None:
    verdict = chain.verify(account)
    assert verdict.intact, verdict.faults
    assert audit_chain.verify().intact
    account.refresh_from_db()
    assert not selectors.balance(account).free.is_negative_somewhere


@pytest.fixture
def who():
    return people()


@pytest.mark.parametrize("rule", ["basic", "zcdp"])
def test_of_fifty_submissions_for_the_last_unit_exactly_one_wins(who, rule):
    cap, cost = (
        (Amount(epsilon=1), (1, 0, 0)) if rule == "basic" else (Amount(rho=1), (0, 0, 1))
    )
    account = granted(who, dataset(who), rule=rule, amount=cap)
    results = at_once(
        *(lambda number=number: hold(account, f"run{number}", cost) for number in range(50))
    )
    assert kinds(results) == {"LedgerEntry": 1, "Overspend": 49}
    assert all(
        result.remaining == Amount()
        for result in results
        if isinstance(result, ledger.Overspend)
    )
    assert LedgerEntry.objects.filter(kind="HOLD").count() == 1
    assert_sound(account)


THIS_YEAR = 2031


@pytest.fixture
def this_year(monkeypatch):
    """The middle of a year, in every thread."""
    monkeypatch.setattr(timezone, "now", lambda: datetime(THIS_YEAR, 6, 1, tzinfo=UTC))


def plan_of(who, account, *shares: int) -> PublicationPlan:
    terms = PlanTerms(
        name="Commutes",
        shares={THIS_YEAR + n: Amount(epsilon=share) for n, share in enumerate(shares)},
        remainder="next",
        reason="Yearly.",
    )
    return publication_plans.approve(custodian=who.custodian, account=account, terms=terms)


def test_runs_of_one_year_at_once_never_hold_more_than_its_share(who, this_year):
    account = granted(who, dataset(who), amount=Amount(epsilon=100))
    plan = plan_of(who, account, 10, 20)
    results = at_once(
        *(
            lambda number=number: hold(account, f"run{number}", (3, 0, 0), earmark=plan.code)
            for number in range(30)
        )
    )
    assert kinds(results) == {"LedgerEntry": 3, "ShareReached": 27}
    assert [year.left.epsilon for year in plan_years.years_of(plan)] == [1, 20]
    assert publication_plans.faults(account) == []
    assert_sound(account)


def test_runs_of_a_plan_and_others_at_once_keep_to_what_is_theirs(who, this_year):
    account = granted(who, dataset(who), amount=Amount(epsilon=20))
    plan = plan_of(who, account, 10)
    results = at_once(
        *(
            lambda number=number: hold(
                account, f"run{number}", (1, 0, 0), earmark=plan.code if number % 2 else ""
            )
            for number in range(40)
        )
    )
    assert kinds(results[1::2]) == {"LedgerEntry": 10, "ShareReached": 10}
    assert kinds(results[::2])["LedgerEntry"] == 10
    assert_sound(account)


def test_a_plan_is_lowered_and_its_share_held_at_once(who, this_year):
    account = granted(who, dataset(who), amount=Amount(epsilon=100))
    plan = plan_of(who, account, 10)
    lower = {"custodian": who.custodian, "plan": plan}
    results = at_once(
        *(
            lambda number=number: hold(account, f"run{number}", (1, 0, 0), earmark=plan.code)
            for number in range(12)
        ),
        *(
            lambda most=most: publication_plans.change(
                wanted=PlanChange(
                    shares={THIS_YEAR: Amount(epsilon=most)}, reason="Less is needed."
                ),
                **lower,
            )
            for most in (4, 5, 6, 7)
        ),
    )
    assert kinds(results).keys() <= {
        "LedgerEntry",
        "ShareReached",
        "NoneType",
        "LedgerConflict",
    }
    (year,) = plan_years.years_of(plan)
    assert not year.left.is_negative_somewhere
    assert year.taken.epsilon == kinds(results)["LedgerEntry"]
    assert_sound(account)


def test_of_two_plans_at_once_one_gets_what_is_free(who, this_year):
    account = granted(who, dataset(who), amount=Amount(epsilon=10))
    results = at_once(*(lambda: plan_of(who, account, 4, 3) for _ in range(8)))
    assert kinds(results) == {"PublicationPlan": 1, "Earmarked": 7}
    assert_sound(account)


def test_the_same_submission_fifty_times_at_once_holds_once(who):
    account = granted(who, dataset(who), amount=Amount(epsilon=100))
    results = at_once(*(lambda: hold(account, "run1", (3, 0, 0)) for _ in range(50)))
    assert {result.pk for result in results} == {LedgerEntry.objects.get(kind="HOLD").pk}
    account.refresh_from_db()
    assert account.epsilon_held == 3
    assert_sound(account)


def test_a_charge_and_a_release_at_once_resolve_the_hold_one_way(who):
    account = granted(who, dataset(who), amount=Amount(epsilon=100))
    for number in range(5):
        run_code = f"run{number}"
        hold(account, run_code, (3, 0, 0))
        charges = [lambda run_code=run_code: ledger.charge(run_code=run_code)] * 5
        releases = [
            lambda run_code=run_code: ledger.release(run_code=run_code, reason="Cancelled.")
        ] * 5
        assert kinds(at_once(*charges, *releases)) == {"LedgerEntry": 5, "AlreadyResolved": 5}
    assert LedgerEntry.objects.filter(kind__in=["CHARGE", "RELEASE"]).count() == 5
    assert_sound(account)


def test_a_storm_of_holds_charges_releases_and_duplicates_leaves_the_books_right(who):
    account = granted(who, dataset(who), amount=Amount(epsilon=500, delta=100))

    def worker(seed: int) -> Counter[str]:
        dice, seen = random.Random(seed), Counter[str]()
        for step in range(20):
            run_code = (
                f"run{dice.randrange(60)}"  # few enough that workers meet over the same run
            )
            cost = (1 + int(run_code[3:]), int(run_code[3:]) % 3, 0)
            deed = dice.choice(["hold", "hold", "charge", "release"])
            try:
                if deed == "hold":
                    hold(account, run_code, cost)
                elif deed == "charge":
                    ledger.charge(run_code=run_code)
                else:
                    ledger.release(run_code=run_code, reason=f"Step {step}.")
                seen[deed] += 1
            except ledger.LedgerConflict as refusal:
                seen[type(refusal).__name__] += 1
        return seen

    results = at_once(*(lambda seed=seed: worker(seed) for seed in range(16)))
    assert all(isinstance(result, Counter) for result in results), results
    assert sum(sum(result.values()) for result in results) == 16 * 20
    entries = Counter(LedgerEntry.objects.values_list("kind", flat=True))
    assert entries["HOLD"] > 10 and entries["CHARGE"] and entries["RELEASE"]
    assert_sound(account)


def test_holds_and_audit_entries_of_one_transaction_do_not_wait_for_each_other_for_ever(who):
    accounts = [granted(who, dataset(who), amount=Amount(epsilon=100)) for _ in range(2)]

    def submit(number: int) -> LedgerEntry:
        with transaction.atomic():
            entry = hold(accounts[number % 2], f"run{number}", (1, 0, 0))
            audit.record(
                actor="steward", action="run.submitted", target=("run", f"run{number}")
            )
            return entry

    results = at_once(*(lambda number=number: submit(number) for number in range(20)))
    assert kinds(results) == {"LedgerEntry": 20}
    assert AuditEntry.objects.filter(action="run.submitted").count() == 20
    for account in accounts:
        assert_sound(account)


def test_a_request_is_decided_once_however_many_custodians_press_at_once(who):
    request = asked(who, dataset(who), amount=Amount(epsilon=7))
    results = at_once(
        *(
            lambda: ledger.grant(custodian=who.custodian, request=request, reason="Agreed.")
            for _ in range(8)
        )
    )
    assert kinds(results) == {"LedgerEntry": 1, "AlreadyDecided": 7}
    assert BudgetAccount.objects.get().epsilon_cap == 7
    assert_sound(BudgetAccount.objects.get())


def test_the_same_content_granted_twice_at_once_opens_one_cap(who):
    requests = [
        asked(who, dataset(who, content="same", name=f"Copy {number}")) for number in range(6)
    ]
    results = at_once(
        *(
            lambda request=request: ledger.grant(
                custodian=who.custodian, request=request, reason="Agreed."
            )
            for request in requests
        )
    )
    assert kinds(results) == {"LedgerEntry": 1, "SameContent": 5}
    assert BudgetAccount.objects.count() == 1


def test_no_audit_entry_is_lost_when_many_write_at_once():
    def write(writer: int) -> None:
        for number in range(10):
            audit.record(actor=f"writer{writer}", action="test.done", detail={"number": number})

    assert kinds(at_once(*(lambda writer=writer: write(writer) for writer in range(12)))) == {
        "NoneType": 12
    }
    assert AuditEntry.objects.count() == 120
    assert audit_chain.verify().intact


_SPENDER = """
import sys, django
django.setup()
from django.conf import settings
settings.DATABASES["default"]["NAME"] = sys.argv[1]
from tests.web.ledger_setup import hold
from synthweb.ledger import services as ledger
from synthweb.ledger.models import BudgetAccount
account = BudgetAccount.objects.get()
print("ready", flush=True)
for number in range(100000):
    run_code = f"{sys.argv[2]}-{number}"
    hold(account, run_code, (1, 0, 0))
    ledger.charge(run_code=run_code) if number % 2 else ledger.release(run_code=run_code, reason="Cancelled.")
"""


def wait_for_entries(account: BudgetAccount, number: int) -> None:
    end = time.monotonic() + 120
    while LedgerEntry.objects.filter(account=account).count() < number:
        assert time.monotonic() < end, "nobody spends"
        time.sleep(0.01)


def test_processes_killed_in_the_middle_leave_the_books_right(who):
    account = granted(who, dataset(who), amount=Amount(epsilon=10**9))
    environment = {
        **os.environ,
        "DJANGO_SETTINGS_MODULE": "synthweb.settings",
        "PYTHONPATH": str(settings.BASE_DIR),
    }
    name = str(connection.settings_dict["NAME"])
    connection.close()
    for generation in range(3):
        spenders = [
            subprocess.Popen(
                [sys.executable, "-c", _SPENDER, name, f"{generation}{number}"],
                env=environment,
                stdout=subprocess.PIPE,
            )
            for number in range(3)
        ]
        for spender in spenders:
            assert spender.stdout.readline() == b"ready\n"
        wait_for_entries(account, LedgerEntry.objects.filter(account=account).count() + 12)
        for spender in spenders:
            spender.send_signal(signal.SIGKILL)
            spender.wait()
            spender.stdout.close()
        assert_sound(account)
    assert LedgerEntry.objects.filter(account=account).count() > 3 * 12
