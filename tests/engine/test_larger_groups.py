"""Relations of four columns and more in `auto`: which groups are looked for, what is found, and what is left
out."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from fractions import Fraction

import numpy as np
import pytest

from synth_engine import verifier
from synth_engine.inference import maxent_groups
from synth_engine.measurement import Answers, Measurement, Noise, Scores, Selection
from synth_engine.mechanisms.auto import groups
from synth_engine.mechanisms.auto.auto import AutoPlan
from synth_engine.mechanisms.auto.denoising import Fine
from synth_engine.mechanisms.auto.group_tables import GroupTables
from synth_engine.mechanisms.auto.groups import GroupSearch
from synth_engine.mechanisms.auto.questions import ScoredGroups, Stage
from synth_engine.mechanisms.auto.triples import TripleSearch
from tests.engine.test_auto import DELTA, answered, domain_of, planned

ROWS = 20_000
PARITY = ("c0", "c2", "c3", "c5")
NOISE = Noise(law="discrete-laplace", scale=Fraction(10))
ALL_ELSE = {
    triple: 0.0 for triple in itertools.combinations(range(7), 3) if triple != (0, 2, 5)
}
"""Triples that are as far from what their pairs imply as chance makes them."""


def parity_table(rows: int = ROWS) -> np.ndarray:
    """Seven columns, of which c5 is the parity of c0, c2 and c3, but for one record in twenty."""
    rng = np.random.default_rng(3)
    table = np.stack([rng.integers(0, size, rows) for size in (2, 3, 2, 2, 4, 2, 3)], axis=1)
    parity = table[:, 0] ^ table[:, 2] ^ table[:, 3]
    table[:, 5] = np.where(rng.random(rows) < 0.05, 1 - parity, parity)
    return table


def planned_for(table: np.ndarray, **given: str) -> AutoPlan:
    plan: AutoPlan = planned(domain_of(*(int(size) for size in table.max(axis=0) + 1)), **given)
    return plan


def looked_for(answers: Answers) -> list[Selection]:
    """The selections among groups of four columns and more."""
    return [
        line.answer
        for line in answers.answered
        if isinstance(line.answer, Selection)
        and all(len(clique) > 3 for clique in line.call.query.candidates)
    ]


def measured(answers: Answers) -> list[tuple[str, ...]]:
    return [answer.clique for answer in answers.measurements if len(answer.clique) > 3]


# ---- what pairs imply
# --------------------------------------------------------------------------------------------


def test_the_table_of_most_entropy_is_found_again_from_its_pairs() -> None:
    rng = np.random.default_rng(0)
    shape = (2, 3, 4, 2)
    factors = [
        rng.uniform(0.5, 2.0, (shape[first], shape[second]))
        for first, second in itertools.combinations(range(4), 2)
    ]
    table = np.einsum("ab,ac,ad,bc,bd,cd->abcd", *factors)
    pairs = [
        table.sum(axis=tuple({0, 1, 2, 3} - set(pair)))
        for pair in itertools.combinations(range(4), 2)
    ]
    assert np.allclose(maxent_groups.fitted(pairs, rounds=200, tolerance=0), table, rtol=1e-9)
    # With the usual number of rounds it is nearer than the noise of any count.
    assert np.abs(maxent_groups.fitted(pairs) - table).sum() < 1e-4 * table.sum()


def test_cells_that_a_pair_leaves_empty_are_empty() -> None:
    pairs = [np.full((2, 2), 5.0) for _ in range(6)]
    pairs[3] = np.array([[0.0, 10.0], [10.0, 0.0]])
    table = maxent_groups.fitted(pairs)
    assert table[:, 0, 0, :].sum() == table[:, 1, 1, :].sum() == 0
    assert math.isclose(table.sum(), 20.0)


@pytest.mark.parametrize("number", [0, 2, 5])
def test_some_pairs_are_not_all_pairs(number: int) -> None:
    with pytest.raises(ValueError, match="all pairs"):
        maxent_groups.fitted([np.ones((2, 2))] * number)


# ---- what is found
# -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("delta", [Fraction(0), DELTA])
def test_the_parity_of_three_columns_is_seen_and_drawn(delta: Fraction) -> None:
    table = parity_table()
    plan = planned_for(table, delta=delta)  # type: ignore[arg-type]
    answers = answered(plan, table)
    assert PARITY in measured(answers)
    codes = plan.fit(answers).sample(ROWS, seed="x")
    parity = codes["c0"] ^ codes["c2"] ^ codes["c3"]
    assert np.mean(codes["c5"] == parity) > 0.93
    assert verifier.verify(plan.receipt(answers)).epsilon <= plan.epsilon


def test_the_findings_name_the_group_and_say_what_noise_and_chance_would_make() -> None:
    table = parity_table()
    plan = planned_for(table)
    found = plan.findings(answered(plan, table), rows=ROWS)
    assert found is not None
    of_groups = found["groups"]
    assert isinstance(of_groups, dict)
    assert of_groups["largest"]["columns"] == list(PARITY)  # type: ignore[index,call-overload]
    assert 0.4 < of_groups["largest"]["distance"] < 0.5  # type: ignore[index,call-overload,operator]
    assert 0 < of_groups["noise"] < of_groups["by_noise"] < 0.05  # type: ignore[operator]
    # All groups of four; of five those that do not hold the parity; of six those that hold neither that nor
    # the selected five.
    assert 35 + (21 - 3) <= of_groups["candidates"] <= 35 + (21 - 3) + (7 - 3)  # type: ignore[operator]
    assert of_groups["scored"] == 3


def test_with_a_column_to_predict_all_candidates_hold_it() -> None:
    table = parity_table()
    answers = answered(planned_for(table, target="c5"), table)
    candidates = [
        clique
        for line in answers.answered
        if isinstance(line.answer, Selection)
        for clique in line.call.query.candidates
        if len(clique) > 3
    ]
    assert candidates
    assert all("c5" in clique for clique in candidates)
    assert PARITY in measured(answers)


def test_answers_of_a_release_without_larger_groups_are_still_read(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    table = parity_table(4_000)
    plan = planned_for(table)
    with monkeypatch.context() as earlier:
        # The plan asks as it did before there were any.
        earlier.setattr(AutoPlan, "_scored_groups", lambda *_, **__: None)
        answers = answered(plan, table)
    assert not looked_for(answers)
    assert plan.fit(answers).sample(100, seed="x")["c0"].size == 100
    found = plan.findings(answers, rows=4_000)
    assert found is not None and set(found) == {"triples"}


def test_a_group_that_holds_an_earlier_one_is_no_candidate() -> None:
    table = parity_table()
    answers = answered(planned_for(table), table)
    calls = [
        line.call.query.candidates
        for line in answers.answered
        if isinstance(line.answer, Selection) and len(line.call.query.candidates[0]) > 3
    ]
    first = {len(candidates[0]): candidates for candidates in calls}
    assert PARITY in first[4]
    assert not any(set(PARITY) <= set(clique) for clique in (*first[5], *first[6]))


# ---- how many there are
# ------------------------------------------------------------------------------------------


def search_of(*sizes: int, rows: int = 100_000, target: int | None = None) -> GroupSearch:
    """A search whose columns are uniform and independent."""
    rng = np.random.default_rng(1)
    return search_in(np.stack([rng.integers(0, size, rows) for size in sizes], axis=1), target)


def search_in(table: np.ndarray, target: int | None = None) -> GroupSearch:
    """A search whose estimates of columns and pairs are the counts of this table."""
    plan = planned_for(table)
    noises = plan.column_noises()
    columns = plan._columns(
        [
            Measurement(clique=(name,), noise=noises[name], values=counted(table, (place,)))
            for place, name in enumerate(plan.domain.names)
        ]
    )
    fine = Fine.of(columns, rows=columns.rows, histograms=columns.histograms)
    counts = {pair: counted(table, pair).astype(np.float64) for pair in columns.pairs}
    tables = GroupTables(
        columns=columns, fine=fine, counts=counts, weights=dict.fromkeys(counts, 1.0)
    )
    return GroupSearch(triples=TripleSearch(tables=tables, target=target), relations={})


def counted(table: np.ndarray, axes: Sequence[int]) -> np.ndarray:
    """The counts of a table by these columns."""
    shape = tuple(int(table[:, axis].max()) + 1 for axis in axes)
    counts = np.zeros(shape, dtype=np.int64)
    np.add.at(counts, tuple(table[:, axis] for axis in axes), 1)
    return counts


def score_of(search: GroupSearch, table: np.ndarray, group: tuple[int, ...]) -> float:
    """The score of a group without noise."""
    candidate = search.candidate(group)
    return float(np.abs(counted(table, group) - candidate.reference).sum() - candidate.penalty)


@pytest.mark.parametrize("seed", range(3))
def test_no_group_is_farther_from_its_pairs_than_chance_where_pairs_say_everything(
    seed: int,
) -> None:
    rng = np.random.default_rng(seed)
    table = np.stack([rng.integers(0, size, ROWS) for size in (3, 2, 4, 2, 3, 2)], axis=1)
    # Each column follows the one before it in 60 of 100 records.
    for place in range(1, 6):
        follows = rng.random(ROWS) < 0.6
        size = int(table[:, place].max()) + 1
        table[:, place] = np.where(follows, table[:, place - 1] % size, table[:, place])
    search = search_in(table)
    scores = [
        score_of(search, table, group) for size in groups.SIZES for group in search.groups(size)
    ]
    assert len(scores) == 15 + 6 + 1
    assert max(scores) < groups.by_chance(ROWS, len(scores))


def test_a_group_does_not_score_for_the_relation_of_its_triple() -> None:
    table = parity_table()
    rng = np.random.default_rng(5)
    table[:, 5] = np.where(rng.random(ROWS) < 0.1, table[:, 5], table[:, 0] ^ table[:, 2])
    search = search_in(table)
    triple = (0, 2, 5)
    expected = search.triples.candidate(triple)
    far = np.abs(counted(table, triple) - expected.reference).sum()
    assert far > 0.5 * ROWS
    given = Scores(noise=NOISE, values=np.array([far - expected.penalty]))
    known = GroupSearch(
        triples=search.triples, relations=search.triples.relations([triple], given) | ALL_ELSE
    )
    for size in groups.SIZES:
        for group in known.groups(size):
            if set(triple) <= set(group):
                assert score_of(search, table, group) > 0.5 * ROWS
                assert score_of(known, table, group) < groups.by_chance(ROWS, 60)


def test_a_group_that_scores_nothing_gets_no_budget() -> None:
    table = parity_table()
    plan = planned_for(table)
    search = search_in(table)
    before = Stage(questions=[], price=plan.loss.amount / 2, error=1.0)
    scores = Scores(noise=NOISE, values=np.zeros(1, dtype=np.int64))

    def asked(distance: float) -> list[tuple[int, ...]]:
        larger = ScoredGroups(
            price=Fraction(0), groups=[(0, 2, 3, 5)], distances=np.array([distance])
        )
        questions = plan.last_stage(
            search.triples,
            [(0, 1, 2)],
            scores,
            before,
            budget=plan.loss.amount / 8,
            larger=larger,
        )
        return [question.axes for question in questions]

    assert asked(0.0) == []
    assert asked(0.9) == [(0, 2, 3, 5)]


@pytest.mark.parametrize("target", [None, 17])
def test_of_very_many_groups_those_of_the_narrowest_columns_are_candidates(
    target: int | None,
) -> None:
    search = search_of(*[2 + place % 7 for place in range(60)], target=target)
    for size in groups.SIZES:
        candidates = search.groups(size)
        assert 500 < len(candidates) <= groups.MAX_CANDIDATES
        assert candidates == sorted(set(candidates))
        assert all(len(set(group)) == size for group in candidates)
        if target is not None:
            assert all(target in group for group in candidates)
    narrow = {axis for group in search.groups(4) for axis in group} - {target}
    assert max(2 + axis % 7 for axis in narrow) <= 4


def test_tables_that_are_too_large_are_no_candidates() -> None:
    search = search_of(2, 2, 2, 2, 60, 60, 60)
    sizes = (2, 2, 2, 2, 60, 60, 60)
    for size in groups.SIZES:
        for group in search.groups(size):
            assert math.prod(sizes[axis] for axis in group) <= groups.MAX_CELLS
            assert search.candidate(group).reference.size <= groups.MAX_COMPARED
    assert (0, 1, 2, 3) in search.groups(4)
    assert search_of(60, 60, 60, 60).groups(4) == []


def test_with_few_records_only_tables_of_few_cells_are_compared() -> None:
    assert search_of(3, 3, 3, 3, rows=400).groups(4) == [(0, 1, 2, 3)]
    assert search_of(3, 3, 3, 3, rows=40).groups(4) == []


def test_the_penalty_is_what_chance_and_triples_add() -> None:
    search = search_of(2, 2, 2, 2)
    alone = search.candidate((0, 1, 2, 3)).penalty
    relations = dict.fromkeys(itertools.combinations(range(4), 3), 3000.0)
    beside = GroupSearch(triples=search.triples, relations=relations)
    assert beside.candidate((0, 1, 2, 3)).penalty == round(math.hypot(alone, 6_000.0))
    # A triple without a score has the least of the scores: others were farther from what pairs imply.
    relations = {(0, 1, 2): 5_000.0, (0, 1, 3): 1_000.0}
    partly = GroupSearch(triples=search.triples, relations=relations)
    expected = math.hypot(alone, 5_000, 1_000, 1_000, 1_000)
    assert partly.candidate((0, 1, 2, 3)).penalty == round(expected)


def test_a_distance_that_chance_makes_among_so_many_is_nothing() -> None:
    search = search_of(2, 2, 2, 2)
    doubt = 3 * math.sqrt(NOISE.variance) + groups.by_chance(
        search.triples.tables.columns.total, 3_000
    )
    values = np.array([-5, int(0.9 * doubt), int(doubt) + 1_001])
    found = search.distances(Scores(noise=NOISE, values=values), compared=3_000)
    assert found[0] == found[1] == 0
    assert math.isclose(found[2] * search.triples.tables.columns.total, 1_001, abs_tol=1.0)
