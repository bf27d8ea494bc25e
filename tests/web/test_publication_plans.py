"""Plans over years: each year's runs are held within its share, and a year that is over never changes."""

from __future__ import annotations

import csv
from datetime import UTC, datetime
from io import StringIO

import pytest
from django.core.management import CommandError, call_command
from django.db import IntegrityError, connection, transaction
from django.http import Http404
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone

from synthweb.accounts import sessions
from synthweb.audit.models import AuditEntry
from synthweb.ledger import (
    audit_lines,
    chain,
    errors,
    plan_years,
    publication_plans,
    selectors,
    yearly_limits,
)
from synthweb.ledger import services as ledger
from synthweb.ledger.amounts import NANO, Amount
from synthweb.ledger.models import (
    Earmark,
    EarmarkUse,
    LedgerEntry,
    PublicationPlan,
    Rule,
)
from synthweb.ledger.publication_plans import PlanChange, PlanTerms
from synthweb.lib.errors import Refused
from synthweb.runs.models import SynthesisRun
from tests.web import ledger_setup as setup
from tests.web.rest import Caller

pytestmark = pytest.mark.django_db
Remainder = PublicationPlan.Remainder


@pytest.fixture
def clock(monkeypatch):
    now = [datetime(2031, 12, 31, 23, 59, 59, 999999, tzinfo=UTC)]
    monkeypatch.setattr(timezone, "now", lambda: now[0])
    return now


@pytest.fixture
def midyear(clock):
    """A year that does not change while a page is read."""
    clock[0] = datetime(2031, 6, 1, tzinfo=UTC)
    return 2031


@pytest.fixture
def who():
    return setup.people()


@pytest.fixture
def account(who):
    amount = Amount(epsilon=10 * NANO, delta=10 * NANO)
    return setup.granted(who, setup.dataset(who), amount=amount)


def planned(who, account, remainder: str, *epsilons: int, first: int = 2031) -> PublicationPlan:
    shares = {
        first + number: Amount(epsilon=epsilon * NANO, delta=epsilon * NANO)
        for number, epsilon in enumerate(epsilons)
    }
    terms = PlanTerms(
        name="Commutes", shares=shares, remainder=remainder, reason="The programme."
    )
    return publication_plans.approve(custodian=who.custodian, account=account, terms=terms)


def changed(who, plan, remainder: str | None = None, **shares: int) -> None:
    wanted = PlanChange(
        shares={
            int(year[1:]): Amount(epsilon=epsilon * NANO, delta=epsilon * NANO)
            for year, epsilon in shares.items()
        },
        remainder=remainder,
        reason="Less is needed.",
    )
    publication_plans.change(custodian=who.custodian, plan=plan, wanted=wanted)


def hold(account, run: str, epsilon: int, plan=None) -> LedgerEntry:
    return setup.hold(
        account, run, (epsilon * NANO, 0, 0), earmark="" if plan is None else plan.code
    )


