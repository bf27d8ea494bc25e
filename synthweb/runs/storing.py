"""Noisy answers of a run come to the disk and the database: room is reserved before the charge, and what is
drawn is stored whatever it takes."""

from __future__ import annotations

import contextlib
import itertools
import logging
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import TypeVar

from django.db import (
    DatabaseError,
    InterfaceError,
    OperationalError,
    close_old_connections,
    transaction,
)

from synth_engine.measurement import Answers
from synth_engine.relational.answers import DatabaseAnswers
from synthweb.runs import artefacts, call_log, errors, leases, stages
from synthweb.runs.models import AnswersFile, RunEvent, SynthesisRun
from synthweb.runs.reconcile import is_known

logger = logging.getLogger(__name__)

State = SynthesisRun.State
Result = TypeVar("Result")
# Seconds between tries to store the noisy answers; the last
# one repeats as long as the lease is held.
RECORD_PAUSES = (0.1, 0.5, 1.0, 2.0, 4.0, 8.0, 15.0)
WAITING_FOR_ROOM = (
    "The noisy answers cannot be stored yet: disk or database do "
    "not take them. Tried again until they do."
)


@dataclass(frozen=True, kw_only=True)
class ReservedRoom:
    """The reserved room of a run: the file of all its answers, and the log of its calls."""

    answers: artefacts.Reservation
    log: call_log.CallLog


@contextlib.contextmanager
def reserved(run: SynthesisRun, lease: leases.Lease, size: int) -> Iterator[ReservedRoom]:
    """Room for `size` bytes in both files. What is charged already waits for it while the lease lives.
    Errors: NoRoom before the charge."""
    # What a killed worker had reserved is room for this one.
    artefacts.sweep(is_known=is_known)
    with contextlib.ExitStack() as stack:

        def reserve(suffix: str) -> artefacts.Reservation:
            def once() -> artefacts.Reservation:
                return stack.enter_context(artefacts.reserved(size, suffix=suffix))

            return once() if run.state == State.HELD else _retry(lease, once)

        answers, calls = reserve(artefacts.ANSWERS), reserve(artefacts.CALLS)
        stored = call_log.stored_of(run) if run.state == State.CHARGED else []
        if stored is None:
            raise TypeError("a run that cannot go on")
        log = call_log.CallLog(lease, calls, stored=stored, retry=partial(_retry, lease))
        calls.name(call_log.name_of(run, lease))
        yield ReservedRoom(answers=answers, log=log)


def store(
    run: SynthesisRun,
    lease: leases.Lease,
    answers: Answers | DatabaseAnswers,
    room: ReservedRoom,
) -> None:
    """Answers to their file, then their digest and the state to the row under the fence. The name carries the
    token, so that a worker that was overtaken can never overwrite what its successor stored."""
    name, content = f"{run.code}-{lease.token}.npz", answers.to_bytes()
    try:
        _retry(lease, lambda: room.answers.store(content, name=name))
        _retry(lease, lambda: _record(lease, name=name, digest=answers.digest))
    except errors.LeaseLost:
        # The UPDATE may have been committed although its answer was lost:
        # only a file that no row names is removed.
        if room.answers.stored_as and not is_known(name):
            artefacts.discard(name=name)
        raise
    run.state, run.answers_digest = State.MEASURED, answers.digest
    AnswersFile(run=run, name=name)  # which the run has from here on


def _retry(lease: leases.Lease, write: Callable[[], Result]) -> Result:
    """Do one of the writes that must not be lost to a full disk or a database that is away: what they keep is
    paid for and drawn once. Tried again for as long as the lease is ours; LeaseLost after that."""
    for pause in itertools.chain(RECORD_PAUSES, itertools.repeat(RECORD_PAUSES[-1])):
        try:
            return write()
        except (OSError, OperationalError, InterfaceError) as error:
            logger.warning("answers not stored yet: %s", type(error).__name__)
            # A broken connection would fail every later try as well.
            if not isinstance(error, OSError):
                close_old_connections()
            _say_waiting(lease)
        if lease.gone.wait(pause):
            break
    raise errors.LeaseLost("another worker took this over")


def _say_waiting(lease: leases.Lease) -> None:
    """One line in the log of the run, for whoever wonders why it stands still."""
    try:
        if not RunEvent.objects.filter(run_id=lease.pk, text=WAITING_FOR_ROOM).exists():
            RunEvent.objects.create(
                run_id=lease.pk, stage=stages.STORE.name, text=WAITING_FOR_ROOM
            )
    except DatabaseError as error:
        # The outage may be that of the database itself. It must not
        # end the tries that this line reports.
        logger.warning("nothing written to the log of the run: %s", type(error).__name__)


def _record(lease: leases.Lease, *, name: str, digest: str) -> None:
    """The file and the digest of answers, and that they are there. A try whose answer was lost may have been
    committed, so it first looks for its own result."""
    stored = {"state": State.MEASURED, "answers_digest": digest}
    if not lease.rows().filter(answers_file__name=name, **stored).exists():
        with transaction.atomic():
            leases.write(lease, states=(State.CHARGED,), **stored)
            AnswersFile.objects.create(run_id=lease.pk, name=name)
