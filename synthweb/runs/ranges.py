"""What the default worker does for the pages Look and Expected: it reads a model and a receipt, which are released, and nothing else.

It runs where no key of a table is, and imports neither the room nor what opens the vault (an import contract).
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from django.db import transaction

from synth_engine import watching
from synthweb.lib.language import in_english
from synthweb.releases import expected, look
from synthweb.runs import derivation, lease, stages
from synthweb.runs.models import RangesErrand
from synthweb.runs.progress import Progress

_STEPS = {"ask": stages.ASK, "fit": stages.REFIT, "compare": stages.MATCH}


@in_english
def compute(*, code: str) -> None:
    """Do the errand of this code; a failure that may pass is left to the reconciler, a few times."""
    derivation.attempt(RangesErrand, code, work=_compute)


def _compute(errand: RangesErrand, grip: lease.Lease) -> None:
    """Each part is stored as soon as it is there, so that pages show it while the next one is computed, and a worker that takes
    over goes on after it: the rows, the ranges of columns, the errors of the release."""
    progress, release = Progress(grip), errand.release
    if look.prepared(release) == "nothing":
        progress(stages.DRAW.name, 0.0)
        with watching.watched(lambda share: progress(stages.DRAW.name, share)):
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
            look.store_relations(release, errors)
    derivation.finish(errand, grip)


@contextmanager
def _fenced(grip: lease.Lease) -> Iterator[None]:
    """A transaction that begins with a write under the fence: a worker that was overtaken stores nothing."""
    with transaction.atomic():
        lease.write(grip, states=RangesErrand.OPEN, progress=1.0)
        yield
