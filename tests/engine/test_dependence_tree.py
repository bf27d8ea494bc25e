"""`auto` and trees of columns: what a tree predicts, when it explains all scores, and what scores say about
predictions."""

from __future__ import annotations

import itertools
from fractions import Fraction

import numpy as np
import numpy.typing as npt
import pytest

from synth_engine.domain import Domain, Integer
from synth_engine.measurement import Measurement, Noise
from synth_engine.mechanisms.auto import dependence_tree
from synth_engine.mechanisms.auto.denoising import Fine, PairScores
from synth_engine.mechanisms.auto.dependence_tree import DependenceTree
from synth_engine.mechanisms.auto.selection import Columns, Pair, score_level

Floats = npt.NDArray[np.float64]
ROWS = 40_000
SIZE, NUMBER = 4, 8
EXACT = Noise(law="rounded-gaussian", scale=Fraction(1, 1024))
COPIED = 0.6
"""The chance that a column of a tree repeats the column above it."""


def tree_tables() -> dict[Pair, Floats]:
    """Return the exact tables of all pairs of a binary tree: two columns are equal with a chance that falls
    along their path."""
    tables = {}
    for a, b in itertools.combinations(range(NUMBER), 2):
        same = COPIED ** path_length(a, b)
        tables[a, b] = ROWS * (same * np.eye(SIZE) / SIZE + (1 - same) / SIZE**2)
    return tables


def path_length(a: int, b: int) -> int:
    """Count the edges between two nodes of a binary tree whose nodes are numbered from the top."""
    edges = 0
    while a != b:
        if a > b:
            a = (a - 1) // 2
        else:
            b = (b - 1) // 2
        edges += 1
    return edges


def cluster_tables() -> dict[Pair, Floats]:
    """Return the exact tables of columns that all follow one hidden class, and no other column."""
    same = COPIED**2
    table = ROWS * (same * np.eye(SIZE) / SIZE + (1 - same) / SIZE**2)
    return dict.fromkeys(itertools.combinations(range(NUMBER), 2), table)


