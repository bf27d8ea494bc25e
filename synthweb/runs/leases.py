"""Leases with fencing tokens: who may write to a run or a job.

A claim is one conditional UPDATE: it takes a row that nobody holds and raises its token by one. Every later
write of the claimer names that token, so a worker that was frozen, paused or cut off, and wakes up after
somebody else took over, changes nothing.

No clock of the database takes part. A worker that is alive counts up `heartbeats`; a reconciler that has seen
the same count for a lease's time, by the monotonic clock of its own process, frees the row. A wall clock that
is set forward or back, anywhere, neither ends a living lease nor keeps a dead one.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Hashable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, TypeVar

from django.conf import settings
from django.db import DatabaseError, close_old_connections, connection
from django.db.models import F, Q, QuerySet
from django.db.models.functions import Coalesce, Now

from synth_engine.threads import Thread
from synthweb.runs import errors, models

logger = logging.getLogger(__name__)

BEATS_A_LEASE = 3  # heartbeats in RUN_LEASE_SECONDS


@dataclass(frozen=True, kw_only=True)
class Lease:
    """The right to write to one row, while `token` is its newest. `gone` is set when a heartbeat is
    refused."""

    subject: type[models.Leased]
    pk: int
    token: int
    gone: threading.Event = field(default_factory=threading.Event, compare=False, repr=False)

    def rows(self) -> Any:
        """The row, if this lease is still the newest; else nothing."""
        return self.subject._default_manager.filter(pk=self.pk, lease_token=self.token)


def free() -> Q:
    """Condition of rows that nobody holds."""
    return Q(lease_held=False)


def claim(subject: models.Leased) -> Lease | None:
    """Take the row if it is open and free. None: over, or somebody else is at work on it (a doubled
    message)."""
    kind = type(subject)
    # The token that was read is part of the condition, so that the new one is nobody else's.
    rows = _all(kind).filter(
        free(), pk=subject.pk, lease_token=subject.lease_token, state__in=kind.OPEN
    )
    taken = rows.update(
        lease_token=subject.lease_token + 1,
        lease_held=True,
        lease_seconds=settings.RUN_LEASE_SECONDS,
        heartbeats=F("heartbeats") + 1,
        # Counted at the claim: a worker that is killed reaches no later line.
        attempts=F("attempts") + 1,
        started_at=Coalesce("started_at", Now()),
    )
    return Lease(subject=kind, pk=subject.pk, token=subject.lease_token + 1) if taken else None


def _all(kind: type[models.Leased]) -> QuerySet[Any]:
    """Its rows, each of which has a state."""
    return kind._default_manager.all()


def open_rows(kind: type[models.Leased]) -> QuerySet[Any]:
    """Those in which there is still something to do."""
    return _all(kind).filter(state__in=kind.OPEN)


def write(lease: Lease, *, states: tuple[str, ...], **changes: Any) -> None:
    """Change the row under the fence and only from one of `states`; LeaseLost otherwise."""
    if not lease.rows().filter(state__in=states).update(**changes):
        # Also stops what computes meanwhile: the engine asks `gone` between its steps.
        lease.gone.set()
        raise errors.LeaseLost("another worker took this over")


def extend(lease: Lease) -> bool:
    """One heartbeat; False when the row was taken over or is over. A row that was freed and that nobody has
    claimed since is held again."""
    rows = lease.rows().filter(state__in=lease.subject.OPEN)
    return bool(rows.update(heartbeats=F("heartbeats") + 1, lease_held=True))


def relinquish(lease: Lease) -> None:
    """Give the row back at once, for another worker to claim."""
    lease.rows().update(lease_held=False)


@contextmanager
def keep_alive(lease: Lease) -> Iterator[Lease]:
    """Extend the lease from a thread while the body runs; `lease.gone` is set once an extension is
    refused."""
    stop = threading.Event()
    thread = Thread(lambda: _beat(lease, stop))
    try:
        yield lease
    finally:
        stop.set()
        # A heartbeat that is under way must not land later: it
        # would hold a row that was given back.
        thread.join(seconds=settings.RUN_LEASE_SECONDS)


def _beat(lease: Lease, stop: threading.Event) -> None:
    try:
        while not stop.wait(settings.RUN_LEASE_SECONDS / BEATS_A_LEASE):
            try:
                if not extend(lease):
                    lease.gone.set()
                    return
            except DatabaseError as error:  # the database is away: tried again at the next beat
                logger.warning("heartbeat failed: %s", type(error).__name__)
                close_old_connections()
    finally:
        # Connections belong to threads: nobody else closes this one.
        connection.close()


# --- the reconciler's side ----------------------------------------------------------------------------------
Key = TypeVar("Key", bound=Hashable)


class Watch:
    """For how long things have not changed, as this process has seen them, by its own monotonic clock.

    The time between two looks counts as one heartbeat's pause at most. After an outage of the database, or a
    pause of this process, a living worker so gets the time of two more heartbeats to show that it lives.
    """

    def __init__(self, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._seen: dict[str, dict[Hashable, tuple[Hashable, float]]] = {}
        self._looked: dict[str, float] = {}

    def unchanged(
        self,
        subject: str,
        states: Mapping[Key, Hashable],
        *,
        leases: Mapping[Key, float] | None = None,
    ) -> set[Key]:
        """The keys of `states` whose state has been the same for the seconds that `leases` says, else for
        RUN_LEASE_SECONDS. `states` are all of this subject: one that is not named any more is forgotten."""
        leases = leases or dict.fromkeys(states, settings.RUN_LEASE_SECONDS)
        with self._lock:
            now = self._clock()
            gap = now - self._looked.get(subject, now)
            before, self._looked[subject] = self._seen.get(subject, {}), now
            seen: dict[Hashable, tuple[Hashable, float]] = {}
            for key, state in states.items():
                known, silent = before.get(key, (None, 0.0))
                passed = min(gap, leases[key] / BEATS_A_LEASE)
                seen[key] = (state, silent + passed if known == state else 0.0)
            self._seen[subject] = seen
            return {key for key in states if seen[key][1] >= leases[key] - TOLERANCE}


# Seconds: three thirds of a lease may add up to a little less than the lease.
TOLERANCE = 1e-6


def expire(watch: Watch) -> list[str]:
    """Free the rows whose worker has been silent for a lease. Returns their codes."""
    return [code for kind in models.leased() for code in _expire(kind, watch)]


def _expire(kind: type[models.Leased], watch: Watch) -> list[str]:
    held = open_rows(kind).filter(lease_held=True)
    rows = list(held.values_list("code", "lease_token", "heartbeats", "lease_seconds"))
    states = {code: (token, beats) for code, token, beats, _ in rows}
    leases = {code: seconds for code, *_, seconds in rows}
    freed = []
    for code in watch.unchanged(kind.__name__, states, leases=leases):
        token, beats = states[code]
        # Conditional on what was seen: a heartbeat that comes at this moment wins.
        if held.filter(code=code, lease_token=token, heartbeats=beats).update(lease_held=False):
            freed.append(code)
    return freed
