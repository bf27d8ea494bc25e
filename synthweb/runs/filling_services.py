"""What people do with filled counts: ask, approve, refuse, withdraw; and what a worker writes of them.

Locks are taken in the order counts, dataset, account, releases, audit log.
"""

from __future__ import annotations

from collections.abc import Mapping

from django.db import IntegrityError, transaction
from django.utils import timezone

from synth_engine.privacy.loss import plain
from synthweb.accounts import selectors as people
from synthweb.accounts.models import Role, User
from synthweb.audit import services as audit
from synthweb.datasets import services as datasets
from synthweb.ledger import selectors as ledgers
from synthweb.ledger import services as ledger
from synthweb.ledger.errors import NotCustodian, OwnRequest
from synthweb.lib import names
from synthweb.notifications import services as notifications
from synthweb.notifications.models import Event
from synthweb.releases import services as releases
from synthweb.runs import errors, filling, link_services, planning, queue, stages
from synthweb.runs.filling import FillRequest
from synthweb.runs.models import FilledCounts

State = FilledCounts.State


def ask(
    *, steward: User, request: FillRequest, plan_sha256: str, name: str, purpose: str
) -> FilledCounts:
    """Ask a custodian for filled counts. Nothing is read. plan_sha256: the digest of the plan that was shown.
    Errors: as `filling.propose`; NotReady for another plan, or without a purpose."""
    proposal = filling.propose(request)
    if proposal.plan.digest != plan_sha256:
        raise errors.NotReady(
            "this is another plan than the one that you have read", repair="read it again"
        )
    _require_reason(purpose, field="purpose")
    try:
        with transaction.atomic():
            return _ask(steward, request, proposal, name=name, purpose=purpose)
    except IntegrityError:
        # Two stewards asked at the same moment; a constraint let one of them.
        filling.require_alone(request.dataset, proposal.account)
        raise


def _ask(
    steward: User,
    request: FillRequest,
    proposal: filling.FillProposal,
    *,
    name: str,
    purpose: str,
) -> FilledCounts:
    counts = FilledCounts.objects.create(
        dataset=request.dataset,
        domain_version=proposal.version,
        account=proposal.account,
        asked_by=steward,
        name=names.one_line(name) or f"Counts of {request.dataset.name}"[:200],
        purpose=purpose.strip(),
        plan=proposal.plan.to_json(),
        plan_digest=proposal.plan.digest,
        epsilon=plain(request.epsilon),
    )
    custodians = people.holders_of(request.dataset.organisation, Role.CUSTODIAN)
    _notify(counts, Event.COUNTS_ASKED, custodians.exclude(pk=steward.pk))
    _record(steward, "counts.asked", counts, {"plan": counts.plan_digest})
    return counts


@transaction.atomic
def approve(
    *, custodian: User, counts: FilledCounts, plan_sha256: str, reason: str
) -> FilledCounts:
    """Approve filled counts, and queue them. Where the organisation has two custodians approve, the first
    approval is recorded alone. Errors: NotCustodian, OwnRequest, NotOpen, NotReady."""
    counts = _decidable(counts, custodian=custodian, reason=reason)
    if counts.plan_digest != plan_sha256:
        raise errors.NotReady(
            "this is another plan than the one that you have read", repair="read it again"
        )
    if counts.first_approved_by_id == custodian.pk:
        raise errors.NotReady(
            "You approved this already, and two custodians approve exact counts",
            repair="ask another custodian",
        )
    version, account = planning.basis(counts.dataset)
    planning.require_table(counts.dataset, version)
    if (version.pk, account.pk) != (counts.domain_version_id, counts.account_id):
        raise errors.NotReady(
            "the table is described otherwise now, or has another budget",
            repair="refuse this, and have its steward ask again",
        )
    if filling.needs_two(counts) and counts.first_approved_by_id is None:
        counts.first_approved_by = custodian
        counts.save(update_fields=["first_approved_by"])
        _record(custodian, "counts.approved_first", counts, {"reason": reason.strip()})
        return counts
    datasets.take(dataset=counts.dataset, run_code=counts.code)
    counts.state, counts.stage = State.APPROVED, stages.WAIT.name
    _decide(counts, custodian, reason)
    queue.enqueue(queue.FILLED_COUNTS, counts.code)
    _notify(counts, Event.COUNTS_DECIDED, [counts.asked_by])
    logged = _record(custodian, "counts.approved", counts, {"plan": counts.plan_digest})
    FilledCounts.objects.filter(pk=counts.pk).update(approval=logged)
    counts.approval = logged
    return counts


