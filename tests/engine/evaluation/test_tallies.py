"""Tallies against counting by hand."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from synth_engine.evaluation import ascending, distances, report, tallies
from tests.engine.evaluation.tables import DOMAIN, codes

CLIQUES = [("colour",), ("colour", "age"), ("colour", "gain", "member")]


def count(columns: dict[str, np.ndarray]) -> tallies.Tallies:
    return report.tally(tallies.CodedTable(codes=columns, domain=DOMAIN), wanted=CLIQUES)


def test_tallies_of_codes_are_what_counting_row_by_row_gives() -> None:
    columns = codes(500, seed=1)
    found = count(columns)
    assert found.private and found.n == 500
    for clique in CLIQUES:
        by_hand = Counter(zip(*(columns[name].tolist() for name in clique), strict=True))
        table = found[clique].dense()
        assert table.shape == DOMAIN.shape(clique)
        assert {
            tuple(map(int, cell)): int(table[tuple(cell)]) for cell in np.argwhere(table)
        } == by_hand


def test_codes_of_no_rows_give_empty_tables() -> None:
    empty = {name: np.array([], dtype=np.int64) for name in DOMAIN.names}
    found = count(empty)
    assert found.n == 0
    assert found["colour", "age"].dense().sum() == 0


def test_columns_of_different_lengths_are_refused() -> None:
    columns = codes(5, seed=1) | {"age": np.zeros(4, dtype=np.int64)}
    with pytest.raises(ValueError, match="different lengths"):
        count(columns)


def test_arrays_can_be_given_as_they_are_negative_noise_included() -> None:
    noisy = tallies.Tallies(private=True, n=3, counts={("colour",): np.array([4, -1, 0, 0, 0])})
    assert noisy["colour",].dense().tolist() == [4, -1, 0, 0, 0]
    assert list(noisy) == [("colour",)] and ("age",) not in noisy


def test_large_tables_compare_on_their_occupied_cells_as_small_ones_do_on_all(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    first, second = (count(codes(300, seed=seed))["colour", "age"] for seed in (1, 2))
    dense = distances.total_variation(*map(distances.shares, tallies.align(first, second)))
    monkeypatch.setattr(tallies, "MAX_DENSE_CELLS", 0)
    p, q = tallies.align(first, second)
    assert len(p) < first.size
    assert distances.total_variation(distances.shares(p), distances.shares(q)) == pytest.approx(
        dense, abs=1e-12
    )


def test_tables_of_different_shapes_are_refused() -> None:
    with pytest.raises(ValueError, match="shapes"):
        tallies.align(
            tallies.ContingencyTable.of(np.ones(2, dtype=np.int64)),
            tallies.ContingencyTable.of(np.ones(3, dtype=np.int64)),
        )


def test_the_union_of_ascending_numbers_is_that_of_numpy() -> None:
    rng = np.random.default_rng(5)
    for sizes in ((0, 0), (0, 3), (4, 0), (300, 200)):
        first, second = (np.unique(rng.integers(-99, 99, size)) for size in sizes)
        found = ascending.union(first, second)
        assert np.array_equal(found, np.union1d(first, second)) and found.dtype == first.dtype


def test_a_table_is_kept_in_as_few_bits_as_hold_it() -> None:
    few = tallies.ContingencyTable.of(np.array([[0, -3], [2**31 - 1, 0]]))
    many = tallies.ContingencyTable.of(np.array([1, 2**31]))
    assert few.cells.dtype == few.counts.dtype == np.int32
    assert many.counts.dtype == np.int64 and many.dense().tolist() == [1, 2**31]
    assert few.dense().dtype == np.int64 and few.dense().tolist() == [[0, -3], [2**31 - 1, 0]]
