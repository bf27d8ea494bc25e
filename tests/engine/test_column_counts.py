"""The last step from tables to rows: columns are right to rounding, and no more is changed than that
takes."""

from __future__ import annotations

import hashlib
import itertools
from dataclasses import replace

import numpy as np
import numpy.typing as npt
import pytest

from synth_engine.domain import Impossible, Order
from synth_engine.inference import column_counts, cost_tables, record_refinement
from synth_engine.inference.cost_tables import AttributeFacts, RowRepeats
from synth_engine.models import blocks
from synth_engine.models.model import WHOLE, Codes, Model, Table, whole_weights
from tests.engine.test_auto import domain_of
from tests.engine.test_fast_sampler import refined_model
from tests.engine.test_targets import model as with_rules

Targets = list[tuple[tuple[int, ...], npt.NDArray[np.float64]]]


def drawn(of: Model, rows: int) -> Codes:
    return of.sample(rows, seed="s")


def random_targets(rng: np.random.Generator, sizes: tuple[int, ...]) -> Targets:
    """All pairs of one random table, some of whose cells are empty."""
    joint = rng.random(sizes) ** 4 * (rng.random(sizes) < 0.7)
    joint.flat[0] += 0.01
    axes = range(len(sizes))
    return [
        (pair, joint.sum(axis=tuple(k for k in axes if k not in pair)))
        for pair in itertools.combinations(axes, 2)
    ]


def distance(codes: npt.NDArray[np.uint16], targets: Targets, times: RowRepeats) -> float:
    """The largest distance of a count of a single column from its part of the first target with it."""
    farthest = 0.0
    for axis in range(len(codes)):
        of, table = next((axes, table) for axes, table in targets if axis in axes)
        histogram = table.sum(axis=tuple(k for k, other in enumerate(of) if other != axis))
        counts = times.table(codes, (axis,), histogram.shape)
        exact = histogram / histogram.sum() * counts.sum()
        farthest = max(farthest, float(np.abs(counts - exact).max()))
    return farthest


def cost(codes: npt.NDArray[np.uint16], targets: Targets) -> float:
    total = 0.0
    for axes, table in targets:
        exact = table / table.sum() * codes.shape[1]
        counts = np.zeros(table.shape)
        np.add.at(counts, tuple(codes[axis] for axis in axes), 1)
        total += float(((counts - exact) ** 2 / (exact + cost_tables.SOFTNESS)).sum())
    return total


# --- whole numbers ------------------------------------------------------------------------------------------
@pytest.mark.parametrize("seed", range(60))
def test_wanted_counts_are_the_whole_numbers_around_each_part(seed: int) -> None:
    rng = np.random.default_rng(seed)
    size, rows = int(rng.integers(1, 40)), int(rng.integers(1, 3000))
    histogram = rng.random(size) ** 6 * (rng.random(size) < 0.8)
    histogram[int(rng.integers(size))] += 0.1
    counts = np.bincount(rng.integers(0, size, rows), minlength=size)
    wanted = column_counts.wanted(histogram, counts)
    exact = histogram / histogram.sum() * rows
    assert wanted.sum() == rows
    assert np.abs(wanted - exact).max() < 1
    assert (wanted[histogram == 0] == 0).all()
    # What is right already stays.
    assert np.array_equal(column_counts.wanted(histogram, wanted), wanted)


def test_counts_that_are_whole_numbers_already_are_wanted_as_they_are() -> None:
    counts = np.array([3, 0, 10**6, 7])
    other = np.array([0, 3, 10**6 + 7, 0])
    assert column_counts.wanted(counts / 3.0, other).tolist() == counts.tolist()