@transaction.atomic
def refuse(*, custodian: User, counts: FilledCounts, reason: str) -> FilledCounts:
    """Refuse filled counts, with the reason that their steward will read. Errors: as `approve`."""
    counts = _decidable(counts, custodian=custodian, reason=reason)
    counts.state, counts.finished_at = State.REFUSED, timezone.now()
    _decide(counts, custodian, reason)
    _notify(counts, Event.COUNTS_DECIDED, [counts.asked_by])
    _record(custodian, "counts.refused", counts, {"reason": counts.decision_reason})
    return counts


@transaction.atomic
def withdraw(*, steward: User, counts: FilledCounts) -> FilledCounts:
    """Take a request back before it is approved. Errors: NotOpen."""
    counts = _locked(counts)
    _require_asked(counts)
    counts.state, counts.finished_at = State.WITHDRAWN, timezone.now()
    counts.save(update_fields=["state", "finished_at"])
    _record(steward, "counts.withdrawn", counts, {})
    return counts


# --- what a worker writes -----------------------------------------------------------------------------------
def record_outside(counts: FilledCounts) -> None:
    """Enter in the ledger that no guarantee holds from now on, and mark every release of the same people: in
    the worker's transaction, before a row is read. A worker that starts over writes nothing twice."""
    if counts.outside_at is not None:
        return
    ledger.record_outside(
        account=counts.account,
        code=counts.code,
        dataset_code=counts.dataset.code,
        reason=f"{counts.name}: {counts.purpose}",
        evidence=counts.approval,
    )
    accounts = ledgers.accounts_of_same_people(counts.dataset, counts.account)
    releases.mark_outside(accounts)
    link_services.mark_outside(accounts)
    _record("worker", "counts.opened", counts, {"plan": counts.plan_digest})


def record_publication(counts: FilledCounts) -> None:
    """Write to the audit log that counts were published, in the worker's transaction, last."""
    _record("worker", "counts.published", counts, {"plan": counts.plan_digest})


# --- helpers ------------------------------------------------------------------------------------------------
def _decidable(counts: FilledCounts, *, custodian: User, reason: str) -> FilledCounts:
    counts = _locked(counts)
    custodians = people.holders_of(counts.dataset.organisation, Role.CUSTODIAN)
    if not custodians.filter(pk=custodian.pk).exists():
        raise NotCustodian("Only a custodian of the organisation decides about exact counts")
    # One person may be steward and custodian; asking and approving still take two people.
    if counts.asked_by_id == custodian.pk:
        raise OwnRequest(
            "Nobody decides about their own request", repair="ask another custodian"
        )
    _require_asked(counts)
    _require_reason(reason, field="reason")
    return counts


def _require_asked(counts: FilledCounts) -> None:
    if counts.state != State.ASKED:
        raise errors.NotOpen(
            f"these counts are in the state {counts.state}",
            repair="what is approved is counted, and cannot be taken back",
        )


def _require_reason(text: str, *, field: str) -> None:
    if not text.strip():
        raise errors.NotReady(
            "A reason is needed", repair="say why, in a sentence", field=field
        )


def _decide(counts: FilledCounts, custodian: User, reason: str) -> None:
    counts.decided_by, counts.decision_reason = custodian, reason.strip()
    counts.decided_at = timezone.now()
    counts.save(
        update_fields=[
            *("state", "stage", "decided_by", "decision_reason", "decided_at", "finished_at")
        ]
    )


def _locked(counts: FilledCounts) -> FilledCounts:
    rows = FilledCounts.objects.select_for_update(of=("self",))
    return rows.select_related("dataset__organisation", "account", "domain_version").get(
        pk=counts.pk
    )


def _notify(counts: FilledCounts, event: Event, users: object) -> None:
    notifications.notify(
        event=event,
        people=users,  # type: ignore[arg-type]
        subject=notifications.NotificationSubject(
            kind="counts", code=counts.code, name=counts.name
        ),
        key=counts.code,
    )


def _record(
    actor: User | str, action: str, counts: FilledCounts, detail: Mapping[str, str]
) -> str:
    """Returns the hash of the entry."""
    return audit.record(
        actor=actor,
        action=action,
        target=("counts", counts.code),
        organisation=counts.dataset.organisation,
        detail={"dataset": counts.dataset.code, **detail},
    ).hash
