"""Writing the ledger: asking for budget and deciding; holding, charging and releasing it.

Locks are always taken in the order organisation, account, head of the audit log, so that no two transactions
wait for each other. Movements of one run may be asked for twice (a message delivered again, a worker that
starts over): the second time gives the entry of the first and moves nothing.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, date, timedelta
from typing import Any

from django.db import IntegrityError, transaction
from django.utils import timezone

from synthweb.accounts import selectors as accounts
from synthweb.accounts.models import Organisation, Role, User
from synthweb.audit import services as audit
from synthweb.datasets import selectors as datasets
from synthweb.datasets.models import Dataset
from synthweb.ledger import lapses, movements, selectors, stored_checkpoints, yearly_limits
from synthweb.ledger.amounts import ATTO, MAX_COLUMN_VALUE, Amount, short_text
from synthweb.ledger.errors import (
    AlreadyApproved,
    AlreadyDecided,
    AlreadyResolved,
    DifferentHold,
    LedgerConflict,
    NotCovered,
    NotCustodian,
    NothingHeld,
    OpenRequest,
    Overspend,
    OwnRequest,
    RuleMismatch,
    SameContent,
    UnitMismatch,
)
from synthweb.ledger.models import (
    BudgetAccount,
    BudgetApproval,
    BudgetRequest,
    Coverage,
    GrantPolicy,
    LedgerEntry,
)
from synthweb.ledger.protection import PlannedRun, Protection
from synthweb.lib import names
from synthweb.lib.errors import Refused
from synthweb.notifications import services as notifications
from synthweb.notifications.models import Event, Notification

EXPIRES_SOON = timedelta(days=7)

Kind = LedgerEntry.Kind
State = BudgetRequest.State


# --- asking and deciding ------------------------------------------------------------------------------------
@dataclass(frozen=True, kw_only=True)
class Terms:
    """A requested budget: an amount under this rule, for as many releases as are planned, so often and for
    these readers."""

    rule: str
    amount: Amount
    releases: int | None = None
    rhythm: str = ""
    readers: str = ""


@transaction.atomic
def request_budget(
    *,
    steward: User,
    dataset: Dataset,
    terms: Terms,
    reason: str,
    account: BudgetAccount | None = None,
) -> BudgetRequest:
    """Ask for budget from the account that covers the dataset, from `account` of the same people, or
    (neither) from a new one. The dataset needs a confirmed description: unit and relation come from it. An
    account that is there may get more of one currency alone."""
    rule, amount = terms.rule, terms.amount
    if (root := datasets.root_above(dataset)) is not None:
        raise Refused(
            f"this is a table of the database of {root.name}, which has one budget for all of its tables",
            repair="ask for budget for that dataset",
        )
    account = selectors.account_of(dataset) or account
    _require_amount(amount, rule=rule, adds=account is not None)
    _require_reason(reason)
    protection = selectors.protection_of(dataset)
    if account is not None:
        _require_same_people(account, rule=rule, protection=protection, dataset=dataset)
    try:
        # A savepoint: without it PostgreSQL would refuse the rest of the transaction.
        with transaction.atomic():
            request = BudgetRequest.objects.create(
                dataset=dataset,
                account=account,
                requested_by=steward,
                reason=reason,
                rule=rule,
                releases=terms.releases,
                rhythm=terms.rhythm,
                readers=terms.readers,
                **amount.as_dict,
            )
    except IntegrityError:
        raise OpenRequest(
            "This dataset has a request waiting", repair="wait for the custodian's decision"
        ) from None
    _notify_custodians(request, Event.BUDGET_REQUESTED, besides=steward, key=request.code)
    audit.record(
        actor=steward,
        action="budget.requested",
        target=("dataset", dataset.code),
        organisation=dataset.organisation,
        detail={
            "request": request.code,
            "rule": rule,
            "amount": amount.text(rule),
            "reason": reason,
        },
    )
    return request


@dataclass(frozen=True, kw_only=True)
class Opening:
    """Which account a grant goes to. account: one to join; without it a new one is opened. separate: even if
    another one could be joined. separate_reason: needed for content that another account covers, because two
    caps on the same rows add up for the people in them."""

    account: BudgetAccount | None = None
    name: str = ""
    separate: bool = False
    separate_reason: str = ""


USUAL_OPENING = Opening()


@transaction.atomic
def grant(
    *,
    custodian: User,
    request: BudgetRequest,
    reason: str,
    amount: Amount | None = None,
    opening: Opening = USUAL_OPENING,
    lapses_on: date | None = None,
) -> LedgerEntry | None:
    """Grant `amount` (else what was asked) to the dataset's account: the one that covers it, else the one
    named by `opening` or by the request, else (or if `opening` says so) a new one.

    lapses_on: the day, in UTC, from which on nothing of it can be spent; None: it never expires. None is
    returned where two custodians are needed and this is the first: the approval is recorded, and nothing is
    granted yet."""
    request = _decidable(request, custodian=custodian, reason=reason)
    _require_future(lapses_on)
    dataset = request.dataset
    amount = amount or selectors.amount_of(request)
    protection = selectors.protection_of(dataset)
    covering = selectors.account_of(dataset)
    # A dataset spends from one account for good, so the covering one is never exchanged.
    chosen = covering or (None if opening.separate else opening.account or request.account)
    _require_amount(amount, rule=request.rule, adds=chosen is not None)
    if chosen is None:
        _lock_organisation(dataset)
        _require_separate_reason(dataset, opening)
    else:
        _require_same_people(chosen, rule=request.rule, protection=protection, dataset=dataset)
        chosen = movements.lock(chosen.pk)
        _settle(chosen)
    cap = amount if chosen is None else selectors.balance(chosen).cap + amount
    approval = None
    if selectors.needs_two(dataset.organisation, cap, rule=request.rule):
        terms = ApprovedTerms(amount=amount, account=chosen, lapses_on=lapses_on)
        approval = _approval_by_another(request, custodian, terms=terms)
        if approval is None:
            _approve(request, custodian, terms=terms, reason=reason)
            return None
    if chosen is None:
        chosen = _open_account(request, protection=protection, name=opening.name)
    if covering is None:
        Coverage.objects.create(dataset=dataset, account=chosen)
    locked = movements.lock(chosen.pk)
    _require_room_in_columns(locked, amount)
    # A larger cap always covers the sums, so this cannot be refused.
    movements.move(locked, cap=amount)
    facts = {"reason": reason, "dataset_code": dataset.code}
    facts["evidence"] = "" if approval is None else approval.evidence
    name = custodian.get_username()
    entry = movements.append(
        locked, Kind.GRANT, amount, actor=name, lapses_on=lapses_on, **facts
    )
    _decide(request, State.GRANTED, custodian=custodian, reason=reason, account=locked)
    _notify_steward(request, Event.BUDGET_GRANTED)
    # Last, because it locks the head of the audit log, behind which all writers wait.
    _record_grant(entry, request, custodian, amount=amount, opening=opening, approval=approval)
    return entry


def _record_grant(
    entry: LedgerEntry,
    request: BudgetRequest,
    custodian: User,
    *,
    amount: Amount,
    opening: Opening,
    approval: BudgetApproval | None,
) -> None:
    """Write a grant to the audit log. approval: that of another custodian, where two are needed."""
    dataset, lapses_on = request.dataset, entry.lapses_on
    audit.record(
        actor=custodian,
        action="budget.granted",
        target=("account", entry.account.code),
        organisation=dataset.organisation,
        detail={
            "request": request.code,
            "dataset": dataset.code,
            "entry": entry.hash,
            "reason": entry.reason,
            "separate_reason": opening.separate_reason,
            "amount": amount.text(request.rule),
            **({} if approval is None else {"first_approval": approval.evidence}),
            **({} if lapses_on is None else {"lapses_on": lapses_on.isoformat()}),
        },
    )


def set_two_custodians(
    *, actor: User | str, organisation: Organisation, above: int | None
) -> GrantPolicy:
    """From now on two custodians approve what makes a cap larger than the ε `above`, in the ledger's
    integers; None: one always suffices."""
    if above is not None and not 0 <= above <= MAX_COLUMN_VALUE:
        raise LedgerConflict("The ε is not one that the ledger counts", repair="give another")
    with transaction.atomic():
        policy = GrantPolicy.objects.create(
            organisation=organisation, two_above=above, actor=_name(actor)
        )
        audit.record(
            actor=actor,
            action="budget.policy_set",
            target=("organisation", organisation.code),
            organisation=organisation,
            detail={"above": "never" if above is None else short_text("epsilon", above)},
        )
    return policy


def rehearse_grant(**decision: Any) -> bool:
    """Do what `grant` does, and take it back: it raises what the grant would raise, before somebody is asked
    to confirm. Returns whether budget would be granted; False: a first approval would be recorded."""
    with transaction.atomic():
        entry = grant(**decision)
        transaction.set_rollback(True)
    return entry is not None


@transaction.atomic
def refuse(*, custodian: User, request: BudgetRequest, reason: str) -> BudgetRequest:
    """Refuse a request, with the reason that its steward will read."""
    request = _decidable(request, custodian=custodian, reason=reason)
    _decide(request, State.REFUSED, custodian=custodian, reason=reason, account=request.account)
    _notify_steward(request, Event.BUDGET_REFUSED)
    audit.record(
        actor=custodian,
        action="budget.refused",
        target=("dataset", request.dataset.code),
        organisation=request.dataset.organisation,
        detail={"request": request.code, "reason": reason},
    )
    return request


# --- holding, charging, releasing ---------------------------------------------------------------------------
@transaction.atomic
def hold(
    *,
    account: BudgetAccount,
    run: PlannedRun,
    price: Amount,
    actor: User | str,
    earmark: str = "",
) -> LedgerEntry:
    """Reserve what a run will cost, as its plan says for the account's rule. earmark: the code of what was
    set aside for it.

    Raises Earmarked, YearlyLimitReached, Overspend if less is left, UnitMismatch, RuleMismatch, NotCovered,
    DifferentHold."""
    locked = movements.lock(account.pk)
    # What expired is gone before anything is reserved of it.
    _settle(locked)
    _require_amount(price, rule=locked.rule)
    # Losses add up only for the same neighbours: a sum over two relations is no guarantee.
    if run.protection != Protection.of_account(locked):
        raise UnitMismatch(
            f"The account protects {Protection.of_account(locked).sentence()}; the plan protects "
            f"{run.protection.sentence()}",
            repair="describe the dataset as the account does, or ask for another account",
        )
    if not Coverage.objects.filter(account=locked, dataset__code=run.dataset_code).exists():
        raise NotCovered(
            "The dataset does not spend from this account",
            repair="ask for budget for the dataset",
        )
    # Under the lock, so that the second of two deliveries sees the entry of the first.
    before = LedgerEntry.objects.filter(run_code=run.code, kind=Kind.HOLD).first()
    if before is not None:
        if (before.account_id, selectors.amount_of(before), before.evidence) != (
            locked.pk,
            price,
            run.plan_digest,
        ):
            raise DifferentHold(
                "This run holds another amount, or for another plan", repair="submit a new run"
            )
        return before
    chosen = yearly_limits.require(locked, price, earmark=earmark)
    stored_checkpoints.require(locked)
    if not movements.move(locked, held=price):
        raise Overspend(
            remaining=selectors.balance(locked).free, requested=price, rule=locked.rule
        )
    if chosen is not None:
        yearly_limits.use_earmark(chosen, run_code=run.code, price=price)
    return movements.append(
        locked,
        Kind.HOLD,
        price,
        actor=_name(actor),
        reason=run.purpose,
        dataset_code=run.dataset_code,
        run_code=run.code,
        evidence=run.plan_digest,
    )


@transaction.atomic
def charge(*, run_code: str, actor: User | str = "worker", reason: str = "") -> LedgerEntry:
    """Spend what the run holds: the point of no return, committed before the first draw of noise. What it is
    for, the hold has said.

    Raises NothingHeld, and AlreadyResolved if the hold was released."""
    return _resolve(run_code, Kind.CHARGE, actor=actor, reason=reason)


@transaction.atomic
def release(*, run_code: str, reason: str, actor: User | str = "worker") -> LedgerEntry:
    """Give back what the run holds, because it ended before any noise was drawn.

    Raises NothingHeld, and AlreadyResolved if it was charged: what was charged is never given back."""
    return _resolve(run_code, Kind.RELEASE, actor=actor, reason=reason)


@transaction.atomic
def record_outside(
    *, account: BudgetAccount, code: str, dataset_code: str, reason: str, evidence: str
) -> LedgerEntry:
    """Record that exact counts are about to be taken, outside the guarantee: committed before a row is read.
    It has no amount, and nothing takes it back. code: of the counts; evidence: the hash of the audit log's
    entry about the custodian's approval. A repeated call gives the first entry."""
    locked = movements.lock(account.pk)
    before = LedgerEntry.objects.filter(run_code=code, kind=Kind.OUTSIDE).first()
    if before is not None:
        return before
    stored_checkpoints.require(locked)
    return movements.append(
        locked,
        Kind.OUTSIDE,
        Amount(),
        actor="worker",
        reason=reason,
        dataset_code=dataset_code,
        run_code=code,
        evidence=evidence,
    )


