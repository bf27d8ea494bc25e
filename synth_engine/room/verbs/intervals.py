"""`intervals`: counts of the values of a column on a lattice, by a partition of its positions.

Law: independent noise on every count, whether anybody has such a value or not. Sensitivity: that of a
histogram, because a record has one position or none, and lies in one cell at most (docs/proofs/intervals.md).
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from synth_engine.domain import Scale
from synth_engine.errors import PrivacyError
from synth_engine.kinds.lattice import MAX_POSITIONS
from synth_engine.measurement import MAX_TABLE_CELLS, Counts, Measurement, Noise, Query
from synth_engine.measurement.question import partition_digest
from synth_engine.room import counts
from synth_engine.room.question import PublicFacts, Question


def question(
    facts: PublicFacts,
    name: str,
    cuts: Sequence[int],
    *,
    noise: Noise,
    divisors: Sequence[int],
) -> Question[Counts, Measurement]:
    attribute = facts.domain.attribute(name)
    if not isinstance(attribute, Scale):
        raise PrivacyError("only a column on a lattice is counted by intervals")
    # Anything else compares and rounds in ways of its own: what is no number is below nothing.
    if any(type(number) is not int for number in (*cuts, *divisors)):
        raise PrivacyError("cuts and divisors of positions are whole numbers")
    if len(cuts) < 2 or cuts[0] < 0 or cuts[-1] > attribute.lattice.count:
        raise PrivacyError("intervals lie within the lattice of their column")
    if any(start >= end for start, end in pairwise(cuts)):
        raise PrivacyError("the ends of intervals increase")
    # Each divisor divides the next one, so that a position has one largest divisor: a record
    # that lay in two cells would move two counts.
    if not divisors or divisors[0] != 1:
        raise PrivacyError("the first divisor of positions is 1")
    if any(low >= high or high % low for low, high in pairwise(divisors)):
        raise PrivacyError("each divisor of positions divides the next one")
    if divisors[-1] >= MAX_POSITIONS:
        raise PrivacyError("divisors of positions are below 2^64")
    cells = (len(cuts) - 1) * len(divisors) + (attribute.missing is not None)
    if cells > MAX_TABLE_CELLS:
        raise PrivacyError(f"a table has from 1 to {MAX_TABLE_CELLS:,} cells")
    # Fixed here: what is counted is what was checked.
    ends, chain = tuple(cuts), tuple(divisors)
    partition = partition_digest(attribute.lattice, ends, chain)
    return Question(
        query=Query(verb="intervals", clique=(name,), cells=cells),
        event=noise.event(facts.sensitivity),
        count=lambda cache: counts.intervals(
            cache.positions(name),
            ends,
            chain,
            remainder=attribute.lattice.remainder,
            with_missing=attribute.missing is not None,
        ),
        answer=lambda table, sampler: Measurement(
            clique=(name,),
            noise=noise,
            values=sampler.counts(table, noise),
            partition=partition,
        ),
    )
