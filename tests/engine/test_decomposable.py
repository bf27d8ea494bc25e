"""Closed forms on cliques that fit together like a tree: exact on exact tables, lawful on noisy ones."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from synth_engine.inference import decomposable, factors
from synth_engine.inference.decomposable import SamplingStep
from synth_engine.inference.factors import Floats, Noisy
from synth_engine.measurement import Clique

SIZES = {"a": 2, "b": 3, "c": 4, "d": 2}
NAMES = tuple(SIZES)
TREES: list[list[Clique]] = [
    [("a", "b"), ("b", "c"), ("c", "d")],
    [("a", "b"), ("a", "c"), ("a", "d")],
    [("a", "b", "c"), ("b", "c", "d")],
    [("d", "c"), ("a",), ("b",)],
]


@pytest.mark.parametrize(
    ("cliques", "expected"),
    [
        ([("a", "b"), ("b", "c")], True),
        ([("a", "b"), ("b", "c"), ("c", "a")], False),
        ([("a", "b"), ("b", "c"), ("c", "d"), ("d", "a")], False),
        ([("a", "b"), ("b", "c"), ("c", "a"), ("a", "b", "c")], True),
        ([("a", "b", "c"), ("b", "c", "d"), ("a", "d")], False),
        ([("a",), ("b",)], True),
        ([("a", "b", "c"), ("c", "d"), ("d",), ("b", "a")], True),
    ],
)
def test_what_is_decomposable(cliques: list[Clique], expected: bool) -> None:
    for order in itertools.permutations(cliques):
        assert decomposable.is_decomposable(order) is expected


def joint(order: list[SamplingStep], total: float) -> Floats:
    """The table of all attributes that drawing in this order has."""
    found = np.full(tuple(SIZES.values()), total)
    for drawn in order:
        clique = (*drawn.parents, drawn.attribute)
        sums = drawn.table.sum(axis=-1, keepdims=True)
        share = np.divide(drawn.table, sums, out=np.zeros_like(drawn.table), where=sums > 0)
        found = found * factors.spread(share, clique, NAMES)
    return found


@pytest.mark.parametrize("cliques", TREES)
def test_exact_tables_come_back_and_the_rest_is_independent(cliques: list[Clique]) -> None:
    rng = np.random.default_rng(1)
    true = rng.poisson(20 * rng.random(tuple(SIZES.values())) ** 2).astype(np.float64)
    total = float(true.sum())
    noisy = [
        Noisy(clique=c, values=factors.margin(true, NAMES, c), variance=1.0) for c in cliques
    ]
    order = decomposable.fit(noisy, sizes=SIZES, total=total)
    assert sorted(drawn.attribute for drawn in order) == sorted(NAMES)
    whole = joint(order, total)
    for clique in cliques:
        assert np.allclose(
            factors.margin(whole, NAMES, clique), factors.margin(true, NAMES, clique), atol=1e-6
        )
    # No other table with these margins has more entropy if its logarithm is a sum of functions of single
    # cliques.
    rest = np.log(np.maximum(whole, 1e-300))[whole > 0]
    design = np.hstack([indicators(clique)[(whole > 0).ravel()] for clique in cliques])
    assert np.abs(design @ np.linalg.lstsq(design, rest, rcond=None)[0] - rest).max() < 1e-6


def indicators(clique: Clique) -> Floats:
    """One column for each cell of the clique, one row for each cell of all attributes."""
    cells = np.indices(tuple(SIZES.values())).reshape(len(NAMES), -1)
    place = np.zeros(cells.shape[1], dtype=np.int64)
    for name in clique:
        place = place * SIZES[name] + cells[NAMES.index(name)]
    return np.eye(factors.cells(clique, SIZES))[place]


@pytest.mark.parametrize("cliques", TREES)
@pytest.mark.parametrize("seed", range(5))
def test_noisy_tables_become_counts_that_agree(cliques: list[Clique], seed: int) -> None:
    rng = np.random.default_rng(seed)
    shapes = {clique: tuple(SIZES[name] for name in clique) for clique in cliques}
    noisy = [
        Noisy(clique=c, values=50 * rng.normal(size=shapes[c]), variance=2500.0)
        for c in cliques
    ]
    order = decomposable.fit(noisy, sizes=SIZES, total=100.0)
    known: dict[str, Floats] = {}
    for drawn in order:
        clique = (*drawn.parents, drawn.attribute)
        assert drawn.table.min() >= 0
        assert drawn.table.sum() == pytest.approx(100.0)
        for parent in drawn.parents:
            assert np.allclose(factors.margin(drawn.table, clique, (parent,)), known[parent])
        known[drawn.attribute] = factors.margin(drawn.table, clique, (drawn.attribute,))
    assert joint(order, 100.0).sum() == pytest.approx(100.0)


def test_overlapping_tables_are_weighted_by_their_precision() -> None:
    exact = np.array([[30.0, 10.0, 10.0], [10.0, 20.0, 20.0]])
    wrong = np.array([[10.0, 30.0, 30.0, 30.0], [0.0, 0.0, 0.0, 0.0], [0.0, 0.0, 0.0, 0.0]])
    noisy = [
        Noisy(clique=("a", "b"), values=exact, variance=1.0),
        Noisy(clique=("b", "c"), values=wrong, variance=1e8),
    ]
    order = decomposable.fit(noisy, sizes=SIZES, total=100.0)
    (pair,) = [drawn for drawn in order if {*drawn.parents, drawn.attribute} == {"a", "b"}]
    assert np.allclose(
        factors.margin(pair.table, (*pair.parents, pair.attribute), ("a", "b")),
        exact,
        atol=1e-3,
    )


def test_cells_that_cannot_be_stay_empty() -> None:
    mask = np.eye(3, 4, dtype=np.bool_)
    rng = np.random.default_rng(2)
    noisy = [
        Noisy(clique=("a", "b"), values=30 + 5 * rng.normal(size=(2, 3)), variance=25.0),
        Noisy(clique=("b", "c"), values=20 + 5 * rng.normal(size=(3, 4)), variance=25.0),
    ]
    order = decomposable.fit(noisy, sizes=SIZES, total=180.0, possible={("b", "c"): mask})
    (drawn,) = [one for one in order if {*one.parents, one.attribute} == {"b", "c"}]
    table = factors.margin(drawn.table, (*drawn.parents, drawn.attribute), ("b", "c"))
    assert not table[~mask].any()
    assert table.sum() == pytest.approx(180.0)


def test_cliques_that_are_not_decomposable_are_refused() -> None:
    noisy = [
        Noisy(clique=c, values=np.ones([SIZES[n] for n in c]), variance=1.0)
        for c in [("a", "b"), ("b", "c")]
    ]
    with pytest.raises(ValueError, match="not decomposable"):
        decomposable.fit(
            noisy, sizes=SIZES, total=1.0, cliques=[("a", "b"), ("b", "c"), ("a", "c")]
        )


def test_the_spanning_tree_has_the_greatest_weight_of_all() -> None:
    rng = np.random.default_rng(3)
    for _ in range(20):
        weights = {pair: float(rng.random()) for pair in itertools.combinations(NAMES, 2)}
        found = sum(weights[pair] for pair in decomposable.spanning_tree(weights, NAMES))
        best = max(
            sum(weights[pair] for pair in chosen)
            for chosen in itertools.combinations(weights, 3)
            if {name for pair in chosen for name in pair} == set(NAMES)
            and decomposable.is_decomposable(chosen)
        )
        assert found == pytest.approx(best)


def test_pairs_that_are_too_large_are_left_out_and_the_others_stay_what_they_were() -> None:
    """A forest in which wide attributes stand between narrow ones: every pair that is kept is the one of the
    whole."""
    rng = np.random.default_rng(8)
    sizes = {"a": 3, "b": 40, "c": 50, "d": 2, "e": 45, "f": 4, "g": 3, "h": 30}
    above = {
        "b": "a",
        "c": "b",
        "d": "c",
        "e": "c",
        "f": "e",
        "h": "g",
    }  # c, e and h are wide too; g begins a second tree
    order, sums = [], dict[str, Floats]()
    for name, size in sizes.items():
        parents = (above[name],) if name in above else ()
        whole_of = sums[above[name]] if parents else np.asarray(7.0)
        table = whole_of[..., None] * rng.dirichlet(np.ones(size), size=whole_of.shape)
        sums[name] = table.reshape(-1, size).sum(axis=0)
        order.append(SamplingStep(attribute=name, parents=parents, table=table))
    whole = decomposable.pair_tables(order, total=7.0)
    some = decomposable.pair_tables(order, total=7.0, largest=200)
    edges = {(parent, name) for name, parent in above.items()}
    small = {(x, y) for x, y in whole if sizes[x] * sizes[y] <= 200}
    assert set(some) == small | edges
    assert len(small) < len(whole) - 5
    for pair, table in some.items():
        assert np.allclose(table, whole[pair]), pair
