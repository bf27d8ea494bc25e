"""What the default worker does for the pages Look and Expected: it reads a model and a receipt, which are released, and nothing else.

It runs where no key of a table is, and imports neither the room nor what opens the vault (an import contract).
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager

from django.db import DatabaseError, transaction
from django.db.models.functions import Now

from synthweb.releases import expected, look
from synthweb.runs import errors, lease, stages
from synthweb.runs.models import RangesErrand
from synthweb.runs.progress import Progress

logger = logging.getLogger(__name__)

MAX_ATTEMPTS = 3
_STEPS = {"ask": stages.ASK, "fit": stages.REFIT, "compare": stages.MATCH}
GAVE_UP = {
    "code": "gave-up",
    "text": "The worker was lost again and again on this, probably for lack of memory.",
}


def compute(*, code: str) -> None:
    """Do the errand of this code; a failure that may pass is left to the reconciler, a few times."""
    errand = RangesErrand.objects.filter(code=code).select_related("release").first()
    grip = lease.claim(errand) if errand else None
    if errand is None or grip is None:
        return
    errand.refresh_from_db(fields=["attempts"])
    with lease.keep_alive(grip):
        try:
            if errand.attempts > MAX_ATTEMPTS:
                _fail(grip, GAVE_UP)
            else:
                _compute(errand, grip)
        except errors.LeaseLost:
            logger.info("expected ranges %s: taken over; this worker stops", code)
        except DatabaseError as error:
            logger.warning(
                "expected ranges %s: %s; left to the reconciler", code, type(error).__name__
            )
        except Exception as error:  # noqa: BLE001 - whatever it was, the errand gets an end
            logger.error("expected ranges %s: failed with %s", code, type(error).__name__)
            # The same documents fail the same way: nothing is tried again by itself.
            _fail(
                grip,
                {
                    "code": "internal",
                    "text": f"An error of kind {type(error).__name__} stopped the worker.",
                },
            )


def _compute(errand: RangesErrand, grip: lease.Lease) -> None:
    """Each part is stored as soon as it is there, so that pages show it while the next one is computed, and a worker that takes
    over goes on after it: the rows, the ranges of columns, the errors of the release."""
    progress, release = Progress(grip), errand.release
    if look.prepared(release) == "nothing":
        progress(stages.DRAW.name, 0.0)
        first_look = look.draw(release)
        with _fenced(grip):
            look.store(first_look)
    columns = expected.columns_of(release)
    if columns is None:
        columns = expected.compute_columns(
            release, progress=lambda share: progress(stages.SIMULATE.name, share)
        )
        with _fenced(grip):
            expected.store_columns(release, columns)
    if look.prepared(release) != "all":
        with _fenced(grip):
            look.store_errors(release, columns)
    if expected.are_errors_pending(release):
        errors = expected.compute_errors(
            release, progress=lambda step, share: progress(_STEPS[step].name, share)
        )
        with _fenced(grip):
            expected.store_errors(release, errors)
    lease.write(
        grip,
        states=errand.OPEN,
        state=RangesErrand.State.FINISHED,
        progress=1.0,
        finished_at=Now(),
        lease_held=False,
    )


@contextmanager
def _fenced(grip: lease.Lease) -> Iterator[None]:
    """A transaction that begins with a write under the fence: a worker that was overtaken stores nothing."""
    with transaction.atomic():
        lease.write(grip, states=RangesErrand.OPEN, progress=1.0)
        yield


def _fail(grip: lease.Lease, failure: dict[str, str]) -> None:
    try:
        lease.write(
            grip,
            states=RangesErrand.OPEN,
            state=RangesErrand.State.FAILED,
            failure=failure,
            finished_at=Now(),
            lease_held=False,
        )
    except errors.LeaseLost:
        logger.info("expected ranges: taken over; the failure is not recorded")