# --- rows ---------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("seed", range(40))
def test_columns_are_right_to_rounding(seed: int) -> None:
    rng = np.random.default_rng(seed)
    sizes = tuple(int(size) for size in rng.integers(1, 9, 4))
    rows, fixed, times = (
        int(rng.integers(300, 1500)),
        int(rng.integers(0, 200)),
        int(rng.integers(1, 4)),
    )
    targets = random_targets(rng, sizes)
    codes = np.array([rng.integers(0, size, rows) for size in sizes], dtype=np.uint16)
    counted = RowRepeats(first=fixed, times=times)
    # Rows that stay must not be too many of a code already.
    for axis, size in enumerate(sizes):
        histogram = column_counts._histograms(targets)[axis]
        codes[axis, :fixed] = rng.choice(size, fixed, p=histogram / histogram.sum())
    before = codes.copy()
    given = {"fixed": fixed, "targets": targets, "facts": AttributeFacts(), "times": times}
    later = column_counts.match(codes, rng=np.random.default_rng(1), **given)
    again = column_counts.match(codes, rng=np.random.default_rng(1), **given)
    assert np.array_equal(codes, before)
    assert np.array_equal(later, again)
    matched = np.concatenate([codes[:, :fixed], later], axis=1)
    for axis in range(4):
        histogram = column_counts._histograms(targets)[axis]
        held = times * np.bincount(codes[axis, :fixed], minlength=histogram.size)
        share = histogram / histogram.sum() * counted.total(rows)
        if (held <= np.floor(share)).all():
            moved = int((later[axis] != codes[axis, fixed:]).sum())
            excess = column_counts._excess(codes, axis, histogram, counted)
            assert moved == np.abs(excess).sum() // 2
            assert not column_counts._excess(matched, axis, histogram, counted).any()
    if not fixed:
        assert distance(matched, targets, counted) < 1


def test_rows_whose_columns_are_right_stay() -> None:
    rng = np.random.default_rng(2)
    codes = np.array([rng.integers(0, size, 400) for size in (3, 5)], dtype=np.uint16)
    table = np.zeros((3, 5))
    np.add.at(table, (codes[0], codes[1]), 1)
    matched = column_counts.match(
        codes, fixed=0, targets=[((0, 1), table)], rng=rng, facts=AttributeFacts()
    )
    assert np.array_equal(matched, codes)


def test_the_cheapest_of_all_moves_is_made() -> None:
    rng = np.random.default_rng(4)
    sizes = (2, 4, 3)
    targets = random_targets(rng, sizes)
    codes = np.array([rng.integers(0, size, 200) for size in sizes], dtype=np.uint16)
    given = {"fixed": 0, "targets": targets, "facts": AttributeFacts()}
    codes = column_counts.match(codes, rng=rng, **given)
    # One record too many of one code, and one too few of another.
    row = int(np.flatnonzero(codes[1] != codes[1, 0])[0])
    too_few, too_many = int(codes[1, row]), int(codes[1, 0])
    codes[1, row] = too_many
    matched = column_counts.match(codes, rng=rng, **given)
    assert int((matched != codes).sum()) == 1
    costs = []
    for place in np.flatnonzero(codes[1] == too_many):
        changed = codes.copy()
        changed[1, place] = too_few
        costs.append(cost(changed, targets))
    assert cost(matched, targets) == pytest.approx(min(costs), abs=1e-3)


@pytest.mark.parametrize("seed", range(20))
def test_no_record_enters_a_cell_that_may_not_be_entered(seed: int) -> None:
    rng = np.random.default_rng(seed)
    sizes = (4, 5, 3)
    may = np.ones((4, 5), dtype=np.bool_)
    may[1:, 0] = False
    joint = rng.random(sizes) * may[:, :, None]
    targets: Targets = [((0, 1), joint.sum(2)), ((1, 2), joint.sum(0))]
    cells = np.argwhere(may)
    chosen = cells[rng.integers(0, len(cells), 500)]
    codes = np.array([*chosen.T, rng.integers(0, 3, 500)], dtype=np.uint16)
    facts = AttributeFacts(allowed=[((0, 1), may)])
    matched = column_counts.match(codes, fixed=0, targets=targets, rng=rng, facts=facts)
    assert may[matched[0], matched[1]].all()
    assert distance(matched[2:], [((0,), joint.sum((0, 1)))], cost_tables.ONCE) < 1
    # A column may be left without a move, never with a worse count.
    for axis in (0, 1):
        histogram = column_counts._histograms(targets)[axis]
        before, after = (
            np.abs(column_counts._excess(each, axis, histogram, cost_tables.ONCE)).sum()
            for each in (codes, matched)
        )
        assert after <= before


