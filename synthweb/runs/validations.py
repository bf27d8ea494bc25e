"""Validations: an analyst has figures of a release measured on the real table, within a small allowance that
ends on a day.

A validation is a check of the release (`checks`) that is held, charged and answered like any other, from the
budget of the dataset. What differs is who asks and who learns of it: an analyst sees their own allowances,
what these have left by their own use, and their own answers, on the ticks of a grid (`ticks`), so that
neither the time of a run nor its failure is shown to them. Stewards, custodians and auditors see all of them,
and how each run went.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, time, timedelta
from typing import Any, cast

from django.core.exceptions import PermissionDenied
from django.db import transaction
from django.db.models import Max, Q, QuerySet, Sum
from django.http import Http404
from django.utils import timezone

from synth_engine.plans.release_check import CheckPlan
from synthweb.accounts.models import User
from synthweb.accounts.permissions import Need
from synthweb.accounts.selectors import roles_of
from synthweb.audit import services as audit
from synthweb.datasets.models import DomainVersion
from synthweb.ledger import selectors as ledger
from synthweb.ledger.amounts import CURRENCIES, Amount, shortfalls
from synthweb.ledger.errors import LedgerConflict
from synthweb.ledger.models import BudgetAccount, LedgerEntry, Rule
from synthweb.lib import codes, names
from synthweb.lib.errors import Refused
from synthweb.releases import selectors as releases
from synthweb.releases.models import PaidCheck, Release
from synthweb.runs import checks, errors, planning, services, ticks
from synthweb.runs.checks import CheckRequest
from synthweb.runs.models import CheckRun, SynthesisRun, ValidationAllowance
from synthweb.runs.proposals import Proposal, RequestTerms
from synthweb.runs.ticks import NO_ANSWER, WAITING

LONGEST = timedelta(days=366)


@dataclass(frozen=True, kw_only=True)
class AllowanceUse:
    """An allowance as its analyst or an overseer sees it. used: by that analyst, or by all of them; readers:
    who spent of it, with how much each."""

    allowance: ValidationAllowance
    rule: str
    granted: Amount
    used: Amount
    is_open: bool
    readers: tuple[tuple[str, Amount], ...] = ()

    @property
    def left(self) -> Amount:
        return self.granted - self.used

    @property
    def counted(self) -> tuple[str, ...]:
        """The currencies that add up."""
        return ledger.counted(self.rule)


@dataclass(frozen=True, kw_only=True)
class Standing:
    """How far a validation is, as somebody may know it. state: of the run, for who oversees it; for its
    analyst WAITING, FINISHED or NO_ANSWER, whatever the cause. asked_at, finished_at: exact for who oversees
    it; for its analyst the minute, and the tick at which the answer was shown. next_at: the next tick, while
    there may be an answer. check: what was measured, once it may be read."""

    state: str
    asked_at: datetime
    finished_at: datetime | None
    next_at: datetime | None
    check: PaidCheck | None

    @property
    def waits(self) -> bool:
        return self.state == WAITING or self.state in SynthesisRun.OPEN


FINISHED: str = SynthesisRun.State.FINISHED


# --- who sees what ------------------------------------------------------------------------------------------
def oversees(user: User) -> bool:
    """Whether `user` sees the allowances and validations of everybody: stewards, custodians and auditors."""
    return bool(roles_of(user) & Need.VIEW.roles)


def uses_for(user: User, release: Release) -> list[AllowanceUse]:
    """The allowances of a release that `user` may know of, newest first, with their use. An analyst has their
    own use alone. The caller authorised."""
    allowances = (
        ValidationAllowance.objects.filter(release=release)
        .select_related("analyst", "granted_by")
        .order_by("-created_at", "-pk")
    )
    rule = release.account.rule
    if oversees(user):
        return [_overseen(each, rule) for each in allowances]
    return [
        _use(each, rule, used=used(each, user)) for each in allowances.filter(_covers(user))
    ]


def validations_for(user: User, release: Release) -> QuerySet[SynthesisRun]:
    """Validations of a release, newest first: an analyst's own, or everybody's for who oversees them. The
    caller authorised."""
    runs = SynthesisRun.objects.filter(
        check_run__checks=release, check_run__allowance__isnull=False
    )
    if not oversees(user):
        runs = runs.filter(created_by=user)
    return (
        runs.select_related(
            "created_by",
            "check_run__checks",
            "check_run__allowance",
            "check_run__paid_check",
            "hold__account",
        )
        .prefetch_related("check_run__paid_check__marks__created_by")
        .order_by("-created_at", "-pk")
    )


def validation_for(user: User, release: Release, code: str) -> SynthesisRun:
    """One of them; Http404 for everybody else's. The caller authorised."""
    run = validations_for(user, release).filter(code=codes.of_text(code)).first()
    if run is None:
        raise Http404("no such validation")
    return run


def may_read_answers(user: User, release: Release, run: SynthesisRun) -> bool:
    """Whether `user` may read what a validation measured: its analyst, and stewards, who may draw samples of
    every release."""
    return run.created_by_id == user.pk or (
        oversees(user) and releases.may(user, release, Need.SAMPLE)
    )


