"""What the page of a plan over years shows: facts put into the shape that a template can print."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import groupby

from synthweb.accounts.models import User
from synthweb.accounts.permissions import Need
from synthweb.datasets import selectors as datasets
from synthweb.ledger import selectors, yearly_limits
from synthweb.ledger.amounts import Amount
from synthweb.ledger.models import BudgetAccount, PublicationPlan
from synthweb.ledger.plan_years import PlanYear
from synthweb.ledger.screens import amounts
from synthweb.releases import of_plans
from synthweb.releases.models import Release

Amounts = list[tuple[str, int]]
Remainder = PublicationPlan.Remainder


@dataclass(frozen=True, kw_only=True)
class YearBar:
    """A bar of one year in the main currency; largest: the most that a year of the plan has, which is the
    whole width."""

    unit: str
    whole: int
    held: int
    charged: int
    left: int
    largest: int


@dataclass(frozen=True, kw_only=True)
class RuleOfYears:
    """What becomes of what some years leave."""

    first: int
    last: int
    meaning: str


@dataclass(frozen=True, kw_only=True)
class YearRow:
    """A year as a row of the table."""

    line: of_plans.PlanLine
    bar: YearBar
    share: Amounts
    brought: Amounts
    held: Amounts
    charged: Amounts
    left: Amounts


def of_plan(user: User, plan: PublicationPlan) -> dict[str, object]:
    """The page of a plan for somebody who may read it."""
    lines = of_plans.lines(user, plan)
    rule = plan.account.rule
    largest = max(line.year.whole.main(rule) for line in lines)
    every = [release for line in lines for release in line.releases]
    sums = [line.year for line in lines]
    return {
        "plan": plan,
        "account": plan.account,
        "rows": [_row(line, rule=rule, largest=largest) for line in lines],
        "first": sums[0].year,
        "last": sums[-1].year,
        "is_over": sums[-1].is_over,
        "carries": any(year.remainder == Remainder.NEXT for year in sums),
        "rules": _rules(sums),
        "shares": amounts(_sum(year.share for year in sums), rule=rule),
        "taken": amounts(_sum(year.taken for year in sums), rule=rule),
        "reserved": amounts(_sum(year.reserved for year in sums), rule=rule),
        "follows": _follows(user, every),
        "main": selectors.counted(rule)[0],
    }


def _rules(years: Iterable[PlanYear]) -> list[RuleOfYears]:
    """One for the years one after another that have the same, the oldest first."""
    rules: list[RuleOfYears] = []
    for remainder, group in groupby(years, key=lambda year: year.remainder):
        numbers = [year.year for year in group]
        rules.append(
            RuleOfYears(
                first=numbers[0], last=numbers[-1], meaning=str(Remainder(remainder).label)
            )
        )
    return rules


def _sum(parts: Iterable[Amount]) -> Amount:
    return sum(parts, start=Amount())


def _row(line: of_plans.PlanLine, *, rule: str, largest: int) -> YearRow:
    year = line.year
    main = selectors.counted(rule)[0]
    return YearRow(
        line=line,
        bar=YearBar(
            unit=main,
            whole=year.whole.main(rule),
            held=year.held.main(rule),
            charged=year.charged.main(rule),
            left=year.left.main(rule),
            largest=largest,
        ),
        share=amounts(year.share, rule=rule),
        brought=amounts(year.brought, rule=rule) if year.brought != Amount() else [],
        held=amounts(year.held, rule=rule),
        charged=amounts(year.charged, rule=rule),
        left=amounts(year.left, rule=rule),
    )


def _follows(user: User, releases: list[Release]) -> Release | None:
    """The newest release of the plan that `user` may make another one like."""
    able = [each for each in releases if datasets.may(user, each.dataset, Need.SPEND)]
    return max(able, key=lambda release: release.created_at, default=None)


def free(account: BudgetAccount) -> dict[str, object]:
    """The amount of an account that is free and not set aside, and whether any of its ε or ρ is."""
    left = yearly_limits.free(account).not_negative
    return {
        "free": amounts(left, rule=account.rule),
        "is_something_free": bool(left.main(account.rule)),
    }