def columns() -> Columns:
    names = [f"c{place}" for place in range(NUMBER)]
    domain = Domain(
        attributes=tuple(Integer(name=name, low=0, high=SIZE - 1, width=1) for name in names)
    )
    even = np.full(SIZE, ROWS // SIZE, dtype=np.int64)
    answers = [Measurement(clique=(name,), values=even, noise=EXACT) for name in names]
    return Columns.of(domain, answers, strength=0.01)


def distances_of(tables: dict[Pair, Floats]) -> Floats:
    return np.array([np.abs(table - ROWS / SIZE**2).sum() / ROWS for table in tables.values()])


def parts(tables: dict[Pair, Floats], *, deviation: float = 0.0) -> dict[Pair, float]:
    """Return the unexplained part of each pair, if scores are exact but are taken to have this noise."""
    distances, pairs = distances_of(tables), list(tables)
    unexplained = dependence_tree.unexplained(
        columns(), pairs, distances.clip(0.003), distances, variance=deviation**2
    )
    return dict(zip(pairs, unexplained.tolist(), strict=True))


def edges() -> set[Pair]:
    return {((node - 1) // 2, node) for node in range(1, NUMBER)}


def fine() -> Fine:
    of = columns()
    return Fine.of(of, rows=ROWS, histograms=of.histograms)


def test_tables_of_neighbours_give_those_of_all_pairs() -> None:
    tables = tree_tables()
    tree = DependenceTree.of([np.full(SIZE, ROWS / SIZE)] * NUMBER, ROWS, tables)
    predicted = tree.predictions(tables)
    assert set(predicted) == set(tables) - edges()
    for pair, table in predicted.items():
        assert table == pytest.approx(tables[pair])


def test_columns_that_nothing_connects_are_not_predicted() -> None:
    tables = {pair: table for pair, table in tree_tables().items() if pair == (0, 1)}
    tree = DependenceTree.of([np.full(SIZE, ROWS / SIZE)] * NUMBER, ROWS, tables)
    assert tree.predictions(tree_tables()) == {}


def test_a_tree_explains_all_other_pairs_but_chance() -> None:
    tables = tree_tables()
    by_chance = columns().distances_by_chance(list(tables))
    distances = distances_of(tables)
    for part, chance, distance, pair in zip(
        parts(tables).values(), by_chance, distances, tables, strict=True
    ):
        if pair in edges():
            assert part == 1
        else:
            # The score of a pair does not say in which cells it depends.
            assert part == pytest.approx(min(1.0, max(chance / distance, 0.1)))


def test_a_hidden_class_is_not_taken_for_a_tree() -> None:
    assert set(parts(cluster_tables()).values()) == {1.0}


def test_scores_that_noise_hides_explain_nothing() -> None:
    assert set(parts(tree_tables(), deviation=2.0).values()) == {1.0}


def test_two_columns_have_no_pairs_to_explain() -> None:
    table = tree_tables()[0, 1]
    assert parts({(0, 1): table}) == {(0, 1): 1.0}


@pytest.mark.parametrize("right", ["first", "second"])
def test_scores_tell_which_prediction_is_right(right: str) -> None:
    true, wrong = tree_tables(), cluster_tables()
    of = fine()
    scores = PairScores(
        values={
            pair: float(np.abs(table - ROWS / SIZE**2).sum()) for pair, table in true.items()
        },
        variance=(0.002 * ROWS) ** 2,
        level=score_level(len(true)),
    )
    first, second = (true, wrong) if right == "first" else (wrong, true)
    mixed = scores.mixed(of, first, second)
    # Only the pairs whose distances differ can tell.
    telling = [pair for pair in true if path_length(*pair) != 2]
    off = [np.abs(mixed[pair] - true[pair]).sum() / ROWS for pair in telling]
    apart = [np.abs(wrong[pair] - true[pair]).sum() / ROWS for pair in telling]
    assert sum(off) < 0.05 * sum(apart)


def test_a_prediction_that_makes_more_up_than_the_other_lacks_is_left() -> None:
    def tables(distance: float) -> dict[Pair, Floats]:
        # This table of equal codes is 2 * (1 - 1 / SIZE) from independence.
        same = distance / (2 * (1 - 1 / SIZE))
        table = ROWS * (same * np.eye(SIZE) / SIZE + (1 - same) / SIZE**2)
        return dict.fromkeys(itertools.combinations(range(NUMBER), 2), table)

    distance, more, less = 0.3, 0.45, 0.12
    scores = PairScores(
        values=dict.fromkeys(tables(distance), distance * ROWS),
        variance=(0.002 * ROWS) ** 2,
        level=score_level(NUMBER * (NUMBER - 1) // 2),
    )
    # The larger distance is nearer, but its square is not.
    assert more - distance < distance - less
    for first, second in ((more, less), (less, more)):
        mixed = scores.mixed(fine(), tables(first), tables(second))
        for pair, table in tables(less).items():
            assert np.abs(mixed[pair] - table).sum() < 0.1 * (more - less) * ROWS


def test_nothing_is_mixed_without_a_second_prediction() -> None:
    scores = PairScores(values={}, variance=1.0, level=0)
    assert scores.mixed(fine(), tree_tables(), {}) == {}


@pytest.mark.parametrize("predicted", ["independent", "as read"])
def test_a_pair_is_no_farther_from_independence_than_its_score_allows(predicted: str) -> None:
    of = fine()
    pair = (0, 1)
    independent = np.full((SIZE, SIZE), ROWS / SIZE**2)
    read = tree_tables()[pair]
    deviation = 0.002 * ROWS
    scores = PairScores(
        values={pair: 100.0},
        variance=deviation**2,
        level=score_level(NUMBER * (NUMBER - 1) // 2),
    )
    within = scores.within(
        of, pair, read, prediction=independent if predicted == "independent" else read
    )
    assert np.abs(within - independent).sum() == pytest.approx(100.0 + 3 * deviation)
    assert within.sum() == pytest.approx(ROWS)
    assert within.sum(axis=0) == pytest.approx(of.histograms[1])


def test_a_pair_within_its_score_is_left_as_it_was_read() -> None:
    read = tree_tables()[0, 1]
    distance = float(np.abs(read - ROWS / SIZE**2).sum())
    scores = PairScores(
        values={(0, 1): distance}, variance=1.0, level=score_level(NUMBER * (NUMBER - 1) // 2)
    )
    assert scores.within(fine(), (0, 1), read, prediction=read) is read
