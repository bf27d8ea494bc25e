"""Hierarchies of prefix codes: codes and their inverse, bounds, membership, layouts, and what is refused."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from synth_engine.domain import Categorical, Domain, Integer, Number, Weak
from synth_engine.errors import DomainError
from synth_engine.hierarchy import (
    Growth,
    Hierarchy,
    ParentRanges,
    Rule,
    SpatialHierarchy,
    StringHierarchy,
    TaxonomyHierarchy,
    child_level,
    ranges,
)
from synth_engine.indexing import prefixes
from synth_engine.values import from_json

WORDS = StringHierarchy(columns=("word",), alphabet="abc", shortest=1, longest=4, case="lower")
PLACES = (
    ("RI", "Newport", "Middletown"),
    ("RI", "Newport", "Newport"),
    ("RI", "Kent"),
    ("CT",),
    ("CT", "Windham"),
)
TOWNS = TaxonomyHierarchy(columns=("town",), paths=PLACES)


def box(dimensions: int, resolution: int, *, together: bool = True) -> SpatialHierarchy:
    names = tuple(f"c{axis}" for axis in range(dimensions))
    low, high = (
        tuple(-1.0 * axis for axis in range(dimensions)),
        tuple(2.0 + axis for axis in range(dimensions)),
    )
    return SpatialHierarchy(
        columns=names, low=low, high=high, resolution=resolution, together=together
    )


@settings(max_examples=40)
@given(st.integers(1, 4), st.integers(1, 16), st.booleans(), st.integers(0, 2**32))
def test_a_point_lies_in_every_node_above_it(
    dimensions: int, resolution: int, together: bool, seed: int
) -> None:
    points = box(dimensions, resolution, together=together)
    rng = np.random.default_rng(seed)
    given_ = np.array(points.low) + rng.random((50, dimensions)) * (
        np.array(points.high) - np.array(points.low)
    )
    given_[0], given_[1] = points.low, points.high
    codes = points.encode(given_)
    for level in {0, 1, points.depth // 2, points.depth}:
        nodes = points.prefix(codes, level)
        lower, upper = points.bounds(nodes, level)
        assert ((lower <= given_) & (given_ <= upper)).all()
        assert points.holds(nodes, level, given_).all()
        sides = np.array([2.0 ** points.halvings(level, axis) for axis in range(dimensions)])
        assert np.allclose(
            (upper - lower) * sides, np.array(points.high) - np.array(points.low)
        )
    assert (points.encode(points.decode(codes)) == codes).all()


def test_codes_of_two_coordinates_are_the_known_ones() -> None:
    points = SpatialHierarchy(columns=("north", "east"), low=(0, 0), high=(4, 4), resolution=2)
    codes = points.encode(
        np.array([[0, 0], [0, 1], [1, 0], [1, 1], [0, 2], [2, 0], [3, 3], [4, 4]], dtype=float)
    )
    assert codes.tolist() == [0, 1, 2, 3, 4, 8, 15, 15]
    assert points.below(points.root(), 0).tolist() == [[0, 4, 8, 12]]
    assert points.branching() == (4, 4) and points.cells() == 16
    apart = SpatialHierarchy(
        columns=("north", "east"), low=(0, 0), high=(4, 4), resolution=2, together=False
    )
    assert apart.branching() == (2, 2, 2, 2)
    lower, upper = apart.bounds(apart.below(apart.root(), 0)[0], 1)
    assert lower.tolist() == [[0, 0], [2, 0]] and upper.tolist() == [[2, 4], [4, 4]]


@pytest.mark.parametrize(
    "hierarchy", [box(1, 4), box(2, 3), box(2, 2, together=False), WORDS, TOWNS], ids=repr
)
def test_the_children_of_a_node_are_apart_and_hold_what_it_holds(hierarchy: Hierarchy) -> None:
    nodes, seen = hierarchy.root(), []
    for level in range(hierarchy.depth):
        found = child_level(hierarchy, nodes, level, depth=hierarchy.depth)
        assert (np.sort(found.prefixes) == found.prefixes).all(), "in the order of codes"
        above = hierarchy.prefix(found.prefixes, level)
        assert (above == nodes[found.parents]).all()
        seen.append(len(found))
        nodes = found.prefixes[found.opens]
    assert nodes.size == 0
    assert seen[0] == hierarchy.branching()[0]


def test_texts_are_read_sign_by_sign_and_end() -> None:
    codes = WORDS.encode(["a", "Ab", "abca", "c"])
    assert WORDS.decode(codes) == ["a", "ab", "abca", "c"]
    assert WORDS.decode(WORDS.prefix(codes, 1)) == ["a", "a", "a", "c"]
    assert (
        WORDS.member("ABC")
        and not WORDS.member("abd")
        and not WORDS.member("")
        and not WORDS.member("aaaaa")
    )
    assert WORDS.branching() == (3, 4, 4, 4)  # no text is empty
    first, last = WORDS.bounds(WORDS.prefix(codes[:1], 1), 1)
    assert (first, last) == (["a"], ["accc"])
    assert WORDS.opens(1).tolist() == [False, True, True, True]


def test_a_classification_has_the_nodes_that_are_declared() -> None:
    codes = TOWNS.encode(list(PLACES))
    assert TOWNS.decode(codes) == list(PLACES)
    assert TOWNS.member(("CT",)) and not TOWNS.member(("RI",))
    top = child_level(TOWNS, TOWNS.root(), 0, depth=3)
    assert TOWNS.decode(top.prefixes) == [("RI",), ("CT",)]
    below = child_level(TOWNS, top.prefixes, 1, depth=3)
    assert TOWNS.decode(below.prefixes) == [
        ("RI", "Newport"),
        ("RI", "Kent"),
        ("CT",),
        ("CT", "Windham"),
    ]
    assert below.parents.tolist() == [0, 0, 1, 1]
    assert below.opens.tolist() == [
        True,
        False,
        False,
        False,
    ]  # a class of one value has nothing to tell apart


@pytest.mark.parametrize(
    ("changes", "rule", "column"),
    [
        ({"low": (0.0, 1.0), "high": (1.0, 1.0)}, "without area", "y"),
        ({"low": (0.0, math.nan)}, "without area", "y"),
        ({"high": (math.inf, 1.0)}, "without area", "x"),
        ({"resolution": 33}, "more than 64 bits", None),
        ({"resolution": 0}, "whole number", None),
        ({"columns": ("x", "x")}, "twice", None),
        ({"low": (0.0,)}, "number of sides", None),
    ],
)
def test_a_box_that_makes_no_sense_is_refused(
    changes: dict[str, Any], rule: str, column: str | None
) -> None:
    sound: dict[str, Any] = {
        "columns": ("x", "y"),
        "low": (0.0, 0.0),
        "high": (1.0, 1.0),
        "resolution": 4,
    }
    SpatialHierarchy(**sound)
    with pytest.raises(DomainError, match=rule) as refused:
        SpatialHierarchy(**sound | changes)
    assert refused.value.repair and (column is None or refused.value.column == column)


@pytest.mark.parametrize(
    ("point", "rule", "column"),
    [
        ((0.5, 1.5), "outside the box", "lon"),
        ((-71.4, 41.8), "outside the box", "lat"),
        ((math.nan, 0.5), "no finite number", "lat"),
        ((0.5, -math.inf), "no finite number", "lon"),
    ],
)
def test_a_point_that_the_box_does_not_hold_is_refused_by_column_and_without_its_value(
    point: tuple[float, float], rule: str, column: str
) -> None:
    points = SpatialHierarchy(columns=("lat", "lon"), low=(0, 0), high=(1, 1), resolution=3)
    with pytest.raises(DomainError, match=rule) as refused:
        points.encode(np.array([[0.1, 0.2], point]))
    assert refused.value.column == column and str(point[0]) not in refused.value.text


@pytest.mark.parametrize(
    ("changes", "rule"),
    [
        ({"alphabet": "aba"}, "twice"),
        ({"alphabet": ""}, "empty"),
        ({"longest": 0}, "contradict"),
        ({"shortest": 5}, "contradict"),
        ({"case": "title"}, "unknown rule"),
        ({"alphabet": "abC"}, "takes away"),
        ({"alphabet": "".join(map(chr, range(0x4E00, 0x4F00)))}, "more than 255"),
    ],
)
def test_an_alphabet_that_makes_no_sense_is_refused(changes: dict[str, Any], rule: str) -> None:
    sound: dict[str, Any] = {
        "columns": ("w",),
        "alphabet": "abc",
        "longest": 4,
        "shortest": 0,
        "case": "lower",
    }
    with pytest.raises(DomainError, match=rule):
        StringHierarchy(**sound | changes)


@pytest.mark.parametrize("text", ["abd", "", "aaaaa"])
def test_a_text_that_is_not_one_of_these_is_refused_without_saying_it(text: str) -> None:
    with pytest.raises(DomainError, match="column 'word'") as refused:
        WORDS.encode(["a", text])
    assert not text or text not in refused.value.text


@pytest.mark.parametrize("paths", [(), (("a",), ("a",)), (("a", ""),), ((),)])
def test_a_classification_that_makes_no_sense_is_refused(
    paths: tuple[tuple[str, ...], ...],
) -> None:
    with pytest.raises(DomainError):
        TaxonomyHierarchy(columns=("w",), paths=paths)
    with pytest.raises(DomainError):
        TOWNS.encode([("RI", "Bristol")])


@pytest.mark.parametrize(
    "fields",
    [
        {"name": "other"},
        {"depth": 0},
        {"threshold": 0},
        {"discount": 0},
        {"name": "basic"},
        {"threshold": 1.5},
    ],
)
def test_a_rule_has_whole_numbers(fields: dict[str, Any]) -> None:
    with pytest.raises(TypeError):
        Rule(**{"name": "improved", "depth": 2, "threshold": 3, "discount": 4} | fields)


def test_a_tree_of_another_hierarchy_is_noticed() -> None:
    rule = Rule(name="improved", depth=2, threshold=1, discount=2)
    good = Growth(
        columns=("c0",), rule=rule, opened=(np.array([1]), np.array([], dtype=np.int64))
    )
    assert [len(level) for level in good.levels(box(1, 2))] == [2, 2]
    for opened in ([2], [1, 0], [-1]):
        bad = Growth(columns=("c0",), rule=rule, opened=(np.array(opened),))
        with pytest.raises(ValueError, match="other nodes"):
            list(bad.levels(box(1, 2)))


# ---- hierarchies that a domain has
# --------------------------------------------------------------------------------


def test_bins_of_numbers_are_parts_of_the_box() -> None:
    domain = Domain(
        attributes=(
            Integer(name="x", low=0, high=99, width=1),
            Number(name="y", low=0.0, high=1.0),
        )
    )
    points = prefixes.hierarchy(domain, ("x", "y"))
    assert isinstance(points, SpatialHierarchy) and points.resolution == 5  # 32 bins and 100
    codes = prefixes.of_codes(points, {"x": np.arange(100), "y": np.arange(100) % 32}, domain)
    positions = points.positions(codes)
    assert (np.diff(positions[:, 0]) >= 0).all() and set(positions[:, 0]) == set(range(32))
    first = prefixes.first_bins(points, np.arange(33), size=100)
    assert first[0] == 0 and first[32] == 100
    assert (positions[:, 0] == np.searchsorted(first, np.arange(100), side="right") - 1).all()


def test_what_makes_no_hierarchy_is_refused_by_name() -> None:
    strings = from_json({"set": "strings", "alphabet": "ab", "min_length": 1, "max_length": 3})
    domain = Domain(
        attributes=(
            Categorical(name="kind", values=("a", "b"), other=True),
            Integer(name="age", low=0, high=9, missing=("",)),
            Weak(name="word", values=strings),
        )
    )
    found = prefixes.hierarchy(domain, ("word",))
    assert isinstance(found, StringHierarchy) and (
        found.alphabet,
        found.shortest,
        found.longest,
    ) == (
        "ab",
        1,
        3,
    )
    for columns, column in ((("kind",), "kind"), (("age",), "age"), (("word", "age"), "age")):
        with pytest.raises(DomainError) as refused:
            prefixes.hierarchy(domain, columns)
        assert refused.value.column == column and refused.value.repair
    with pytest.raises(DomainError):
        prefixes.hierarchy(domain, ())


@settings(max_examples=60)
@given(
    st.integers(0, 2**32), st.sampled_from([0, 3, 40, 3_000]), st.integers(0, 3), st.booleans()
)
def test_nodes_begin_and_end_where_a_search_of_all_codes_says(
    seed: int, size: int, shift: int, every: bool
) -> None:
    """Children evenly spaced or not, some of them left out, few codes and many."""
    rng = np.random.default_rng(seed)
    codes = np.sort(rng.integers(0, 64 << shift, size).astype(np.uint64))
    weights = np.append(0, np.cumsum(rng.integers(0, 4, size)))
    parents = np.sort(rng.choice(8, 5, replace=False)).astype(np.uint64) << np.uint64(3 + shift)
    starts, ends = (
        np.searchsorted(codes, parents + np.uint64(more)) for more in (0, 8 << shift)
    )
    mine = [
        np.arange(8) if every else np.sort(rng.choice(8, rng.integers(1, 8), replace=False))
        for _ in parents
    ]
    of = np.repeat(np.arange(5), [len(each) for each in mine])
    nodes = parents[of] + (np.concatenate(mine).astype(np.uint64) << np.uint64(shift))
    if not every:
        nodes[rng.integers(nodes.size)] += np.uint64(rng.integers(1 << shift))
    for reached in (None, weights):
        first, last, tally = ranges(
            codes,
            nodes,
            level=1,
            parents=ParentRanges(of=of, starts=starts, ends=ends),
            reached=reached,
        )
        assert (first == np.clip(np.searchsorted(codes, nodes), starts[of], ends[of])).all()
        assert (
            last == np.where(np.diff(of, append=-1) == 0, np.append(first[1:], 0), ends[of])
        ).all()
        assert (
            tally == (last - first if reached is None else weights[last] - weights[first])
        ).all()


def test_a_number_without_a_part_is_not_looked_up() -> None:
    points = box(1, 2)
    table = points.spread(np.arange(4), 0)
    assert points.looked_up([np.array([3, 0], dtype=np.uint8)], [table]).tolist() == [3, 0]
    for wrong in (np.array([0, 4], dtype=np.uint16), np.array([-1], dtype=np.int64)):
        with pytest.raises(IndexError):
            points.looked_up([wrong], [table])
