"""A yearly limit and parts that are set aside: they refuse holds and change nothing else."""

from __future__ import annotations

from datetime import UTC, date, datetime

import pytest
from django.db import IntegrityError, connection, transaction
from django.urls import reverse
from django.utils import timezone

from synthweb.audit.models import AuditEntry
from synthweb.ledger import chain, errors, selectors, yearly_limits
from synthweb.ledger import services as ledger
from synthweb.ledger.amounts import NANO, Amount
from synthweb.ledger.models import (
    Earmark,
    EarmarkEnd,
    EarmarkUse,
    LedgerEntry,
    Rule,
    YearlyLimit,
)
from synthweb.runs.estimate import Bar
from tests.web import ledger_setup as setup
from tests.web.rest import Caller

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("noon")]


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


def set_aside(who, account, epsilon: int, delta: int = 0, **terms: object) -> Earmark:
    return yearly_limits.earmark(
        custodian=who.custodian,
        account=account,
        amount=Amount(epsilon=epsilon, delta=delta),
        purpose="The release of 2032",
        **terms,
    )


def left_of(account) -> list[int]:
    return [each.left.epsilon for each in yearly_limits.open_earmarks(account)]


def hold(account, run: str, epsilon: int, delta: int = 0, earmark: str = "") -> LedgerEntry:
    return setup.hold(account, run, (epsilon, delta, 0), earmark=earmark)


def stand(account) -> tuple[object, int]:
    account.refresh_from_db()
    return selectors.balance(account), account.entries.count()


# --- a year -------------------------------------------------------------------------------------------------
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


def test_each_year_has_its_limit_and_what_was_taken_and_set_aside(clock, who, account) -> None:
    limit(who, account, 3 * NANO)
    hold(account, "a", 2 * NANO)
    hold(account, "b", NANO)
    ledger.release(run_code="b", reason="cancelled")
    clock[0] = datetime(2033, 6, 1, tzinfo=UTC)
    limit(who, account, NANO)
    hold(account, "c", NANO)
    # The last day of the one is the last of 2034; the other begins to be free in the middle of 2035.
    set_aside(who, account, NANO, ends_on=date(2035, 1, 1))
    set_aside(who, account, 2 * NANO, ends_on=date(2035, 7, 1))
    ledger.charge(run_code="a")  # counts where it was submitted
    lines = [
        (line.year, line.most, line.taken, line.set_aside, line.runs)
        for line in yearly_limits.years(account, yearly_limits.open_earmarks(account))
    ]
    assert lines == [
        (2031, 3 * NANO, 2 * NANO, 0, 1),
        (2032, 3 * NANO, 0, 0, 0),
        (2033, NANO, NANO, 0, 1),
        (2034, NANO, 0, NANO, 0),
        (2035, NANO, 0, 2 * NANO, 0),
    ]


def test_the_page_of_an_account_shows_its_years(who, account, browser) -> None:
    hold(account, "a", 2 * NANO)
    year = timezone.now().astimezone(UTC).year
    text = browser(who.auditor).get(reverse("ledger:account", args=[account.code]))
    assert f"since={year}-01-01&amp;until={year}-12-31" in text.content.decode()
    entries = browser(who.auditor).get(
        reverse("ledger:account", args=[account.code]),
        {"since": f"{year}-01-01", "until": f"{year}-12-31"},
    )
    assert entries.status_code == 200


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


# --- set aside ----------------------------------------------------------------------------------------------
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


def test_runs_of_a_project_spend_its_part_and_no_more(who, account) -> None:
    part = set_aside(who, account, 4 * NANO, use=Earmark.Use.PROJECT)
    hold(account, "a", 3 * NANO, earmark=part.code)
    ledger.charge(run_code="a")
    assert left_of(account) == [NANO]
    with pytest.raises(errors.Earmarked) as refused:
        hold(account, "b", NANO + 1, earmark=part.code)
    assert refused.value.field == "earmark"
    # What others can hold is what was free before: the used part counts once.
    hold(account, "c", 6 * NANO)
    with pytest.raises(errors.Earmarked):
        hold(account, "d", 1)
    hold(account, "e", NANO, earmark=part.code)
    account.refresh_from_db()
    assert selectors.balance(account).free.epsilon == 0
    assert chain.verify(account).intact


def test_what_a_run_of_a_project_gives_back_is_the_project_s_again(who, account) -> None:
    part = set_aside(who, account, 4 * NANO, use=Earmark.Use.PROJECT)
    hold(account, "a", 4 * NANO, earmark=part.code)
    assert left_of(account) == [0]
    ledger.release(run_code="a", reason="Cancelled.")
    assert left_of(account) == [4 * NANO]
    with pytest.raises(errors.Earmarked):
        hold(account, "b", 7 * NANO)


def test_what_one_release_leaves_is_free_once_it_is_charged(who, account) -> None:
    part = set_aside(who, account, 4 * NANO, use=Earmark.Use.RELEASE)
    hold(account, "a", NANO, earmark=part.code)
    # Until then the run can still give everything back.
    with pytest.raises(errors.Earmarked):
        hold(account, "b", 9 * NANO)
    ledger.charge(run_code="a")
    with pytest.raises(errors.Earmarked):
        hold(account, "c", 1, earmark=part.code)
    hold(account, "b", 9 * NANO)


def test_what_is_unspent_returns_on_the_last_day(clock, who, account) -> None:
    part = set_aside(who, account, 4 * NANO, use=Earmark.Use.PROJECT, ends_on=date(2032, 1, 1))
    hold(account, "a", NANO, earmark=part.code)
    with pytest.raises(errors.Earmarked):
        hold(account, "b", 9 * NANO)
    clock[0] = datetime(2032, 1, 1, tzinfo=UTC)
    assert yearly_limits.open_earmarks(account) == []
    with pytest.raises(errors.Earmarked):
        hold(account, "c", 1, earmark=part.code)
    hold(account, "b", 9 * NANO)