@transaction.atomic
def settle(account: BudgetAccount) -> list[LedgerEntry]:
    """Write the LAPSE of every grant of an account that has expired and is not fully spent."""
    return _settle(movements.lock(account.pk))


def settle_all() -> int:
    """Do so for every account in which a grant has expired. Returns how many entries were written."""
    expired = BudgetAccount.objects.filter(entries__lapses_on__lte=_today()).distinct()
    return sum(len(settle(account)) for account in expired.order_by("pk"))


def notify_of_expiring_grants() -> int:
    """Notify stewards and custodians, once, of each grant that expires within `EXPIRES_SOON` and is not fully
    spent. Returns how many grants there were."""
    today = _today()
    ending = LedgerEntry.objects.filter(
        kind=Kind.GRANT, lapses_on__gt=today, lapses_on__lte=today + EXPIRES_SOON
    ).select_related("account__organisation")
    notified = Notification.objects.filter(event=Event.BUDGET_EXPIRES).values("key")
    return sum(
        _notify_of_end(grant) for grant in ending.exclude(hash__in=notified).order_by("pk")
    )


def _notify_of_end(grant: LedgerEntry) -> bool:
    account = grant.account
    entries = LedgerEntry.objects.filter(account=account).order_by("sequence")
    unspent = lapses.play(entries.iterator(chunk_size=2000)).unspent_of(grant.hash)
    if not any(unspent.as_dict.values()):
        return False
    stewards = {coverage.dataset.steward for coverage in account.coverages.all()}
    notifications.notify(
        event=Event.BUDGET_EXPIRES,
        people=stewards | set(accounts.holders_of(account.organisation, Role.CUSTODIAN)),
        subject=notifications.NotificationSubject(
            kind="account", code=account.code, name=account.name
        ),
        key=grant.hash,
    )
    return True