def test_tied_columns_and_columns_without_targets_stay() -> None:
    rng = np.random.default_rng(6)
    codes = np.array([rng.integers(0, 4, 300) for _ in range(4)], dtype=np.uint16)
    matched = column_counts.match(
        codes,
        fixed=0,
        targets=[((0, 1), rng.random((4, 4))), ((1, 2), rng.random((4, 4)))],
        rng=rng,
        facts=AttributeFacts(tied=[(0, 2)]),
    )
    assert np.array_equal(matched[[0, 2, 3]], codes[[0, 2, 3]])
    assert not np.array_equal(matched[1], codes[1])


# --- tables -------------------------------------------------------------------------------------------------
def farthest_column(codes: Codes, of: Model) -> float:
    """The largest distance of a count of a column without bins from its share of the rows."""
    distances = [0.0]
    binned = {one.attribute for one in of.merged}
    seen: set[str] = set()
    for target in of.targets:
        for axis, name in enumerate(target.clique):
            if name in binned | seen:
                continue
            seen.add(name)
            others = tuple(k for k in range(target.weights.ndim) if k != axis)
            exact = target.weights.sum(axis=others) / WHOLE * codes[name].size
            counts = np.bincount(codes[name], minlength=exact.size)
            distances.append(float(np.abs(counts - exact).max()))
    return max(distances)


@pytest.mark.parametrize("rows", [1000, 8192, 9000, 20_000, 65_535, 70_000])
def test_every_column_of_a_table_is_right_to_rounding(rows: int) -> None:
    of = replace(refined_model(), rows=rows)
    codes = drawn(of, rows)
    assert codes["a"].size == rows
    assert farthest_column(codes, of) < 1


