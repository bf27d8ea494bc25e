"""A yearly limit and parts that are set aside: they refuse holds and change nothing else."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from django.db import IntegrityError, connection, transaction
from django.urls import reverse
from django.utils import timezone

from synthweb.audit.models import AuditEntry
from synthweb.ledger import chain, errors, selectors, yearly_limits
from synthweb.ledger import services as ledger
from synthweb.ledger.amounts import NANO, Amount
from synthweb.ledger.models import Earmark, EarmarkEnd, LedgerEntry, Rule, YearlyLimit
from tests.web import ledger_setup as setup

pytestmark = pytest.mark.django_db


@pytest.fixture
def clock(monkeypatch):
    now = [datetime(2031, 12, 31, 23, 59, tzinfo=UTC)]
    monkeypatch.setattr(timezone, "now", lambda: now[0])
    return now


@pytest.fixture
def who():
    return setup.people()


@pytest.fixture
def account(who):
    amount = Amount(epsilon=10 * NANO, delta=NANO)
    return setup.granted(who, setup.dataset(who), amount=amount)


def limit(who, account, most: int | None) -> None:
    yearly_limits.set_yearly_limit(custodian=who.custodian, account=account, most=most)


def set_aside(who, account, epsilon: int, delta: int = 0) -> Earmark:
    return yearly_limits.earmark(
        custodian=who.custodian,
        account=account,
        amount=Amount(epsilon=epsilon, delta=delta),
        purpose="The release of 2032",
    )


def hold(account, run: str, epsilon: int, delta: int = 0) -> LedgerEntry:
    return setup.hold(account, run, (epsilon, delta, 0))


def stand(account) -> tuple[object, int]:
    account.refresh_from_db()
    return selectors.balance(account), account.entries.count()


# --- a year -----------------------------------------------------------------------------------------------------
def test_what_is_taken_in_a_year_is_limited_exactly(clock, who, account) -> None:
    limit(who, account, 3 * NANO)
    hold(account, "a", 2 * NANO)
    before = stand(account)
    with pytest.raises(errors.YearlyLimitReached):
        hold(account, "b", NANO + 1)
    assert stand(account) == before
    hold(account, "b", NANO)
    assert yearly_limits.taken_this_year(account) == 3 * NANO
    with pytest.raises(errors.YearlyLimitReached):
        hold(account, "c", 1)


def test_the_year_ends_at_midnight_in_utc(clock, who, account) -> None:
    limit(who, account, 2 * NANO)
    hold(account, "a", 2 * NANO)
    clock[0] = datetime(2032, 1, 1, tzinfo=UTC)
    assert yearly_limits.taken_this_year(account) == 0
    hold(account, "b", 2 * NANO)
    # What was submitted last year is charged now, and counts there.
    ledger.charge(run_code="a")
    assert yearly_limits.taken_this_year(account) == 2 * NANO


def test_what_is_given_back_does_not_count_and_what_is_charged_does(who, account) -> None:
    limit(who, account, 2 * NANO)
    hold(account, "a", 2 * NANO)
    ledger.release(run_code="a", reason="Cancelled.")
    hold(account, "b", 2 * NANO)
    ledger.charge(run_code="b")
    with pytest.raises(errors.YearlyLimitReached):
        hold(account, "c", 1)


def test_the_same_run_again_is_the_same_hold(who, account) -> None:
    limit(who, account, 2 * NANO)
    assert hold(account, "a", 2 * NANO) == hold(account, "a", 2 * NANO)


def test_the_newest_limit_applies_and_none_lifts_it(who, account) -> None:
    limit(who, account, 0)
    with pytest.raises(errors.YearlyLimitReached):
        hold(account, "a", 1)
    limit(who, account, None)
    hold(account, "a", 1)
    assert YearlyLimit.objects.count() == 2


def test_a_limit_never_gives_more_than_the_cap(who, account) -> None:
    limit(who, account, 100 * NANO)
    with pytest.raises(errors.Overspend):
        hold(account, "a", 10 * NANO + 1)


def test_under_zcdp_rho_is_limited(who) -> None:
    account = setup.granted(
        who, setup.dataset(who), rule=Rule.ZCDP, amount=Amount(rho=5 * NANO)
    )
    limit(who, account, NANO)
    setup.hold(account, "a", (0, 0, NANO))
    with pytest.raises(errors.YearlyLimitReached) as refused:
        setup.hold(account, "b", (0, 0, 1))
    assert refused.value.field == "rho"


# --- set aside --------------------------------------------------------------------------------------------------
def test_runs_cannot_hold_what_is_set_aside_until_it_is_freed(who, account) -> None:
    before = stand(account)
    earmark = set_aside(who, account, 4 * NANO)
    assert stand(account) == before
    hold(account, "a", 6 * NANO)
    with pytest.raises(errors.Earmarked):
        hold(account, "b", 1)
    for _twice in range(2):
        yearly_limits.end_earmark(custodian=who.custodian, account=account, code=earmark.code)
    hold(account, "b", 4 * NANO)
    account.refresh_from_db()
    assert selectors.balance(account).free.epsilon == 0
    assert EarmarkEnd.objects.count() == 1
    assert chain.verify(account).intact


def test_delta_is_set_aside_too(who, account) -> None:
    set_aside(who, account, 1, delta=NANO)
    with pytest.raises(errors.Earmarked):
        hold(account, "a", 1, delta=1)
    hold(account, "a", 1)


def test_no_more_is_set_aside_than_is_free(who, account) -> None:
    set_aside(who, account, 6 * NANO)
    hold(account, "a", NANO)
    with pytest.raises(errors.Earmarked):
        set_aside(who, account, 3 * NANO + 1)
    set_aside(who, account, 3 * NANO)
    assert yearly_limits.earmarked(account) == Amount(epsilon=9 * NANO)


@pytest.mark.parametrize(
    "amount", [Amount(), Amount(rho=1), Amount(delta=1), Amount(epsilon=-1)]
)
def test_an_amount_that_the_account_does_not_count_is_refused(who, account, amount) -> None:
    with pytest.raises(errors.LedgerConflict):
        yearly_limits.earmark(
            custodian=who.custodian, account=account, amount=amount, purpose="Later"
        )


def test_what_was_decided_stays_on_record(who, account) -> None:
    limit(who, account, NANO)
    earmark = set_aside(who, account, NANO)
    yearly_limits.end_earmark(custodian=who.custodian, account=account, code=earmark.code)
    actions = AuditEntry.objects.order_by("sequence").values_list("action", flat=True)
    assert list(actions)[-3:] == [
        "budget.yearly_limit_set",
        "budget.earmarked",
        "budget.earmark_ended",
    ]
    for model in (YearlyLimit, Earmark, EarmarkEnd):
        with pytest.raises(IntegrityError), transaction.atomic(), connection.cursor() as cursor:
            cursor.execute(f"DELETE FROM {model._meta.db_table}")


# --- pages ------------------------------------------------------------------------------------------------------
def test_a_custodian_decides_on_the_page_and_others_read(who, account, browser) -> None:
    page = browser(who.custodian)
    address = reverse("ledger:account", args=[account.code])
    year = reverse("ledger:yearly-limit", args=[account.code])
    assert page.post(year, {"year-most": "2.5"}).status_code == 302
    assert yearly_limits.yearly_limit(account) == 5 * NANO // 2
    form = {"earmark-purpose": "Later", "earmark-epsilon": "3", "earmark-delta": ""}
    assert page.post(reverse("ledger:earmark", args=[account.code]), form).status_code == 302
    (earmark,) = yearly_limits.open_earmarks(account)
    text = page.get(address).content.decode()
    end = reverse("ledger:end-earmark", args=[account.code, earmark.code])
    assert end in text
    reader = browser(who.auditor)
    seen = reader.get(address).content.decode()
    assert "Later" in seen
    assert end not in seen
    for closed in (year, reverse("ledger:earmark", args=[account.code]), end):
        assert reader.post(closed, form).status_code == 403
        assert browser(who.analyst).post(closed, form).status_code == 403
    assert page.post(end).status_code == 302
    assert yearly_limits.open_earmarks(account) == []
    assert page.post(year, {"year-most": ""}).status_code == 302
    assert yearly_limits.yearly_limit(account) is None


def test_what_is_refused_stays_in_the_form(who, account, browser) -> None:
    page = browser(who.custodian)
    form = {"earmark-purpose": "Too much", "earmark-epsilon": "11"}
    answer = page.post(reverse("ledger:earmark", args=[account.code]), form)
    assert answer.status_code == 422
    assert 'value="Too much"' in answer.content.decode()
    answer = page.post(reverse("ledger:yearly-limit", args=[account.code]), {"year-most": "x"})
    assert answer.status_code == 422
    assert Earmark.objects.count() == YearlyLimit.objects.count() == 0
