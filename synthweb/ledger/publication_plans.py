"""Plans over years: approving one, and changing shares and rule of years that are not over.

A plan sets its shares aside as earmarks, so it refuses other runs what it reserves and does nothing else:
entries, sums and the privacy loss are as without it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from django.db import transaction
from django.http import Http404

from synthweb.accounts.models import User
from synthweb.accounts.selectors import Person
from synthweb.audit import services as audit
from synthweb.ledger import movements, plan_years, selectors, yearly_limits
from synthweb.ledger.amounts import Amount
from synthweb.ledger.errors import Earmarked, LedgerConflict
from synthweb.ledger.models import (
    BudgetAccount,
    Earmark,
    EarmarkEnd,
    EarmarkUse,
    LedgerEntry,
    PlanRule,
    PublicationPlan,
)
from synthweb.ledger.plan_years import PlanYear
from synthweb.lib import codes, names
from synthweb.lib.errors import Refused

MOST_YEARS = 30
LAST_YEAR = 9000
Shares = Mapping[int, Amount]


@dataclass(frozen=True, kw_only=True)
class PlanTerms:
    """What a custodian approves: the name of the publication, each year's share, what becomes of the rest of
    a year, and why."""

    name: str
    shares: Shares
    remainder: str
    reason: str


def plan_for(user: Person, account_code: str, code: str) -> PublicationPlan:
    """One plan of an account that `user` may read; Http404 if there is none."""
    account = selectors.account_for(user, account_code)
    plan = account.publication_plans.filter(code=codes.of_text(code)).first()
    if plan is None:
        raise Http404("No such plan")
    plan.account = account
    return plan


@transaction.atomic
def approve(*, custodian: User, account: BudgetAccount, terms: PlanTerms) -> PublicationPlan:
    """Make a plan, and set its shares aside. Errors: Earmarked if less is free; LedgerConflict for years or
    amounts that cannot be."""
    locked = movements.lock(account.pk)
    years = sorted(terms.shares)
    if not years or years != list(range(years[0], years[-1] + 1)):
        raise LedgerConflict(
            "A plan has one year after another", repair="give each year a share, which may be 0"
        )
    _require_years(years, first=years[0])
    _require_amounts(terms.shares, rule=locked.rule)
    if not any(share.main(locked.rule) for share in terms.shares.values()):
        raise LedgerConflict(
            "No year of the plan has a share", repair="give at least one year more than 0"
        )
    if not terms.reason.strip():
        raise Refused("a plan needs a reason", repair="say why", field="reason")
    _require_free(locked, sum(terms.shares.values(), start=Amount()))
    plan = PublicationPlan.objects.create(
        account=locked,
        name=names.one_line(terms.name),
        remainder=PublicationPlan.Remainder(terms.remainder),
        reason=terms.reason,
        actor=custodian.get_username(),
    )
    for year in years:
        _set_aside(plan, year, terms.shares[year], actor=custodian.get_username())
    audit.record(
        actor=custodian,
        action="budget.plan_approved",
        target=("account", locked.code),
        organisation=locked.organisation,
        detail={
            "plan": plan.code,
            "name": plan.name,
            "shares": _text_of(terms.shares, rule=locked.rule),
            "remainder": plan.remainder,
            "reason": terms.reason,
        },
    )
    return plan


@dataclass(frozen=True, kw_only=True)
class PlanChange:
    """What a custodian changes of a plan, and why. shares: of this year or later ones; years that are not
    named stay as they are. remainder: the rule for what this year and later ones leave; None: as it is."""

    shares: Shares
    remainder: str | None = None
    reason: str


@transaction.atomic
def change(*, custodian: User, plan: PublicationPlan, wanted: PlanChange) -> None:
    """Set shares of years that are not over, and the rule for what they leave; the year after the last one
    lengthens the plan. Errors: Earmarked if less is free; LedgerConflict for a year that is over, or less
    than its runs took already."""
    locked = movements.lock(plan.account_id)
    lines = plan_years.years_of(plan)
    if not wanted.reason.strip():
        raise Refused("a change of a plan needs a reason", repair="say why", field="reason")
    before = {line.year: line.share for line in lines}
    shares = {
        year: share
        for year, share in wanted.shares.items()
        if year not in before or share != before[year]
    }
    rule = lines[-1].remainder
    remainder = rule if wanted.remainder is None else wanted.remainder
    if not shares and remainder == rule:
        return
    if shares:
        _set_shares(lines, shares, account=locked, plan=plan, custodian=custodian)
    if remainder != rule:
        _set_rule(
            lines, remainder, last=max([*before, *shares]), plan=plan, custodian=custodian
        )
    audit.record(
        actor=custodian,
        action="budget.plan_changed",
        target=("account", locked.code),
        organisation=locked.organisation,
        detail={
            "plan": plan.code,
            "before": _text_of(
                {year: before[year] for year in shares if year in before}, rule=locked.rule
            ),
            "shares": _text_of(shares, rule=locked.rule),
            "remainder_before": "" if remainder == rule else rule,
            "remainder": "" if remainder == rule else remainder,
            "reason": wanted.reason,
        },
    )


def _set_shares(
    lines: list[PlanYear],
    shares: Shares,
    *,
    account: BudgetAccount,
    plan: PublicationPlan,
    custodian: User,
) -> None:
    """lines: the years of the plan so far; shares: those that become others. The account is locked."""
    years = {line.year: line for line in lines}
    last = lines[-1]
    added = sorted(shares.keys() - years.keys())
    if added != list(range(last.year + 1, last.year + 1 + len(added))):
        raise LedgerConflict(
            "A plan has one year after another", repair="add the year after its last one"
        )
    _require_years(sorted(shares), first=lines[0].year)
    _require_amounts(shares, rule=account.rule)
    changed = [years[year] for year in shares if year in years]
    for line in changed:
        _require_not_taken(line, share=shares[line.year], rule=account.rule)
    before = sum((line.share for line in changed), start=Amount())
    more = sum(shares.values(), start=Amount()) - before
    if added and last.is_over and last.remainder == PublicationPlan.Remainder.NEXT:
        # What the last year of a plan leaves is free; it is set aside again for the year that is added.
        more += last.left
    _require_free(account, more)
    for line in changed:
        EarmarkEnd.objects.create(earmark=line.part, actor=custodian.get_username())
    for year, share in sorted(shares.items()):
        _set_aside(plan, year, share, actor=custodian.get_username())


def _set_rule(
    lines: list[PlanYear], remainder: str, *, last: int, plan: PublicationPlan, custodian: User
) -> None:
    """From this year on; last: the last year of the plan. Nothing is set aside or freed by it before this
    year is over."""
    present = plan_years.present_year()
    if last < present:
        raise LedgerConflict(
            f"The last year of the plan, {last}, is over", repair="make another plan"
        )
    # A clock went back: the rule of this year has already been followed.
    if any(line.ahead != Amount() for line in lines):
        raise LedgerConflict(
            "Runs of a later year hold what this year leaves",
            repair="correct the clock of the server, or wait for that year",
        )
    PlanRule.objects.create(
        plan=plan,
        first_year=present,
        remainder=PublicationPlan.Remainder(remainder),
        actor=custodian.get_username(),
    )


def faults(account: BudgetAccount) -> list[str]:
    """What does not fit together in the plans of an account: a year whose runs took more than it had, a use
    that is not what its run holds. Nothing, unless somebody wrote to the database without the application."""
    lines = [
        f"plan {plan.code}: {line.year} took more than its share"
        for plan, lines in plan_years.of_account(account)
        for line in lines
        if line.left.is_negative_somewhere
    ]
    uses = EarmarkUse.objects.filter(earmark__account=account, earmark__plan__isnull=False)
    holds = {
        entry.run_code: selectors.amount_of(entry)
        for entry in LedgerEntry.objects.filter(
            account=account,
            kind=LedgerEntry.Kind.HOLD,
            run_code__in=uses.values("run_code"),
        )
    }
    return lines + [
        f"plan {use.earmark.plan.code}: run {use.run_code} holds another amount"
        for use in uses.select_related("earmark__plan").order_by("pk")
        if use.earmark.plan and holds.get(use.run_code) != selectors.amount_of(use)
    ]


def _require_years(years: list[int], *, first: int) -> None:
    if years[0] < plan_years.present_year():
        raise LedgerConflict(
            f"The year {years[0]} is over", repair="plan this year and later ones"
        )
    if years[-1] > LAST_YEAR or years[-1] - first >= MOST_YEARS:
        raise LedgerConflict(
            f"A plan has at most {MOST_YEARS} years", repair="end it earlier, or make another"
        )


def _require_amounts(shares: Shares, *, rule: str) -> None:
    if any(not share.fits(rule) or share.is_negative_somewhere for share in shares.values()):
        raise LedgerConflict(
            "A share is in what the account counts, and not below 0",
            repair="give such a privacy loss",
        )


def _require_free(account: BudgetAccount, amount: Amount) -> None:
    free = yearly_limits.free(account)
    # Where less is free than is set aside, because a grant expired, shares can still be lowered.
    wanted = amount.not_negative
    lacks = [
        name
        for name in selectors.counted(account.rule)
        if 0 < getattr(wanted, name) > getattr(free, name)
    ]
    if lacks:
        raise Earmarked(
            f"The account has {free.not_negative.text(account.rule)} free, and the shares need "
            f"{wanted.text(account.rule)}",
            repair="plan less, or grant more first",
        )


def _require_not_taken(year: PlanYear, *, share: Amount, rule: str) -> None:
    taken = year.taken + year.ahead
    if not yearly_limits.covers(share + year.brought, taken, rule=rule):
        raise LedgerConflict(
            f"Runs took {taken.text(rule)} in {year.year} already",
            repair="give the year at least that",
        )


def _set_aside(plan: PublicationPlan, year: int, share: Amount, *, actor: str) -> None:
    Earmark.objects.create(
        account_id=plan.account_id,
        plan=plan,
        year=year,
        purpose=f"{plan.name[:190]}, {year}",
        use=Earmark.Use.PLAN,
        actor=actor,
        **share.as_dict,
    )


def _text_of(shares: Shares, *, rule: str) -> dict[str, str]:
    return {str(year): share.text(rule) for year, share in sorted(shares.items())}
