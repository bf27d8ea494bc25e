"""From a table to the noisy answers of a plan, and to a model."""

from __future__ import annotations

import secrets
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypedDict

from synth_engine import jit, mechanisms, verifier, watching
from synth_engine.domain import Domain
from synth_engine.errors import (
    PrivacyError,
)
from synth_engine.formats import Dialect, Kind
from synth_engine.indexing import contingency
from synth_engine.measurement import Answers, CallLog, NoCallLog
from synth_engine.models.model import Model
from synth_engine.pipeline.reading import require_another_file, require_vouched
from synth_engine.pipeline.sealing import (
    Progress,
    guarded,
    nobody_cancels,
    nobody_watches,
    sealed,
    stop_if,
)
from synth_engine.plans.plan import Plan
from synth_engine.privacy import certificate
from synth_engine.references import PublicTable
from synth_engine.room import noise
from synth_engine.sources import opening
from synth_engine.sources.counting import Counting
from synth_engine.spec import Spec


@dataclass(frozen=True, kw_only=True, eq=False)
class Release:
    """A model fitted to noisy answers. `seed` is the one given, or a fresh secret."""

    plan: Plan
    answers: Answers
    model: Model
    rows: int
    seed: str


def warm_up() -> None:
    """Load the exact samplers and all compiled loops, which take their time: a machine on which they do not
    load has to fail here, before anything is charged, and no run waits for a compiler."""
    from synth_engine.room import selection  # takes its time to load

    jit.warm_up()
    contingency.warm_up()
    noise.warm_up()
    selection.warm_up()


def confirm(plan: Plan, *, progress: Callable[[float], None] = lambda _share: None) -> None:
    """Prove that a static plan meets its target before anything is charged or any noise is drawn: by the
    verifier, from the receipt that there will be, and for a composition of privacy-loss distributions by
    somebody else's accountant as well. progress: is given the share that is done. Raises VerificationError,
    PrivacyError."""
    if not plan.calls:
        return  # an adaptive one has its cap, a formula, and nothing else to look at yet
    # The verifier shares no code with the accountant, so that one error cannot hide in both.
    verifier.verify(plan.receipt(), progress=progress)
    if plan.certificate == "pld":
        certificate.confirm(
            [(call.query.verb, call.event) for call in plan.calls],
            epsilon=plan.epsilon,
            delta=plan.delta,
            unit=plan.domain.unit,
            relation=plan.domain.relation,
        )


@sealed
def require_counting(counting: Counting) -> None:
    """Raises SpecError or ClusterError where records cannot be counted there. It reads no row, so that it may
    be asked before anything is charged."""
    counting.require()


@dataclass(frozen=True, kw_only=True)
class Continuation:
    """What lets a run go on where it was interrupted (docs/proofs/interrupted.md). log: the answers that it
    has. secret: at least 32 random bytes, always the same in this run, which nobody knows who may not open
    the table; which records of a unit are retained follows from it."""

    log: CallLog
    secret: bytes = field(repr=False)


class _GuardedLog:
    """The caller's log, whose errors leave the room as they are."""

    def __init__(self, log: CallLog) -> None:
        self.next_stored = guarded(log.next_stored)
        self.begin = guarded(log.begin)
        self.store = guarded(log.store)


def log_of(continuation: Continuation | None) -> CallLog:
    return NoCallLog() if continuation is None else _GuardedLog(continuation.log)


class RandomBytes(TypedDict, total=False):
    """The random bytes of truncation, as an argument of the readers."""

    random_bytes: Callable[[int], bytes]


def random_bytes(continuation: Continuation | None) -> RandomBytes:
    return (
        {} if continuation is None else {"random_bytes": opening.expanded(continuation.secret)}
    )


@sealed
def measure(
    path: Path | str,
    *,
    plan: Plan,
    kind: Kind | None = None,
    dialect: Dialect | None = None,
    progress: Progress = nobody_watches,
    cancelled: Callable[[], bool] = nobody_cancels,
    counting: Counting | None = None,
    continuation: Continuation | None = None,
) -> Answers:
    """The noisy answers that a plan asks for. The caller has charged its loss already: whatever happens in
    here, it stays charged. counting: where records are counted. continuation: what lets an interrupted run go
    on. Raises TableError, BudgetExceeded, Cancelled."""
    from synth_engine.room import session  # its exact sampler takes its time to load

    progress, cancelled = guarded(progress), guarded(cancelled)
    stop_if(cancelled)
    rows = opening.open_counted(
        path,
        plan.domain,
        counting=counting or Counting(),
        kind=kind,
        dialect=dialect,
        progress=progress,
        **random_bytes(continuation),
    )
    stop_if(cancelled)
    # Callers count the loss as spent from this call on: no noise may be drawn before it.
    progress("measure", 0.0)
    room = session.open_session(
        rows, domain=plan.domain, cap=plan.loss, planned=plan.calls, log=log_of(continuation)
    )
    # Inside the room, too: what is told is how many questions and steps are done, never what they found.
    with watching.watched(lambda share: progress("measure", share)):
        answers = plan.run(room)
    # The receipt states the planned calls. If others were made, it would prove a loss that is
    # not the one spent.
    if answers.calls != room.calls or (plan.calls and answers.calls != plan.calls):
        raise PrivacyError("the calls made are not the calls planned")
    progress("measure", 1.0)
    return answers


def synthesize(
    path: Path | str,
    *,
    domain: Domain,
    spec: Spec,
    kind: Kind | None = None,
    dialect: Dialect | None = None,
    progress: Progress = nobody_watches,
    cancelled: Callable[[], bool] = nobody_cancels,
    prior: PublicTable | None = None,
    counting: Counting | None = None,
) -> Release:
    """Plan, measure, fit. Nothing after `measure` looks at a row. prior: a public table beside which answers
    are read. counting: where records are counted.
    Raises DomainError, SpecError, TableError."""
    plan = mechanisms.plan(domain, spec, prior=prior)
    if prior is not None:
        require_another_file(path, prior)
    confirm(plan, progress=lambda share: progress("confirm", share))
    if counting is not None:
        require_counting(counting)
    require_vouched(path, kind=kind, dialect=dialect)
    answers = measure(
        path,
        plan=plan,
        kind=kind,
        dialect=dialect,
        progress=progress,
        cancelled=cancelled,
        counting=counting,
    )
    stop_if(cancelled)
    progress("fit", 0.0)
    with watching.watched(lambda share: progress("fit", share)):
        model = plan.fit(answers)
    progress("fit", 1.0)
    seed = secrets.token_hex(32) if spec.seed is None else spec.seed
    return Release(
        plan=plan, answers=answers, model=model, rows=spec.rows or model.rows, seed=seed
    )
