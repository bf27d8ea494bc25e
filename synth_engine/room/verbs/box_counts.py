"""`boxes`: counts of disjoint boxes that cover all records.

Law: independent noise on every count. Sensitivity: that of a histogram, because a record lies in one box
(docs/proofs/divide.md).
"""

from __future__ import annotations

import numpy as np

from synth_engine.errors import PrivacyError
from synth_engine.hierarchy import Boxes
from synth_engine.measurement import BoxCounts, Clique, Counts, Noise, Query
from synth_engine.room import counts
from synth_engine.room.question import PublicFacts, Question


def question(facts: PublicFacts, boxes: Boxes, *, noise: Noise) -> Question[Counts, BoxCounts]:
    columns = require_own(facts, boxes)
    return Question(
        query=Query(verb="boxes", clique=columns, parts=len(boxes), cells=len(boxes)),
        event=noise.event(facts.sensitivity),
        count=lambda cache: counts.by_box(cache.rows, boxes),
        answer=lambda table, sampler: BoxCounts(
            boxes=boxes.digest, noise=noise, values=sampler.counts(table, noise)
        ),
    )


def require_own(facts: PublicFacts, boxes: Boxes) -> Clique:
    """The columns of boxes. Errors: PrivacyError for boxes over other classes than those of the description:
    boxes of two such classes need not be disjoint."""
    own = facts.class_trees
    columns = tuple(tree.column for tree in boxes.trees)
    known = len(set(columns)) == len(columns) and set(columns) <= set(own)
    if not (known and columns) or not all(
        tree.children == own[tree.column].children
        and np.array_equal(tree.child_of, own[tree.column].child_of)
        for tree in boxes.trees
    ):
        raise PrivacyError("boxes are made of the classes of the described columns")
    return columns
