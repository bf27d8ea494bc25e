"""Retention: tables, noisy answers and releases are deleted after the day that their steward set.

A day that has come is looked for once an hour. What cannot go yet, because a run is open, goes at a later
look.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass
from datetime import date

from django.db import transaction
from django.db.models import QuerySet
from django.utils import timezone

from synthweb.audit import services as audit
from synthweb.datasets import services as datasets
from synthweb.datasets.models import Dataset
from synthweb.lib.errors import Conflict
from synthweb.releases import withdrawing
from synthweb.releases.models import Release
from synthweb.runs.models import AnswersFile, SynthesisRun

logger = logging.getLogger(__name__)
TABLE, ANSWERS, RELEASES = "table", "answers", "releases"


@dataclass(frozen=True, kw_only=True)
class Leaving:
    """What goes after a day: `what` of a dataset, and how many there are of it."""

    day: date
    what: str
    dataset: Dataset
    count: int


def delete_due() -> int:
    """Delete whatever was kept for the last time yesterday or before. Returns how many tables, runs' answers
    and releases went."""
    today = timezone.now().date()
    return (
        sum(map(_delete_table, _over("table_until", today)))
        + sum(map(_erase_answers, _over("answers_until", today)))
        + sum(map(_withdraw, _over("releases_until", today)))
    )


def upcoming(visible: QuerySet[Dataset]) -> list[Leaving]:
    """Objects of these datasets that are deleted, each with its day, the nearest first. Deleted ones are left
    out."""
    leaving = [
        Leaving(day=day, what=what, dataset=dataset, count=count)
        for dataset in visible.exclude(
            table_until=None, answers_until=None, releases_until=None
        )
        for what, day, count in (
            (TABLE, dataset.table_until, 0 if dataset.is_deleted else 1),
            (ANSWERS, dataset.answers_until, _with_answers(dataset).count()),
            (RELEASES, dataset.releases_until, _releases(dataset).count()),
        )
        if day is not None and count
    ]
    return sorted(leaving, key=lambda one: (one.day, one.dataset.name, one.what))


def _over(field: str, today: date) -> list[Dataset]:
    over = Dataset.objects.filter(**{f"{field}__lt": today}).order_by("pk")
    return list(over.select_related("organisation"))


def _delete_table(dataset: Dataset) -> int:
    if dataset.is_deleted:
        return 0
    try:
        datasets.delete(actor=None, dataset=dataset)
    except Conflict as conflict:
        logger.info("dataset %s: not deleted yet: %s", dataset.code, conflict.rule)
        return 0
    return 1


@transaction.atomic
def _erase_answers(dataset: Dataset) -> int:
    # The files lie where the confidential worker alone can reach them: it removes what no run names.
    files = AnswersFile.objects.filter(run__in=_with_answers(dataset))
    erased, _of_models = files.delete()
    if erased:
        audit.record(
            actor="system",
            action="answers.erased",
            target=("dataset", dataset.code),
            organisation=dataset.organisation,
            detail={"runs": erased},
        )
    return erased


def _withdraw(dataset: Dataset) -> int:
    due = list(_releases(dataset))
    for release in due:
        withdrawing.withdraw(release)
    return len(due)


def _with_answers(dataset: Dataset) -> QuerySet[SynthesisRun]:
    over = SynthesisRun.objects.filter(dataset=dataset, answers_file__isnull=False)
    return over.exclude(state__in=SynthesisRun.OPEN)


def _releases(dataset: Dataset) -> QuerySet[Release]:
    return Release.objects.filter(dataset=dataset, withdrawn_at=None)
