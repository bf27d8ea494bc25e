"""Tables of three attributes that follow from pairs, and records mended towards them."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from synth_engine.inference import cost_tables, maxent_triples, refine_triples
from synth_engine.inference.cost_tables import SOFTNESS, AttributeFacts
from synth_engine.inference.record_refinement import refine

SIZES = (5, 4, 6, 3, 80)
ROWS = 4_000
PAIRS = list(itertools.combinations(range(len(SIZES)), 2))
TRIPLES = list(itertools.combinations(range(len(SIZES)), 3))
ORDERED = [True] * len(SIZES)
LITTLE = 0.0015
"""By which pairs may be further off: a thirtieth of what chance alone makes of so many records."""
Codes = npt.NDArray[np.uint16]
Floats = npt.NDArray[np.float64]
Targets = list[tuple[tuple[int, ...], Floats]]


def count(codes: Codes, axes: tuple[int, ...], *, sizes: tuple[int, ...] = SIZES) -> Floats:
    found = np.zeros([sizes[axis] for axis in axes])
    np.add.at(found, tuple(codes[axis] for axis in axes), 1)
    return found


def drawn(rows: int, *, seed: int) -> Codes:
    """Records of five attributes that depend on each other, by pairs alone."""
    rng = np.random.default_rng(seed)
    hidden = rng.random(rows)
    return np.array(
        [((hidden + 2 * rng.random(rows)) / 3 * size).astype(np.uint16) for size in SIZES]
    )


def away(codes: Codes, wished: Targets) -> float:
    """The mean total variation distance."""
    parts = [
        np.abs(count(codes, axes) / codes.shape[1] - t / t.sum()).sum() / 2
        for axes, t in wished
    ]
    return float(np.mean(parts))


@pytest.fixture(scope="module")
def everybody() -> Codes:
    return drawn(400_000, seed=0)


@pytest.fixture(scope="module")
def targets(everybody: Codes) -> Targets:
    """The pairs of a hundred times as many records: nearly without chance."""
    return [(axes, count(everybody, axes) * ROWS / everybody.shape[1]) for axes in PAIRS]


@pytest.fixture(scope="module")
def start(targets: Targets) -> Codes:
    """Records that have the pairs, from `finish` alone."""
    return refine(drawn(ROWS, seed=1), targets=targets, rng=np.random.default_rng(2))


def mended(codes: Codes, targets: Targets, *, seed: int = 3, **given: Any) -> Codes:
    return refine_triples.refine(
        codes,
        fixed=0,
        targets=targets,
        rng=np.random.default_rng(seed),
        facts=AttributeFacts(
            **{"ordered": ORDERED, **given},
            strengths=cost_tables.dependence_strengths(targets),
        ),
    )


# --- what follows from pairs --------------------------------------------------------------------------------


def test_the_table_foreseen_has_its_pairs() -> None:
    table = np.random.default_rng(0).random((5, 4, 3)) * 100
    table[0, 1] = 0
    pairs = [table.sum(axis=axis) for axis in (2, 1, 0)]
    found = maxent_triples.product(maxent_triples.factors(pairs, rounds=200))
    for axis, pair in zip((2, 1, 0), pairs, strict=True):
        np.testing.assert_allclose(found.sum(axis=axis), pair, rtol=1e-6, atol=1e-9)
    assert not found[0, 1].any() and np.isfinite(found).all()


def test_it_has_no_dependence_of_three_beyond_that_of_pairs() -> None:
    """The ratio of odds of two attributes is the same whatever the third."""
    table = np.random.default_rng(1).random((2, 2, 6)) + 0.1
    found = maxent_triples.product(
        maxent_triples.factors([table.sum(axis=axis) for axis in (2, 1, 0)], rounds=400)
    )
    odds = found[0, 0] * found[1, 1] / (found[0, 1] * found[1, 0])
    np.testing.assert_allclose(odds, odds[0], rtol=1e-6)
    given = table[0, 0] * table[1, 1] / (table[0, 1] * table[1, 0])
    assert np.ptp(given) > 0.1


def test_of_independent_attributes_it_is_the_product() -> None:
    one, two, three = (
        np.array([1.0, 3.0]),
        np.array([2.0, 5.0, 1.0]),
        np.array([4.0, 0.0, 2.0, 2.0]),
    )
    table = np.einsum("a,b,c->abc", one, two, three)
    found = maxent_triples.product(
        maxent_triples.factors([table.sum(axis=axis) for axis in (2, 1, 0)])
    )
    np.testing.assert_allclose(found, table, rtol=1e-9)


def test_triples_are_those_of_which_all_pairs_are_known() -> None:
    assert maxent_triples.triples(dict.fromkeys(PAIRS, 0.1)) == TRIPLES
    assert maxent_triples.triples({(0, 1): 0.5, (1, 2): 0.5, (0, 2): 0.0, (2, 3): 0.9}) == [
        (0, 1, 2)
    ]
    assert (
        maxent_triples.triples({(0, 1): 1.0, (1, 2): 1.0}) == maxent_triples.triples({}) == []
    )


def test_of_many_attributes_the_triples_that_depend_most_are_taken() -> None:
    strengths = dict.fromkeys(itertools.combinations(range(60), 2), 0.01)
    strengths |= dict.fromkeys(itertools.combinations((7, 21, 40, 58), 2), 0.8)
    found = maxent_triples.triples(strengths)
    assert len(found) == maxent_triples.MAX_TRIPLES < 60 * 59 * 58 / 6
    assert set(itertools.combinations((7, 21, 40, 58), 3)) < set(found)


def test_bins_are_coarser_and_tables_fewer_where_room_is_scarce(targets: Targets) -> None:
    def cells(room: int) -> tuple[int, int, int]:
        found = refine_triples.implied_triples(
            targets,
            ordered=ORDERED,
            strengths=cost_tables.dependence_strengths(targets),
            rows=ROWS,
            cells=room,
        )
        total = sum(int(np.prod(found.shape(one))) for one in found.triples)
        assert total <= room
        return len(found.triples), int(found.bins[4].max()) + 1, total

    whole = cells(10**6)
    assert whole[:1] == (10,) and 30 < whole[1] <= 64
    assert cells(whole[2])[:2] == whole[:2] and cells(whole[2] - 1)[1] < whole[1]
    assert 0 < cells(500)[0] < 10 and cells(10)[0] == 0


def test_bins_are_of_neighbours_where_codes_are_in_order(targets: Targets) -> None:
    def bins(ordered: bool) -> npt.NDArray[np.int64]:
        strengths = cost_tables.dependence_strengths(targets)
        return refine_triples.implied_triples(
            targets, ordered=[ordered] * 5, strengths=strengths, rows=ROWS
        ).bins[4]

    assert (np.diff(bins(True)) >= 0).all() and not (np.diff(bins(False)) >= 0).all()


# --- the records --------------------------------------------------------------------------------------------


def test_threes_come_nearer_and_pairs_stay_as_near(
    start: Codes, targets: Targets, everybody: Codes
) -> None:
    found = mended(start, targets)
    of_three = [(axes, count(everybody, axes)) for axes in TRIPLES]
    assert away(found, of_three) < 0.75 * away(start, of_three)
    assert away(found, targets) < away(start, targets) + LITTLE
    assert found.shape == start.shape and found.dtype == np.uint16


def test_the_finish_does_both(start: Codes, targets: Targets, everybody: Codes) -> None:
    first = drawn(ROWS, seed=1)
    found = refine(
        first,
        targets=targets,
        rng=np.random.default_rng(2),
        facts=AttributeFacts(ordered=ORDERED),
    )
    of_three = [(axes, count(everybody, axes)) for axes in TRIPLES]
    assert away(found, of_three) < 0.75 * away(start, of_three)
    assert away(found, targets) < away(start, targets) + LITTLE


def test_the_cost_of_all_tables_falls(start: Codes, targets: Targets) -> None:
    """Of pairs and, with their weight, of the tables foreseen by bins; where every bin is a code, too."""
    kept: Targets = [one for one in targets if 4 not in one[0]]
    found = refine_triples.implied_triples(
        kept, ordered=ORDERED, strengths=cost_tables.dependence_strengths(kept), rows=ROWS
    )
    wished = [
        (axes, maxent_triples.product(found.factors(axes)), refine_triples.WEIGHT)
        for axes in found.triples
    ]
    weighed = [*((axes, table, 1.0) for axes, table in kept), *wished]

    def cost(codes: Codes) -> float:
        return sum(
            w * float(((count(codes, axes) - t) ** 2 / (t + SOFTNESS)).sum())
            for axes, t, w in weighed
        )

    for seed, codes in enumerate((start, drawn(ROWS, seed=5))):
        assert cost(mended(codes, kept, seed=seed)) < 0.9 * cost(codes)


def test_records_that_have_everything_stay() -> None:
    """As many in every cell of all attributes, as the pairs say."""
    sizes = (4, 3, 2, 5)
    cells = np.array(list(np.ndindex(*sizes)), dtype=np.uint16).T.repeat(7, axis=1)
    codes = cells[:, np.random.default_rng(0).permutation(cells.shape[1])]
    wished = [
        (axes, count(codes, axes, sizes=sizes)) for axes in itertools.combinations(range(4), 2)
    ]
    assert np.array_equal(mended(codes, wished, ordered=[True] * 4), codes)


def test_pairs_that_are_met_exactly_stay_met_but_for_little() -> None:
    """Though the tables of three of these records are full of chance."""
    codes = drawn(ROWS, seed=7)
    exact: Targets = [(axes, count(codes, axes)) for axes in PAIRS]
    found = mended(codes, exact)
    assert not np.array_equal(found, codes) and away(found, exact) < 0.005


def test_the_same_generator_gives_the_same_rows_and_leaves_the_given_ones(
    start: Codes, targets: Targets
) -> None:
    before = start.copy()
    found = [mended(start, targets, seed=seed) for seed in (3, 3, 4)]
    assert np.array_equal(found[0], found[1]) and not np.array_equal(found[0], found[2])
    assert np.array_equal(start, before)


def test_records_stay_in_their_places(start: Codes, targets: Targets) -> None:
    """Sorting is undone: a record differs from itself in few attributes, from others in most."""
    found = mended(start, targets)
    assert (found == start).mean() > 2 * (found == np.roll(start, 1, axis=1)).mean()


def test_cells_that_may_not_be_entered_stay_empty(start: Codes, targets: Targets) -> None:
    """Of two and of three attributes, though the targets wish for records there; and records that are in one
    may leave."""
    two, three = np.ones((5, 80), dtype=np.bool_), np.ones((4, 6, 3), dtype=np.bool_)
    two[:2, 40:], three[0, 3:, 1:] = False, False
    allowed = [((0, 4), two), ((1, 2, 3), three)]
    codes = start[:, two[start[0], start[4]] & three[start[1], start[2], start[3]]]
    assert codes.shape[1] > ROWS / 2
    found = mended(codes, targets, allowed=allowed)
    assert two[found[0], found[4]].all() and three[found[1], found[2], found[3]].all()
    assert not np.array_equal(found, codes)
    after = mended(start, targets, allowed=allowed)
    assert (~two[after[0], after[4]]).sum() < (~two[start[0], start[4]]).sum()
    inside = two[start[0], start[4]]
    assert two[after[0], after[4]][inside].all()


def test_what_is_tied_stays(start: Codes, targets: Targets) -> None:
    found = mended(start, targets, tied=[(1, 4)])
    assert np.array_equal(found[[1, 4]], start[[1, 4]])
    assert all(not np.array_equal(found[axis], start[axis]) for axis in (0, 2, 3))


def test_axes_in_any_order_and_shares_for_counts(start: Codes, targets: Targets) -> None:
    turned: Targets = [(axes[::-1], table.T / ROWS) for axes, table in targets]
    assert away(mended(start, turned), targets) < away(start, targets) + LITTLE
    same = [
        refine_triples.implied_triples(
            t, ordered=ORDERED, strengths=cost_tables.dependence_strengths(t), rows=ROWS
        )
        for t in (targets, turned)
    ]
    assert same[0].triples == same[1].triples
    for one in same[0].triples:
        for first, second in zip(*(found.factors(one) for found in same), strict=True):
            np.testing.assert_allclose(first, second, rtol=1e-6)


@pytest.mark.parametrize("rows", [0, 1, 2, 5])
def test_few_records(rows: int, targets: Targets) -> None:
    codes = drawn(ROWS, seed=1)[:, :rows]
    found = refine(
        codes,
        targets=targets,
        rng=np.random.default_rng(2),
        facts=AttributeFacts(ordered=ORDERED),
    )
    assert found.shape == codes.shape and all(
        set(new) <= set(range(n)) for new, n in zip(found, SIZES, strict=True)
    )


def test_nothing_to_do(start: Codes, targets: Targets) -> None:
    """No pairs; one pair; pairs without a third; pairs with nothing in them; a table of three that is
    given."""
    empty: Targets = [(axes, np.zeros_like(table)) for axes, table in targets]
    whole = (0, 1, 2)
    given: Targets = [
        *(one for one in targets if set(one[0]) < set(whole)),
        (whole, count(start, whole)),
    ]
    for wished in ([], targets[:1], targets[:2], empty, given):
        assert np.array_equal(mended(start, wished), start)


def test_there_are_fewer_passes_over_more_attributes() -> None:
    found = [
        refine_triples.passes(attributes)
        for attributes in (
            1,
            3,
            refine_triples.FULL_EFFORT_ATTRIBUTES,
            2 * refine_triples.FULL_EFFORT_ATTRIBUTES,
            1_000,
        )
    ]
    assert (
        found == sorted(found, reverse=True)
        and found[0] == found[2] == refine_triples.MAX_PASSES > found[3] > found[4] == 1
    )
