"""Errands that derive something from released documents: one attempt, with its lease, its end and its failures."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any, TypeVar

from django.db import DatabaseError
from django.db.models.functions import Now

from synth_engine.errors import InputError
from synthweb.runs import errors, lease
from synthweb.runs.models import ReleaseErrand

logger = logging.getLogger(__name__)

Derivation = TypeVar("Derivation", bound=ReleaseErrand)

MAX_ATTEMPTS = 3
GAVE_UP = {
    "code": "gave-up",
    "text": "The worker was lost again and again on this, probably for lack of memory.",
}


def attempt(
    kind: type[Derivation], code: str, *, work: Callable[[Derivation, lease.Lease], None]
) -> None:
    """Do the errand of this code if nobody else does; a failure that may pass is left to the reconciler, a few times. work: ends
    with `finish`, in the transaction that stores the result."""
    errand = kind._default_manager.filter(code=code).select_related("release").first()
    grip = lease.claim(errand) if errand else None
    if errand is None or grip is None:
        return
    errand.refresh_from_db(fields=["attempts"])
    name = kind._meta.verbose_name
    with lease.keep_alive(grip):
        try:
            if errand.attempts > MAX_ATTEMPTS:
                _fail(errand, grip, GAVE_UP)
            else:
                work(errand, grip)
        except errors.LeaseLost:
            logger.info("%s %s: taken over; this worker stops", name, code)
        except InputError as error:
            # What cannot be derived of this release; its words name no value.
            _fail(errand, grip, {"code": "input", "text": error.text})
        except DatabaseError as error:
            logger.warning(
                "%s %s: %s; left to the reconciler", name, code, type(error).__name__
            )
        except Exception as error:  # noqa: BLE001 - whatever it was, the errand gets an end
            logger.error("%s %s: failed with %s", name, code, type(error).__name__)
            # The same documents fail the same way: nothing is tried again by itself.
            _fail(
                errand,
                grip,
                {
                    "code": "internal",
                    "text": f"An error of kind {type(error).__name__} stopped the worker.",
                },
            )


def finish(errand: ReleaseErrand, grip: lease.Lease) -> None:
    """Record that an errand is done, first in the transaction that stores its result: a worker that was overtaken stores
    nothing. Errors: LeaseLost."""
    _end(errand, grip, state=errand.State.FINISHED, progress=1.0)


def _fail(
    errand: ReleaseErrand,
    grip: lease.Lease,
    failure: dict[str, str],
) -> None:
    try:
        _end(errand, grip, state=errand.State.FAILED, failure=failure)
    except errors.LeaseLost:
        logger.info("%s: taken over; the failure is not recorded", errand.code)


def _end(errand: ReleaseErrand, grip: lease.Lease, **changes: Any) -> None:
    lease.write(grip, states=errand.OPEN, finished_at=Now(), lease_held=False, **changes)
