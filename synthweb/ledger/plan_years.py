"""Where a plan over years stands: each year's share, what runs hold or were charged of it, and what is left.

A share is an earmark of its year, and a run that names the plan is a use of the share of the year in which it
was submitted, in UTC. Everything here is computed from these rows, from the rules of the plan and from how
the runs ended; nothing is moved when a year ends.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC

from django.utils import timezone

from synthweb.ledger import selectors
from synthweb.ledger.amounts import Amount
from synthweb.ledger.models import (
    BudgetAccount,
    Earmark,
    EarmarkUse,
    LedgerEntry,
    PlanRule,
    PublicationPlan,
)

Kind = LedgerEntry.Kind
Remainder = PublicationPlan.Remainder


def present_year() -> int:
    """The calendar year in UTC."""
    return timezone.now().astimezone(UTC).year


@dataclass(frozen=True, kw_only=True)
class PlanYear:
    """One year of a plan, amounts in the currencies of its account. part: the earmark of its share. brought:
    what earlier years left to it; held, charged: of the runs that were submitted in it; ahead: what runs of
    later years took of what this one would leave, which is nothing unless a clock went back; runs: their
    codes, the oldest first; remainder: the rule of this year, which says what becomes of what is left of it;
    present: the calendar year of today."""

    part: Earmark
    year: int
    share: Amount
    brought: Amount
    held: Amount
    charged: Amount
    ahead: Amount
    runs: tuple[str, ...]
    remainder: str
    present: int

    @property
    def is_over(self) -> bool:
        """Whether it is past: nothing of it can be spent or changed."""
        return self.year < self.present

    @property
    def is_present(self) -> bool:
        """Whether runs draw on it now."""
        return self.year == self.present

    @property
    def whole(self) -> Amount:
        """What its runs may hold altogether."""
        return self.share + self.brought

    @property
    def taken(self) -> Amount:
        """What its runs hold or were charged."""
        return self.held + self.charged

    @property
    def left(self) -> Amount:
        """What they left, or leave so far."""
        return self.whole - self.taken - self.ahead

    @property
    def reserved(self) -> Amount:
        """What other runs of the account cannot hold on its behalf. A year that is over reserves what lapsed
        alone."""
        if self.is_over and self.remainder != Remainder.LAPSED:
            return Amount()
        return self.left


@dataclass(frozen=True, kw_only=True)
class _Rows:
    """What was written about one plan, each list the oldest first."""

    shares: list[Earmark]
    rules: list[PlanRule]
    uses: list[EarmarkUse]


def years_of(plan: PublicationPlan) -> list[PlanYear]:
    """The years of a plan, in their order. What a run gave back does not count."""
    ((_plan, years),) = of_plans([plan])
    return years


def of_account(account: BudgetAccount) -> list[tuple[PublicationPlan, list[PlanYear]]]:
    """Every plan of an account with its years, the oldest first."""
    return of_plans(account.publication_plans.order_by("pk"))


def of_plans(
    plans: Iterable[PublicationPlan],
) -> list[tuple[PublicationPlan, list[PlanYear]]]:
    """Each plan with its years. Many plans take as many queries as one."""
    plans = list(plans)
    rows = _rows_of(plans)
    ended = how_ended(use.run_code for each in rows.values() for use in each.uses)
    present = present_year()
    return [(plan, _years(plan, rows[plan.pk], ended=ended, present=present)) for plan in plans]


def _rows_of(plans: Sequence[PublicationPlan]) -> dict[int | None, _Rows]:
    """By the primary key of the plan."""
    rows: dict[int | None, _Rows] = {
        plan.pk: _Rows(shares=[], rules=[], uses=[]) for plan in plans
    }
    for share in Earmark.objects.filter(plan__in=plans).order_by("pk"):
        rows[share.plan_id].shares.append(share)
    for rule in PlanRule.objects.filter(plan__in=plans).order_by("pk"):
        rows[rule.plan_id].rules.append(rule)
    uses = EarmarkUse.objects.filter(earmark__plan__in=plans).select_related("earmark")
    for use in uses.order_by("pk"):
        rows[use.earmark.plan_id].uses.append(use)
    return rows


def _years(
    plan: PublicationPlan, rows: _Rows, *, ended: Mapping[str, str], present: int
) -> list[PlanYear]:
    newest = {share.year: share for share in rows.shares}
    of_year: defaultdict[int | None, list[EarmarkUse]] = defaultdict(list)
    for use in rows.uses:
        if ended.get(use.run_code) != Kind.RELEASE:
            of_year[use.earmark.year].append(use)
    numbers = sorted(year for year in newest if year is not None)
    ahead = _ahead(
        {year: selectors.amount_of(newest[year]) for year in numbers},
        taken={year: sum_of(of_year[year]) for year in numbers},
        present=present,
    )
    years: list[PlanYear] = []
    brought = Amount()
    for year in numbers:
        uses = of_year[year]
        line = PlanYear(
            part=newest[year],
            year=year,
            share=selectors.amount_of(newest[year]),
            brought=brought,
            held=sum_of(use for use in uses if use.run_code not in ended),
            charged=sum_of(use for use in uses if use.run_code in ended),
            ahead=ahead[year],
            runs=tuple(use.run_code for use in uses),
            remainder=_remainder(plan, rows.rules, year=year),
            present=present,
        )
        goes_on = line.is_over and line.remainder == Remainder.NEXT
        brought = line.left if goes_on else line.ahead
        years.append(line)
    return years


def _ahead(
    shares: Mapping[int, Amount], *, taken: Mapping[int, Amount], present: int
) -> dict[int, Amount]:
    """Of each year that is not over, what runs of later years took beyond their shares. Clocks of two
    machines differ, and one may be set back: what a year left to the next one, and a run there holds, must
    not be held once more in the year before."""
    ahead: dict[int, Amount] = {}
    beyond = Amount()
    for year in sorted(shares, reverse=True):
        ahead[year] = beyond if year >= present else Amount()
        beyond = (taken[year] + ahead[year] - shares[year]).not_negative
    return ahead


def _remainder(plan: PublicationPlan, rules: Iterable[PlanRule], *, year: int) -> str:
    """The rule that applies to a year: the newest one that was set for it or an earlier year, or the one that
    was approved."""
    set_later = [rule.remainder for rule in rules if rule.first_year <= year]
    return set_later[-1] if set_later else plan.remainder


def how_ended(run_codes: Iterable[str]) -> dict[str, str]:
    """The kind of the last entry of each run that no longer holds its price."""
    ends = LedgerEntry.objects.filter(
        run_code__in=list(run_codes), kind__in=[Kind.RELEASE, Kind.CHARGE]
    )
    return dict(ends.values_list("run_code", "kind"))


def sum_of(uses: Iterable[EarmarkUse]) -> Amount:
    """What uses of earmarks hold or held altogether."""
    return sum(map(selectors.amount_of, uses), start=Amount())
