"""What the confidential worker does for several plausible tables: it reads stored noisy answers, which it
alone has, and fits them again.

It opens no table: everything here is post-processing of answers that were paid for
(docs/proofs/implicates.md).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import pandas as pd
from django.db import transaction

from synth_engine import tables, watching
from synth_engine.errors import SpecError
from synth_engine.plans import implicates
from synth_engine.tables import Drawing
from synthweb.lib.number_format import grouped
from synthweb.lib.zip_stream import ZipStream
from synthweb.releases import plausible, table_writers
from synthweb.releases.models import Release
from synthweb.runs import paid_first, stages, turns
from synthweb.runs.derivation import Derivation
from synthweb.runs.models import ImplicatesJob
from synthweb.runs.released_counts import answered


def compute(*, code: str) -> None:
    """Do the job of this code; a failure that may pass is left to the reconciler, a few times."""
    turns.take(MakePlausibleTables, code=code)


class MakePlausibleTables(Derivation[ImplicatesJob]):
    """Several tables of a release, as an archive."""

    model = ImplicatesJob
    word = "implicates job"

    def do(self) -> None:
        progress, release = self.progress, self.row.release
        progress(stages.IMPLICATE.name, 0.0)
        with watching.watched(lambda share: progress(stages.IMPLICATE.name, share)):
            content = _archive(release)
        progress.check()
        with transaction.atomic():
            self.finish()
            plausible.store(release, content)


@dataclass(frozen=True, kw_only=True)
class _BufferedDrawing(Drawing):
    """A table whose blocks are drawn already, to be written twice."""

    frames: tuple[pd.DataFrame, ...] = ()

    def blocks(self) -> Iterator[pd.DataFrame]:
        return iter(self.frames)


def _archive(release: Release) -> bytes:
    """The archive: each table as CSV and as Parquet. Errors: SpecError for a method without plausible tables,
    and for tables that are too large for the page."""
    cells = release.sample_rows * len(release.domain_version.document["attributes"])
    if cells > plausible.MAX_CELLS:
        raise SpecError(
            f"a table of {grouped(cells)} cells is larger than the {grouped(plausible.MAX_CELLS)} that are "
            "made here",
            repair="make plausible tables on the command line, with --implicates",
        )
    plan, answers = answered(release)
    places = implicates.require(plan, answers)
    stream = ZipStream(at=release.created_at)
    content = b"".join(stream.write("README.txt", plausible.readme(release)))
    for number in watching.each(range(1, plausible.NUMBER + 1)):
        # These are free, and all of them take long: what is paid for waits for one of them at the most.
        paid_first.do_waiting()
        seed = implicates.seed_of(release.receipt["digest"], number)
        with watching.part(0.0, 0.5):
            model = plan.fit(implicates.perturbed(answers, places=places, seed=seed))
        # As many records as this truth has, unless the release asked for a number.
        draw = tables.Drawing(model=model, rows=plan.spec.rows or model.rows, seed=seed)
        with watching.part(0.5, 0.9):
            frames = tuple(draw.blocks())
        buffered = _BufferedDrawing(model=model, rows=draw.rows, seed=seed, frames=frames)
        lines = [
            table_writers.first_line(model.domain, "csv"),
            *table_writers.pieces(buffered, "csv"),
        ]
        content += b"".join(stream.write(f"csv/table-{number:02d}.csv", iter(lines)))
        pieces = table_writers.pieces(buffered, "parquet")
        content += b"".join(stream.write(f"parquet/table-{number:02d}.parquet", pieces))
    return content + b"".join(stream.close())
