"""`group-sizes`: how many units have 1, 2, … records.

Law: independent noise on every count, empty or not. Sensitivity: one unit moves one count, or two under
replacement, however many records it has (docs/proofs/group-sizes.md).
"""

from __future__ import annotations

from synth_engine.errors import PrivacyError
from synth_engine.measurement import Counts, GroupSizes, Noise, Query
from synth_engine.privacy.unit import group_sizes_sensitivity
from synth_engine.room import counts
from synth_engine.room.question import PublicFacts, Question


def question(facts: PublicFacts, *, noise: Noise) -> Question[Counts, GroupSizes]:
    unit = facts.domain.unit
    if unit.column is None:
        raise PrivacyError("group sizes need a column that says to whom a record belongs")
    return Question(
        query=Query(verb="group-sizes", cells=unit.max_records),
        # Not the histogram's sensitivity: a unit is one group, however many records it has.
        event=noise.event(group_sizes_sensitivity(facts.domain.relation)),
        count=lambda cache: counts.group_sizes(cache.rows),
        answer=lambda sizes, sampler: GroupSizes(
            noise=noise, values=sampler.counts(sizes, noise)
        ),
    )