def _settle(account: BudgetAccount) -> list[LedgerEntry]:
    """The account is locked."""
    today = _today()
    entries = LedgerEntry.objects.filter(account=account).order_by("sequence")
    if not entries.filter(lapses_on__lte=today).exists():
        return []
    grants = lapses.play(entries.iterator(chunk_size=2000))
    written = []
    for number in grants.due(today):
        amount, grant = grants.unspent[number], entries.get(sequence=number)
        # What is unspent of a grant is free, so the cap still covers the sums.
        movements.move(account, cap=Amount() - amount)
        written.append(
            movements.append(
                account,
                Kind.LAPSE,
                amount,
                actor="system",
                reason=f"Unspent part of entry {number}, which expired on {grant.lapses_on}.",
                dataset_code=grant.dataset_code,
                evidence=grant.hash,
            )
        )
    return written


def _resolve(run_code: str, kind: str, *, actor: User | str, reason: str) -> LedgerEntry:
    held = LedgerEntry.objects.filter(run_code=run_code, kind=Kind.HOLD).first()
    if held is None:
        raise NothingHeld("This run holds no budget", repair="submit a new run")
    # A hold never changes and may be read before the lock; whether it is resolved may not.
    account = movements.lock(held.account_id)
    before = LedgerEntry.objects.filter(
        run_code=run_code, kind__in=[Kind.CHARGE, Kind.RELEASE]
    ).first()
    if before is not None:
        if before.kind != kind:
            raise AlreadyResolved(
                f"The hold of this run has met its {before.kind} already",
                repair="submit a new run",
            )
        return before
    amount = selectors.amount_of(held)
    # Cannot be refused: the amount is part of what is held, and the total does not grow.
    movements.move(
        account, held=Amount() - amount, charged=amount if kind == Kind.CHARGE else Amount()
    )
    return movements.append(
        account,
        kind,
        amount,
        actor=_name(actor),
        reason=reason or held.reason,
        dataset_code=held.dataset_code,
        run_code=run_code,
        evidence=held.evidence,
    )


