"""Trees that are opened first and counted afterwards: with which rule, which parts are counted, and when they
are too many."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from functools import lru_cache

import numpy as np

from synth_engine.hierarchy import Growth, Hierarchy, NodeSet, Rule, leaf_nodes, sort_nodes
from synth_engine.measurement import Noise
from synth_engine.privacy import trees

MAX_PARTS = 4_000_000
"""At most so many nodes of a tree are counted; it is cut off above where it has more."""
MAX_DEPTHS_ABOVE = 2
WORTH = 60
"""A depth is counted besides the parts at which a tree ends if there are so many of them below each of its
nodes: the sum of their noises is then larger than that of one count of a small share."""
_BISECTIONS = 12


@lru_cache(maxsize=256)
def improved(
    epsilon: Fraction, *, l1: int, branching: int, depth: int, scales: float
) -> tuple[Rule, Noise]:
    """The improved rule with the least noise that costs no more than epsilon. scales: the threshold, in noise
    scales times ln(branching). Twice l1 / epsilon always does; the exact loss allows for less noise
    (docs/proofs/grow.md)."""

    def rule_of(scale: Fraction) -> Rule:
        threshold = max(1, math.ceil(scales * float(scale) * math.log(max(branching, 2))))
        discount = trees.least_discount(scale=scale, threshold=threshold)
        return Rule(name="improved", depth=depth, threshold=threshold, discount=discount)

    def fits(scale: Fraction) -> bool:
        rule = rule_of(scale)
        return (
            l1 * trees.loss(scale=scale, threshold=rule.threshold, discount=rule.discount)
            <= epsilon
        )

    low = Fraction(l1) / epsilon
    best = Fraction(math.nextafter(float(2 * low), math.inf))
    for _ in range(_BISECTIONS):
        middle = Fraction(float((low + best) / 2))
        low, best = (low, middle) if fits(middle) else (middle, best)
    return rule_of(best), Noise(law="discrete-laplace", scale=best)


def cut_off(growth: Growth, hierarchy: Hierarchy, *, most: int = MAX_PARTS) -> Growth:
    """The tree down to the last depth at which it ends in at most so many nodes; the first depth is always
    kept."""
    depths, closed = 1, 0
    for index, (level, opened) in enumerate(
        zip(growth.levels(hierarchy), growth.opened, strict=True)
    ):
        if closed + len(level) <= most:
            depths = index + 1
        closed += len(level) - opened.size
    above = (*growth.opened[: depths - 1], np.empty(0, dtype=np.int64))
    return (
        growth
        if depths == len(growth.opened)
        else replace(growth, opened=above, counts=growth.counts[:depths])
    )


def parts(growth: Growth, hierarchy: Hierarchy) -> Sequence[NodeSet]:
    """The counted nodes of a tree: those at which it ends, last, and before them the opened nodes of up to
    two depths, the last ones from the root on below which it ends far more often than there are nodes."""
    ends = leaf_nodes(growth, hierarchy)
    above: list[NodeSet] = []
    for level, opened in zip(growth.levels(hierarchy), growth.opened, strict=True):
        if not opened.size or opened.size * WORTH > int((ends.levels > level.level).sum()):
            break
        depths = np.full(opened.size, level.level, dtype=np.int64)
        above.append(sort_nodes(growth.columns, depths, level.prefixes[opened]))
    return [*above[-MAX_DEPTHS_ABOVE:], ends]
