"""A policy for counts of real records: how large each group has to be, how little of it one contributor may
be, on how many days.

Public facts alone: a plan is made of a description, and refuses what no number of added records can meet
before a row is read.
"""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from synth_engine.domain import Attribute, Date, Derived, Domain, Undeclared
from synth_engine.errors import DomainError, InputError, SpecError
from synth_engine.privacy import receipt as receipts
from synth_engine.privacy.loss import parse_amount, ratio
from synth_engine.privacy.unit import PrivacyUnit
from synth_engine.strict_json import JsonObject

SCHEMA = "synth_engine/filled-counts/1"
PLAN_SCHEMA = "synth_engine/fill-plan/1"
MAX_COLUMNS, MAX_GROUPS = 6, 10_000
FEWEST_RECORDS, MOST_RECORDS = 10, 10**6
LARGEST_SHARE = Fraction(1, 2)
NOT_PRIVATE = (
    "These counts meet a policy. They are NOT differentially private: every group that meets the policy by "
    "itself is the exact number of real records. To the other groups synthetic records were added until "
    "they meet it; how many, and to which, is not published."
)
"""What filled counts are called wherever they are shown."""
Counts = npt.NDArray[np.int64]


@dataclass(frozen=True, kw_only=True)
class FillPolicy:
    """What each group has to meet. least_records: records of a group. largest_share: of a group's records,
    the most that one contributor may have. least_days: different days on which a group has records."""

    least_records: int = 100
    largest_share: Fraction = Fraction(1, 10)
    least_days: int = 1

    def __post_init__(self) -> None:
        if not FEWEST_RECORDS <= self.least_records <= MOST_RECORDS:
            raise SpecError(
                f"the least number of records of a group is not from {FEWEST_RECORDS} to {MOST_RECORDS:,}",
                repair="give another number, such as 100",
            )
        if self.largest_share <= 0:
            raise SpecError(
                "no number of records can meet a largest share of 0",
                repair="give a share above 0, such as 0.1",
            )
        if self.largest_share > LARGEST_SHARE:
            raise SpecError(
                "a contributor may have more than half of a group",
                repair="give a largest share of 0.5 or less",
            )
        if self.least_days < 1:
            raise SpecError(
                "the least number of days is below 1",
                repair="give a whole number of 1 or more",
            )

    def needed(self, *, records: int, largest: int, days: int) -> int:
        """The fewest records with which a group meets the policy. largest: records of its largest
        contributor. Each added record has a contributor of its own, and a day of its own where days are
        lacking."""
        return max(
            self.least_records,
            records + max(0, self.least_days - days),
            math.ceil(largest / self.largest_share),
        )

    def to_json(self) -> JsonObject:
        return {
            "least_records": self.least_records,
            "largest_share": ratio(self.largest_share),
            "least_days": self.least_days,
        }