# --- rules --------------------------------------------------------------------------------------------------
def _decidable(request: BudgetRequest, *, custodian: User, reason: str) -> BudgetRequest:
    """The request, locked, if this custodian may decide it now."""
    request = (
        BudgetRequest.objects.select_for_update(of=_own_row())
        .select_related("dataset__organisation")
        .get(pk=request.pk)
    )
    custodians = accounts.holders_of(request.dataset.organisation, Role.CUSTODIAN)
    if not custodians.filter(pk=custodian.pk).exists():
        raise NotCustodian("Only a custodian of the organisation decides about budget")
    # One person may be steward and custodian; asking and granting still take two people.
    if request.requested_by_id == custodian.pk:
        raise OwnRequest(
            "Nobody decides about their own request", repair="ask another custodian"
        )
    if request.state != State.OPEN:
        raise AlreadyDecided(f"This request is decided: {request.get_state_display().lower()}")
    _require_reason(reason)
    return request


def _own_row() -> tuple[str, ...]:
    """Lock the request alone, not the dataset and organisation that are fetched with it."""
    return ("self",) if transaction.get_connection().features.has_select_for_update_of else ()


def _decide(
    request: BudgetRequest,
    state: str,
    *,
    custodian: User,
    reason: str,
    account: BudgetAccount | None,
) -> None:
    request.state, request.decided_by, request.decision_reason = state, custodian, reason
    request.account, request.decided_at = account, timezone.now()
    request.save(
        update_fields=["state", "decided_by", "decision_reason", "account", "decided_at"]
    )