def left(plan) -> list[int]:
    return [year.left.epsilon // NANO for year in plan_years.years_of(plan)]


def free_of_all(account) -> int:
    account.refresh_from_db()
    return (selectors.balance(account).free - yearly_limits.earmarked(account)).epsilon // NANO


def new_year(clock, year: int) -> None:
    clock[0] = datetime(year, 1, 1, tzinfo=UTC)


# --- a share ------------------------------------------------------------------------------------------------
def test_a_plan_sets_its_shares_aside_and_moves_nothing(clock, who, account) -> None:
    before = (selectors.balance(account), account.entries.count())
    planned(who, account, Remainder.FREE, 3, 2)
    account.refresh_from_db()
    assert (selectors.balance(account), account.entries.count()) == before
    hold(account, "a", 5)
    with pytest.raises(errors.Earmarked):
        hold(account, "b", 1)
    assert free_of_all(account) == 0


def test_runs_of_a_year_hold_its_share_and_no_more(clock, who, account) -> None:
    plan = planned(who, account, Remainder.FREE, 3, 2)
    hold(account, "a", 2, plan)
    ledger.charge(run_code="a")
    before = account.entries.count()
    with pytest.raises(errors.ShareReached) as refused:
        hold(account, "b", 2, plan)
    for number in ("ε 3", "ε 2", "ε 1", "2031"):
        assert number in str(refused.value)
    assert refused.value.field == "earmark"
    assert account.entries.count() == before
    hold(account, "b", 1, plan)
    assert left(plan) == [0, 2]
    with pytest.raises(errors.ShareReached, match="ε 0, δ 3e-9 is left, and this costs ε 1"):
        hold(account, "c", 1, plan)
    # The plan counts once: what is free for others is what was free before.
    hold(account, "c", 5)
    assert chain.verify(account).intact
    assert publication_plans.faults(account) == []


def test_what_a_run_gives_back_is_the_share_s_again(clock, who, account) -> None:
    plan = planned(who, account, Remainder.FREE, 3)
    hold(account, "a", 3, plan)
    ledger.release(run_code="a", reason="Cancelled.")
    assert left(plan) == [3]
    hold(account, "b", 3, plan)


def test_the_same_run_again_is_the_same_hold(clock, who, account) -> None:
    plan = planned(who, account, Remainder.FREE, 3)
    assert hold(account, "a", 3, plan) == hold(account, "a", 3, plan)
    assert EarmarkUse.objects.count() == 1


def test_the_share_s_own_code_and_another_account_s_plan_pay_for_nothing(
    clock, who, account
) -> None:
    plan = planned(who, account, Remainder.FREE, 3, 2)
    other = setup.granted(
        who, setup.dataset(who, name="Another"), amount=Amount(epsilon=10 * NANO)
    )
    for paying, code in (
        (account, plan.shares.first().code),
        (other, plan.code),
        (account, "nonsense"),
    ):
        with pytest.raises(errors.Earmarked):
            setup.hold(paying, "a", (1, 0, 0), earmark=code)
    assert not EarmarkUse.objects.exists()


def test_under_zcdp_shares_are_of_rho(clock, who) -> None:
    account = setup.granted(
        who, setup.dataset(who), rule=Rule.ZCDP, amount=Amount(rho=5 * NANO)
    )
    terms = PlanTerms(
        name="Commutes",
        shares={2031: Amount(rho=NANO), 2032: Amount(rho=4 * NANO)},
        remainder=Remainder.NEXT,
        reason="Yearly.",
    )
    plan = publication_plans.approve(custodian=who.custodian, account=account, terms=terms)
    setup.hold(account, "a", (0, 0, NANO), earmark=plan.code)
    with pytest.raises(errors.ShareReached, match="ρ 0 is left"):
        setup.hold(account, "b", (0, 0, 1), earmark=plan.code)


def test_a_share_of_epsilon_alone_pays_for_no_delta(clock, who, account) -> None:
    terms = PlanTerms(
        name="Pure",
        shares={2031: Amount(epsilon=NANO)},
        remainder=Remainder.FREE,
        reason="Yearly.",
    )
    plan = publication_plans.approve(custodian=who.custodian, account=account, terms=terms)
    with pytest.raises(errors.ShareReached):
        setup.hold(account, "a", (1, 1, 0), earmark=plan.code)
    setup.hold(account, "a", (1, 0, 0), earmark=plan.code)


# --- the change of the year ---------------------------------------------------------------------------------
def test_the_next_share_begins_at_midnight_in_utc(clock, who, account) -> None:
    plan = planned(who, account, Remainder.FREE, 3, 2)
    hold(account, "a", 3, plan)
    new_year(clock, 2032)
    hold(account, "b", 2, plan)
    # What was submitted last year is charged now, and counts there.
    ledger.charge(run_code="a")
    assert [year.charged.epsilon // NANO for year in plan_years.years_of(plan)] == [3, 0]
    with pytest.raises(errors.ShareReached):
        hold(account, "c", 1, plan)


def test_before_the_first_year_and_after_the_last_nothing_is_paid(clock, who, account) -> None:
    plan = planned(who, account, Remainder.NEXT, 3, 2, first=2032)
    with pytest.raises(errors.ShareReached, match="2032 to 2033, and this is 2031"):
        hold(account, "a", 1, plan)
    new_year(clock, 2034)
    with pytest.raises(errors.ShareReached, match="this is 2034"):
        hold(account, "a", 1, plan)
    assert free_of_all(account) == 10


@pytest.mark.parametrize(
    ("remainder", "next_year", "free", "at_the_end"),
    [
        # Of 3, 2 are left; the next year has 4, and 1 of 10 was never of the plan.
        (Remainder.FREE, 4, 4, 9),
        (Remainder.NEXT, 6, 2, 9),
        (Remainder.LAPSED, 4, 2, 2),
    ],
)
def test_what_a_year_leaves(
    clock, who, account, remainder, next_year, free, at_the_end
) -> None:
    plan = planned(who, account, remainder, 3, 4, 1)
    hold(account, "a", 1, plan)
    assert free_of_all(account) == 2
    new_year(clock, 2032)
    assert left(plan)[1] == next_year
    assert free_of_all(account) == free
    with pytest.raises(errors.ShareReached):
        setup.hold(account, "b", (next_year * NANO + 1, 0, 0), earmark=plan.code)
    # A run of the plan is refused as one of what is free, too: it cannot hold more than that.
    with pytest.raises(errors.Earmarked):
        setup.hold(account, "b", (free * NANO + 1, 0, 0))
    new_year(clock, 2034)
    assert free_of_all(account) == at_the_end
    assert publication_plans.faults(account) == []


def test_what_is_given_back_after_the_year_follows_the_rule(clock, who, account) -> None:
    goes_on = planned(who, account, Remainder.NEXT, 3, 1)
    lapses = planned(who, account, Remainder.LAPSED, 3, 1)
    hold(account, "a", 3, goes_on)
    hold(account, "b", 3, lapses)
    new_year(clock, 2032)
    assert (left(goes_on), left(lapses)) == ([0, 1], [0, 1])
    for run in ("a", "b"):
        ledger.release(run_code=run, reason="Cancelled.")
    assert (left(goes_on), left(lapses)) == ([3, 4], [3, 1])
    assert free_of_all(account) == 2
    hold(account, "c", 4, goes_on)
    with pytest.raises(errors.ShareReached):
        hold(account, "d", 2, lapses)


def test_several_years_without_a_run_add_up(clock, who, account) -> None:
    plan = planned(who, account, Remainder.NEXT, 1, 2, 3)
    new_year(clock, 2033)
    hold(account, "a", 6, plan)
    assert left(plan) == [1, 3, 0]
    assert publication_plans.faults(account) == []


def test_a_clock_that_goes_back_pays_nothing_twice(clock, who, account) -> None:
    """What a year left, and a run of the next one holds, is not held again when the year before is the
    present one again."""
    plan = planned(who, account, Remainder.NEXT, 3, 1, 2)
    other = planned(who, account, Remainder.FREE, 2, 2)
    new_year(clock, 2032)
    hold(account, "a", 3, plan)
    clock[0] = datetime(2031, 12, 31, 23, 59, 59, tzinfo=UTC)
    assert left(plan) == [1, 0, 2]
    assert free_of_all(account) == 0
    with pytest.raises(errors.ShareReached):
        hold(account, "b", 2, plan)
    with pytest.raises(errors.LedgerConflict):
        changed(who, plan, y2031=1)
    hold(account, "c", 1, plan)
    assert publication_plans.faults(account) == []
    new_year(clock, 2033)
    assert left(plan) == [2, 0, 2]
    new_year(clock, 2032)
    hold(account, "d", 2, other)
    assert publication_plans.faults(account) == []


def test_what_a_last_year_left_is_set_aside_again_only_if_it_is_free(
    clock, who, account
) -> None:
    """A plan that is lengthened brings what its last year left, which others may have held meanwhile."""
    plan = planned(who, account, Remainder.NEXT, 4)
    other = planned(who, account, Remainder.FREE, 1, 3)
    new_year(clock, 2032)
    hold(account, "a", 6)
    assert free_of_all(account) == 1
    with pytest.raises(errors.Earmarked):
        changed(who, plan, y2032=1)
    ledger.release(run_code="a", reason="Cancelled.")
    hold(account, "b", 2)
    changed(who, plan, y2032=1)
    assert (left(plan), free_of_all(account)) == ([4, 5], 0)
    hold(account, "c", 5, plan)
    hold(account, "d", 3, other)


def test_the_worked_example_of_the_documentation(clock, who) -> None:
    account = setup.granted(who, setup.dataset(who), amount=Amount(epsilon=NANO))
    tenth = NANO // 10
    terms = PlanTerms(
        name="Commutes",
        shares={
            2026 + n: Amount(epsilon=part * tenth) for n, part in enumerate((3, 2, 2, 2, 1))
        },
        remainder=Remainder.NEXT,
        reason="Yearly.",
    )
    new_year(clock, 2026)
    plan = publication_plans.approve(custodian=who.custodian, account=account, terms=terms)

    def taken(run: str, tenths: int) -> None:
        setup.hold(account, run, (tenths * tenth, 0, 0), earmark=plan.code)

    taken("a", 2)
    with pytest.raises(errors.ShareReached, match=r"ε 0\.1 is left, and this costs ε 0\.2"):
        taken("b", 2)
    new_year(clock, 2028)
    taken("c", 4)
    clock[0] = datetime(2029, 12, 31, tzinfo=UTC)
    taken("d", 2)
    new_year(clock, 2030)
    ledger.release(run_code="d", reason="Cancelled.")
    taken("e", 4)
    for run in "ace":
        ledger.charge(run_code=run)
    lines = [
        (year.brought.epsilon // tenth, year.taken.epsilon // tenth, year.left.epsilon // tenth)
        for year in plan_years.years_of(plan)
    ]
    assert lines == [(0, 2, 1), (1, 0, 3), (3, 4, 1), (1, 0, 3), (3, 4, 0)]
    account.refresh_from_db()
    assert account.epsilon_charged == NANO


# --- approving and changing ---------------------------------------------------------------------------------
@pytest.mark.parametrize(
    "shares",
    [
        {},
        {2030: Amount(epsilon=1)},
        {2031: Amount(epsilon=1), 2033: Amount(epsilon=1)},
        {2031: Amount()},
        {2031: Amount(rho=1)},
        {2031: Amount(epsilon=-1)},
        {2031: Amount(epsilon=11 * NANO)},
        {2031: Amount(epsilon=6 * NANO), 2032: Amount(epsilon=4 * NANO + 1)},
        {2031: Amount(epsilon=1, delta=10 * NANO + 1)},
        {year: Amount(epsilon=1) for year in range(2031, 2062)},
        {9001: Amount(epsilon=1)},
    ],
)
def test_a_plan_that_cannot_be_is_refused_and_leaves_nothing(
    clock, who, account, shares
) -> None:
    terms = PlanTerms(
        name="Commutes", shares=shares, remainder=Remainder.FREE, reason="Yearly."
    )
    with pytest.raises(errors.LedgerConflict):
        publication_plans.approve(custodian=who.custodian, account=account, terms=terms)
    assert not PublicationPlan.objects.exists()
    assert not Earmark.objects.exists()


def test_a_plan_and_a_change_need_a_reason(clock, who, account) -> None:
    terms = PlanTerms(
        name="Commutes",
        shares={2031: Amount(epsilon=1)},
        remainder=Remainder.FREE,
        reason=" ",
    )
    with pytest.raises(Refused):
        publication_plans.approve(custodian=who.custodian, account=account, terms=terms)
    plan = planned(who, account, Remainder.FREE, 3)
    with pytest.raises(Refused):
        publication_plans.change(
            custodian=who.custodian,
            plan=plan,
            wanted=PlanChange(shares={}, remainder=Remainder.NEXT, reason=""),
        )


def test_years_to_come_are_changed_and_others_are_not(clock, who, account) -> None:
    plan = planned(who, account, Remainder.FREE, 3, 3, 3)
    hold(account, "a", 2, plan)
    new_year(clock, 2032)
    hold(account, "b", 2, plan)
    with pytest.raises(errors.LedgerConflict, match="2031 is over"):
        changed(who, plan, y2031=1)
    with pytest.raises(errors.LedgerConflict, match="ε 2 in 2032 already"):
        changed(who, plan, y2032=1)
    with pytest.raises(errors.Earmarked, match=r"ε 2, .* free, and the shares need ε 3"):
        changed(who, plan, y2033=6)
    assert [year.share.epsilon // NANO for year in plan_years.years_of(plan)] == [3, 3, 3]
    changed(who, plan, y2032=2, y2033=6)
    assert left(plan) == [1, 0, 6]
    assert free_of_all(account) == 0
    # The rows of before stay, and the uses of the present year still count.
    assert plan.shares.count() == 5
    assert plan.shares.filter(end__isnull=False).count() == 2
    with pytest.raises(errors.ShareReached):
        hold(account, "c", 1, plan)
    assert publication_plans.faults(account) == []


def test_what_earlier_years_left_counts_when_a_share_is_lowered(clock, who, account) -> None:
    plan = planned(who, account, Remainder.NEXT, 3, 3)
    new_year(clock, 2032)
    hold(account, "a", 4, plan)
    changed(who, plan, y2032=1)
    assert left(plan) == [3, 0]
    with pytest.raises(errors.LedgerConflict):
        changed(who, plan, y2032=0)


def test_a_plan_is_lengthened_year_by_year_and_ended_by_zeros(clock, who, account) -> None:
    plan = planned(who, account, Remainder.FREE, 3, 3)
    with pytest.raises(errors.LedgerConflict):
        changed(who, plan, y2034=1)
    changed(who, plan, y2033=1)
    assert [year.year for year in plan_years.years_of(plan)] == [2031, 2032, 2033]
    changed(who, plan, y2032=0, y2033=0)
    assert free_of_all(account) == 7
    new_year(clock, 2034)
    with pytest.raises(errors.LedgerConflict, match="over"):
        changed(who, plan, y2033=1)


# --- another rule for what a year leaves --------------------------------------------------------------------
def remainders(plan) -> list[str]:
    return [year.remainder for year in plan_years.years_of(plan)]


def test_another_rule_applies_to_this_year_and_later_ones(clock, who, account) -> None:
    plan = planned(who, account, Remainder.NEXT, 3, 1, 1)
    new_year(clock, 2032)
    assert left(plan) == [3, 4, 1]
    before = free_of_all(account)
    changed(who, plan, Remainder.LAPSED)
    # 2031 stays as it was computed: what it left is the present year's.
    assert remainders(plan) == [Remainder.NEXT, Remainder.LAPSED, Remainder.LAPSED]
    assert left(plan) == [3, 4, 1]
    assert free_of_all(account) == before
    new_year(clock, 2033)
    assert left(plan) == [3, 4, 1]
    assert free_of_all(account) == before
    changed(who, plan, Remainder.FREE)
    assert remainders(plan) == [Remainder.NEXT, Remainder.LAPSED, Remainder.FREE]
    new_year(clock, 2034)
    # What lapsed in 2032 stays so; 2033 left 1.
    assert free_of_all(account) == before + 1
    assert publication_plans.faults(account) == []


@pytest.mark.parametrize("rule", Remainder)
@pytest.mark.parametrize("other", Remainder)
def test_the_rule_of_then_applies_to_what_is_given_back_later(
    clock, who, account, rule, other
) -> None:
    plan = planned(who, account, rule, 3, 1)
    never_changed = planned(who, account, rule, 3, 1)
    for run, each in (("a", plan), ("b", never_changed)):
        hold(account, run, 3, each)
    new_year(clock, 2032)
    changed(who, plan, other)
    for run in "ab":
        ledger.release(run_code=run, reason="Cancelled.")
    assert left(plan) == left(never_changed)
    assert plan.rules.count() == (rule != other)


def test_the_newest_rule_of_a_year_applies(clock, who, account) -> None:
    plan = planned(who, account, Remainder.NEXT, 3, 1)
    changed(who, plan, Remainder.LAPSED)
    changed(who, plan, Remainder.FREE, y2032=2)
    assert remainders(plan) == [Remainder.FREE, Remainder.FREE]
    changed(who, plan, Remainder.FREE)
    assert plan.rules.count() == 2
    new_year(clock, 2032)
    assert left(plan) == [3, 2]
    assert free_of_all(account) == 8


def test_the_rule_of_a_plan_that_is_over_is_not_changed(clock, who, account) -> None:
    plan = planned(who, account, Remainder.LAPSED, 3)
    new_year(clock, 2032)
    with pytest.raises(errors.LedgerConflict, match="2031, is over"):
        changed(who, plan, Remainder.FREE)
    assert free_of_all(account) == 7
    # A year more has the rule that comes with it.
    changed(who, plan, Remainder.FREE, y2032=2)
    assert remainders(plan) == [Remainder.LAPSED, Remainder.FREE]


def test_a_rule_that_was_followed_before_a_clock_went_back_stays(clock, who, account) -> None:
    plan = planned(who, account, Remainder.NEXT, 3, 1)
    new_year(clock, 2032)
    changed(who, plan, Remainder.LAPSED)
    hold(account, "a", 3, plan)
    clock[0] = datetime(2031, 12, 31, 23, 59, 59, tzinfo=UTC)
    assert remainders(plan) == [Remainder.NEXT, Remainder.LAPSED]
    with pytest.raises(errors.LedgerConflict, match="hold what this year leaves"):
        changed(who, plan, Remainder.FREE)
    assert left(plan) == [1, 0]
    new_year(clock, 2032)
    assert left(plan) == [3, 1]
    assert publication_plans.faults(account) == []


def test_another_rule_is_in_the_audit_log(clock, who, account, browser) -> None:
    plan = planned(who, account, Remainder.NEXT, 3, 2)
    changed(who, plan, Remainder.LAPSED)
    entry = AuditEntry.objects.order_by("sequence").last()
    assert entry.action == "budget.plan_changed"
    assert entry.detail == {
        "plan": plan.code,
        "before": {},
        "shares": {},
        "remainder_before": "next",
        "remainder": "lapsed",
        "reason": "Less is needed.",
    }
    changed(who, plan, y2032=1)
    entry = AuditEntry.objects.order_by("sequence").last()
    facts = dict(audit_lines.facts(entry))
    assert facts == {
        "plan": plan.code,
        "before": "2032: ε 2, δ 2e-9",
        "shares": "2032: ε 1, δ 1e-9",
        "reason": "Less is needed.",
    }


# --- queries ------------------------------------------------------------------------------------------------
def queries_of(deed) -> int:
    with CaptureQueriesContext(connection) as asked:
        deed()
    return len(asked)


def test_many_plans_are_read_in_as_many_queries_as_one(midyear, who, browser) -> None:
    amount = Amount(epsilon=100 * NANO, delta=100 * NANO)
    account = setup.granted(who, setup.dataset(who), amount=amount)
    auditor, custodian = browser(who.auditor), browser(who.custodian)
    calls = Caller(who.auditor, "read")
    page = reverse("ledger:account", args=[account.code])
    plans: list[PublicationPlan] = []

    def another() -> None:
        plan = planned(who, account, Remainder.NEXT, 2, 1, first=midyear)
        hold(account, f"held{plan.pk}", 1, plan)
        hold(account, f"paid{plan.pk}", 1, plan)
        ledger.charge(run_code=f"paid{plan.pk}")
        plans.append(plan)

    def counts() -> dict[str, int]:
        run = f"run{len(plans)}"
        counted = {
            "read": lambda: plan_years.of_account(account),
            "page": lambda: auditor.get(page),
            "form": lambda: custodian.get(reverse("pages:new-plan", args=[account.code])),
            "rest": lambda: calls.get(f"/accounts/{account.code}/plans/"),
            "hold": lambda: hold(account, run, 1),
            "faults": lambda: publication_plans.faults(account),
        }
        return {name: queries_of(deed) for name, deed in counted.items()}

    another()
    counts()  # what is remembered after the first time
    # Of that round the run is an entry more, as each round has one more.
    another()
    few = counts()
    for _ in range(9):
        another()
    assert len(plan_years.of_account(account)) == 11
    assert counts() == few
    assert few["read"] == 5


def test_the_page_of_an_account_reads_its_plans_once(midyear, who, account, browser) -> None:
    planned(who, account, Remainder.NEXT, 2, 1, first=midyear)
    auditor = browser(who.auditor)
    with CaptureQueriesContext(connection) as asked:
        auditor.get(reverse("ledger:account", args=[account.code]))
    table = PublicationPlan._meta.db_table
    assert sum(f'FROM "{table}"' in each["sql"] for each in asked) == 1


def test_a_change_to_the_same_is_none(clock, who, account) -> None:
    plan = planned(who, account, Remainder.FREE, 3, 3)
    before = AuditEntry.objects.count()
    changed(who, plan, y2031=3, y2032=3)
    assert plan.shares.count() == 2
    assert AuditEntry.objects.count() == before


def test_a_share_is_not_freed_but_by_its_plan(clock, who, account) -> None:
    plan = planned(who, account, Remainder.FREE, 3)
    with pytest.raises(errors.LedgerConflict, match="share of a year"):
        yearly_limits.end_earmark(
            custodian=who.custodian, account=account, code=plan.shares.first().code
        )


def test_shares_can_be_lowered_after_a_grant_has_expired(clock, who, account) -> None:
    plan = planned(who, account, Remainder.FREE, 5, 5)
    type(account).objects.filter(pk=account.pk).update(epsilon_cap=2 * NANO)
    changed(who, plan, y2031=1, y2032=1)
    assert free_of_all(account) == 0
    with pytest.raises(errors.Earmarked):
        changed(who, plan, y2032=2)


def test_the_years_of_the_account_show_what_plans_reserve(clock, who, account) -> None:
    planned(who, account, Remainder.FREE, 3, 2)
    years = yearly_limits.years(account, yearly_limits.open_earmarks(account))
    lines = [(line.year, line.set_aside // NANO) for line in years]
    assert lines == [(2031, 3), (2032, 2)]


# --- the record ---------------------------------------------------------------------------------------------
def test_what_was_decided_stays_on_record(clock, who, account) -> None:
    plan = planned(who, account, Remainder.FREE, 3, 2)
    changed(who, plan, y2032=1)
    entries = list(AuditEntry.objects.order_by("sequence"))[-2:]
    assert [entry.action for entry in entries] == [
        "budget.plan_approved",
        "budget.plan_changed",
    ]
    assert entries[0].detail["shares"] == {"2031": "ε 3, δ 3e-9", "2032": "ε 2, δ 2e-9"}
    assert entries[1].detail["before"] == {"2032": "ε 2, δ 2e-9"}
    with pytest.raises(IntegrityError), transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(f"DELETE FROM {PublicationPlan._meta.db_table}")


def test_the_database_refuses_a_share_without_its_plan(who, account) -> None:
    for facts in ({"use": "plan"}, {"use": "plan", "year": 2031}, {"year": 2031}):
        with pytest.raises(IntegrityError), transaction.atomic():
            Earmark.objects.create(account=account, purpose="Later", **facts)


def test_verify_ledger_reports_what_was_written_past_the_application(
    clock, who, account, capsys
) -> None:
    plan = planned(who, account, Remainder.FREE, 3)
    hold(account, "a", 1, plan)
    call_command("verify_ledger")
    EarmarkUse.objects.create(earmark=plan.shares.first(), run_code="b", epsilon=9 * NANO)
    with pytest.raises(CommandError, match=account.code):
        call_command("verify_ledger")
    report = capsys.readouterr().out
    assert "2031 took more than its share" in report
    assert "run b holds another amount" in report


# --- pages --------------------------------------------------------------------------------------------------
def form_of(year: int, *epsilons: str, **more: str) -> dict[str, str]:
    shares = {f"epsilon_{year + number}": share for number, share in enumerate(epsilons)}
    return {"name": "Commutes", "remainder": "next", "reason": "Yearly.", **shares, **more}


def test_a_custodian_approves_and_changes_on_pages_and_others_read(
    midyear, who, account, browser
) -> None:
    year = midyear
    custodian, auditor = browser(who.custodian), browser(who.auditor)
    address = reverse("pages:new-plan", args=[account.code])
    years = f"?first={year}&last={year + 1}"
    assert f'name="epsilon_{year + 1}"' in custodian.get(address + years).content.decode()
    answer = custodian.post(address + years, form_of(year, "30 %", "2.5"))
    assert answer.status_code == 302
    plan = PublicationPlan.objects.get()
    shares = [line.share.epsilon for line in plan_years.years_of(plan)]
    assert shares == [3 * NANO, 5 * NANO // 2]
    page = reverse("pages:plan", args=[account.code, plan.code])
    change = reverse("pages:change-plan", args=[account.code, plan.code])
    assert (
        page in custodian.get(reverse("ledger:account", args=[account.code])).content.decode()
    )
    seen = auditor.get(page).content.decode()
    assert "Commutes" in seen
    assert change not in seen
    assert change in custodian.get(page).content.decode()
    for client in (auditor, browser(who.analyst)):
        assert client.post(change, {}).status_code == 403
        assert client.post(address, {}).status_code == 403
    body = form_of(year, "3", "1", remainder="lapsed")
    assert custodian.get(change).context["form"]["remainder"].value() == Remainder.NEXT
    assert custodian.post(change, body).status_code == 302
    assert left(plan) == [3, 1]
    assert remainders(plan) == [Remainder.LAPSED] * 2
    assert "It lapses: nobody can spend it" in auditor.get(page).content.decode()
    assert custodian.post(change, form_of(year, "3", "11")).status_code == 422
    assert custodian.post(change, form_of(year, "3", "1", remainder="all")).status_code == 422
    assert custodian.post(change, {}).status_code == 422
    assert remainders(plan) == [Remainder.LAPSED] * 2
    file = auditor.get(reverse("pages:plan-years", args=[account.code, plan.code]))
    rows = list(csv.DictReader(StringIO(file.content.decode())))
    assert [tuple(row.values())[1:5] for row in rows] == [
        (str(year), "present", "lapsed", "3"),
        (str(year + 1), "to-come", "lapsed", "1"),
    ]


def test_a_new_plan_says_that_nothing_is_free(midyear, who, account, browser) -> None:
    custodian = browser(who.custodian)
    address = reverse("pages:new-plan", args=[account.code])
    assert "Nothing of this account is free" not in custodian.get(address).content.decode()
    hold(account, "a", 10)
    # δ alone is no budget that could be planned.
    assert selectors.balance(account).free.delta
    assert "Nothing of this account is free" in custodian.get(address).content.decode()


def test_forged_forms_are_refused(midyear, who, account, browser) -> None:
    year = midyear
    custodian = browser(who.custodian)
    address = reverse("pages:new-plan", args=[account.code])
    right = form_of(year, "1", "1")
    for query, change in (
        (f"?first={year - 1}&last={year}", {}),
        (f"?first={year}&last={year + 500}", {}),
        ("?first=x&last=", {}),
        ("", {f"epsilon_{year}": "-1"}),
        ("", {f"epsilon_{year}": "1e-10"}),
        ("", {f"epsilon_{year}": "1000 %"}),
        ("", {f"epsilon_{year}": "9" * 1000}),
        ("", {f"epsilon_{year}": "x %"}),
        ("", {"remainder": "all-of-it"}),
        ("", {"reason": ""}),
        ("", {"name": "two\nlines"}),
    ):
        answer = custodian.post(address + query, right | change)
        assert answer.status_code == 422, (query, change)
    assert not PublicationPlan.objects.exists()
    assert custodian.post(address, {}).status_code == 422
    for path in (address, f"{address}?first=9999999999999999999&last=1"):
        assert custodian.get(path).status_code == 200


def test_deeds_on_plans_ask_again_who_it_is(
    midyear, who, account, browser, monkeypatch
) -> None:
    plan = planned(who, account, Remainder.NEXT, 1, first=midyear)
    monkeypatch.setattr(sessions, "proved_recently", lambda _session: False)
    custodian = browser(who.custodian)
    year = midyear
    answer = custodian.post(reverse("pages:new-plan", args=[account.code]), form_of(year, "1"))
    assert 'name="confirm_password"' in answer.content.decode()
    answer = custodian.post(
        reverse("pages:change-plan", args=[account.code, plan.code]),
        {f"epsilon_{year}": "2", "reason": "More."},
    )
    assert 'name="confirm_password"' in answer.content.decode()
    assert PublicationPlan.objects.count() == 1
    assert left(plan) == [1]


def test_a_plan_of_another_account_or_organisation_is_not_there(
    midyear, who, account, browser
) -> None:
    plan = planned(who, account, Remainder.NEXT, 1, first=midyear)
    other = setup.granted(who, setup.dataset(who, name="Another"))
    for wrong in (other.code, "nothing"):
        address = reverse("pages:plan", args=[wrong, plan.code])
        assert browser(who.custodian).get(address).status_code == 404
    stranger = setup.people().custodian
    assert (
        browser(stranger).get(reverse("pages:plan", args=[account.code, plan.code])).status_code
        == 404
    )
    with pytest.raises(Http404):
        publication_plans.plan_for(who.custodian, account.code, "nothing")


# --- REST and runs ------------------------------------------------------------------------------------------
def test_plans_are_read_approved_and_changed_by_rest(midyear, who, account) -> None:
    year = midyear
    calls, reader = Caller(who.custodian, "grant"), Caller(who.auditor, "read")
    asked = {
        "name": "Commutes",
        "remainder": "next",
        "reason": "Yearly.",
        "shares": [{"year": year, "epsilon": "3"}, {"year": year + 1, "epsilon": "2"}],
    }
    address = f"/accounts/{account.code}/plans/"
    answer = calls.send(address, asked)
    assert answer.status_code == 201, answer.content
    plan = answer.json()
    assert [(each["year"], each["share"]["epsilon"]) for each in plan["years"]] == [
        (year, "3"),
        (year + 1, "2"),
    ]
    assert reader.get(address).json() == [plan]
    one = f"{address}{plan['code']}/"
    assert reader.get(one).json() == plan
    change = {"reason": "Less.", "shares": [{"year": year + 1, "epsilon": "1"}]}
    answer = calls.send(one, change, method="patch")
    assert answer.status_code == 200, answer.content
    assert answer.json()["years"][1]["left"]["epsilon"] == "1"
    answer = calls.send(one, {"reason": "Other.", "remainder": "free"}, method="patch")
    assert answer.status_code == 200, answer.content
    assert answer.json()["remainder"] == "free"
    assert [each["remainder"] for each in answer.json()["years"]] == ["free", "free"]
    for nothing in ({"reason": "None."}, {"remainder": "free"}, {"remainder": "all"}):
        assert calls.send(one, nothing, method="patch").status_code == 400, nothing
    change["shares"] = [{"year": year - 1, "epsilon": "1"}]
    assert calls.send(one, change, method="patch").status_code == 409
    for wrong in (
        asked | {"shares": []},
        asked | {"shares": [asked["shares"][0]] * 2},
        asked | {"shares": [{"year": "2027", "epsilon": "1"}]},
        asked | {"remainder": "all"},
    ):
        assert calls.send(address, wrong).status_code == 400, wrong


def test_a_run_draws_on_this_year_s_share(midyear, cast, played, browser) -> None:
    year = midyear
    terms = PlanTerms(
        name="Commutes",
        shares={year: Amount(epsilon=NANO // 10, delta=NANO), year + 1: Amount(epsilon=1)},
        remainder=Remainder.NEXT,
        reason="Yearly.",
    )
    plan = publication_plans.approve(
        custodian=cast.custodian, account=played.account, terms=terms
    )
    steward = browser(cast.steward)
    page = steward.get(reverse("runs:new", args=[played.dataset.code]))
    assert f'<option value="{plan.code}">' in page.content.decode()
    address = reverse("runs:estimate", args=[played.dataset.code])
    form = {"mechanism": "independent", "delta": "1e-9", "parameters_of": "independent"}
    shown = steward.post(address, form | {"epsilon": "0.25", "earmark": plan.code})
    assert f"Commutes, {year}" in shown.content.decode()
    assert f"ε 0.1, δ 1e-9 for {year}" in shown.context["estimate"].refusal
    calls = Caller(cast.steward, "spend")
    wanted = {
        "dataset": played.dataset.code,
        "mechanism": "independent",
        "epsilon": "0.1",
        "delta": "1e-9",
        "earmark": plan.code,
    }
    answer = calls.send("/runs/", wanted)
    assert answer.status_code == 202, answer.content
    run = answer.json()["code"]
    assert plan_years.years_of(plan)[0].runs == (run,)
    again = calls.send("/runs/", wanted)
    assert again.status_code == 409
    assert again.json()["type"] == "urn:synthweb:share-reached"
    # The page of the plan shows the run, and once there is a release, that.
    text = browser(cast.auditor).get(
        reverse("pages:plan", args=[played.account.code, plan.code])
    )
    assert run in text.content.decode()


def test_the_next_release_begins_with_the_last_one(midyear, cast, played, browser) -> None:
    year = midyear
    terms = PlanTerms(
        name="Commutes",
        shares={year: Amount(epsilon=NANO // 10, delta=NANO)},
        remainder=Remainder.NEXT,
        reason="Yearly.",
    )
    plan = publication_plans.approve(
        custodian=cast.custodian, account=played.account, terms=terms
    )
    run = SynthesisRun.objects.get(code=played.release.run_code)
    EarmarkUse.objects.create(earmark=plan.shares.get(), run_code=run.code)
    SynthesisRun.objects.filter(pk=run.pk).update(
        spec=run.spec | {"mechanism": "auto", "parameters": {}}, name="Commutes, 2025"
    )
    steward = browser(cast.steward)
    link = f"{reverse('runs:new', args=[played.dataset.code])}?next={run.code}"
    page = steward.get(reverse("pages:plan", args=[played.account.code, plan.code]))
    assert link in page.content.decode()
    assert played.release.name in page.content.decode()
    form = steward.get(link).context["form"]
    assert form["mechanism"].value() == "auto"
    assert form["name"].value() == f"Commutes, {year}"
    assert form["earmark"].value() == plan.code
    assert form["prior"].value() == f"release:{played.release.code}"