@dataclass(frozen=True, kw_only=True)
class FillPlan:
    """Counts of a table that are filled to a policy. by: the columns that make a group. day: the column of
    days, where the policy asks for several of them. contributor: the column that tells contributors apart;
    None where each record has its own."""

    domain: Domain
    by: tuple[str, ...]
    policy: FillPolicy
    day: str | None = None

    def __post_init__(self) -> None:
        self.domain.require_confirmed()
        if self.domain.repeats is not None:
            raise SpecError(
                "a row of this table stands for several records",
                repair="fill counts of a table with one row a record",
            )
        self._check_groups()
        self._check_days()

    def _check_groups(self) -> None:
        if not 1 <= len(self.by) <= MAX_COLUMNS or len(set(self.by)) != len(self.by):
            raise SpecError(
                f"groups are made of 1 to {MAX_COLUMNS} different columns",
                repair="name each column once",
            )
        known = {attribute.name for attribute in groupable(self.domain)}
        for name in self.by:
            if name not in known:
                raise DomainError(
                    "groups cannot be made of this column: it is not described, or has no declared values",
                    repair="name another one, or declare its values",
                    column=name,
                )
        if self.groups > MAX_GROUPS:
            raise SpecError(
                f"there are {self.groups:,} groups, and up to {MAX_GROUPS:,} are counted",
                repair="group by fewer columns, or by columns with fewer values",
            )

    def _check_days(self) -> None:
        if self.policy.least_days == 1 and self.day is None:
            return
        if self.day is None:
            raise SpecError(
                "the policy asks for several days, and no column of days is named",
                repair="name a column of dates, or ask for 1 day",
            )
        column = next((each for each in self.domain.modelled if each.name == self.day), None)
        if not isinstance(column, Date):
            raise DomainError(
                "this is no column of dates",
                repair="name a column that is described as dates",
                column=self.day,
            )
        days = 1 if self.day in self.by else column.value_count
        if self.policy.least_days > days:
            raise SpecError(
                f"no number of records can meet the policy: a group has at most {days:,} different "
                f"day{'s' if days > 1 else ''}, and the policy asks for {self.policy.least_days:,}",
                repair="ask for fewer days, or leave the day out of the groups",
                column=self.day,
            )

    @property
    def contributor(self) -> str | None:
        """The column that tells contributors apart: that of the privacy unit."""
        return self.domain.unit.column

    @property
    def attributes(self) -> tuple[Attribute, ...]:
        """The columns that make a group."""
        return tuple(self.domain.attribute(name) for name in self.by)

    @property
    def shape(self) -> tuple[int, ...]:
        """How many values each column of the groups has, other and missing ones included."""
        return tuple(attribute.size for attribute in self.attributes)

    @property
    def groups(self) -> int:
        """How many groups there are: all combinations, so that which of them have records is not told."""
        return math.prod(self.shape)

    @property
    def counted(self) -> Domain:
        """The description under which the table is read: the columns of groups and days, each record by
        itself."""
        names = (*self.by, *([self.day] if self.day and self.day not in self.by else ()))
        return Domain(
            attributes=tuple(self.domain.attribute(name) for name in names),
            unit=PrivacyUnit(),
            relation=self.domain.relation,
        )

    @cached_property
    def digest(self) -> str:
        """SHA-256 of the canonical JSON of what is asked."""
        return receipts.digest(self.to_json())

    def to_json(self) -> JsonObject:
        return {
            "schema": PLAN_SCHEMA,
            "domain_sha256": self.domain.digest,
            "by": list(self.by),
            "day": self.day,
            "contributor": self.contributor,
            "policy": self.policy.to_json(),
        }

    @classmethod
    def from_json(cls, document: Mapping[str, Any], domain: Domain) -> FillPlan:
        """Errors: InputError for a document of another form or description."""
        if document.get("schema") != PLAN_SCHEMA:
            raise InputError("the document is no plan of filled counts", repair="plan it again")
        policy = document["policy"]
        plan = cls(
            domain=domain,
            by=tuple(document["by"]),
            day=document["day"],
            policy=FillPolicy(
                least_records=policy["least_records"],
                largest_share=parse_amount(policy["largest_share"], name="largest_share"),
                least_days=policy["least_days"],
            ),
        )
        if plan.to_json() != dict(document):
            raise InputError(
                "the plan is of another description", repair="plan it again for this one"
            )
        return plan


def groupable(domain: Domain) -> list[Attribute]:
    """The columns of a description of which groups can be made."""
    return [
        attribute
        for attribute in domain.modelled
        if not isinstance(attribute, Derived | Undeclared) and not attribute.separate_markers
    ]


@dataclass(frozen=True, kw_only=True, eq=False)
class FilledCounts:
    """Counts of all groups after records were added. counts: int64, one axis for each column of the
    groups."""

    plan: FillPlan
    counts: Counts

    def __post_init__(self) -> None:
        if self.counts.shape != self.plan.shape:
            raise InputError("the counts do not fit their plan", repair="count again")

    @property
    def rows(self) -> list[tuple[tuple[str, ...], int]]:
        """The groups in words, each with its count."""
        labels = [attribute.labels for attribute in self.plan.attributes]
        return [
            (
                tuple(names[code] for names, code in zip(labels, codes, strict=True)),
                int(self.counts[codes]),
            )
            for codes in np.ndindex(*self.plan.shape)
        ]

    def to_json(self) -> JsonObject:
        """The document that is published. It has no number of added records, and does not say which groups
        were filled."""
        return {
            "schema": SCHEMA,
            "statement": NOT_PRIVATE,
            "guarantee": None,
            "plan_sha256": self.plan.digest,
            "by": list(self.plan.by),
            "policy": self.plan.policy.to_json(),
            "groups": [
                {"group": list(group), "records": records} for group, records in self.rows
            ],
        }

    def to_csv(self) -> str:
        """The same as a table: the columns of the groups, and `records`."""
        return csv_of(self.plan.by, self.rows)


def csv_of(by: Sequence[str], rows: Iterable[tuple[Sequence[str], int]]) -> str:
    """Counts of groups as CSV: the columns of the groups, and `records`."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow([*by, "records"])
    writer.writerows([*group, records] for group, records in rows)
    return text.getvalue()
