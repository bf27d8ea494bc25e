"""Celery tasks: a code in, one call out. Early acknowledgement is right here, because a message is only a
doorbell: a lost one is sent again by the reconciler, a doubled one is refused by the lease.

What a task needs is imported by it, so that the `default` queue's process never loads the room, and beat and
the worker of notifications do not load the engine.
"""

from __future__ import annotations

from synthweb.celery import app
from synthweb.runs import queue


@app.task(name=queue.SYNTHESIZE)
def synthesize(code: str) -> None:
    """Take a run as far as it goes."""
    from synthweb.runs import worker

    worker.synthesize(code=code)


@app.task(name=queue.TABLE_JOB)
def table_job(code: str) -> None:
    """Read an upload, or compare a release with the real data."""
    from synthweb.runs import paid_first, worker

    paid_first.do_waiting()
    worker.table_job(code=code)


@app.task(name=queue.EXPECTED_RANGES)
def expected_ranges(code: str) -> None:
    """Compute the expected ranges of a release; on the `default` queue, whose process has no key of a
    table."""
    from synthweb.runs import ranges

    ranges.compute(code=code)


@app.task(name=queue.COUNTS)
def counts(code: str) -> None:
    """Bring together what tables of counts of a release are computed from, where its noisy answers are."""
    from synthweb.runs import paid_first, released_counts

    paid_first.do_waiting()
    released_counts.compute(code=code)


@app.task(name=queue.IMPLICATES)
def implicates(code: str) -> None:
    """Make several plausible tables of a release, where its noisy answers are."""
    from synthweb.runs import paid_first, plausible_tables

    paid_first.do_waiting()
    plausible_tables.compute(code=code)


@app.task(name=queue.FILLED_COUNTS)
def filled_counts(code: str) -> None:
    """Take counts that a custodian approved, outside the guarantee."""
    from synthweb.runs import worker

    worker.fill_counts(code=code)


@app.task(name=queue.RECONCILE)
def run_reconciler() -> None:
    """Mend what was lost; sent by beat."""
    from synthweb.runs import reconcile

    reconcile.reconcile()
    reconcile.note_pass()


@app.task(name=queue.RETENTION)
def delete_due() -> None:
    """Delete what was kept for the last time before today; sent by beat."""
    from synthweb.runs import retention

    retention.delete_due()
