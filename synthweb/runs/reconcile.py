"""The reconciler: whatever the broker lost and whatever a dead worker left behind comes to an end here.

Run by beat every RECONCILE_SECONDS and by `manage.py reconcile`. Each step is a conditional UPDATE or takes rows that
nobody else has locked, so that any number of reconcilers may run at once.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta

from django.conf import settings
from django.db import connection, transaction
from django.db.models import Q, QuerySet
from django.db.models.functions import Now
from django.utils import timezone

from synthweb.datasets import services as datasets
from synthweb.datasets.models import Dataset
from synthweb.runs import artefacts, lease, queue, services
from synthweb.runs.models import OutboxMessage, SynthesisRun, TableErrand

State = SynthesisRun.State
BATCH = 200
INTERRUPTED = {
    "code": "interrupted-after-charge",
    "text": "The worker stopped between the charge and the stored answers. Noise may have been drawn, so nothing is "
    "drawn again and the charge stays.",
}


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """How many rows each step touched."""

    interrupted: int
    rung: int
    unread: int
    expired: int


def reconcile() -> Outcome:
    """One pass over everything that may be stuck."""
    return Outcome(
        interrupted=fail_interrupted(),
        unread=read_forgotten(),
        rung=ring_again(),
        expired=datasets.sweep() + sweep_answers(),
    )


def fail_interrupted() -> int:
    """Runs that were charged and whose worker is gone: they fail, the charge stays, nothing is drawn again."""
    lost = SynthesisRun.objects.filter(lease.free(), state=State.CHARGED).order_by("pk")
    return sum(_fail(run) for run in lost[:BATCH])


@transaction.atomic
def _fail(run: SynthesisRun) -> bool:
    rows = SynthesisRun.objects.filter(lease.free(), pk=run.pk, lease_token=run.lease_token, state=State.CHARGED)
    taken = rows.update(
        state=State.FAILED,
        failure=INTERRUPTED,
        lease_token=run.lease_token + 1,
        lease_until=None,
        finished_at=Now(),
    )
    if taken:
        services.note(run, run.stage, "Failed: the worker stopped after the charge. The charge stays.")
    return bool(taken)


def read_forgotten() -> int:
    """Uploads that were stored and whose reading was never asked for: the web stopped between the two."""
    past = timezone.now() - timedelta(seconds=settings.RUN_LEASE_SECONDS)
    unread = Dataset.objects.filter(status=Dataset.Status.UPLOADED, created_at__lt=past, errands=None)
    forgotten = list(unread.select_related("steward", "organisation")[:BATCH])
    for dataset in forgotten:
        services.request_ingest(dataset=dataset, actor=dataset.steward)
    return len(forgotten)


def sweep_answers() -> int:
    """Files of noisy answers that no run names."""
    names = SynthesisRun.objects.exclude(answers_name="").values_list("answers_name", flat=True)
    return artefacts.sweep(known=set(names))


def ring_again() -> int:
    """Messages that were never sent, or sent so long ago that somebody should have come: ring if the row still waits.
    Messages of rows that are over are deleted."""
    return sum(_ring(message) for message in _due())


@transaction.atomic
def _due() -> list[OutboxMessage]:
    """Take due messages by dating them: another reconciler leaves them alone, a crash here costs one lease's time."""
    wait = lease.from_now(-settings.RUN_LEASE_SECONDS)
    due = OutboxMessage.objects.filter(Q(sent_at=None) | Q(sent_at__lt=wait)).order_by("created_at")
    if connection.features.has_select_for_update_skip_locked:
        due = due.select_for_update(skip_locked=True)
    messages = list(due[:BATCH])
    OutboxMessage.objects.filter(pk__in=[message.pk for message in messages]).update(sent_at=Now())
    return messages


def _ring(message: OutboxMessage) -> bool:
    rows = _subject(message)
    if not rows.exists():
        message.delete()
        return False
    if not rows.filter(lease.free()).exists():
        return False  # somebody is at work on it
    if queue.send(message.pk):
        return True
    OutboxMessage.objects.filter(pk=message.pk).update(sent_at=None)
    return False


def _subject(message: OutboxMessage) -> QuerySet[SynthesisRun] | QuerySet[TableErrand]:
    """The open row that a message rings for."""
    if message.task == queue.SYNTHESIZE:
        return SynthesisRun.objects.filter(code=message.subject_code, state__in=SynthesisRun.OPEN)
    return TableErrand.objects.filter(code=message.subject_code, state__in=TableErrand.OPEN)
