"""`leaves`: counts of disjoint nodes of a hierarchy, in each cell of a table of further attributes.

Law: independent noise on every count; with a threshold, counts below it are given as 0. Sensitivity: that of
a histogram, because a record lies in one node at most (docs/proofs/leaves.md).
"""

from __future__ import annotations

from math import prod

from synth_engine.errors import PrivacyError
from synth_engine.hierarchy import NodeSet
from synth_engine.hierarchy.growth import MAX_NODES
from synth_engine.indexing import prefixes
from synth_engine.measurement import Clique, Counts, Leaves, Noise, Query
from synth_engine.room import counts
from synth_engine.room.count_cache import CountCache
from synth_engine.room.question import PublicFacts, Question
from synth_engine.room.samplers import Sampler


def question(
    facts: PublicFacts,
    partition: NodeSet,
    *,
    noise: Noise,
    by: Clique,
    threshold: int | None,
    together: bool,
) -> Question[Counts, Leaves]:
    hierarchy = prefixes.hierarchy(facts.domain, partition.columns, together=together)
    # Disjoint nodes: were one inside another, a record would be counted twice and the
    # sensitivity would be too small.
    partition.check(hierarchy)
    shape = (len(partition), *facts.shape(by))
    cells = prod(shape)
    if cells > MAX_NODES or set(by) & set(partition.columns):
        raise PrivacyError(
            f"leaves have at most {MAX_NODES:,} cells, and are counted by other columns than theirs"
        )
    if threshold is not None and (threshold < 1 or noise.law != "discrete-laplace"):
        raise PrivacyError("leaves are kept from 1 on, with discrete Laplace noise")

    def count(cache: CountCache) -> Counts:
        # Sorted codes have lost the order of the records, which a count by other columns needs.
        known = None if by else cache.leaves(hierarchy, together=together)
        return counts.by_part(cache.rows, hierarchy, partition, by=by, leaves=known)

    def answer(table: Counts, sampler: Sampler) -> Leaves:
        if threshold is None:
            values = sampler.counts(table, noise)
        else:
            values = sampler.above_threshold(table, threshold=threshold, noise=noise)
        return Leaves(
            partition=partition,
            by=by,
            noise=noise,
            threshold=threshold,
            values=values.reshape(shape),
        )

    return Question(
        query=Query(
            verb="leaves",
            clique=partition.columns,
            by=by,
            parts=len(partition),
            cells=cells,
            threshold=threshold,
        ),
        event=noise.event(facts.sensitivity),
        count=count,
        answer=answer,
    )
