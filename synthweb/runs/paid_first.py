"""Free work never waits before paid work: whoever is about to begin some of it does first what is paid for
and waits.

Both come to the confidential worker, which alone has tables and noisy answers, and the broker gives it
messages in the order of their sending. So a worker asks the database, where the truth is, before it begins
free work and between two pieces of it.
"""

from __future__ import annotations

import contextvars

from synthweb.celery import is_stopping
from synthweb.lib import log_context
from synthweb.runs import leases, queue
from synthweb.runs.models import OutboxMessage, SynthesisRun


def do_waiting() -> None:
    """Take each run that waits for a worker as far as it goes, the oldest first; at the most one attempt for
    each."""
    tried: set[str] = set()
    # A run that begins while the worker stops could be killed after its charge.
    while not is_stopping() and (code := _oldest(tried)):
        tried.add(code)
        # Nothing of the work that waits here, such as whom it tells its progress, is the run's.
        contextvars.Context().run(_do, code)


def _do(code: str) -> None:
    # It loads the room.
    from synthweb.runs import worker

    log_context.begin({"task": queue.SYNTHESIZE, "code": code})
    worker.synthesize(code=code)


def _oldest(tried: set[str]) -> str | None:
    asked_for = OutboxMessage.objects.filter(task=queue.SYNTHESIZE).values("subject_code")
    waiting = SynthesisRun.objects.filter(
        leases.free(), code__in=asked_for, state__in=SynthesisRun.OPEN
    ).exclude(code__in=tried)
    return waiting.order_by("pk").values_list("code", flat=True).first()
