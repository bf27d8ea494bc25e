"""What the default worker does for the pages Look and Expected: it reads a model and a receipt, which are
released, and nothing else.

It runs where no key of a table is, and imports neither the room nor what opens the vault (an import
contract).
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from django.db import transaction

from synth_engine import watching
from synthweb.releases import expected, look
from synthweb.runs import leases, stages, turns
from synthweb.runs.derivation import Derivation
from synthweb.runs.models import RangesJob

_STEPS = {"ask": stages.ASK, "fit": stages.REFIT, "compare": stages.MATCH}


def compute(*, code: str) -> None:
    """Do the job of this code; a failure that may pass is left to the reconciler, a few times."""
    turns.take(Ranges, code=code)


class Ranges(Derivation[RangesJob]):
    """The first rows of a release, the ranges of its columns, and its errors."""

    model = RangesJob
    word = "ranges job"

    def do(self) -> None:
        """Each part is stored as soon as it is there, so that pages show it while the next one is computed,
        and a worker that takes over goes on after it: the rows, the ranges of columns, the errors of the
        release."""
        lease, progress, release = self.lease, self.progress, self.row.release
        if look.prepared(release) == "nothing":
            progress(stages.DRAW.name, 0.0)
            with watching.watched(lambda share: progress(stages.DRAW.name, share)):
                first_look = look.draw(release)
            with _fenced(lease):
                look.store(first_look)
        columns = expected.columns_of(release)
        if columns is None:
            columns = expected.compute_columns(
                release, progress=lambda share: progress(stages.SIMULATE.name, share)
            )
            with _fenced(lease):
                expected.store_columns(release, columns)
        if look.prepared(release) != "all":
            with _fenced(lease):
                look.store_errors(release, columns)
        if expected.are_errors_pending(release):
            errors = expected.compute_errors(
                release, progress=lambda step, share: progress(_STEPS[step].name, share)
            )
            with _fenced(lease):
                expected.store_errors(release, errors)
                look.store_relations(release, errors)
        self.finish()


@contextmanager
def _fenced(lease: leases.Lease) -> Iterator[None]:
    """A transaction that begins with a write under the fence: a worker that was overtaken stores nothing."""
    with transaction.atomic():
        leases.write(lease, states=RangesJob.OPEN, progress=1.0)
        yield
