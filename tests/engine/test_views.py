"""Views: groups of attributes that overlap, made to agree, freed of negative counts, and met by records."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog

from synth_engine.inference import consistency, covering, flow, ripple, topological
from synth_engine.inference.consistency import Axes, View

SIZES = (2, 3, 2, 4, 1)
GROUPS: list[list[Axes]] = [
    [(0, 1), (1, 2)],
    [(0, 1, 2), (1, 2, 3), (0, 3), (2, 4)],
    [(0,), (1,), (3, 4)],
    [(0, 1), (0, 1), (0, 1, 3)],
    [(0, 1), (1, 3), (0, 3), (2,)],
]


def rng(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


def table(whole: np.ndarray, axes: Axes) -> np.ndarray:
    return whole.sum(axis=tuple(axis for axis in range(whole.ndim) if axis not in axes))


def noisy(
    groups: list[Axes], *, seed: int = 0, deviations: tuple[float, ...] = (1.0, 2.0, 0.5, 3.0)
) -> list[View]:
    whole = rng(seed).gamma(0.4, size=SIZES) * 30
    draws = rng(seed + 1)
    return [
        View(
            axes=axes,
            values=table(whole, axes) + draws.normal(scale=s, size=[SIZES[a] for a in axes]),
            variance=s * s,
        )
        for axes, s in zip(groups, itertools.cycle(deviations), strict=False)
    ]


def sums(view: View, axes: Axes) -> np.ndarray:
    return view.on(axes).reshape([SIZES[axis] for axis in axes])


def disagreement(views: list[View]) -> float:
    worst = 0.0
    for one, other in itertools.combinations(views, 2):
        for number in range(len(SIZES)):
            for axes in itertools.combinations(sorted(set(one.axes) & set(other.axes)), number):
                worst = max(worst, float(np.abs(sums(one, axes) - sums(other, axes)).max()))
    return worst


# ---- agreement
# -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("groups", GROUPS, ids=str)
def test_views_agree_on_everything_that_they_share(groups: list[Axes]) -> None:
    views = noisy(groups)
    assert disagreement(views) > 0.1
    assert disagreement(consistency.make_consistent(views)) < 1e-9
    public = consistency.make_consistent(views, total=100.0)
    assert disagreement(public) < 1e-9
    assert [view.values.sum() for view in public] == pytest.approx([100.0] * len(groups))


@pytest.mark.parametrize("groups", GROUPS, ids=str)
def test_agreement_is_the_generalised_least_squares_estimate(groups: list[Axes]) -> None:
    """Against a least-squares solver on the full table, each row weighted by the precision of its view."""
    views = noisy(groups)
    cells = np.arange(math.prod(SIZES)).reshape(SIZES)
    rows, values, weights = [], [], []
    for view in views:
        for place, value in np.ndenumerate(view.values):
            at: list[int | slice] = [slice(None)] * len(SIZES)
            for axis, code in zip(view.axes, place, strict=True):
                at[axis] = code
            row = np.zeros(cells.size)
            row[cells[tuple(at)].ravel()] = 1
            rows.append(row)
            values.append(value)
            weights.append(1 / math.sqrt(view.variance))
    matrix, scale = np.array(rows), np.array(weights)
    best = np.linalg.lstsq(matrix * scale[:, None], np.array(values) * scale, rcond=None)[0]
    found = np.concatenate([view.values.ravel() for view in consistency.make_consistent(views)])
    assert found == pytest.approx(matrix @ best, abs=1e-8)


def test_more_precise_views_have_more_say() -> None:
    one = View(axes=(0,), values=np.array([10.0, 0.0]), variance=1.0)
    other = View(axes=(0, 1), values=np.array([[1.0, 1.0, 2.0], [2.0, 2.0, 2.0]]), variance=2.0)
    found = consistency.make_consistent([one, other])[0].values
    assert found == pytest.approx([(10 * 6 + 4) / 7, 6 / 7]), (
        "a sum of 3 cells of variance 2 has variance 6"
    )


def test_sets_that_are_shared_come_smaller_ones_first_and_are_closed() -> None:
    order = consistency.shared_sets([(0, 1, 2), (1, 2, 3), (2, 3, 4), (0, 4)])
    assert order[0] == ()
    assert [len(axes) for axes in order] == sorted(len(axes) for axes in order)
    for one, other in itertools.combinations(order, 2):
        assert tuple(sorted(set(one) & set(other))) in order


@pytest.mark.parametrize(
    ("axes", "shape", "variance"),
    [((1, 0), (2, 2), 1.0), ((0, 0), (2, 2), 1.0), ((0,), (2, 2), 1.0), ((0,), (2,), 0)],
)
def test_a_view_that_is_none_is_refused(
    axes: Axes, shape: tuple[int, ...], variance: float
) -> None:
    with pytest.raises(ValueError, match=r"a view|variance"):
        View(axes=axes, values=np.zeros(shape), variance=variance)


# ---- ripple
# ----------------------------------------------------------------------------------------------------


def test_a_ripple_takes_from_cells_that_differ_in_one_attribute() -> None:
    values = np.array([[-6.0, 10.0, 10.0], [10.0, 10.0, 10.0]])
    found = ripple.without_negatives(values, threshold=0.5)
    assert found == pytest.approx(np.array([[0.0, 8.0, 8.0], [8.0, 10.0, 10.0]]))


def test_a_ripple_may_take_from_the_largest_neighbours_alone() -> None:
    values = np.array([[-6.0, 10.0, 12.0], [11.0, 10.0, 10.0]])
    found = ripple.without_negatives(values, threshold=0.5, neighbours=2)
    assert found == pytest.approx(np.array([[0.0, 10.0, 9.0], [8.0, 10.0, 10.0]]))
    equal = np.array([[-6.0, 10.0, 10.0], [10.0, 10.0, 10.0]])
    first = ripple.without_negatives(equal, threshold=0.5, neighbours=1)
    assert first == pytest.approx(np.array([[0.0, 4.0, 10.0], [10.0, 10.0, 10.0]]))


@settings(max_examples=60)
@given(
    st.lists(st.integers(1, 4), min_size=1, max_size=3),
    st.integers(0, 1000),
    st.floats(-3, 10),
    st.sampled_from([0.01, 0.5]),
    st.integers(0, 4),
)
def test_a_ripple_keeps_the_total_and_leaves_nothing_below_the_threshold(
    shape: list[int], seed: int, mean: float, threshold: float, neighbours: int
) -> None:
    values = rng(seed).normal(loc=mean, scale=5, size=shape)
    found = ripple.without_negatives(values, threshold=threshold, neighbours=neighbours)
    assert found.min() >= -threshold - 1e-12
    assert found.sum() == pytest.approx(max(values.sum(), 0.0), abs=1e-6)


@pytest.mark.parametrize("groups", GROUPS, ids=str)
def test_plausible_views_have_no_negative_cell_one_total_and_nearly_agree(
    groups: list[Axes],
) -> None:
    views = ripple.nonnegative_views(noisy(groups), total=60.0)
    assert min(view.values.min() for view in views) >= 0
    assert [view.values.sum() for view in views] == pytest.approx([60.0] * len(views))
    assert disagreement(views) < 1.5 < disagreement(noisy(groups)) + 1.5


def test_views_of_no_records_are_empty() -> None:
    views = [
        View(axes=(0, 1), values=np.full((2, 3), -4.0), variance=1.0),
        View(axes=(1,), values=-np.ones(3), variance=1),
    ]
    assert all((view.values == 0).all() for view in ripple.nonnegative_views(views))


# ---- which groups
# ----------------------------------------------------------------------------------------------


@settings(max_examples=30, deadline=None)
@given(
    st.lists(st.integers(1, 6), min_size=1, max_size=9), st.integers(0, 99), st.integers(8, 200)
)
def test_triples_that_fit_are_covered_and_so_are_pairs_and_single_attributes(
    sizes: list[int], seed: int, cells: int
) -> None:
    groups = covering.covering_triples(sizes, cells=cells, rng=rng(seed), max_groups=400)
    assert groups is not None
    covered = {
        part for group in groups for k in (1, 2, 3) for part in itertools.combinations(group, k)
    }
    fitting = {
        part
        for k in (1, 2, 3)
        for part in itertools.combinations(range(len(sizes)), k)
        if k == 1 or np.prod([sizes[axis] for axis in part]) <= cells
    }
    assert fitting <= covered
    for group in groups:
        assert len(group) == 1 or np.prod([sizes[axis] for axis in group]) <= cells


def test_a_covering_of_triples_that_takes_too_many_groups_is_none() -> None:
    assert covering.covering_triples([2] * 20, cells=8, rng=rng(), max_groups=400) is None
    found = covering.covering_triples([2] * 20, cells=64, rng=rng(), max_groups=400)
    # A group of six attributes has 20 of the 1,140 triples; a greedy design takes twice the least.
    assert found is not None and 57 <= len(found) <= 160


@settings(max_examples=60)
@given(
    st.lists(st.integers(1, 40), min_size=1, max_size=12),
    st.integers(1, 600),
    st.integers(0, 99),
)
def test_a_covering_has_every_attribute_and_every_pair_that_fits(
    sizes: list[int], cells: int, seed: int
) -> None:
    groups = covering.covering(sizes, cells=cells, rng=rng(seed))
    _check_groups(groups, sizes, cells)
    together = {pair for group in groups for pair in itertools.combinations(group, 2)}
    assert all(
        (pair in together) == (sizes[pair[0]] * sizes[pair[1]] <= cells)
        for pair in itertools.combinations(range(len(sizes)), 2)
    )


@settings(max_examples=60)
@given(
    st.lists(st.integers(1, 40), min_size=1, max_size=12),
    st.integers(1, 600),
    st.integers(1, 9),
)
def test_random_groups_and_coverings_cut_short_have_every_attribute(
    sizes: list[int], cells: int, number: int
) -> None:
    _check_groups(
        covering.at_random(sizes, cells=cells, number=number, rng=rng(number)), sizes, cells
    )
    _check_groups(
        covering.covering(sizes, cells=cells, max_groups=number, rng=rng(number)), sizes, cells
    )


def _check_groups(groups: list[Axes], sizes: list[int], cells: int) -> None:
    assert len(set(groups)) == len(groups)
    assert {axis for group in groups for axis in group} == set(range(len(sizes)))
    assert all(
        len(group) == 1 or math.prod(sizes[axis] for axis in group) <= cells for group in groups
    )
    assert all(list(group) == sorted(set(group)) for group in groups)
    assert not any(set(one) < set(other) for one in groups for other in groups)


def test_a_covering_of_binary_attributes_is_near_the_least() -> None:
    groups = covering.covering([2] * 30, cells=2**6, rng=rng())
    least = math.ceil(30 * 29 / (6 * 5))
    assert least <= len(groups) <= 2 * least


# ---- records: minimum-cost flow
# --------------------------------------------------------------------------------


def records(rows: int, *, sizes: tuple[int, ...] = SIZES, seed: int = 3) -> np.ndarray:
    return np.array(
        [rng(seed + size).integers(size, size=rows) for size in sizes], dtype=np.uint16
    )


def count(codes: np.ndarray, axes: Axes, *, sizes: tuple[int, ...] = SIZES) -> np.ndarray:
    shape = [sizes[axis] for axis in axes]
    cells = np.ravel_multi_index([codes[axis] for axis in axes], shape)
    return np.bincount(cells, minlength=math.prod(shape)).reshape(shape)


@pytest.mark.parametrize("shape", [(2, 3), (3, 2, 2), (4,), (1, 5)], ids=str)
def test_moves_are_as_few_and_as_cheap_as_a_linear_programme_finds(
    shape: tuple[int, ...],
) -> None:
    for seed in range(5):
        excess = rng(seed).integers(-4, 5, size=shape)
        excess.flat[0] -= excess.sum()
        sources, sinks = flow.moves(excess)
        flat = excess.ravel()
        left = (
            flat
            - np.bincount(sources, minlength=flat.size)
            + np.bincount(sinks, minlength=flat.size)
        )
        assert (left == 0).all()
        assert sources.size == np.maximum(flat, 0).sum()
        assert _price(sources, sinks, shape) == pytest.approx(_least_price(flat, shape))


def _price(sources: np.ndarray, sinks: np.ndarray, shape: tuple[int, ...]) -> int:
    changes = np.array(np.unravel_index(sources, shape)) != np.array(
        np.unravel_index(sinks, shape)
    )
    return int(changes.sum())


def _least_price(flat: np.ndarray, shape: tuple[int, ...]) -> float:
    out, into = np.flatnonzero(flat > 0), np.flatnonzero(flat < 0)
    pairs = list(itertools.product(out, into))
    costs = [_price(np.array([a]), np.array([b]), shape) for a, b in pairs]
    equal = [[float(pair[0] == cell) for pair in pairs] for cell in out]
    equal += [[float(pair[1] == cell) for pair in pairs] for cell in into]
    if not pairs:
        return 0.0
    return float(linprog(costs, A_eq=equal, b_eq=[*flat[out], *-flat[into]]).fun)


def test_one_table_is_met_exactly_and_no_record_changes_that_need_not() -> None:
    codes = records(500)
    wanted = count(records(500, seed=9), (0, 1, 3))
    found = flow.meet_targets(codes, [((0, 1, 3), wanted)], rng=rng())
    assert (count(found, (0, 1, 3)) == wanted).all()
    assert (found[[2, 4]] == codes[[2, 4]]).all()
    changed = (found != codes).any(axis=0).sum()
    assert changed == np.abs(count(codes, (0, 1, 3)) - wanted).sum() / 2


def test_tables_of_one_population_are_met_closely() -> None:
    there = records(4_000)
    there[1] = (there[0] + (rng(5).random(4_000) < 0.1)) % 3
    there[3] = (there[1] + there[2]) % 4
    groups: list[Axes] = [(0, 1), (1, 2, 3), (0, 3), (2, 4)]
    found = flow.meet_targets(
        records(4_000, seed=40), [(axes, count(there, axes)) for axes in groups], rng=rng()
    )
    apart = [np.abs(count(found, axes) - count(there, axes)).sum() / 8_000 for axes in groups]
    assert max(apart) < 0.02


def test_which_records_change_depends_on_chance_alone_and_chance_on_the_seed() -> None:
    codes = np.zeros((2, 1_000), dtype=np.uint16)
    wish = [((0,), np.array([500, 500]))]
    once, again, other = (flow.meet_targets(codes, wish, rng=rng(seed)) for seed in (1, 1, 2))
    assert (once == again).all()
    assert (once != other).any()
    assert abs(int(once[0, :500].sum()) - 250) < 60


def test_a_wish_for_another_number_of_records_is_refused() -> None:
    with pytest.raises(ValueError, match="another total"):
        flow.meet_targets(records(10), [((0,), np.array([5, 6]))], rng=rng())


def test_nothing_is_done_without_records() -> None:
    empty = np.zeros((5, 0), dtype=np.uint16)
    assert flow.meet_targets(empty, [((0,), np.array([0, 0]))], rng=rng()).shape == (5, 0)
    assert topological.draw(
        [((0,), np.array([0, 0]))], rows=0, attributes=5, rng=rng()
    ).shape == (5, 0)


# ---- records: topologically sorted views
# -----------------------------------------------------------------------


def test_an_order_adds_as_few_attributes_as_possible() -> None:
    groups: list[Axes] = [(0, 1, 2, 3), (0, 1, 4, 5), (0, 1, 2, 4), (0, 1)]
    for seed in range(20):
        order = topological.draw_order(groups, rng=rng(seed))
        known: set[int] = set(groups[order[0]])
        for place in order[1:]:
            new = len(set(groups[place]) - known)
            assert new == min(len(set(group) - known) for group in groups if set(group) - known)
            known |= set(groups[place])
        assert known == {0, 1, 2, 3, 4, 5}


def test_a_record_takes_the_largest_cell_that_agrees_with_what_it_has() -> None:
    """The example of the paper, figure 3: its first record is (1, 0, 1, 1), whichever table comes first of
    those that begin with it."""
    wishes = [
        ((0, 1), np.array([[30, 20], [40, 10]])),
        ((1, 2), np.array([[20, 31], [30, 20]])),
        ((2, 3), np.array([[40, 30], [10, 20]])),
    ]
    found = [
        topological.draw(wishes, rows=1, attributes=4, rng=rng(seed), starts=1)[:, 0].tolist()
        for seed in range(30)
    ]
    from_first = [[1, 0, 1, 1]]
    assert from_first[0] in found


@pytest.mark.parametrize("starts", [1, 4])
def test_the_first_table_is_drawn_as_it_is_where_every_order_begins_with_it(
    starts: int,
) -> None:
    wanted = np.array([[5, 0, 1], [2, 9, 3]])
    found = topological.draw(
        [((0, 1), wanted)], rows=20, attributes=2, rng=rng(), starts=starts
    )
    assert (count(found, (0, 1), sizes=(2, 3)) == wanted).all()


def test_what_a_record_takes_is_taken_off_every_table_so_that_later_ones_find_what_is_left() -> (
    None
):
    """Two tables that fix each other: a chain in which the second attribute decides the third."""
    chain = np.diag([30, 50, 20])
    found = topological.draw(
        [((0, 1), chain), ((1, 2), chain)], rows=100, attributes=3, rng=rng()
    )
    assert (found[0] == found[1]).all()
    assert (found[1] == found[2]).all()
    assert np.bincount(found[0]).tolist() == [30, 50, 20]
