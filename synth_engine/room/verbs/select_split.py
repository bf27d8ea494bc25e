"""`refine`, as the journal calls it: the index of a column that leaves many records in the largest class of
their group, where the groups of `chosen` are divided by it.

Law: that of `select`. Sensitivity: one record moves every score by one at most, and records that are added
raise every score or none, so the scores are monotonic (docs/proofs/refine.md).
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from math import prod

import numpy as np

from synth_engine.errors import PrivacyError
from synth_engine.measurement import Clique, Counts, Query, Selection
from synth_engine.room import counts
from synth_engine.room.count_cache import CountCache
from synth_engine.room.question import PublicFacts, Question
from synth_engine.room.verbs.select import law_under


def question(
    facts: PublicFacts, chosen: Clique, candidates: Sequence[str], *, scale: Fraction
) -> Question[Counts, Selection]:
    cliques = tuple((*chosen, name) for name in candidates)
    # A column that the groups have already divides none of them: it would always have the
    # largest score.
    if not cliques or any(len(set(clique)) != len(clique) for clique in cliques):
        raise PrivacyError("groups are divided by columns that they do not have yet")
    law, event = law_under(facts.cap)

    def count(cache: CountCache) -> Counts:
        tables = counts.contingencies(cache.rows, [(clique, None) for clique in cliques])
        return np.array([counts.largest_classes(table) for table in tables], dtype=np.int64)

    return Question(
        query=Query(
            verb="refine",
            candidates=cliques,
            cells=sum(prod(facts.shape(clique)) for clique in cliques),
        ),
        event=event(scale=scale, linf=facts.sensitivity.linf, monotonic=True),
        count=count,
        answer=lambda scores, sampler: Selection(sampler.choose(scores, scale=scale, law=law)),
    )