@dataclass(frozen=True, kw_only=True)
class ApprovedTerms:
    """What two custodians have to agree on. account: None for a new one."""

    amount: Amount
    account: BudgetAccount | None
    lapses_on: date | None

    @classmethod
    def of(cls, approval: BudgetApproval) -> ApprovedTerms:
        return cls(
            amount=selectors.amount_of(approval),
            account=approval.account,
            lapses_on=approval.lapses_on,
        )


def _require_future(lapses_on: date | None) -> None:
    if lapses_on is not None and lapses_on <= _today():
        raise LedgerConflict(
            "A grant cannot expire before tomorrow",
            repair="choose a later day, or none",
            field="lapses_on",
        )


def _today() -> date:
    return timezone.now().astimezone(UTC).date()


def _approval_by_another(
    request: BudgetRequest,
    custodian: User,
    *,
    terms: ApprovedTerms,
) -> BudgetApproval | None:
    """Another custodian's approval of the very same terms. AlreadyApproved if the custodian's own is all
    there is."""
    same = [
        approval
        for approval in selectors.approvals_of(request)
        if ApprovedTerms.of(approval) == terms
    ]
    others = [approval for approval in same if approval.custodian_id != custodian.pk]
    if same and not others:
        raise AlreadyApproved(
            "You approved this already, and above this ε two custodians approve",
            repair="ask another custodian",
        )
    return others[0] if others else None


def _approve(
    request: BudgetRequest,
    custodian: User,
    *,
    terms: ApprovedTerms,
    reason: str,
) -> None:
    """Record a first approval; the audit log's entry about it is what a later grant names."""
    _notify_custodians(
        request,
        Event.APPROVAL_WANTED,
        besides=custodian,
        key=f"{request.code} {request.approvals.count()}",
    )
    logged = audit.record(
        actor=custodian,
        action="budget.approved",
        target=("dataset", request.dataset.code),
        organisation=request.dataset.organisation,
        detail={
            "request": request.code,
            "account": "" if terms.account is None else terms.account.code,
            "reason": reason,
            "amount": terms.amount.text(request.rule),
            **({} if terms.lapses_on is None else {"lapses_on": terms.lapses_on.isoformat()}),
        },
    )
    BudgetApproval.objects.create(
        request=request,
        custodian=custodian,
        account=terms.account,
        lapses_on=terms.lapses_on,
        reason=reason,
        evidence=logged.hash,
        **terms.amount.as_dict,
    )


