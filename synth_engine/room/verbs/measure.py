"""`measure`: a table of counts.

Law: independent noise on every cell, empty or not. Sensitivity: that of a histogram; a record falls into one
bin as it falls into one code, so merging codes moves nothing more (docs/proofs/measure.md).
"""

from __future__ import annotations

from math import prod

from synth_engine.measurement import Clique, Counts, Measurement, Merged, Noise, Query
from synth_engine.room.question import PublicFacts, Question


def question(
    facts: PublicFacts, clique: Clique, *, noise: Noise, merged: Merged | None
) -> Question[Counts, Measurement]:
    # The shape follows from the description alone: which cells are empty must not show.
    shape = facts.shape(clique, merged)
    return Question(
        query=Query(
            verb="measure",
            clique=clique,
            cells=prod(shape),
            bins=shape if merged else None,
        ),
        event=noise.event(facts.sensitivity),
        count=lambda cache: cache.table(clique, merged),
        answer=lambda table, sampler: Measurement(
            clique=clique,
            noise=noise,
            values=sampler.counts(table.ravel(), noise).reshape(shape),
        ),
    )
