"""What a run page shows while a worker is busy: the stage, how far it is, and a log line at each new
stage."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable

from django.db import DatabaseError, close_old_connections

from synthweb.lib import tracing
from synthweb.runs import errors, failpoints, leases, stages
from synthweb.runs.models import RunEvent, SynthesisRun

logger = logging.getLogger(__name__)

PAUSE = 0.5  # seconds between two writes of progress


class Progress:
    """Writes (stage, fraction) to the row under its fence, at most twice a second and at every new stage.

    LeaseLost as soon as another worker or a cancellation has taken the row over, so that a long computation
    stops.
    """

    def __init__(
        self, lease: leases.Lease, *, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._lease, self._clock = lease, clock
        self._stage, self._written = "", float("-inf")

    def __call__(self, stage: str, fraction: float) -> None:
        self.check()
        now, fresh = self._clock(), stage != self._stage
        # Beginnings and ends are always written; between them a
        # fast loop would flood the database.
        if not fresh and fraction < 1.0 and now - self._written < PAUSE:
            return
        self._stage, self._written = stage, now
        try:
            self._write(stage[:32], min(1.0, max(0.0, fraction)), fresh=fresh)
        except DatabaseError as error:
            # A bar that stands still must not cost a run that is paid for.
            logger.warning("progress not written: %s", type(error).__name__)
            close_old_connections()
        if fresh:
            tracing.reach(stage)
            failpoints.reach(failpoints.STAGE + stage)

    def _write(self, stage: str, fraction: float, *, fresh: bool) -> None:
        leases.write(
            self._lease, states=self._lease.subject.OPEN, stage=stage, progress=fraction
        )
        if fresh and self._lease.subject is SynthesisRun:
            RunEvent.objects.create(
                run_id=self._lease.pk, stage=stage, text=stages.title(stage)
            )

    def check(self) -> None:
        """LeaseLost if a heartbeat has been refused."""
        if self._lease.gone.is_set():
            raise errors.LeaseLost("another worker took this over")

    def gone(self) -> bool:
        """Whether the caller should stop: asked by the engine between two stages."""
        return self._lease.gone.is_set()
