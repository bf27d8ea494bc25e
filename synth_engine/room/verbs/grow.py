"""`grow`: which nodes of a public hierarchy are opened.

Law: under the basic rule that of `measure` at every depth, where a node was looked at; under the others a
noisy score of every node that can be opened is compared with a threshold, and no count is given. Sensitivity:
that of all depths under the basic rule; else the loss of a threshold tree, which does not grow with the depth
(docs/proofs/grow.md).
"""

from __future__ import annotations

from synth_engine.errors import PrivacyError
from synth_engine.hierarchy import Growth, Rule
from synth_engine.indexing import prefixes
from synth_engine.measurement import Clique, Noise, Query
from synth_engine.privacy import trees
from synth_engine.privacy.events import Event, ThresholdTree
from synth_engine.privacy.unit import levels_sensitivity
from synth_engine.room import counts, growth
from synth_engine.room.question import PartOf, PublicFacts, Question
from synth_engine.room.samplers import Sampler


def question(
    facts: PublicFacts, columns: Clique, *, rule: Rule, noise: Noise, together: bool
) -> Question[counts.Sorted, Growth]:
    hierarchy = prefixes.hierarchy(facts.domain, columns, together=together)
    if rule.depth > hierarchy.depth:
        raise PrivacyError("the tree is deeper than its hierarchy")

    def grown(
        leaves: counts.Sorted, sampler: Sampler, depth_of: PartOf[Growth] | None = None
    ) -> Growth:
        return growth.grow_tree(
            leaves,
            hierarchy=hierarchy,
            rule=rule,
            noise=noise,
            sampler=sampler,
            depth_of=depth_of or (lambda draw: draw()),
        )

    return Question(
        query=Query(
            verb="grow",
            clique=columns,
            cells=hierarchy.cells(rule.depth),
            rule=rule,
            branching=hierarchy.branching(rule.depth),
        ),
        event=_event(facts, rule, noise),
        count=lambda cache: cache.leaves(hierarchy, together=together),
        answer=grown,
        # What is secret would have to be stored with the depths.
        in_parts=None if rule.keeps_secrets else grown,
    )


def _event(facts: PublicFacts, rule: Rule, noise: Noise) -> Event:
    # A record lies in at most one node of each depth, so what is released is one histogram a
    # depth.
    if rule.name == "basic":
        return noise.event(levels_sensitivity(facts.sensitivity, levels=rule.depth))
    if noise.law != "discrete-laplace":
        raise PrivacyError("nodes are opened without counts under discrete Laplace noise alone")
    # From this discount on, t >= b + ln(1 + q) s, the loss over all depths is at most twice
    # that of one decision (docs/proofs/grow.md).
    if rule.name == "improved" and rule.discount < trees.least_discount(
        scale=noise.scale, threshold=rule.threshold
    ):
        raise PrivacyError("the discount is below its bound")
    return ThresholdTree(
        scale=noise.scale,
        l1=facts.sensitivity.l1 * rule.parts,
        threshold=rule.least,
        discount=rule.discount,
    )
