"""Columns that go together stand beside each other in a map of pairs."""

from __future__ import annotations

import random
from itertools import pairwise

from synth_engine.evaluation.seriation import chained


def test_blocks_of_columns_stay_together() -> None:
    blocks = {name: name[0] for name in ("a1", "b1", "c1", "a2", "b2", "c2", "a3", "b3")}
    strengths = {
        frozenset((one, other)): 0.8 if blocks[one] == blocks[other] else 0.1
        for one in blocks
        for other in blocks
        if one < other
    }
    for seed in range(20):
        names = sorted(blocks)
        random.Random(seed).shuffle(names)
        order = [blocks[name] for name in chained(names, strengths)]
        borders = sum(left != right for left, right in pairwise(order))
        assert borders == 2


def test_a_chain_is_found_from_its_strongest_link_to_both_sides() -> None:
    links = {("b", "c"): 0.9, ("a", "b"): 0.5, ("c", "d"): 0.4}
    strengths = {frozenset(pair): value for pair, value in links.items()}
    assert chained(["d", "b", "a", "c"], strengths) in (list("abcd"), list("dcba"))


def test_columns_without_strengths_keep_their_order() -> None:
    assert chained(["b", "a"], {}) == ["b", "a"]
    assert chained([], {}) == []
    assert chained(["a"], {frozenset(("x", "y")): 1.0}) == ["a"]
    equal = {frozenset(pair): 0.0 for pair in (("a", "b"), ("a", "c"), ("b", "c"))}
    assert chained(["c", "a", "b"], equal) == ["c", "a", "b"]