def answered_for(user: User, release: Release, code: str) -> PaidCheck:
    """What a validation measured; Http404 while there is nothing, PermissionDenied for who may not read it.
    The caller authorised."""
    run = validation_for(user, release, code)
    if not may_read_answers(user, release, run):
        raise PermissionDenied("The answers of a validation are for its analyst and stewards.")
    check = standing(user, release, run).check
    if check is None:
        raise Http404("nothing is measured yet")
    return check


def standing(user: User, release: Release, run: SynthesisRun) -> Standing:
    """How far a validation is, as `user` may know it. The caller authorised."""
    if oversees(user):
        return Standing(
            state=run.state,
            asked_at=run.created_at,
            finished_at=run.finished_at,
            next_at=None,
            check=run.paid_check,
        )
    now, length = timezone.now(), ticks.length(release.sample_rows)
    due = cast("datetime", run.check_run.due_at)
    # Only of an answer: when a run ended without one is nobody's but the steward's to know.
    done = run.finished_at if run.paid_check is not None else None
    shown = None if done is None else ticks.shown_at(done, due=due, length=length)
    asked = run.created_at.replace(second=0, microsecond=0)
    if shown is not None and shown <= now:
        return Standing(
            state=FINISHED,
            asked_at=asked,
            finished_at=shown,
            next_at=None,
            check=run.paid_check,
        )
    next_at = ticks.next_after(now, due=due, length=length)
    return Standing(
        state=NO_ANSWER if next_at is None else WAITING,
        asked_at=asked,
        finished_at=None,
        next_at=next_at,
        check=None,
    )


def allowance_of(release: Release, code: str) -> ValidationAllowance:
    """An allowance of a release; Http404 if it has none of this code. The caller authorised."""
    allowance = ValidationAllowance.objects.filter(
        release=release, code=codes.of_text(code)
    ).first()
    if allowance is None:
        raise Http404("no such allowance")
    return allowance


# --- what is spent ------------------------------------------------------------------------------------------
def amount_of(row: ValidationAllowance) -> Amount:
    """What an allowance grants."""
    return Amount(**{currency: getattr(row, currency) for currency in CURRENCIES})


def used(allowance: ValidationAllowance, analyst: User | None = None) -> Amount:
    """What the validations of one analyst, or all, have taken from it. Each counts, however it ended: what
    came back would tell its analyst that it failed, and when."""
    holds = LedgerEntry.objects.filter(run__check_run__allowance=allowance)
    if analyst is not None:
        holds = holds.filter(run__created_by=analyst)
    sums: Mapping[str, int | None] = holds.aggregate(
        **{currency: Sum(currency, default=0) for currency in CURRENCIES}
    )
    return Amount(**{currency: int(sums[currency] or 0) for currency in CURRENCIES})


def is_open(allowance: ValidationAllowance) -> bool:
    """Whether it can be spent now."""
    return allowance.revoked_at is None and allowance.expires_at > timezone.now()


def usable_by(user: User, release: Release) -> list[AllowanceUse]:
    """The allowances that `user` may spend of now, that which ends first before others."""
    open_ones = (
        ValidationAllowance.objects.filter(
            _covers(user), release=release, revoked_at=None, expires_at__gt=timezone.now()
        )
        .select_related("analyst", "granted_by")
        .order_by("expires_at", "pk")
    )
    return [_use(each, release.account.rule, used=used(each, user)) for each in open_ones]


def _covers(user: User) -> Q:
    return Q(analyst=user) | Q(analyst=None)


def _use(allowance: ValidationAllowance, rule: str, *, used: Amount) -> AllowanceUse:
    return AllowanceUse(
        allowance=allowance,
        rule=rule,
        granted=amount_of(allowance),
        used=used,
        is_open=is_open(allowance),
    )


def _overseen(allowance: ValidationAllowance, rule: str) -> AllowanceUse:
    people = (
        User.objects.filter(runs__check_run__allowance=allowance)
        .distinct()
        .order_by("username")
    )
    return AllowanceUse(
        allowance=allowance,
        rule=rule,
        granted=amount_of(allowance),
        used=used(allowance),
        is_open=is_open(allowance),
        readers=tuple((person.username, used(allowance, person)) for person in people),
    )


