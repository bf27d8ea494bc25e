"""The reconciler: whatever the broker lost and whatever a dead worker left behind comes to an end here.

Run by beat every RECONCILE_SECONDS and by `manage.py reconcile`. How long something has been silent is what
one process has seen by its own monotonic clock (`leases.Watch`), never a difference of dates. Each step is a
conditional UPDATE or takes rows that nobody else has locked, so that any number of reconcilers may run at
once.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass
from typing import Any

from django.db import connection, transaction
from django.db.models import Q, QuerySet
from django.db.models.functions import Now
from django.utils.translation import gettext_noop as _

from synthweb.datasets import services as datasets
from synthweb.datasets.models import Dataset
from synthweb.ledger import services as ledger
from synthweb.lib import occurrences
from synthweb.notifications.models import Event
from synthweb.releases import public_links
from synthweb.runs import artefacts, call_log, leases, queue, services
from synthweb.runs.models import AnswersFile, OutboxMessage, SynthesisRun, leased

State = SynthesisRun.State
logger = logging.getLogger(__name__)
# Rows of one step in one pass: a backlog is worked off in several short transactions.
BATCH = 200
INTERRUPTED = {
    "code": "interrupted-after-charge",
    "text": _(
        "The worker stopped where noise may have been drawn that is stored nowhere. Nothing is drawn "
        "twice for one charge, so the charge stays."
    ),
}


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """How many rows each step touched."""

    interrupted: int
    sent: int
    unread: int
    expired: int

    def __add__(self, other: Outcome) -> Outcome:
        """Of two passes."""
        return Outcome(
            interrupted=self.interrupted + other.interrupted,
            sent=self.sent + other.sent,
            unread=self.unread + other.unread,
            expired=self.expired + other.expired,
        )


WATCH = leases.Watch()
"""What this process has seen; what no process has seen for long enough is left alone."""


def reconcile(watch: leases.Watch = WATCH) -> Outcome:
    """One pass over everything that may be stuck. A process that begins afresh finds nothing silent before a
    lease has passed under its own eyes."""
    freed = leases.expire(watch)
    # A message without a date is due at once, in `resend` below.
    OutboxMessage.objects.filter(subject_code__in=freed).update(sent_at=None)
    # In this order: a run that is failed here gets no message below.
    return Outcome(
        interrupted=fail_interrupted(),
        unread=read_forgotten(watch),
        sent=resend(watch),
        expired=datasets.sweep()
        + sweep_answers()
        + ledger.settle_all()
        + ledger.notify_of_expiring_grants()
        + public_links.report_days_that_are_over(),
    )


def note_pass() -> None:
    """Note for whoever watches the installation that a pass is through."""
    occurrences.note(occurrences.RECONCILED)


def is_anything_open() -> bool:
    """Whether there is something that may turn out to be stuck."""
    return OutboxMessage.objects.exists() or Dataset.objects.filter(_unread()).exists()


def fail_interrupted() -> int:
    """Runs that were charged without a log of their calls and whose worker is gone: they fail, the charge
    stays, nothing is drawn again. Of the others the next worker finds out whether they go on."""
    lost = SynthesisRun.objects.filter(
        leases.free(), state=State.CHARGED, calls_begun=None
    ).order_by("pk")
    return sum(_fail(run) for run in lost[:BATCH])


@transaction.atomic
def _fail(run: SynthesisRun) -> bool:
    rows = SynthesisRun.objects.filter(
        leases.free(), pk=run.pk, lease_token=run.lease_token, state=State.CHARGED
    )
    taken = rows.update(
        state=State.FAILED,
        failure=INTERRUPTED,
        # The worker may be frozen and not dead. With its token
        # out of date it can record nothing.
        lease_token=run.lease_token + 1,
        lease_held=False,
        finished_at=Now(),
    )
    if taken:
        services.note(
            run, run.stage, "Failed: the worker stopped after the charge. The charge stays."
        )
        services.notify_end(run, Event.RUN_FAILED)
    return bool(taken)


def read_forgotten(watch: leases.Watch = WATCH) -> int:
    """Uploads that were stored and whose reading was never asked for: the web stopped between the two."""
    unread = Dataset.objects.filter(_unread())
    forgotten = watch.unchanged("Dataset", dict(unread.values_list("pk", "vault_name")))
    datasets = list(
        unread.filter(pk__in=sorted(forgotten)[:BATCH]).select_related(
            "steward", "organisation"
        )
    )
    for dataset in datasets:
        services.request_ingest(dataset=dataset, actor=dataset.steward)
    return len(datasets)


def _unread() -> Q:
    return Q(status=Dataset.Status.UPLOADED, table_jobs=None)


def sweep_answers() -> int:
    """Files of noisy answers that no run needs."""
    return artefacts.sweep(is_known=is_known)


def is_known(name: str) -> bool:
    """Whether a run names this file of answers, or may go on from it."""
    if name.endswith(artefacts.CALLS):
        return call_log.is_needed(name)
    return AnswersFile.objects.filter(name=name).exists()


def resend(watch: leases.Watch = WATCH) -> int:
    """Messages that were never sent, or sent so long ago that somebody should have come: sent again if the
    row still waits. Messages of rows that are over are deleted."""
    return sum(_resend(message) for message in _due(watch))


def _due(watch: leases.Watch) -> list[OutboxMessage]:
    """Take due messages by dating them: another reconciler leaves them alone, a crash here costs one lease's
    time. The date is compared with itself alone, so that the database's clock does not matter."""
    states = {
        pk: (times, at)
        for pk, times, at in OutboxMessage.objects.values_list("pk", "times_sent", "sent_at")
    }
    silent = sorted(watch.unchanged("OutboxMessage", states))[:BATCH]
    # Messages of an extra that is off wait until it is on again.
    due = OutboxMessage.objects.filter(
        Q(sent_at=None) | Q(pk__in=silent), task__in=SUBJECTS
    ).order_by("created_at")
    with transaction.atomic():
        # SQLite has no SKIP LOCKED; there a writer has the whole database to itself.
        if connection.features.has_select_for_update_skip_locked:
            due = due.select_for_update(skip_locked=True)
        # Another reconciler may have dated a message between the look and the lock.
        taken = [
            one
            for one in due[:BATCH]
            if one.sent_at is None or states.get(one.pk) == (one.times_sent, one.sent_at)
        ]
        OutboxMessage.objects.filter(pk__in=[message.pk for message in taken]).update(
            sent_at=Now()
        )
    return taken


def _resend(message: OutboxMessage) -> bool:
    rows = _subject(message)
    if not rows.exists():
        message.delete()
        return False
    if not rows.filter(leases.free()).exists():
        return False  # somebody is at work on it
    if queue.send(message.pk):
        return True
    # The broker is away: due again in the next pass, not after another lease.
    OutboxMessage.objects.filter(pk=message.pk).update(sent_at=None)
    return False


SUBJECTS = {kind.TASK: kind for kind in leased()}
"""The model of the rows that each task is about."""


def _subject(message: OutboxMessage) -> QuerySet[Any]:
    """The open row that a message is about."""
    kind = SUBJECTS[message.task]
    rows: QuerySet[Any] = kind._default_manager.all()
    return rows.filter(code=message.subject_code, state__in=kind.OPEN)
