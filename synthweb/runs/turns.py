"""A worker's turn at a job: it claims the row, keeps it alive and ends it, whatever happens. The same for all
kinds, paid and free.

A kind is a class; one of its objects is one job in the hands of one worker. Failures are recorded in our own
words; logs name the type of an error and never its text, which could quote what the error met.
"""

from __future__ import annotations

import logging
from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any, ClassVar, Generic, TypeVar

from django.db import DatabaseError
from django.db.models.functions import Now
from django.utils.translation import gettext_noop as _

from synth_engine.errors import InputError
from synthweb.lib import tracing
from synthweb.lib.language import in_english
from synthweb.runs import errors, leases, models
from synthweb.runs.progress import Progress

logger = logging.getLogger(__name__)

Failure = Mapping[str, object]
RowT = TypeVar("RowT", bound=models.Leased)
GAVE_UP = {
    "code": "gave-up",
    "text": _("The worker was lost again and again on this, probably for lack of memory."),
}


class Job(ABC, Generic[RowT]):
    """A kind of job: the work on the rows of one model. word: what logs call one; taken_over: how a turn ends
    without a word; max_attempts: claims of one row, because what keeps killing its worker must not do so for
    ever; expected: errors that are no fault of the program, which logs leave out."""

    model: type[RowT]
    word: ClassVar[str]
    taken_over: ClassVar[str] = "taken over"
    max_attempts: ClassVar[int] = 3
    expected: ClassVar[tuple[type[Exception], ...]] = ()

    def __init__(self, row: RowT, lease: leases.Lease) -> None:
        self.row, self.lease, self.progress = row, lease, Progress(lease)

    @abstractmethod
    def do(self) -> None:
        """Do the job; the last thing written is its end. Errors: LeaseLost."""

    def hopeless(self) -> Failure | None:
        """Why nothing is tried any more."""
        return GAVE_UP if self.row.attempts > self.max_attempts else None

    def failure(self, error: Exception) -> Failure:
        """Code and words of ours. The engine's own errors promise to hold no value; the text of any other is
        dropped."""
        if isinstance(error, InputError):
            return {"code": "input", "text": error.text}
        text = f"An error of kind {type(error).__name__} stopped the worker."
        return {"code": "internal", "text": text}

    def stopped(self, error: Exception) -> None:
        """What becomes of the job after an error. By itself the same row fails the same way: nothing is tried
        again."""
        self.fail(self.failure(error))

    def fail(self, failure: Failure) -> None:
        """End the job under the fence. The failure of a row that is somebody else's by now stays here."""
        tracing.fail(str(failure["code"]))
        try:
            self.record_failure(failure)
        except errors.LeaseLost:
            text = "%s %s: %s; its failure is not recorded"
            logger.info(text, self.word, self.row.code, self.taken_over)

    def record_failure(self, failure: Failure) -> None:
        """End the job as failed, for this reason. Errors: LeaseLost."""
        self.end(state="failed", failure=failure)

    def end(self, *, state: str, **changes: Any) -> None:
        """Record the end, first in the transaction that stores the result: a worker that was overtaken stores
        nothing. Errors: LeaseLost."""
        changes |= {"state": state, "finished_at": Now(), "lease_held": False}
        leases.write(self.lease, states=self.row.OPEN, **changes)


@in_english
def take(kind: type[Job[RowT]], *, code: str) -> None:
    """Take the job of this code as far as it goes, if nobody else does. Harmless when repeated, late or
    doubled."""
    row = kind.model._default_manager.filter(code=code).first()
    lease = leases.claim(row) if row else None
    if row is None or lease is None:
        return
    # The claim changed the row, and its state may have moved between reading and claiming.
    row.refresh_from_db()
    job = kind(row, lease)
    with leases.keep_alive(lease):
        try:
            if failure := job.hopeless():
                job.fail(failure)
            else:
                job.do()
        except errors.LeaseLost:
            logger.info("%s %s: %s; this worker stops", kind.word, code, kind.taken_over)
        # The database is away: the lease runs out, and what is possible is done then.
        except DatabaseError as error:
            name = type(error).__name__
            logger.warning("%s %s: %s; left for the reconciler", kind.word, code, name)
        except Exception as error:  # noqa: BLE001
            # whatever it was, the job gets an end and the log gets no data
            # Once the lease is lost, the error is only how the engine passes that on.
            if not (lease.gone.is_set() or isinstance(error, kind.expected)):
                logger.error("%s %s: failed with %s", kind.word, code, type(error).__name__)
            job.stopped(error)
