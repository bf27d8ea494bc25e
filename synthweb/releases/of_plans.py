"""The years of a plan with the releases that were made of each, for its page, its file and REST."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from io import StringIO

from synthweb.ledger import plan_years
from synthweb.ledger.amounts import CURRENCIES, decimal_text
from synthweb.ledger.models import PublicationPlan
from synthweb.ledger.plan_years import PlanYear
from synthweb.releases import selectors
from synthweb.releases.models import Release
from synthweb.releases.selectors import Person

COLUMNS = (
    *("plan", "year", "state", "remainder"),
    *(
        f"{part}_{currency}"
        for part in ("share", "brought", "held", "charged", "left")
        for currency in CURRENCIES
    ),
    *("runs", "releases"),
)


@dataclass(frozen=True, kw_only=True)
class PlanLine:
    """A year, the releases of its runs that the reader may see, and the runs without one."""

    year: PlanYear
    releases: tuple[Release, ...]
    runs: tuple[str, ...]

    @property
    def state(self) -> str:
        """Whether the year is over, this one, or to come."""
        if self.year.is_over:
            return "over"
        return "present" if self.year.is_present else "to-come"


def lines(user: Person, plan: PublicationPlan) -> list[PlanLine]:
    """The years of a plan that `user` may read, in their order."""
    ((_plan, years),) = lines_of([plan], user=user)
    return years


def lines_of(
    plans: Iterable[PublicationPlan], *, user: Person
) -> list[tuple[PublicationPlan, list[PlanLine]]]:
    """Each plan that `user` may read with its years. Many plans take as many queries as one."""
    with_years = plan_years.of_plans(plans)
    codes = [code for _plan, years in with_years for year in years for code in year.runs]
    releases = {
        release.run_code: release
        for release in selectors.releases_for(user).filter(run_code__in=codes)
    }
    return [
        (plan, [_line(year, releases=releases) for year in years]) for plan, years in with_years
    ]


def _line(year: PlanYear, *, releases: Mapping[str, Release]) -> PlanLine:
    """releases: those that the reader may see, by the codes of their runs."""
    return PlanLine(
        year=year,
        releases=tuple(releases[code] for code in year.runs if code in releases),
        runs=tuple(code for code in year.runs if code not in releases),
    )


def as_csv(plan: PublicationPlan, lines: list[PlanLine]) -> str:
    """A line for each year; amounts are exact decimal numbers. No cell begins like a formula of a
    spreadsheet: all are codes, words of ours and numbers."""
    file = StringIO()
    writer = csv.writer(file)
    writer.writerow(COLUMNS)
    for line in lines:
        writer.writerow(_cells(plan, line))
    return file.getvalue()


def _cells(plan: PublicationPlan, line: PlanLine) -> Iterator[str]:
    year = line.year
    yield from (plan.code, str(year.year), line.state, year.remainder)
    for amount in (year.share, year.brought, year.held, year.charged, year.left):
        yield from (decimal_text(name, getattr(amount, name)) for name in CURRENCIES)
    yield " ".join(year.runs)
    yield " ".join(release.code for release in line.releases)
