"""Grants that expire: what is unspent on the day lapses, what is spent or held stays, and every verifier
agrees."""

from __future__ import annotations

import subprocess
import sys
from datetime import UTC, date, datetime, timedelta

import pytest
from django.conf import settings
from django.db import IntegrityError, connection, transaction
from django.urls import reverse
from django.utils import timezone

from synthweb.accounts.models import Role
from synthweb.ledger import chain, errors, selectors
from synthweb.ledger import services as ledger
from synthweb.ledger.amounts import NANO, Amount
from synthweb.ledger.models import LedgerEntry
from tests.flush import take_triggers_down
from tests.web import ledger_setup as setup
from tests.web.rest import Caller

pytestmark = pytest.mark.django_db
LAST = date(2031, 6, 30)  # the day on which the grants of these tests expire


class Clock:
    """The clock of the application, which stands still until it is set."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now = datetime(2031, 1, 1, 12, tzinfo=UTC)
        monkeypatch.setattr(timezone, "now", lambda: self.now)

    def go_to(self, day: date) -> None:
        self.now = datetime(day.year, day.month, day.day, tzinfo=UTC)


@pytest.fixture
def clock(monkeypatch):
    return Clock(monkeypatch)


@pytest.fixture
def who(clock):
    return setup.people()


@pytest.fixture
def made(who):
    return setup.dataset(who)


def grant(who, made, epsilon: int, *, lapses_on: date | None = LAST):
    asked = setup.asked(who, made, amount=Amount(epsilon=epsilon, delta=epsilon))
    return ledger.grant(
        custodian=who.custodian, request=asked, reason="Agreed.", lapses_on=lapses_on
    ).account


def cap(account) -> int:
    account.refresh_from_db()
    verdict = chain.verify(account)
    assert verdict.intact, verdict.faults
    return account.epsilon_cap


def test_what_is_unspent_lapses_on_the_day_and_not_before(who, made, clock):
    account = grant(who, made, 10)
    setup.hold(account, "spent", (3, 1, 0))
    ledger.charge(run_code="spent")
    clock.go_to(LAST - timedelta(days=1))
    assert ledger.settle(account) == [] and cap(account) == 10
    clock.go_to(LAST)
    (lapse,) = ledger.settle(account)
    first = LedgerEntry.objects.get(account=account, sequence=1)
    assert (lapse.epsilon, lapse.delta, lapse.evidence) == (7, 9, first.hash)
    assert cap(account) == 3 and ledger.settle_all() == 0
    assert selectors.balance(account).charged.epsilon == 3


def test_nothing_can_be_held_of_it_from_that_day_on_even_before_it_is_settled(who, made, clock):
    account = grant(who, made, 10)
    clock.go_to(LAST)
    with pytest.raises(errors.Overspend):
        setup.hold(account, "late", (1, 0, 0))
    # A refused hold changes nothing; what expired is settled by itself.
    assert ledger.settle_all() == 1 and cap(account) == 0


def test_what_a_run_holds_on_the_day_stays_with_it_and_lapses_if_it_is_given_back(
    who, made, clock
):
    account = grant(who, made, 10)
    setup.hold(account, "one", (4, 0, 0))
    setup.hold(account, "two", (2, 0, 0))
    clock.go_to(LAST)
    ledger.settle(account)
    assert cap(account) == 6
    ledger.charge(run_code="one")
    ledger.release(run_code="two", reason="Cancelled.")
    (lapse,) = ledger.settle(account)
    assert lapse.epsilon == 2 and cap(account) == 4


def test_the_grant_that_expires_first_pays_first_and_one_without_an_end_last(who, made, clock):
    account = grant(who, made, 10, lapses_on=None)
    grant(who, made, 5, lapses_on=LAST + timedelta(days=9))
    grant(who, made, 4)
    setup.hold(account, "run", (6, 0, 0))
    ledger.charge(run_code="run")
    clock.go_to(LAST)
    # Its ε is spent; its δ is not.
    (lapse,) = ledger.settle(account)
    assert (lapse.epsilon, lapse.delta) == (0, 4)
    clock.go_to(LAST + timedelta(days=9))
    (lapse,) = ledger.settle(account)
    assert (lapse.epsilon, lapse.delta) == (3, 5) and cap(account) == 16


def test_a_day_that_has_come_is_refused(who, made, clock):
    for day in (clock.now.date(), date(2000, 1, 1)):
        asked = made.budget_requests.first() or setup.asked(who, made)
        with pytest.raises(errors.LedgerConflict, match="before tomorrow"):
            ledger.grant(custodian=who.custodian, request=asked, reason="x", lapses_on=day)


def test_two_custodians_agree_on_the_day_as_well(who, made):
    ledger.set_two_custodians(actor="system", organisation=who.organisation, above=0)
    second = setup.person(who.organisation, Role.CUSTODIAN)
    asked = setup.asked(who, made, amount=Amount(epsilon=NANO))
    terms = {"request": asked, "reason": "Agreed."}
    assert ledger.grant(custodian=who.custodian, lapses_on=LAST, **terms) is None
    assert ledger.grant(custodian=second, **terms) is None
    assert ledger.grant(custodian=second, lapses_on=LAST, **terms).lapses_on == LAST


@pytest.mark.parametrize(
    ("change", "fault"),
    [
        ("UPDATE {table} SET lapses_on = '2031-06-29' WHERE sequence = 1", "entry 1"),
        ("UPDATE {table} SET lapses_on = NULL WHERE sequence = 1", "entry 1"),
        ("UPDATE {table} SET epsilon = epsilon - 1 WHERE kind = 'LAPSE'", "another amount"),
        ("UPDATE {table} SET evidence = 'x' WHERE kind = 'LAPSE'", "no grant had expired"),
    ],
)
def test_a_changed_lapse_is_found(who, made, clock, change, fault):
    account = grant(who, made, 10)
    clock.go_to(LAST)
    ledger.settle(account)
    take_triggers_down()
    with connection.cursor() as cursor:
        cursor.execute(change.format(table=LedgerEntry._meta.db_table))
    assert fault in " | ".join(chain.verify(account).faults)


def test_the_database_refuses_an_end_of_anything_but_a_grant(who, made):
    account = grant(who, made, 10)
    entry = setup.hold(account, "run", (1, 0, 0))
    for wrong in ({"kind": "HOLD", "lapses_on": LAST}, {"kind": "LAPSE", "evidence": ""}):
        row = {
            field.attname: getattr(entry, field.attname)
            for field in LedgerEntry._meta.concrete_fields
        }
        row |= {"id": None, "sequence": 9, "hash": "9" * 64, "run_code": "other", **wrong}
        with pytest.raises(IntegrityError), transaction.atomic():
            LedgerEntry.objects.create(**row)


@pytest.mark.parametrize("kind", ["json", "csv"])
def test_the_verifier_of_exports_accepts_lapses_and_finds_what_is_wrong(
    who, made, clock, browser, tmp_path, kind
):
    account = grant(who, made, 10)
    setup.hold(account, "run", (4, 0, 0))
    clock.go_to(LAST)
    ledger.settle(account)
    ledger.release(run_code="run", reason="Cancelled.")
    ledger.settle(account)
    answer = browser(who.auditor).get(reverse("ledger:entries", args=[account.code, kind]))
    whole = b"".join(answer.streaming_content)
    program = settings.BASE_DIR / "synthweb" / "ledger" / "verify_ledger.py"

    def judged(content: bytes) -> subprocess.CompletedProcess[str]:
        path = tmp_path / f"ledger.{kind}"
        path.write_bytes(content)
        command = [sys.executable, str(program), str(path)]
        return subprocess.run(command, capture_output=True, text=True, check=False)

    assert judged(whole).returncode == 0, judged(whole).stdout
    assert judged(whole.replace(b"2031-06-30", b"2031-06-29", 1)).returncode == 1


def test_by_page_and_by_rest_a_grant_gets_its_end(cast, browser):
    who = setup.People(
        cast.organisation, cast.steward, cast.custodian, cast.analyst, cast.auditor
    )
    end = timezone.now().date() + timedelta(days=400)
    asked = setup.asked(who, setup.dataset(who), amount=Amount(epsilon=NANO))
    data = {"epsilon": "1", "lapses_on": end.isoformat(), "name": "x", "reason": "Agreed."}
    address, client = reverse("ledger:grant", args=[asked.code]), browser(cast.custodian)
    second = client.post(address, data).text
    assert f'name="lapses_on" value="{end.isoformat()}"' in second
    account = client.post(address, data | {"confirmed": "1"}, follow=True)
    assert f"expires {end.isoformat()}" in account.text
    asked = setup.asked(who, setup.dataset(who), amount=Amount(epsilon=NANO))
    body = {"reason": "Agreed.", "lapses_on": end.isoformat()}
    calls = Caller(cast.custodian, "read", "grant")
    assert calls.send(f"/budget-requests/{asked.code}/grant/", body).status_code == 200
    assert LedgerEntry.objects.filter(lapses_on=end).count() == 2