def test_a_part_that_nobody_can_spend_or_of_another_account_cannot_be_named(
    who, account
) -> None:
    kept = set_aside(who, account, NANO)
    other = setup.granted(
        who, setup.dataset(who, name="Another"), amount=Amount(epsilon=10 * NANO)
    )
    elsewhere = set_aside(who, other, NANO, use=Earmark.Use.PROJECT)
    for code in (kept.code, elsewhere.code, "nonsense"):
        with pytest.raises(errors.Earmarked):
            hold(account, "a", 1, earmark=code)
    assert not EarmarkUse.objects.exists()


def test_the_last_day_is_in_the_future(clock, who, account) -> None:
    with pytest.raises(errors.LedgerConflict):
        set_aside(who, account, NANO, ends_on=date(2031, 12, 31))


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


# --- pages --------------------------------------------------------------------------------------------------
def test_a_custodian_decides_on_the_page_and_others_read(who, account, browser) -> None:
    page = browser(who.custodian)
    address = reverse("ledger:account", args=[account.code])
    year = reverse("ledger:yearly-limit", args=[account.code])
    assert page.post(year, {"year-most": "2.5"}).status_code == 302
    assert yearly_limits.yearly_limit(account) == 5 * NANO // 2
    form = {"earmark-purpose": "Later", "earmark-epsilon": "3", "earmark-delta": ""}
    form |= {"earmark-use": "project", "earmark-ends_on": "2999-01-01"}
    assert page.post(reverse("ledger:earmark", args=[account.code]), form).status_code == 302
    earmark = yearly_limits.open_earmarks(account)[0].earmark
    assert (earmark.use, earmark.ends_on) == ("project", date(2999, 1, 1))
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
    form = {"earmark-purpose": "Too much", "earmark-epsilon": "11", "earmark-use": "release"}
    answer = page.post(reverse("ledger:earmark", args=[account.code]), form)
    assert answer.status_code == 422
    assert 'value="Too much"' in answer.content.decode()
    answer = page.post(reverse("ledger:yearly-limit", args=[account.code]), {"year-most": "x"})
    assert answer.status_code == 422
    assert Earmark.objects.count() == YearlyLimit.objects.count() == 0


def test_a_run_is_paid_from_what_was_set_aside_for_it(cast, played, browser) -> None:
    part = yearly_limits.earmark(
        custodian=cast.custodian,
        account=played.account,
        amount=Amount(epsilon=NANO // 10, delta=NANO),
        purpose="Project Harbour",
        use=Earmark.Use.PROJECT,
    )
    page = browser(cast.steward).get(reverse("runs:new", args=[played.dataset.code]))
    assert f'<option value="{part.code}">' in page.content.decode()
    calls = Caller(cast.steward, "spend")
    wanted = {
        "dataset": played.dataset.code,
        "mechanism": "independent",
        "epsilon": "0.1",
        "delta": "1e-9",
        "earmark": part.code,
    }
    answer = calls.send("/runs/", wanted)
    assert answer.status_code == 202, answer.content
    assert EarmarkUse.objects.get().run_code == answer.json()["code"]
    again = calls.send("/runs/", wanted)
    assert again.status_code == 409
    assert again.json()["type"] == "urn:synthweb:earmarked"


def test_the_page_prices_a_run_from_what_would_pay_for_it(cast, played, browser) -> None:
    part = yearly_limits.earmark(
        custodian=cast.custodian,
        account=played.account,
        amount=Amount(epsilon=NANO // 2, delta=NANO),
        purpose="Project Harbour",
        use=Earmark.Use.PROJECT,
    )
    client = browser(cast.steward)
    address = reverse("runs:estimate", args=[played.dataset.code])
    form = {"mechanism": "independent", "delta": "1e-9", "parameters_of": "independent"}

    def bars(epsilon: str, earmark: str) -> tuple[list[Bar], str]:
        page = client.post(address, form | {"epsilon": epsilon, "earmark": earmark})
        shown = page.context["estimate"]
        return list(shown.bars), shown.refusal

    played.account.refresh_from_db()
    free = selectors.balance(played.account).free.epsilon - NANO // 2
    (whole, _), refusal = bars("0.25", "")
    assert (whole.free, whole.set_aside, refusal) == (free, NANO // 2, "")
    (named, _), refusal = bars("0.25", part.code)
    assert (named.cap, named.free, named.set_aside, refusal) == (NANO // 2, NANO // 2, 0, "")
    assert named.free_after == NANO // 4
    (short, _), refusal = bars("0.75", part.code)
    assert not short.fits
    assert "0.5" in refusal
    page = client.post(address, form | {"epsilon": "0.25", "earmark": part.code})
    assert "Project Harbour" in page.content.decode()


@pytest.mark.parametrize("left", [0, NANO // 4])
def test_the_page_refuses_what_the_ledger_would_refuse(cast, played, browser, left) -> None:
    taken = yearly_limits.taken_this_year(played.account)
    yearly_limits.set_yearly_limit(
        custodian=cast.custodian, account=played.account, most=taken + left
    )
    address = reverse("runs:estimate", args=[played.dataset.code])
    form = {"mechanism": "independent", "delta": "1e-9", "parameters_of": "independent"}
    for epsilon, fits in (("0.25", left >= NANO // 4), ("0.5", False)):
        shown = browser(cast.steward).post(address, form | {"epsilon": epsilon})
        assert shown.context["estimate"].affordable is fits
        assert ("data-refusal" in shown.content.decode()) is not fits
