"""What people do with runs: submit, cancel, resume, and ask for jobs that open a table.

The order of locks is the same everywhere: run, then dataset, then account, then audit log.
"""

from __future__ import annotations

from typing import Any, TypeVar

from django.db import IntegrityError, transaction
from django.utils import timezone

from synthweb.accounts.models import User
from synthweb.audit import services as audit
from synthweb.datasets import services as datasets
from synthweb.datasets.models import Dataset
from synthweb.datasets.selectors import tables_of_run
from synthweb.ledger import services as ledger
from synthweb.ledger.protection import PlannedRun, Protection
from synthweb.lib import names
from synthweb.notifications import services as notifications
from synthweb.notifications.models import Event
from synthweb.releases import selectors
from synthweb.releases.models import Release
from synthweb.runs import errors, queue, stages
from synthweb.runs.databases import CheckedKeys
from synthweb.runs.extras import Extras
from synthweb.runs.models import (
    CountsJob,
    ImplicatesJob,
    RangesJob,
    ReleaseJob,
    RunEvent,
    RunRequest,
    SynthesisRun,
    TableJob,
)
from synthweb.runs.proposals import AnyProposal, PaidRequest

State = SynthesisRun.State
_REQUESTED: dict[str, str] = {
    TableJob.Kind.INGEST: "ingest.requested",
    TableJob.Kind.REPORT: "report.requested",
    TableJob.Kind.KEYS: "keys.requested",
}
"""What the audit log calls a job that is asked for."""
ReleaseJobT = TypeVar("ReleaseJobT", bound=ReleaseJob)


def submit(
    request: PaidRequest[Any], *, steward: User, name: str = "", request_key: str = ""
) -> SynthesisRun:
    """Plan what is asked for, hold its price and queue it, in one transaction; the same `request_key` again
    gives the same run.

    Raises InputError (spec or description), RelationMismatch, NotReady, or the ledger's Overspend; then
    nothing is kept."""
    earlier = SynthesisRun.objects.filter(request__asker=steward, request__key=request_key)
    if not (request_key and earlier.exists()):
        # Planned before any lock is taken, because it may take seconds.
        proposal = request.propose()
        try:
            return _submit(proposal, steward=steward, name=name, request_key=request_key)
        except IntegrityError:
            if not (
                request_key and earlier.exists()
            ):  # else: the same click, sent twice at once
                raise
    run = earlier.get()
    if not request.is_of(run):
        raise errors.KeyReused(
            "this key was given with another request",
            repair="give every request a key of its own",
        )
    return run


@transaction.atomic
def _submit(
    proposal: AnyProposal, *, steward: User, name: str, request_key: str
) -> SynthesisRun:
    # What admits it is locked before the account is, and until the run stands.
    admitted = proposal.request.admit(proposal)
    run = create(proposal, steward=steward, name=name, **admitted)
    if request_key:
        RunRequest.objects.create(run=run, asker=steward, key=request_key)
    take_tables(run, proposal)
    hold(run, proposal)
    record_submission(run)
    proposal.request.submitted(steward)
    return run


def create(
    proposal: AnyProposal, *, steward: User, name: str = "", **further: Any
) -> SynthesisRun:
    """The rows of a run, in the caller's transaction: its first step of four, the others being `take_tables`,
    `hold` and `record_submission`, in the order in which their locks are taken. further: fields of the row of
    its kind."""
    run = SynthesisRun.objects.create(
        created_by=steward,
        name=names.one_line(name) or proposal.asked.name,
        # Fixed now: what somebody opens while the run waits cannot have shaped its choices.
        looked_before=selectors.looked_at_real(proposal.account),
        stage=stages.WAIT.name,
        **proposal.row,
    )
    proposal.request.own_row._default_manager.create(
        run=run, **proposal.asked.fields, **further
    )
    return run


def take_tables(run: SynthesisRun, proposal: AnyProposal) -> None:
    """Note which files a run reads; from here on they are there until it is over."""
    for table in proposal.asked.tables:
        datasets.take(dataset=table.dataset, run_code=run.code, number=table.number)
    proposal.request.require_together(run)


