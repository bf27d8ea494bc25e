"""Tables of counts by the compiled loop: the same as numpy's for every domain, type of codes, and number of
threads."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from math import prod
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from synth_engine.evaluation.tallies import CodedTable
from synth_engine.indexing import contingency
from synth_engine.indexing.contingency import Axis, CountPlan, count, histogram
from synth_engine.room import counts
from synth_engine.room.rows import Rows
from tests.domains import domain_of

TYPES = (np.uint8, np.uint16, np.uint32, np.int32, np.int64)


def by_numpy(
    columns: Sequence[NDArray[Any]], plan: CountPlan, *, records: int
) -> list[NDArray[np.int64]]:
    found = []
    for table in plan.tables:
        cells = np.zeros(records, dtype=np.int64)
        for axis in table:
            bins, codes = plan.axes[axis].bins, columns[axis].astype(np.int64)
            cells = cells * plan.axes[axis].size + (codes if bins is None else bins[codes])
        shape = plan.shape(table)
        found.append(np.bincount(cells, minlength=prod(shape)).reshape(shape))
    return found


def same(columns: Sequence[NDArray[Any]], plan: CountPlan, records: int, threads: int) -> bool:
    ours = count(columns, plan, records=records, threads=threads)
    theirs = by_numpy(columns, plan, records=records)
    assert all(table.dtype == np.int64 for table in ours)
    return all(
        a.shape == b.shape and np.array_equal(a, b) for a, b in zip(ours, theirs, strict=True)
    )


@st.composite
def questions(draw: st.DrawFn) -> tuple[list[NDArray[Any]], CountPlan, int]:
    """Columns, tables over any of them, each at most once in a table, and the number of records."""
    records = draw(st.sampled_from([0, 1, 2, 3, 5, 1000, 8191, 8192, 8193, 20_000]))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    axes, columns = [], []
    for _ in range(draw(st.integers(1, 5))):
        size = draw(st.sampled_from([1, 2, 3, 7, 40, 255, 256, 257, 700]))
        dtype = draw(st.sampled_from([t for t in TYPES if np.iinfo(t).max >= size - 1]))
        # Most records alike, as in real tables.
        columns.append(
            (rng.integers(0, size, records) * (rng.random(records) < 0.3)).astype(dtype)
        )
        bins = None
        if draw(st.booleans()):
            bins = rng.integers(0, draw(st.integers(1, size)), size)
            bins = np.unique(bins, return_inverse=True)[1]
        axes.append(Axis(size) if bins is None else Axis(int(bins.max()) + 1, bins))
    subsets = st.lists(st.sampled_from(range(len(axes))), unique=True, max_size=3).map(tuple)
    tables = draw(st.lists(subsets, max_size=4))
    tables = [table for table in tables if prod(axes[axis].size for axis in table) <= 10**6]
    return columns, CountPlan(tuple(axes), tuple(tables)), records


@settings(max_examples=150, deadline=None)
@given(questions())
def test_counts_are_those_of_numpy(
    question: tuple[list[NDArray[Any]], CountPlan, int],
) -> None:
    columns, plan, records = question
    assert same(columns, plan, records, threads=1)


@settings(max_examples=100, deadline=None)
@given(questions())
def test_codes_that_are_merged_in_a_table_give_the_table_by_bins(
    question: tuple[list[NDArray[Any]], CountPlan, int],
) -> None:
    columns, plan, records = question
    for table in plan.tables:
        axes = [plan.axes[axis] for axis in table]
        if prod(axis.codes for axis in axes) > 10**6:
            continue
        own, order = [columns[axis] for axis in table], (tuple(range(len(axes))),)
        codes = CountPlan(tuple(Axis(axis.codes) for axis in axes), order)
        (by_codes,) = count(own, codes, records=records)
        before = by_codes.copy()
        (by_bins,) = count(own, CountPlan(tuple(axes), order), records=records)
        merged = contingency.merge(by_codes, [axis.bins for axis in axes])
        assert merged.dtype == np.int64
        assert np.array_equal(merged, by_bins)
        assert np.array_equal(by_codes, before)


@pytest.mark.parametrize("size", [2, 300, 70_000])
def test_threads_change_nothing(size: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(contingency, "_THREAD_RECORDS", 1000)
    rng = np.random.default_rng(0)
    columns = [rng.integers(0, size, 70_001), rng.integers(0, 3, 70_001).astype(np.uint8)]
    plan = CountPlan((Axis(size), Axis(3)), ((0, 1), (1,), ()))
    assert all(same(columns, plan, 70_001, threads=threads) for threads in (1, 2, 3, 64))


def test_many_columns_and_tables_in_one_pass() -> None:
    rng = np.random.default_rng(1)
    sizes = rng.integers(1, 30, 200).tolist()
    columns = [rng.integers(0, size, 9000).astype(np.uint16) for size in sizes]
    tables = tuple(tuple(rng.choice(200, 3, replace=False).tolist()) for _ in range(150))
    assert same(columns, CountPlan(tuple(map(Axis, sizes)), tables), 9000, threads=1)


@pytest.mark.parametrize("dtype", TYPES)
def test_a_code_outside_of_its_axis_is_refused(dtype: type[np.integer[Any]]) -> None:
    """The loop writes where a code says: nothing outside of the tables."""
    codes = np.array([0, 4, 1], dtype=dtype)
    with pytest.raises(ValueError, match="outside"):
        histogram(codes, 4)
    merged = CountPlan((Axis(2, np.array([0, 1, 1, 0])),), ((0,),))
    with pytest.raises(ValueError, match="outside"):
        count([codes], merged, records=3)
    if np.issubdtype(dtype, np.signedinteger):
        with pytest.raises(ValueError, match="outside"):
            histogram(-codes, 5)


def test_bins_outside_of_their_axis_are_refused() -> None:
    for size, bins in ((2, [0, 2]), (2, [0, -1]), (0, [])):
        with pytest.raises(ValueError, match="bins"):
            Axis(size, np.array(bins, dtype=np.int64))


def test_no_tables_and_no_columns() -> None:
    assert count([], CountPlan((), ()), records=5) == []
    assert [table.tolist() for table in count([], CountPlan((), ((),)), records=5)] == [5]
    assert histogram(np.zeros(0, dtype=np.uint8), 0).tolist() == []
    with pytest.raises(ValueError, match="one column"):
        count([], CountPlan((Axis(2),), ()), records=5)


@settings(max_examples=60, deadline=None)
@given(
    st.integers(0, 2**32),
    st.integers(0, 60),
    st.lists(st.integers(1, 9), min_size=1, max_size=4),
)
def test_rows_and_synthetic_tables_are_counted_alike(
    seed: int, records: int, sizes: list[int]
) -> None:
    rng = np.random.default_rng(seed)
    domain = domain_of(*sizes)
    codes = {
        name: rng.integers(0, size, records).astype(np.uint16)
        for name, size in domain.sizes.items()
    }
    names = tuple(rng.permutation(domain.names).tolist())
    rows, table = Rows(codes, domain=domain), CodedTable(codes=codes, domain=domain)
    expected = np.zeros(domain.shape(names), dtype=np.int64)
    np.add.at(expected, tuple(codes[name] for name in names), 1)
    cliques = [names, names[:1], (), names]
    for clique, found in zip(
        cliques, counts.contingencies(rows, [(c, None) for c in cliques]), strict=True
    ):
        others = tuple(i for i, name in enumerate(names) if name not in clique)
        assert np.array_equal(found, expected.sum(axis=others))
        assert np.array_equal(table.contingency(clique), found)


def test_tables_that_do_not_fit_together_are_counted_in_several_passes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    rows = Rows({"c0": np.array([0, 1, 1], dtype=np.uint16)}, domain=domain_of(2))
    monkeypatch.setattr(counts, "_PASS_CELLS", 3)
    merged = {"c0": np.array([0, 0])}
    found = counts.contingencies(rows, [(("c0",), None), (("c0",), merged), (("c0",), None)])
    assert [table.tolist() for table in found] == [[1, 2], [3], [1, 2]]


@settings(max_examples=100, deadline=None)
@given(questions())
def test_tables_summed_from_larger_ones_are_the_same(
    question: tuple[list[NDArray[Any]], CountPlan, int],
) -> None:
    columns, plan, records = question
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(contingency, "_GROUP_RECORDS", 0)
        assert same(columns, plan, records, threads=1)


def test_all_pairs_are_summed_from_fewer_tables_of_a_few_thousand_cells() -> None:
    pairs = tuple(combinations(range(15), 2))
    plan = CountPlan(tuple(Axis(size) for size in range(2, 17)), pairs)
    groups, homes = plan.groups
    assert len(groups.tables) < len(pairs) / 2
    assert all(groups.cells(table) <= 4096 for table in groups.tables)
    assert all(set(t) <= set(groups.tables[h]) for t, h in zip(pairs, homes, strict=True))


def test_a_table_has_each_axis_once() -> None:
    with pytest.raises(ValueError, match="once"):
        CountPlan((Axis(2),), ((0, 0),))
