"""Leases with fencing tokens: who may write to a run or an errand.

A claim is one conditional UPDATE under the database's clock: it takes a row whose lease has run out, or was never
taken, and raises its token by one. Every later write of the claimer names that token, so a worker that was frozen,
paused or cut off, and wakes up after somebody else took over, changes nothing.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

from django.conf import settings
from django.db import DatabaseError, close_old_connections, connection
from django.db.models import DateTimeField, Expression, ExpressionWrapper, F, Q, Value
from django.db.models.functions import Coalesce, Now

from synthweb.runs import errors, models

logger = logging.getLogger(__name__)


@dataclass(frozen=True, kw_only=True)
class Lease:
    """The right to write to one row, while `token` is its newest. `gone` is set when a heartbeat is refused."""

    subject: type[models.Leased]
    pk: int
    token: int
    gone: threading.Event = field(default_factory=threading.Event, compare=False, repr=False)

    def rows(self) -> Any:
        """The row, if this lease is still the newest; else nothing."""
        return self.subject._default_manager.filter(pk=self.pk, lease_token=self.token)


def from_now(seconds: float) -> Expression:
    """A moment in the database's own time, so that clocks of workers do not matter."""
    return ExpressionWrapper(Now() + Value(timedelta(seconds=seconds)), output_field=DateTimeField())


def free() -> Q:
    """Condition of rows that nobody holds: never claimed, or the lease ran out."""
    return Q(lease_until=None) | Q(lease_until__lt=Now())


def claim(subject: models.SynthesisRun | models.TableErrand) -> Lease | None:
    """Take the row if it is open and free. None: over, or somebody else is at work on it (a doubled message)."""
    kind = type(subject)
    rows = kind._default_manager.filter(free(), pk=subject.pk, lease_token=subject.lease_token, state__in=kind.OPEN)
    taken = rows.update(
        lease_token=subject.lease_token + 1,
        lease_until=from_now(settings.RUN_LEASE_SECONDS),
        attempts=F("attempts") + 1,
        started_at=Coalesce("started_at", Now()),
    )
    return Lease(subject=kind, pk=subject.pk, token=subject.lease_token + 1) if taken else None


def write(lease: Lease, *, states: tuple[str, ...], **changes: Any) -> None:
    """Change the row under the fence and only from one of `states`; LeaseLost otherwise."""
    if not lease.rows().filter(state__in=states).update(**changes):
        lease.gone.set()
        raise errors.LeaseLost("another worker took this over")


def extend(lease: Lease) -> bool:
    """Keep the lease for another RUN_LEASE_SECONDS; False when it was taken over or the row is over."""
    rows = lease.rows().filter(state__in=lease.subject.OPEN)
    return bool(rows.update(lease_until=from_now(settings.RUN_LEASE_SECONDS)))


def let_go(lease: Lease) -> None:
    """Give the row back at once, for another worker to claim."""
    lease.rows().update(lease_until=None)


@contextmanager
def kept(lease: Lease) -> Iterator[Lease]:
    """Extend the lease from a thread while the body runs; `lease.gone` is set once an extension is refused."""
    stop = threading.Event()
    thread = threading.Thread(target=_beat, args=(lease, stop), name=f"lease-{lease.pk}", daemon=True)
    thread.start()
    try:
        yield lease
    finally:
        stop.set()
        thread.join(timeout=settings.RUN_LEASE_SECONDS)


def _beat(lease: Lease, stop: threading.Event) -> None:
    try:
        while not stop.wait(settings.RUN_LEASE_SECONDS / 3):
            try:
                if not extend(lease):
                    lease.gone.set()
                    return
            except DatabaseError as error:  # the database is away: the lease runs on until it is back, or runs out
                logger.warning("heartbeat failed: %s", type(error).__name__)
                close_old_connections()
    finally:
        connection.close()