def hold(run: SynthesisRun, proposal: AnyProposal) -> None:
    """Queue a run and hold its price. Errors: what the ledger refuses."""
    queue.enqueue(queue.SYNTHESIZE, run.code)
    note(run, stages.WAIT.name, "Submitted; the price is held.")
    planned = PlannedRun(
        code=run.code,
        dataset_code=run.dataset.code,
        # Binds the entry to this plan; the page of the receipt compares the two (ADR 40).
        plan_digest=proposal.plan.digest,
        protection=Protection.of_domain(proposal.plan.domain),
        purpose=f"{run.name} ({proposal.asked.spec.mechanism})",
    )
    run.hold = ledger.hold(
        account=proposal.account,
        run=planned,
        price=proposal.price,
        actor=run.created_by,
        earmark=proposal.asked.earmark,
    )
    run.state = State.HELD
    run.save(update_fields=["hold", "state"])


def record_submission(run: SynthesisRun) -> None:
    """Write to the audit log that a run was submitted, after every other lock was taken."""
    audit.record(
        actor=run.created_by,
        action="run.submitted",
        target=("run", run.code),
        organisation=run.dataset.organisation,
        detail={
            "dataset": run.dataset.code,
            "mechanism": run.spec["mechanism"],
            "epsilon_nano": run.price.epsilon,
        },
    )


@transaction.atomic
def cancel(*, actor: User, run: SynthesisRun) -> SynthesisRun:
    """Stop a run at once. Before the charge the hold is released; after it the charge stays and the result is
    given up. A worker that is busy with it finds its fencing token old and writes nothing more."""
    # Locked, so that no charge comes between reading the state and releasing the hold.
    run = _locked(run)
    if not run.is_open:
        raise errors.NotOpen(f"this run is already {run.get_state_display().lower()}")
    if run.link_side is not None:
        # Both sides end together, or none does.
        raise errors.NotOpen(
            "this run makes the sketch of a link", repair="withdraw the link on its own page"
        )
    spent = run.state != State.HELD
    run.state, run.lease_token, run.lease_held = State.CANCELLED, run.lease_token + 1, False
    run.finished_at = timezone.now()
    run.save(update_fields=["state", "lease_token", "lease_held", "finished_at"])
    forfeited = (
        "The budget was charged before and stays spent."
        if spent
        else "Nothing was spent; the hold is released."
    )
    note(run, run.stage, f"Cancelled. {forfeited}")
    if not spent:
        ledger.release(run_code=run.code, reason="cancelled before any noise was drawn")
    audit.record(
        actor=actor,
        action="run.cancelled",
        target=("run", run.code),
        organisation=run.dataset.organisation,
        detail={"forfeited_epsilon_nano": run.price.epsilon if spent else 0},
    )
    return run


@transaction.atomic
def resume(*, actor: User, run: SynthesisRun) -> SynthesisRun:
    """Fit again from the stored noisy answers of a run that failed after its measurement; costs nothing."""
    run = _locked(run)
    if run.state != State.FAILED or not run.answers_name:
        raise errors.NotOpen("only a run that failed after its measurement can be resumed")
    # Attempts begin again: everything from here on may be repeated without any cost of privacy.
    run.state, run.failure, run.attempts = State.MEASURED, None, 0
    run.lease_token, run.lease_held, run.finished_at = run.lease_token + 1, False, None
    run.save(
        update_fields=[
            "state",
            "failure",
            "attempts",
            "lease_token",
            "lease_held",
            "finished_at",
        ]
    )
    queue.enqueue(queue.SYNTHESIZE, run.code)
    note(run, stages.FIT.name, "Resumed from the stored noisy answers.")
    audit.record(
        actor=actor,
        action="run.resumed",
        target=("run", run.code),
        organisation=run.dataset.organisation,
    )
    return run


def _locked(run: SynthesisRun) -> SynthesisRun:
    """The row alone is locked, not what it refers to."""
    rows = SynthesisRun.objects.select_for_update(of=("self",)).select_related(
        "dataset__organisation"
    )
    return rows.get(pk=run.pk)


