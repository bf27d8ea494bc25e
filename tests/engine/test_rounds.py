"""`aim` and `privsyn`: what they make of their answers beyond a tree, what they ask for, and what they
refuse."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from synth_engine import mechanisms
from synth_engine.domain import Domain
from synth_engine.errors import InputError, SpecError
from synth_engine.inference import factors
from synth_engine.measurement import Answers, Measurement
from synth_engine.mechanisms.pairwise import pair_selection, pairs
from synth_engine.mechanisms.pairwise.network_search import Expectation
from synth_engine.models.model import Model
from synth_engine.privacy.unit import PrivacyUnit, Relation
from synth_engine.room.rows import Rows
from synth_engine.room.session import open_session
from synth_engine.spec import Spec
from tests.answers import replaced
from tests.engine.test_mst import chain, distance, domain_of

DELTA = Fraction(1, 10**9)
BOTH = ("aim", "privsyn")


def released(
    mechanism: str,
    table: np.ndarray,
    domain: Domain,
    *,
    epsilon: str = "4",
    delta: Fraction = DELTA,
    **parameters: Any,
) -> tuple[Answers, Model]:
    spec = Spec(
        mechanism=mechanism, epsilon=Fraction(epsilon), delta=delta, parameters=parameters
    )
    plan = mechanisms.plan(domain, spec)
    codes = {name: table[:, place].astype(np.uint16) for place, name in enumerate(domain.names)}
    session = open_session(Rows(codes, domain=domain), domain=domain, cap=plan.loss)
    answers = plan.run(session)
    return answers, plan.fit(answers)


def circle(rows: int, *, size: int, seed: int = 0) -> np.ndarray:
    """Three columns each of which depends on both others, so that no tree says it all; and one that depends
    on none."""
    rng = np.random.default_rng(seed)
    first, second = rng.integers(0, size, (2, rows))
    third = np.where(rng.random(rows) < 0.5, first, second)
    return np.stack(
        [
            first,
            np.where(rng.random(rows) < 0.4, first, second),
            third,
            rng.integers(0, 3, rows),
        ],
        axis=1,
    )


@pytest.mark.parametrize("mechanism", BOTH)
@pytest.mark.parametrize("delta", [Fraction(0), DELTA])
def test_relations_that_no_tree_holds_are_learned(mechanism: str, delta: Fraction) -> None:
    table, domain = circle(20_000, size=5), domain_of(5, 5, 5, 3)
    _, model = released(mechanism, table, domain, delta=delta, epsilon="8")
    worst = max(
        distance(table, model, first, second, size=5)
        for first, second in ((0, 1), (1, 2), (0, 2))
    )
    _, tree = released("mst", table, domain, delta=delta, epsilon="8")
    by_tree = max(
        distance(table, tree, first, second, size=5)
        for first, second in ((0, 1), (1, 2), (0, 2))
    )
    assert worst < 0.025
    assert worst < 0.5 * by_tree


@pytest.mark.parametrize("mechanism", BOTH)
def test_replaying_answers_gives_the_same_model_and_others_are_refused(mechanism: str) -> None:
    table, domain = chain(2_000, columns=4, size=3), domain_of(3, 3, 3, 3)
    answers, model = released(mechanism, table, domain)
    plan = mechanisms.plan(domain, Spec(mechanism=mechanism, epsilon=Fraction(4), delta=DELTA))
    assert plan.fit(answers).to_json() == model.to_json()
    foreign, _ = released(
        "bayesian-network", np.zeros((9, 5), dtype=np.int64), domain_of(3, 3, 3, 3, 3)
    )
    for other in (
        foreign,
        replaced(answers, Measurement, answers.measurements[1:]),
        replaced(answers, Measurement, ()),
        Answers(),
    ):
        with pytest.raises(InputError, match="not of this plan"):
            plan.fit(other)


@pytest.mark.parametrize("mechanism", BOTH)
@pytest.mark.parametrize("relation", list(Relation))
@pytest.mark.parametrize("sizes", [(5,), (1,), (1, 4), (1, 1, 1), (2, 700, 3)])
def test_odd_shapes_go_through(
    mechanism: str, sizes: tuple[int, ...], relation: Relation
) -> None:
    domain = domain_of(*sizes, relation=relation, unit=PrivacyUnit(max_records=2))
    _, model = released(mechanism, np.zeros((50, len(sizes)), dtype=np.int64), domain)
    assert set(model.sample(20, seed="z")) == set(domain.names)


@pytest.mark.parametrize("mechanism", BOTH)
@pytest.mark.parametrize("delta", [Fraction(0), DELTA])
def test_no_records_and_next_to_no_budget_make_a_lawful_release(
    mechanism: str, delta: Fraction
) -> None:
    for rows in (0, 3):
        _, model = released(
            mechanism,
            chain(rows, columns=3, size=4),
            domain_of(4, 4, 4),
            epsilon="0.001",
            delta=delta,
        )
        assert all(len(column) == 10 for column in model.sample(10, seed="s").values())


@pytest.mark.parametrize("mechanism", BOTH)
def test_a_model_that_would_be_too_large_is_refused_before_anything_is_spent(
    mechanism: str,
) -> None:
    spec = Spec(
        mechanism=mechanism, epsilon=Fraction(1), delta=DELTA, parameters={"memory_mb": 1}
    )
    with pytest.raises(SpecError, match=r"'c1' \(900 values\), 'c2' \(800 values\)"):
        mechanisms.plan(domain_of(3, 900, 800, 2), spec)


@pytest.mark.parametrize("mechanism", BOTH)
def test_targets_stay_within_what_rows_can_be_finished_towards(
    mechanism: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pairs, "MAX_TOTAL_CELLS", 60)
    monkeypatch.setattr(pair_selection, "MAX_TOTAL_CELLS", 60)
    _, model = released(mechanism, circle(5_000, size=5), domain_of(5, 5, 5, 3), epsilon="20")
    assert 0 < sum(table.weights.size for table in model.targets) <= 60


# ---- the workload of `aim`
# -----------------------------------------------------------------------------------------


def test_pairs_with_the_column_to_predict_are_asked_for_first() -> None:
    rng = np.random.default_rng(2)
    base = rng.integers(0, 4, 20_000)
    table = np.stack([(base + (rng.random(20_000) < 0.5)) % 4 for _ in range(5)], axis=1)
    domain = domain_of(4, 4, 4, 4, 4)
    answers, _ = released("aim", table, domain, target="c4", epsilon="1")
    assert ["c4" in m.clique for m in answers.measurements[5:8]] == [True] * 3


def test_listed_tables_and_their_parts_alone_are_asked_for() -> None:
    table, domain = circle(5_000, size=4), domain_of(4, 4, 4, 3)
    answers, model = released(
        "aim", table, domain, marginals=[["c2", "c0", "c1"]], epsilon="30"
    )
    asked = {m.clique for m in answers.measurements if len(m.clique) > 1}
    assert asked <= {("c0", "c1", "c2"), ("c0", "c1"), ("c0", "c2"), ("c1", "c2")}
    assert ("c0", "c1", "c2") in asked
    codes = model.sample(5_000, seed="t")
    drawn = sum(
        codes[name].astype(np.int64) * 4 ** (2 - place)
        for place, name in enumerate(("c0", "c1", "c2"))
    )
    true = table[:, 0] * 16 + table[:, 1] * 4 + table[:, 2]
    counts = [np.bincount(one, minlength=64) / 5_000 for one in (drawn, true)]
    assert 0.5 * np.abs(counts[0] - counts[1]).sum() < 0.06


@pytest.mark.parametrize(
    ("parameters", "said"),
    [
        ({"target": "income"}, "target names no column"),
        ({"target": "c3"}, "one value"),
        ({"marginals": [["c0", "c9"]]}, "names no column"),
        ({"weights": {"c0": 0, "c1": 0, "c2": 0}}, "no pair of columns that matters"),
        ({"columns_share": 0.95}, "must lie between"),
    ],
)
def test_a_workload_that_cannot_be_is_refused_before_anything_is_spent(
    parameters: dict[str, Any], said: str
) -> None:
    spec = Spec(mechanism="aim", epsilon=Fraction(1), delta=DELTA, parameters=parameters)
    with pytest.raises(SpecError, match=said):
        mechanisms.plan(domain_of(3, 3, 3, 1), spec)


# ---- the selection of `privsyn`
# -----------------------------------------------------------------------------------


def expectations(sizes: dict[str, int], *, total: float) -> dict[tuple[str, str], Expectation]:
    names = list(sizes)
    oneways = {name: np.full(size, total / size) for name, size in sizes.items()}
    return {
        (a, b): Expectation(factors.product([oneways[a], oneways[b]], total=total))
        for place, a in enumerate(names)
        for b in names[place + 1 :]
    }


def test_pairs_are_chosen_whose_dependence_is_larger_than_their_noise() -> None:
    known = expectations({"a": 4, "b": 4, "c": 50, "d": 50}, total=10_000)
    distances = dict.fromkeys(known, 0.0) | {
        ("a", "b"): 3_000.0,
        ("c", "d"): 3_000.0,
        ("a", "c"): 100.0,
    }
    chosen = pair_selection.select_pairs(
        distances, known, deviation=lambda parts: 20.0 * parts**0.5
    )
    assert chosen == [("a", "b")]
    chosen = pair_selection.select_pairs(
        distances, known, deviation=lambda parts: 0.01 * parts**0.5
    )
    assert set(chosen) == {("a", "b"), ("c", "d"), ("a", "c")}


def test_a_distance_that_noise_may_have_made_is_none() -> None:
    known = expectations({"a": 4, "b": 4, "c": 4}, total=1_000)
    scores = {
        pair: one.by_chance + extra
        for (pair, one), extra in zip(known.items(), (50.0, 90.0, 500.0), strict=True)
    }
    found = pair_selection.dependence(scores, known, spread=100.0)
    assert list(found.values()) == pytest.approx([0.0, 0.0, 500.0])


def test_three_pairs_of_small_columns_are_measured_as_one_table() -> None:
    sizes = {"a": 2, "b": 2, "c": 2, "d": 60}
    oneways = {name: np.full(size, 10_000 / size) for name, size in sizes.items()}
    known = expectations(sizes, total=10_000)

    def joined(most_cells: int) -> pair_selection.Chosen:
        return pair_selection.join_triples(
            list(known),
            oneways,
            known,
            total=10_000,
            most_cells=most_cells,
            deviation=lambda parts: 5.0,
        )

    found = joined(5_000)
    assert found.cliques[("a", "b", "c")] == 3
    assert not {("a", "b"), ("a", "c"), ("b", "c")} & set(found.cliques)
    assert found.parts == len(known)
    assert set(joined(7).cliques) == set(known)
