"""`interaction`: the interaction contrast of a table, which its marginals do not determine, in whole numbers.

Law: independent noise on every cell. Sensitivity: that of the contrast, which depends on the shape of the
table (docs/proofs/interaction.md).
"""

from __future__ import annotations

from math import prod

from synth_engine.measurement import Clique, Counts, Measurement, Merged, Noise, Query
from synth_engine.privacy.unit import interaction_sensitivity
from synth_engine.room import counts
from synth_engine.room.question import PublicFacts, Question


def question(
    facts: PublicFacts, clique: Clique, *, noise: Noise, merged: Merged | None
) -> Question[Counts, Measurement]:
    shape = facts.shape(clique, merged)
    # One record moves every cell of the contrast, so the sensitivity depends on the shape.
    sensitivity = interaction_sensitivity(facts.domain.unit, facts.domain.relation, sizes=shape)
    return Question(
        query=Query(verb="interaction", clique=clique, cells=prod(shape), bins=shape),
        event=noise.event(sensitivity),
        count=lambda cache: counts.interaction(cache.table(clique, merged)),
        answer=lambda table, sampler: Measurement(
            clique=clique,
            noise=noise,
            values=sampler.counts(table.ravel(), noise).reshape(shape),
            interaction=True,
        ),
    )
