"""`divide`: a column for each of several disjoint boxes, by which the box is divided as little as possible.

Law: that of `select`, for each box by itself. Sensitivity: a record lies in one box, and moves no score of
another; within its box it raises the largest of the boxes that a division makes by one or leaves it, for
every column alike, so the scores are monotonic (docs/proofs/divide.md).
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from synth_engine.errors import PrivacyError
from synth_engine.hierarchy import UNDIVIDED, Boxes
from synth_engine.measurement import BoxChoices, Counts, Query, Truth
from synth_engine.room import counts
from synth_engine.room.count_cache import CountCache
from synth_engine.room.question import PublicFacts, Question
from synth_engine.room.samplers import Sampler
from synth_engine.room.verbs.box_counts import require_own
from synth_engine.room.verbs.select import law_under


def question(
    facts: PublicFacts, boxes: Boxes, *, among: Truth, scale: Fraction
) -> Question[Counts, BoxChoices]:
    columns = require_own(facts, boxes)
    children = boxes.child_counts
    if among.shape != children.shape or among.dtype != np.bool_ or not among.any():
        raise PrivacyError("columns are chosen among those of each box, of one box at least")
    # A class of one value is the same box again: it would always have the largest score.
    if (children[among] < 1).any():
        raise PrivacyError("a box is divided by columns of which it has several values")
    law, event = law_under(facts.cap)

    def count(cache: CountCache) -> Counts:
        return counts.largest_children(cache.rows, boxes, among)

    def answer(scores: Counts, sampler: Sampler) -> BoxChoices:
        choices = np.full(len(boxes), UNDIVIDED, dtype=np.int64)
        for box in np.flatnonzero(among.any(axis=1)):
            candidates = np.flatnonzero(among[box])
            index = sampler.choose(scores[box, candidates], scale=scale, law=law)
            choices[box] = candidates[index]
        return BoxChoices(columns=columns, choices=choices)

    return Question(
        query=Query(
            verb="divide",
            clique=columns,
            parts=int(among.any(axis=1).sum()),
            cells=int(children[among].sum()),
        ),
        event=event(scale=scale, linf=facts.sensitivity.linf, monotonic=True),
        count=count,
        answer=answer,
    )
