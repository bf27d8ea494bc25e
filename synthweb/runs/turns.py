"""A worker's turn at a job: it claims the row, keeps it alive and ends it, whatever happens. The same for all kinds, paid and free.

A kind is one object, which says which rows it is of and what is done with one. Failures are recorded in our own words; logs name the type
of an error and never its text, which could quote what the error met.
"""

from __future__ import annotations

import logging
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Generic, TypeVar

from django.db import DatabaseError
from django.db.models.functions import Now

from synth_engine.errors import InputError
from synthweb.lib import tracing
from synthweb.lib.language import in_english
from synthweb.runs import errors, lease, models
from synthweb.runs.progress import Progress

logger = logging.getLogger(__name__)

Failure = Mapping[str, object]
JobT = TypeVar("JobT", bound=models.Leased)
GAVE_UP = {
    "code": "gave-up",
    "text": "The worker was lost again and again on this, probably for lack of memory.",
}


@dataclass(frozen=True, kw_only=True)
class Turn(Generic[JobT]):
    """One worker at one job."""

    job: JobT
    grip: lease.Lease
    progress: Progress


class JobKind(ABC, Generic[JobT]):
    """What is done with the rows of one model. word: what logs call one; taken_over: how a turn ends without a word."""

    model: type[JobT]
    word: ClassVar[str]
    taken_over: ClassVar[str] = "taken over"
    # Claims of one row: what keeps killing its worker must not do so for ever.
    max_attempts: ClassVar[int] = 3
    # Errors that are no fault of the program, which logs leave out.
    expected: ClassVar[tuple[type[Exception], ...]] = ()

    @abstractmethod
    def do(self, turn: Turn[JobT]) -> None:
        """Do the job; the last thing written is its end. Errors: LeaseLost."""

    def hopeless(self, turn: Turn[JobT]) -> Failure | None:
        """Why nothing is tried any more."""
        return GAVE_UP if turn.job.attempts > self.max_attempts else None

    def failure(self, job: JobT, error: Exception) -> Failure:
        """Code and words of ours. The engine's own errors promise to hold no value; the text of any other is dropped."""
        if isinstance(error, InputError):
            return {"code": "input", "text": error.text}
        text = f"An error of kind {type(error).__name__} stopped the worker."
        return {"code": "internal", "text": text}

    def stopped(self, turn: Turn[JobT], error: Exception) -> None:
        """What becomes of the job after an error. By itself the same row fails the same way: nothing is tried again."""
        self.fail(turn, self.failure(turn.job, error))

    def fail(self, turn: Turn[JobT], failure: Failure) -> None:
        """End the job under the fence."""
        tracing.fail(str(failure["code"]))
        try:
            end(turn, state="failed", failure=failure)
        except errors.LeaseLost:
            self.say_unrecorded(turn)

    def say_unrecorded(self, turn: Turn[JobT]) -> None:
        """A failure of a row that is somebody else's by now stays here."""
        logger.info(
            "%s %s: %s; its failure is not recorded", self.word, turn.job.code, self.taken_over
        )


def end(turn: Turn[Any], *, state: str, **changes: Any) -> None:
    """Record the end of a job, first in the transaction that stores its result: a worker that was overtaken stores nothing.
    Errors: LeaseLost."""
    lease.write(
        turn.grip,
        states=turn.job.OPEN,
        state=state,
        finished_at=Now(),
        lease_held=False,
        **changes,
    )


@in_english
def take(kind: JobKind[JobT], *, code: str) -> None:
    """Take the job of this code as far as it goes, if nobody else does. Harmless when repeated, late or doubled."""
    job = kind.model._default_manager.filter(code=code).first()
    grip = lease.claim(job) if job else None
    if job is None or grip is None:
        return
    # The claim changed the row, and its state may have moved between reading and claiming.
    job.refresh_from_db()
    turn = Turn(job=job, grip=grip, progress=Progress(grip))
    with lease.keep_alive(grip):
        try:
            if failure := kind.hopeless(turn):
                kind.fail(turn, failure)
            else:
                kind.do(turn)
        except errors.LeaseLost:
            logger.info("%s %s: %s; this worker stops", kind.word, code, kind.taken_over)
        # The database is away: the lease runs out, and what is possible is done then.
        except DatabaseError as error:
            name = type(error).__name__
            logger.warning("%s %s: %s; left for the reconciler", kind.word, code, name)
        except Exception as error:  # noqa: BLE001 - whatever it was, the job gets an end and the log gets no data
            # Once the lease is lost, the error is only how the engine passes that on.
            if not (grip.gone.is_set() or isinstance(error, kind.expected)):
                logger.error("%s %s: failed with %s", kind.word, code, type(error).__name__)
            kind.stopped(turn, error)
