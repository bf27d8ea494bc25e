"""What the page of validations shows: allowances with their use, and what was measured within them. Plain
values for templates."""

from __future__ import annotations

from dataclasses import dataclass

from django.utils import timezone
from django.utils.translation import gettext as _

from synth_engine.plans import release_check
from synth_engine.spec import Spec
from synthweb.accounts.models import User
from synthweb.ledger.amounts import Amount
from synthweb.ledger.selectors import amount_of
from synthweb.lib.language import written_number
from synthweb.releases import paid
from synthweb.releases.model_cache import model_of
from synthweb.releases.models import Release
from synthweb.releases.paid import CheckVoid, PaidCheckPart
from synthweb.runs import ticks, validations
from synthweb.runs.models import SynthesisRun
from synthweb.runs.validations import AllowanceUse

State = SynthesisRun.State
SHOWN = 50
"""Validations on the page, the newest; REST has all of them."""


@dataclass(frozen=True, kw_only=True)
class AllowanceLine:
    """An allowance as people read it. readers: who spent how much of it, for who oversees it."""

    code: str
    for_whom: str
    granted: str
    used: str
    left: str
    ends: str
    state: str
    by: str
    note: str
    readers: tuple[str, ...]
    is_open: bool


@dataclass(frozen=True, kw_only=True)
class ValidationPart:
    """A validation as people read it, as far as they may know how it went. next_at: the next tick of its
    analyst, empty for who oversees it. answers: None while none are shown, or for who may not read them.
    void: why they are not to be used, for everybody who sees that it was made."""

    code: str
    by: str
    at: str
    price: str
    state: str
    is_open: bool
    no_answer: bool
    next_at: str
    asked: tuple[str, ...]
    answers: PaidCheckPart | None
    void: CheckVoid | None


@dataclass(frozen=True, kw_only=True)
class ValidationPage:
    """allowances: all that the reader may know of; parts: validations, newest first; waits: whether one is
    under way."""

    allowances: tuple[AllowanceLine, ...]
    parts: tuple[ValidationPart, ...]
    waits: bool


def page_of(user: User, release: Release) -> ValidationPage:
    """What the page shows `user`. The caller authorised."""
    runs = list(validations.validations_for(user, release)[:SHOWN])
    parts = tuple(_part(user, release, run) for run in runs)
    return ValidationPage(
        allowances=tuple(_line(use) for use in validations.uses_for(user, release)),
        parts=parts,
        waits=any(part.is_open for part in parts),
    )


def _line(use: AllowanceUse) -> AllowanceLine:
    allowance = use.allowance
    return AllowanceLine(
        code=allowance.code,
        for_whom=allowance.analyst.username if allowance.analyst else _("each reader"),
        granted=written_number(use.granted.text(use.rule)),
        used=_spent(use.used, use.rule),
        left=_spent(use.left, use.rule),
        ends=f"{allowance.expires_at:%Y-%m-%d %H:%M}",
        state=_state(use),
        by=allowance.granted_by.username,
        note=allowance.note,
        readers=tuple(
            f"{name}: {written_number(spent.text(use.rule))}" for name, spent in use.readers
        ),
        is_open=use.is_open,
    )


def _spent(amount: Amount, rule: str) -> str:
    return written_number(amount.text(rule)) if any(amount.as_dict.values()) else _("nothing")


def _state(use: AllowanceUse) -> str:
    if use.allowance.revoked_at is not None:
        return _("ended by hand")
    return _("open") if use.allowance.expires_at > timezone.now() else _("expired")


def _part(user: User, release: Release, run: SynthesisRun) -> ValidationPart:
    readable = validations.may_read_answers(user, release, run)
    domain = model_of(release.code).domain
    asked = release_check.figures_of(Spec.from_json(run.spec))
    price = amount_of(run.price)
    seen = validations.standing(user, release, run)
    return ValidationPart(
        code=run.code,
        by=run.created_by.username,
        at=f"{seen.asked_at:%Y-%m-%d %H:%M}",
        price=written_number(price.text(run.account.rule)),
        state=state_in_words(seen.state),
        is_open=seen.waits,
        no_answer=seen.state == ticks.NO_ANSWER,
        next_at=f"{seen.next_at:%H:%M:%S}" if seen.next_at else "",
        asked=tuple(paid.asked_in_words(figure, domain) for figure in asked),
        answers=paid.part_of(seen.check) if seen.check and readable else None,
        void=paid.void_of(seen.check) if seen.check else None,
    )


def state_in_words(state: str) -> str:
    """A state of a run, or what is shown of one on ticks."""
    if state == ticks.WAITING:
        return _("Waiting")
    if state == ticks.NO_ANSWER:
        return _("No answer")
    return str(State(state).label)