# --- granting -----------------------------------------------------------------------------------------------
@transaction.atomic
def grant(
    *,
    actor: User,
    release: Release,
    amount: Amount,
    until: date,
    analyst: User | None = None,
    note: str = "",
) -> ValidationAllowance:
    """Let an analyst, or each reader of a release, spend a part of the dataset's budget on figures of it, to
    the end of a day (UTC), at most a year ahead. Nothing is held: a validation is refused if the budget has
    less left by then.

    Raises NotReady, Refused."""
    _, account = planning.basis(release.dataset)
    rule = account.rule
    now = timezone.now()
    expires = datetime.combine(until, time.min, tzinfo=UTC) + timedelta(days=1)
    if not now < expires <= now + LONGEST:
        raise Refused(
            "an allowance ends on a day within a year from now",
            repair="choose a day between today and a year from today",
            field="until",
        )
    if not amount.fits(rule) or amount.main(rule) <= 0:
        main = "rho" if rule == Rule.ZCDP else "epsilon"
        raise Refused(
            f"an allowance of this dataset has an amount of {main}",
            repair="give it in the currency of the account, above zero",
            field=main,
        )
    lacking = shortfalls(remaining=ledger.balance(account).free, requested=amount, rule=rule)
    if lacking:
        raise Refused(
            lacking[0].sentence,
            repair="allow less, or ask for more budget",
            field=lacking[0].currency,
        )
    if analyst is not None and not releases.grants_of(release).filter(analyst=analyst).exists():
        raise Refused(
            "the release is not shared with this analyst",
            repair="share it first, or allow all of its readers",
            field="analyst",
        )
    allowance = ValidationAllowance.objects.create(
        release=release,
        analyst=analyst,
        note=names.one_line(note, field="note"),
        granted_by=actor,
        expires_at=expires,
        **amount.as_dict,
    )
    _record(actor, allowance, "allowance.granted", until=f"{until:%Y-%m-%d}")
    return allowance


@transaction.atomic
def revoke(*, actor: User, allowance: ValidationAllowance) -> None:
    """End an allowance. What was measured or waits for a worker stays."""
    rows = ValidationAllowance.objects.filter(pk=allowance.pk, revoked_at=None)
    # Conditional: of two people who revoke at once one is written to the log.
    if rows.update(revoked_at=timezone.now()):
        _record(actor, allowance, "allowance.revoked")


def _record(actor: User, allowance: ValidationAllowance, action: str, **detail: str) -> None:
    audit.record(
        actor=actor,
        action=action,
        target=("release", allowance.release.code),
        organisation=allowance.release.dataset.organisation,
        detail={
            "allowance": allowance.code,
            "analyst": allowance.analyst.username if allowance.analyst else "every reader",
            "amount": amount_of(allowance).text(allowance.release.account.rule),
            **detail,
        },
    )


# --- asking -------------------------------------------------------------------------------------------------
@dataclass(frozen=True, kw_only=True)
class Validation(checks.ReleaseCheck):
    """Figures of a release, asked for by an analyst within an allowance."""

    analyst: User

    def asked(self) -> RequestTerms:
        name = checks.name_of(self.release, is_validation=True)
        return replace(super().asked(), name=name)

    def basis(self) -> tuple[DomainVersion, BudgetAccount]:
        if not usable_by(self.analyst, self.release):
            raise _none_left()
        return super().basis()

    def admit(self, proposal: Proposal[Any, CheckPlan]) -> Mapping[str, Any]:
        """The allowance that pays, locked: of two requests at once the second one sees what the first one
        holds. When the answer is shown at the earliest."""
        list(
            ValidationAllowance.objects.select_for_update(of=("self",))
            .filter(_covers(self.analyst), release__dataset=self.release.dataset_id)
            .order_by("pk")
            .values_list("pk", flat=True)
        )
        use = require_covering(self.analyst, self.release, proposal.price)
        return {"allowance": use.allowance, "due_at": _due(self.analyst, self.release)}


def require_covering(analyst: User, release: Release, price: Amount) -> AllowanceUse:
    """The allowance that a price is paid from. Errors: BeyondAllowance."""
    usable = usable_by(analyst, release)
    if not usable:
        raise _none_left()
    for use in usable:
        if not (use.left - price).is_negative_somewhere:
            return use
    rule = release.account.rule
    most = max((each.left for each in usable), key=lambda left: left.main(rule))
    raise errors.BeyondAllowance(
        f"this costs {price.text(rule)}, and no allowance of yours has that much left: the largest has "
        f"{most.text(rule)}",
        repair="choose a smaller loss, or ask the data steward for an allowance",
    )


def submit(
    *, analyst: User, release: Release, request: CheckRequest, request_key: str = ""
) -> SynthesisRun:
    """Hold the price of a validation within an allowance, and queue it; the same `request_key` again gives
    the same run.

    Raises BeyondAllowance before anything is held, and what `services.submit` raises. What the budget has
    left is not told."""
    try:
        return services.submit(
            Validation(release=release, request=request, analyst=analyst),
            steward=analyst,
            request_key=request_key,
        )
    except LedgerConflict:
        # Its words may have the balance of the account, which others spend from, too.
        raise errors.BeyondAllowance(
            "the budget of the dataset does not cover this now",
            repair="ask the data steward",
        ) from None


def _due(analyst: User, release: Release) -> datetime:
    """The first tick of a validation that is asked for now: a tick after the first one of the validation
    before it. One answer a tick is shown to an analyst, so that the number of those that are there does not
    tell how fast the table is read."""
    now = timezone.now()
    earlier = CheckRun.objects.filter(
        run__created_by=analyst, run__dataset=release.dataset_id, due_at__gt=now
    )
    latest: datetime | None = earlier.aggregate(latest=Max("due_at"))["latest"]
    return (latest or now) + ticks.length(release.sample_rows)


def _none_left() -> errors.BeyondAllowance:
    return errors.BeyondAllowance(
        "you have no open allowance for this release",
        repair="ask the data steward or a custodian for one",
    )