def request_ingest(*, dataset: Dataset, actor: User) -> TableJob:
    """Have an upload read by the confidential worker; asking again while one waits gives the one that
    waits."""
    return _job(kind=TableJob.Kind.INGEST, dataset=dataset, release=None, actor=actor)


def request_report(*, release: Release, actor: User, extras: Extras | None = None) -> TableJob:
    """Have a release compared with the real data, for stewards alone. Spends nothing because nothing of it
    may be published; later runs of the account say that they were chosen after looking, once somebody opens
    it. extras: what takes longer and is asked for besides. The real side is the version of the table that the
    release was made of. Errors: Conflict if that was erased."""
    if not release.dataset.is_deleted:
        datasets.require_kept(taken.table for taken in tables_of_run(release.run_code))
    return _job(
        kind=TableJob.Kind.REPORT,
        dataset=release.dataset,
        release=release,
        actor=actor,
        extras=extras,
    )


def request_keys_check(*, root: Dataset, actor: User) -> TableJob:
    """Have the keys of a confirmed database checked by the confidential worker; its counts are for its
    steward alone. Errors: NotReady."""
    asked = CheckedKeys.now(root)
    return _job(kind=TableJob.Kind.KEYS, dataset=root, release=None, actor=actor, extras=asked)


@transaction.atomic
def _job(
    *,
    kind: str,
    dataset: Dataset,
    release: Release | None,
    actor: User,
    extras: Extras | CheckedKeys | None = None,
) -> TableJob:
    if dataset.is_deleted:
        raise errors.NotReady(
            "the table was deleted", repair="upload it again as a new dataset"
        )
    # The unique constraints of waiting jobs give two requests at once the same row.
    job, created = TableJob.objects.get_or_create(
        kind=kind,
        dataset=dataset,
        release=release,
        state=TableJob.State.WAITING,
        defaults={
            "requested_by": actor,
            "stage": stages.WAIT.name,
            "extras": (extras or Extras()).to_json(),
        },
    )
    if created:
        queue.enqueue(queue.TABLE_JOB, job.code)
        audit.record(
            actor=actor,
            action=_REQUESTED[kind],
            target=("release", release.code) if release else ("dataset", dataset.code),
            organisation=dataset.organisation,
        )
    return job


def request_ranges(*, release: Release) -> RangesJob:
    """Have the expected ranges of a release computed."""
    return _of_release(RangesJob, release, queue.EXPECTED_RANGES, queue.DEFAULT)


def request_counts(*, release: Release) -> CountsJob:
    """Have what tables of counts of a release are computed from brought together."""
    return _of_release(CountsJob, release, queue.COUNTS, queue.CONFIDENTIAL)


def request_implicates(*, release: Release) -> ImplicatesJob:
    """Have several plausible tables of a release made."""
    return _of_release(ImplicatesJob, release, queue.IMPLICATES, queue.CONFIDENTIAL)


@transaction.atomic
def _of_release(kind: type[ReleaseJobT], release: Release, task: str, to: str) -> ReleaseJobT:
    """Asking again while a job waits gives the one that waits. Not in the audit log: no table is opened, and
    whoever may see the result has been authorised."""
    job, created = kind._default_manager.get_or_create(
        release=release,
        state=kind.State.WAITING,
        defaults={"stage": stages.WAIT.name},
    )
    if created:
        queue.enqueue(task, job.code, to)
    return job


def notify_end(run: SynthesisRun, event: Event) -> None:
    """Have the steward of a run notified that it has ended, in the caller's transaction. A run that is
    resumed ends twice."""
    if run.is_validation:
        return  # a validation: its analyst, who sees no runs, finds its end on the page of the release
    notifications.notify(
        event=event,
        people=[run.created_by],
        subject=notifications.NotificationSubject(kind="run", code=run.code, name=run.name),
        key=f"{run.code} {run.lease_token}",
    )


def note(run: SynthesisRun, stage: str, text: str) -> None:
    """One line of the run's log: our own words, never data."""
    RunEvent.objects.create(run=run, stage=stage, text=text)