def test_columns_of_many_copies_are_right_to_rounding(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(blocks, "FIRST", 1000)
    monkeypatch.setattr(blocks, "LARGEST", 1500)
    monkeypatch.setattr(record_refinement, "MIN_ROWS_REFINED", 3000)
    monkeypatch.setattr(blocks, "MOST_LOOKUPS", 0)
    of = refined_model()
    for rows in (4000, 10_000, 12_345, 30_001):
        codes = drawn(of, rows)
        assert codes["a"].size == rows
        assert farthest_column(codes, of) < 1


def test_what_was_drawn_so_far_is_right_to_rounding() -> None:
    of = refined_model()
    first = next(of.sample_blocks(30_000, seed="s"))
    assert first["a"].size == blocks.FIRST
    assert farthest_column(first, of) < 1


@pytest.mark.parametrize("rows", [0, 1, 50])
def test_few_rows_are_a_random_part_of_a_table(rows: int) -> None:
    of = refined_model()
    few, whole = drawn(of, rows), drawn(of, of.rows)
    assert all(np.array_equal(few[name], whole[name][:rows]) for name in few)


def test_constraints_hold() -> None:
    rules = (
        Order(first="low", second="high"),
        Impossible(combination={"shop": ("a",), "size": ("xl",)}),
    )
    codes = drawn(with_rules(*rules), 20_000)
    assert (codes["low"] <= codes["high"]).all()
    assert not ((codes["shop"] == 0) & (codes["size"] == 3)).any()


def test_rows_stay_byte_for_byte() -> None:
    codes = drawn(refined_model(), 80_000)
    digest = hashlib.sha256(b"".join(codes[name].tobytes() for name in "abc")).hexdigest()
    assert digest == "ae7742502c115c1bd06db2aa96d438a0463d6512d1033fc8324beaaf43254b16"


def test_a_large_table_has_more_kinds_of_rows_than_copies_of_few(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """And is nearer to its targets: cells that few records have are there."""
    rng = np.random.default_rng(5)
    sizes = (30, 20, 12)
    targets = random_targets(rng, sizes)
    domain = domain_of(*sizes)
    histograms = [
        targets[0][1].sum(axis=1),
        targets[0][1].sum(axis=0),
        targets[1][1].sum(axis=0),
    ]
    of = replace(
        refined_model(),
        domain=domain,
        rows=120_000,
        tables=tuple(
            Table(clique=(name,), weights=whole_weights(histogram))
            for name, histogram in zip(domain.names, histograms, strict=True)
        ),
        network=(),
        targets=tuple(
            Table(
                clique=tuple(domain.names[axis] for axis in axes), weights=whole_weights(table)
            )
            for axes, table in targets
        ),
        merged=(),
    )

    def off(codes: Codes) -> float:
        distances = []
        for table in of.targets:
            counts = np.zeros(table.weights.shape)
            np.add.at(counts, tuple(codes[name] for name in table.clique), 1)
            distances.append(
                np.abs(counts / counts.sum() - table.weights / table.weights.sum()).sum()
            )
        return float(np.mean(distances))

    def kinds(codes: Codes) -> int:
        return len(np.unique(np.stack([codes[name] for name in domain.names]), axis=1).T)

    whole = drawn(of, of.rows)
    # A table of a million is refined as this one.
    monkeypatch.setattr(blocks, "MANY", of.rows)
    copied = drawn(of, of.rows)
    assert kinds(whole) > kinds(copied)
    assert off(whole) < 0.8 * off(copied)


@pytest.mark.parametrize("columns", [1, 3, 12, 15, 30, 45, 83, 200])
def test_the_first_number_of_rows_of_which_some_are_copies_is_known(columns: int) -> None:
    first = blocks.copied_from(columns)
    assert blocks.rows_refined(first, columns) < first
    assert blocks.rows_refined(first - 1, columns) == first - 1


@pytest.mark.parametrize("base", [1, 7, 1000])
def test_turns_and_the_last_part_are_all_rows(base: int) -> None:
    for rows in range(base, 5 * base + 3, max(1, base // 5)):
        whole, last = blocks.turns(rows, base=base)
        assert base * (1 + whole) + last == rows
        assert whole == 0 or last >= base // 2


def test_tables_of_rows_that_count_several_times() -> None:
    """By one, two and three attributes, with and without rows that count more than once."""
    rng = np.random.default_rng(7)
    sizes = (3, 5, 2)
    codes = np.array([rng.integers(0, size, 400) for size in sizes], dtype=np.uint16)
    for axes in ((1,), (0, 1), (2, 0), (0, 1, 2), (2, 1, 0)):
        shape = tuple(sizes[axis] for axis in axes)
        for first, times in ((0, 1), (150, 1), (150, 4), (400, 2)):
            weights = np.where(np.arange(400) < first, times, 1)
            expected = np.zeros(shape, dtype=np.int64)
            np.add.at(expected, tuple(codes[axis] for axis in axes), weights)
            counted = RowRepeats(first=first, times=times)
            assert np.array_equal(counted.table(codes, axes, shape), expected)


def test_codes_outside_a_table_are_refused() -> None:
    """The compiled loops read and write by these codes."""
    codes = np.array([[0, 1, 2], [0, 0, 1]], dtype=np.uint16)
    targets = [((0, 1), np.ones((2, 2)))]
    with pytest.raises(ValueError, match="outside the tables"):
        cost_tables.build(codes, targets, allowed=(), weights=[1.0], softness=1.0)
