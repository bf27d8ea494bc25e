"""What people do with runs: submit, cancel, resume, and ask for errands that open a table.

The order of locks is the same everywhere: run, then dataset, then account, then audit log.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from fractions import Fraction
from typing import TypeVar

from django.db import IntegrityError, transaction
from django.utils import timezone

from synth_engine import mechanisms
from synth_engine.plans.parameters import RECORDS
from synth_engine.spec import Spec
from synth_engine.strict_json import JsonObject
from synthweb.accounts.models import User
from synthweb.audit import services as audit
from synthweb.datasets import services as datasets
from synthweb.datasets.models import Dataset
from synthweb.datasets.selectors import tables_of_run
from synthweb.ledger import services as ledger
from synthweb.ledger.amounts import Amount
from synthweb.ledger.protection import PlannedRun, Protection
from synthweb.lib import names
from synthweb.notifications import services as notifications
from synthweb.notifications.models import Event
from synthweb.releases import selectors
from synthweb.releases.models import Release
from synthweb.runs import checks, databases, errors, planning, queue, stages, timing
from synthweb.runs.checks import CheckRequest
from synthweb.runs.databases import CheckedKeys, DatabaseProposal
from synthweb.runs.extras import Extras
from synthweb.runs.linking import SketchProposal
from synthweb.runs.models import (
    CountsErrand,
    ImplicatesErrand,
    RangesErrand,
    ReleaseErrand,
    RunEvent,
    SynthesisRun,
    TableErrand,
    ValidationAllowance,
)
from synthweb.runs.planning import NO_FACTS, PublicFacts
from synthweb.runs.public_tables import StatedTable

State = SynthesisRun.State
_REQUESTED: dict[str, str] = {
    TableErrand.Kind.INGEST: "ingest.requested",
    TableErrand.Kind.REPORT: "report.requested",
    TableErrand.Kind.KEYS: "keys.requested",
}
"""What the audit log calls an errand that is asked for."""
Errand = TypeVar("Errand", bound=ReleaseErrand)


@dataclass(frozen=True, kw_only=True)
class Admission:
    """What lets an analyst have a validation: the allowance that pays, and when its answer is shown at the earliest."""

    allowance: ValidationAllowance
    due_at: datetime


AnyProposal = planning.Proposal | DatabaseProposal | SketchProposal
"""What a run may be submitted for."""


def submit(
    *,
    steward: User,
    dataset: Dataset,
    spec: Spec,
    name: str = "",
    request_key: str = "",
    facts: PublicFacts = NO_FACTS,
) -> SynthesisRun:
    """Plan `spec`, hold its price and queue it, in one transaction; the same `request_key` again gives the same run. `facts`:
    about how many records there are, which the dataset keeps, a public table, and the part of the budget that the run is paid from.

    Raises InputError (spec or description), RelationMismatch, NotReady, or the ledger's Overspend; then nothing is kept.
    """
    if existing := _earlier(steward, request_key):
        return _same(existing, dataset=dataset, spec=spec, facts=facts)
    # Planned before any lock is taken, because it may take seconds.
    proposal = planning.propose(dataset=dataset, spec=spec, facts=facts)
    try:
        with transaction.atomic():
            run = _submit(
                steward=steward,
                proposal=proposal,
                name=name,
                request_key=request_key,
                expected=_expected(proposal),
            )
            # After the locks of the run were taken, in their order; the next form begins with it.
            if facts.rows is not None:
                datasets.state_records(actor=steward, dataset=dataset, records=facts.rows)
            return run
    except IntegrityError:
        if existing := _earlier(steward, request_key):  # the same click, sent twice at once
            return _same(existing, dataset=dataset, spec=spec, facts=facts)
        raise


def submit_check(
    *,
    steward: User,
    release: Release,
    request: CheckRequest,
    request_key: str = "",
    admission_for: Callable[[Amount], Admission] | None = None,
) -> SynthesisRun:
    """Plan a check of a release, hold its price and queue it, in one transaction; the same `request_key` again gives the same run.
    admission_for: of an analyst's validation, the allowance that covers a price, locked, or its refusal.

    Raises InputError (a figure that cannot be computed), RelationMismatch, NotReady, or the ledger's Overspend; then nothing is kept.
    """
    if existing := _earlier(steward, request_key):
        return _same_check(existing, release=release, request=request)
    proposal = checks.propose(release=release, request=request)
    try:
        with transaction.atomic():
            return _submit(
                steward=steward,
                proposal=proposal,
                # Locked before the account is, and until the run stands.
                admission=admission_for(proposal.price) if admission_for else None,
                name=checks.name_of(release, is_validation=admission_for is not None),
                request_key=request_key,
                # Time is that of reading the table; forecasts are fitted to runs that make releases.
                expected=None,
            )
    except IntegrityError:
        if existing := _earlier(steward, request_key):  # the same click, sent twice at once
            return _same_check(existing, release=release, request=request)
        raise


def submit_database(
    *,
    steward: User,
    dataset: Dataset,
    epsilon: Fraction,
    delta: Fraction,
    name: str = "",
    request_key: str = "",
) -> SynthesisRun:
    """Plan a release of the database below `dataset`, hold its price and queue it, in one transaction; the same `request_key` again
    gives the same run.

    Raises NotReady (a table that is not read, keys that were not checked), InputError, RelationMismatch, or the ledger's Overspend;
    then nothing is kept."""
    if existing := _earlier(steward, request_key):
        return _same_database(existing, dataset=dataset, epsilon=epsilon, delta=delta)
    # Planned before any lock is taken, because it may take seconds.
    proposal = databases.propose(dataset=dataset, epsilon=epsilon, delta=delta)
    try:
        with transaction.atomic():
            return _submit(
                steward=steward,
                proposal=proposal,
                name=name,
                request_key=request_key,
                # Forecasts of time are fitted to runs of single tables.
                expected=None,
            )
    except IntegrityError:
        if existing := _earlier(steward, request_key):  # the same click, sent twice at once
            return _same_database(existing, dataset=dataset, epsilon=epsilon, delta=delta)
        raise


def _same_database(
    run: SynthesisRun, *, dataset: Dataset, epsilon: Fraction, delta: Fraction
) -> SynthesisRun:
    """The earlier run, if it is what is asked for now. It is of the tables as they were confirmed then: whoever sends a request again gets
    its run, even if the tables were confirmed once more since, or their keys are not checked any longer."""
    if databases.is_of_database(run):
        spec = Spec.from_json(run.spec)
        if (run.dataset_id, spec.epsilon, spec.delta) == (dataset.pk, epsilon, delta):
            return run
    raise _key_reused()


def _key_reused() -> errors.KeyReused:
    return errors.KeyReused(
        "this key was given with another request",
        repair="give every request a key of its own",
    )


def request_keys_check(*, root: Dataset, actor: User) -> TableErrand:
    """Have the keys of a confirmed database checked by the confidential worker; its counts are for its steward alone. Errors:
    NotReady."""
    asked = databases.CheckedKeys.now(root)
    return _errand(
        kind=TableErrand.Kind.KEYS, dataset=root, release=None, actor=actor, extras=asked
    )


def _same_check(run: SynthesisRun, *, release: Release, request: CheckRequest) -> SynthesisRun:
    if run.checks_id != release.pk or not checks.is_same(run.spec, request):
        raise _key_reused()
    return run


def _earlier(steward: User, request_key: str) -> SynthesisRun | None:
    return (
        SynthesisRun.objects.filter(created_by=steward, request_key=request_key).first()
        if request_key
        else None
    )


def _same(
    run: SynthesisRun, *, dataset: Dataset, spec: Spec, facts: PublicFacts
) -> SynthesisRun:
    """The earlier run, if it is what is asked for now; nobody gets another release than the one they ask for."""
    stored = run.spec["parameters"].get(RECORDS)
    # The number of records was filled in when the run was asked for, and may be another one by now.
    asked = planning.with_records(spec, stored) if stored else spec
    requested = (dataset.pk, asked.to_json(), _stored(facts.table), _criteria(facts))
    if (run.dataset_id, run.spec, run.prior, run.criteria) != requested:
        raise _key_reused()
    return run


def _criteria(facts: PublicFacts) -> list[JsonObject]:
    return [criterion.to_json() for criterion in facts.criteria]


def _stored(table: StatedTable | None) -> dict[str, object] | None:
    return None if table is None else table.to_json()


def _usual_name(dataset: Dataset, spec: Spec) -> str:
    """What a run is called that nobody named: `Adult: Bayesian network`, cut to the length that names have."""
    titles = {one["id"]: one["title"] for one in mechanisms.describe()}
    titles[databases.MECHANISM] = "several tables"
    title = f": {titles.get(spec.mechanism, spec.mechanism)}"
    longest = SynthesisRun._meta.get_field("name").max_length or 0
    return dataset.name[: longest - len(title)] + title


def _expected(proposal: planning.Proposal) -> timing.Band:
    """How long it usually takes: what the page of a new release says as well."""
    rows = None if proposal.known is None else proposal.known.rows
    expected = mechanisms.Estimate(plan=proposal.plan, rows=rows)
    return timing.forecast(
        proposal.dataset,
        method=proposal.spec.mechanism,
        needed=expected.resources,
    )


def _submit(
    *,
    steward: User,
    proposal: AnyProposal,
    name: str,
    request_key: str,
    expected: timing.Band | None,
    admission: Admission | None = None,
) -> SynthesisRun:
    run = create(
        steward=steward,
        proposal=proposal,
        name=name,
        request_key=request_key,
        expected=expected,
        admission=admission,
    )
    take_tables(run, proposal)
    hold(run, proposal)
    record_submission(run)
    return run


def create(
    *,
    steward: User,
    proposal: AnyProposal,
    name: str,
    request_key: str = "",
    expected: timing.Band | None = None,
    admission: Admission | None = None,
) -> SynthesisRun:
    """The row of a run, in the caller's transaction: its first step of four, the others being `take_tables`, `hold` and
    `record_submission`, in the order in which their locks are taken."""
    price = proposal.price
    return SynthesisRun.objects.create(
        dataset=proposal.dataset,
        checks=proposal.checks,
        allowance=None if admission is None else admission.allowance,
        due_at=None if admission is None else admission.due_at,
        link_side=proposal.link_side,
        account=proposal.account,
        domain_version=proposal.version,
        created_by=steward,
        name=names.one_line(name) or _usual_name(proposal.dataset, proposal.spec),
        spec=proposal.spec.to_json(),
        prior=_stored(proposal.facts.table),
        criteria=_criteria(proposal.facts),
        plan_digest=proposal.plan.digest,
        epsilon=price.epsilon,
        delta=price.delta,
        rho=price.rho,
        request_key=request_key,
        expected=None if expected is None else expected.to_json(),
        # Fixed now: what somebody opens while the run waits cannot have shaped its choices.
        looked_before=selectors.looked_at_real(proposal.account),
        state=State.HELD,
        stage=stages.WAIT.name,
    )


def take_tables(run: SynthesisRun, proposal: AnyProposal) -> None:
    """Note which files a run reads; from here on they are there until it is over."""
    for table in proposal.tables:
        datasets.take(dataset=table, run_code=run.code, number=proposal.table_number)
    if databases.is_of_database(run):
        databases.require_same_units(run)


def hold(run: SynthesisRun, proposal: AnyProposal) -> None:
    """Queue a run and hold its price. Errors: what the ledger refuses."""
    queue.ring(queue.SYNTHESIZE, run.code)
    note(run, stages.WAIT.name, "Submitted; the price is held.")
    ledger.hold(
        account=proposal.account,
        run=PlannedRun(
            code=run.code,
            dataset_code=proposal.dataset.code,
            # Binds the entry to this plan; the page of the receipt compares the two (ADR 40).
            plan_digest=run.plan_digest,
            protection=Protection.of_domain(proposal.plan.domain),
            purpose=f"{run.name} ({proposal.spec.mechanism})",
        ),
        price=proposal.price,
        actor=run.created_by,
        earmark=proposal.facts.earmark,
    )


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
            "epsilon_nano": run.epsilon,
        },
    )


@transaction.atomic
def cancel(*, actor: User, run: SynthesisRun) -> SynthesisRun:
    """Stop a run at once. Before the charge the hold is released; after it the charge stays and the result is given
    up. A worker that is busy with it finds its fencing token old and writes nothing more."""
    # Locked, so that no charge comes between reading the state and releasing the hold.
    run = _locked(run)
    if not run.is_open:
        raise errors.NotOpen(f"this run is already {run.get_state_display().lower()}")
    if run.link_side_id is not None:
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
        detail={"forfeited_epsilon_nano": run.epsilon if spent else 0},
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
    queue.ring(queue.SYNTHESIZE, run.code)
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


def request_ingest(*, dataset: Dataset, actor: User) -> TableErrand:
    """Have an upload read by the confidential worker; asking again while one waits gives the one that waits."""
    return _errand(kind=TableErrand.Kind.INGEST, dataset=dataset, release=None, actor=actor)


def request_report(
    *, release: Release, actor: User, extras: Extras | None = None
) -> TableErrand:
    """Have a release compared with the real data, for stewards alone. Spends nothing because nothing of it may be
    published; later runs of the account say that they were chosen after looking, once somebody opens it. extras: what takes
    longer and is asked for besides. The real side is the version of the table that the release was made of. Errors: Conflict if that
    was erased."""
    if not release.dataset.is_deleted:
        datasets.require_kept(taken.table for taken in tables_of_run(release.run_code))
    return _errand(
        kind=TableErrand.Kind.REPORT,
        dataset=release.dataset,
        release=release,
        actor=actor,
        extras=extras,
    )


@transaction.atomic
def _errand(
    *,
    kind: str,
    dataset: Dataset,
    release: Release | None,
    actor: User,
    extras: Extras | CheckedKeys | None = None,
) -> TableErrand:
    if dataset.is_deleted:
        raise errors.NotReady(
            "the table was deleted", repair="upload it again as a new dataset"
        )
    # The unique constraints of waiting errands give two requests at once the same row.
    errand, created = TableErrand.objects.get_or_create(
        kind=kind,
        dataset=dataset,
        release=release,
        state=TableErrand.State.WAITING,
        defaults={
            "requested_by": actor,
            "stage": stages.WAIT.name,
            "extras": (extras or Extras()).to_json(),
        },
    )
    if created:
        queue.ring(queue.TABLE_ERRAND, errand.code)
        audit.record(
            actor=actor,
            action=_REQUESTED[kind],
            target=("release", release.code) if release else ("dataset", dataset.code),
            organisation=dataset.organisation,
        )
    return errand


def request_ranges(*, release: Release) -> RangesErrand:
    """Have the expected ranges of a release computed."""
    return _of_release(RangesErrand, release, queue.EXPECTED_RANGES, queue.DEFAULT)


def request_counts(*, release: Release) -> CountsErrand:
    """Have what tables of counts of a release are computed from brought together."""
    return _of_release(CountsErrand, release, queue.COUNTS, queue.CONFIDENTIAL)


def request_implicates(*, release: Release) -> ImplicatesErrand:
    """Have several plausible tables of a release made."""
    return _of_release(ImplicatesErrand, release, queue.IMPLICATES, queue.CONFIDENTIAL)


@transaction.atomic
def _of_release(kind: type[Errand], release: Release, task: str, to: str) -> Errand:
    """Asking again while an errand waits gives the one that waits. Not in the audit log: no table is opened, and whoever may
    see the result has been authorised."""
    errand, created = kind._default_manager.get_or_create(
        release=release,
        state=kind.State.WAITING,
        defaults={"stage": stages.WAIT.name},
    )
    if created:
        queue.ring(task, errand.code, to)
    return errand


def notify_end(run: SynthesisRun, event: Event) -> None:
    """Have the steward of a run notified that it has ended, in the caller's transaction. A run that is resumed ends twice."""
    if run.allowance_id is not None:
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