def _notify_custodians(
    request: BudgetRequest, event: Event, *, besides: User, key: str
) -> None:
    """Everybody who can decide about a request; nobody decides about their own."""
    custodians = accounts.holders_of(request.dataset.organisation, Role.CUSTODIAN)
    notifications.notify(
        event=event,
        people=custodians.exclude(pk__in=[besides.pk, request.requested_by_id]),
        subject=_subject(request),
        key=key,
    )


def _notify_steward(request: BudgetRequest, event: Event) -> None:
    notifications.notify(
        event=event,
        people=[request.requested_by],
        subject=_subject(request),
        key=request.code,
    )


def _subject(request: BudgetRequest) -> notifications.NotificationSubject:
    return notifications.NotificationSubject(
        kind="request", code=request.code, name=request.dataset.name
    )


def _lock_organisation(dataset: Dataset) -> None:
    """One new account at a time in an organisation, so that two requests for the same content cannot both
    find that the other has none."""
    no_key = transaction.get_connection().features.has_select_for_no_key_update
    Organisation.objects.select_for_update(no_key=no_key).get(pk=dataset.organisation_id)


def _require_separate_reason(dataset: Dataset, opening: Opening) -> None:
    twins = selectors.accounts_with_same_content(dataset)
    if twins and not opening.separate_reason.strip():
        raise SameContent(
            f"The same content has a budget already: {', '.join(twin.name for twin in twins)}",
            repair="join that account, or say why a separate one is right",
            field="separate_reason",
        )


def _open_account(
    request: BudgetRequest, *, protection: Protection, name: str
) -> BudgetAccount:
    """A new account for the dataset of `request`; the organisation is locked."""
    return BudgetAccount.objects.create(
        organisation=request.dataset.organisation,
        name=names.one_line(name) or request.dataset.name,
        rule=request.rule,
        **protection.columns,
    )


def _require_same_people(
    account: BudgetAccount, *, rule: str, protection: Protection, dataset: Dataset
) -> None:
    if account.organisation_id != dataset.organisation_id:
        raise NotCovered(
            "The account belongs to another organisation", repair="choose one of your own"
        )
    if account.rule != rule:
        raise RuleMismatch(
            f"The account composes by {account.get_rule_display()}",
            repair="ask under the same rule",
            field="rule",
        )
    if Protection.of_account(account) != protection:
        raise UnitMismatch(
            f"The account protects {Protection.of_account(account).sentence()};"
            f" the dataset is described as {protection.sentence()}",
            repair="describe the dataset as the account does, or ask for another account",
            field="account",
        )
    if selectors.counts_other_records(account, dataset):
        raise UnitMismatch(
            "The account covers the same table, where a row stands for another number of records",
            repair="describe as there how many records a row stands for",
            field="account",
        )


def _require_amount(amount: Amount, *, rule: str, adds: bool = False) -> None:
    """`adds`: to an account that is there, whose δ may run out before its ε."""
    if not amount.fits(rule):
        raise RuleMismatch(
            "The amount is in a currency that the rule does not count",
            repair="zCDP counts ρ alone, basic ε and δ",
        )
    some = any(amount.as_dict.values()) if adds else amount.main(rule) > 0
    if amount.is_negative_somewhere or not some:
        raise LedgerConflict(
            "The amount must be above zero", repair="give a positive privacy loss"
        )
    if max(amount.as_dict.values()) > MAX_COLUMN_VALUE:
        raise LedgerConflict(
            "The amount is larger than the ledger counts", repair="give a smaller one"
        )


def _require_room_in_columns(account: BudgetAccount, amount: Amount) -> None:
    total = selectors.balance(account).cap + amount
    # With a delta of 1 any algorithm is private, so such a cap would bound nothing.
    if max(total.as_dict.values()) > MAX_COLUMN_VALUE or total.delta >= ATTO:
        raise LedgerConflict(
            "The cap would protect nobody: δ must stay below 1 and ε, ρ within what the ledger counts",
            repair="grant less",
        )


def _require_reason(reason: str) -> None:
    if not reason.strip():
        raise LedgerConflict(
            "A reason is needed", repair="say why, in a sentence", field="reason"
        )


def _name(actor: User | str) -> str:
    return actor if isinstance(actor, str) else actor.get_username()
