"""`mst`: what it makes of its answers, what it refuses, and rows whose columns are not spuriously
dependent."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from synth_engine import mechanisms
from synth_engine.domain import Domain
from synth_engine.errors import InputError, SpecError
from synth_engine.measurement import Answers, Measurement
from synth_engine.models.model import Model
from synth_engine.privacy.unit import PrivacyUnit, Relation
from synth_engine.room.rows import Rows
from synth_engine.room.session import open_session
from synth_engine.spec import Spec
from tests.answers import replaced
from tests.domains import domain_of

DELTA = Fraction(1, 10**9)


def chain(rows: int, *, columns: int, size: int, seed: int = 0) -> np.ndarray:
    """Records of which each column is the one before, now and then changed by one."""
    rng = np.random.default_rng(seed)
    table = [rng.integers(0, size, rows)]
    for _ in range(columns - 1):
        table.append((table[-1] + (rng.random(rows) < 0.2)) % size)
    return np.stack(table, axis=1)


def released(
    table: np.ndarray,
    domain: Domain,
    *,
    epsilon: str = "4",
    delta: Fraction = DELTA,
    **parameters: Any,
) -> tuple[Answers, Model]:
    plan = mechanisms.plan(
        domain,
        Spec(mechanism="mst", epsilon=Fraction(epsilon), delta=delta, parameters=parameters),
    )
    codes = {name: table[:, place].astype(np.uint16) for place, name in enumerate(domain.names)}
    session = open_session(Rows(codes, domain=domain), domain=domain, cap=plan.loss)
    answers = plan.run(session)
    return answers, plan.fit(answers)


def distance(table: np.ndarray, model: Model, first: int, second: int, *, size: int) -> float:
    codes = model.sample(len(table), seed="x")
    names = model.domain.names
    drawn = codes[names[first]].astype(np.int64) * size + codes[names[second]]
    true = table[:, first] * size + table[:, second]
    counts = [np.bincount(one, minlength=size * size) / len(one) for one in (true, drawn)]
    return float(0.5 * np.abs(counts[0] - counts[1]).sum())


@pytest.mark.parametrize("delta", [Fraction(0), DELTA])
def test_the_tree_that_made_the_data_is_found_and_learned(delta: Fraction) -> None:
    table = chain(20_000, columns=5, size=6)
    answers, model = released(table, domain_of(6, 6, 6, 6, 6), delta=delta)
    found = {frozenset(m.clique) for m in answers.measurements if len(m.clique) == 2}
    assert found == {frozenset((f"c{n}", f"c{n + 1}")) for n in range(4)}
    assert max(distance(table, model, n, n + 1, size=6) for n in range(4)) < 0.03
    assert distance(table, model, 0, 4, size=6) < 0.05


def test_children_of_one_parent_are_independent_given_it() -> None:
    rng = np.random.default_rng(1)
    parent = rng.integers(0, 3, 30_000)
    children = [(parent + (rng.random(30_000) < 0.5)) % 3 for _ in range(2)]
    answers, model = released(
        np.stack([parent, *children], axis=1), domain_of(3, 3, 3), epsilon="20"
    )
    assert all("c0" in m.clique for m in answers.measurements if len(m.clique) == 2)
    codes = model.sample(30_000, seed="y")
    for value in range(3):
        same = codes["c0"] == value
        one, other = (codes[name][same] == value for name in ("c1", "c2"))
        assert abs(np.corrcoef(one, other)[0, 1]) < 0.05


def test_replaying_answers_gives_the_same_model_and_others_are_refused() -> None:
    table = chain(500, columns=4, size=3)
    domain = domain_of(3, 3, 3, 3)
    answers, model = released(table, domain)
    plan = mechanisms.plan(domain, Spec(mechanism="mst", epsilon=Fraction(4), delta=DELTA))
    assert plan.fit(answers).to_json() == model.to_json()
    shorter = replaced(answers, Measurement, answers.measurements[:-1])
    circle = replaced(
        answers, Measurement, (*answers.measurements[:-1], answers.measurements[-2])
    )
    reverse = replaced(answers, Measurement, answers.measurements[::-1])
    for other in (shorter, circle, reverse):
        with pytest.raises(InputError, match="not of this plan"):
            plan.fit(other)


@pytest.mark.parametrize("relation", list(Relation))
@pytest.mark.parametrize("sizes", [(5,), (1,), (1, 4), (1, 1, 1), (2, 7_000, 3)])
def test_odd_shapes_go_through(sizes: tuple[int, ...], relation: Relation) -> None:
    domain = domain_of(*sizes, relation=relation, unit=PrivacyUnit(max_records=2))
    table = np.zeros((50, len(sizes)), dtype=np.int64)
    answers, model = released(table, domain)
    assert len(answers.selections) == len(sizes) - 1
    assert set(model.sample(20, seed="z")) == set(domain.names)


def test_no_records_and_next_to_no_budget_make_a_lawful_release() -> None:
    for rows in (0, 3):
        for delta in (Fraction(0), DELTA):
            _, model = released(
                chain(rows, columns=3, size=4), domain_of(4, 4, 4), epsilon="0.001", delta=delta
            )
            assert all(len(column) == 10 for column in model.sample(10, seed="s").values())


def test_pairs_too_large_to_count_are_left_out() -> None:
    domain = domain_of(2_000, 2_000, 3)
    answers, _ = released(np.zeros((100, 3), dtype=np.int64), domain)
    assert {m.clique for m in answers.measurements if len(m.clique) == 2} == {
        ("c0", "c2"),
        ("c1", "c2"),
    }
    answers, model = released(np.zeros((100, 2), dtype=np.int64), domain_of(2_000, 2_000))
    assert answers.selections == ()
    assert [node.parents for node in model.network] == [(), ()]


def test_a_public_number_of_records_is_kept() -> None:
    domain = domain_of(3, 3, relation=Relation.REPLACE_ONE, rows=400, invariants=("rows",))
    _, model = released(chain(400, columns=2, size=3), domain)
    assert model.rows == 400


@pytest.mark.parametrize(
    ("parameters", "said"),
    [
        ({"columns_share": 0.6, "choices_share": 0.4}, "leave nothing for pairs"),
        ({"columns_share": 2}, "must lie between"),
        ({"memory_mb": 1}, r"memory_mb allows 1"),
        ({"trees": 2}, "no parameter"),
    ],
)
def test_what_cannot_be_is_refused_before_anything_is_spent(
    parameters: dict[str, Any], said: str
) -> None:
    domain = domain_of(900, 900, 2)
    with pytest.raises(SpecError, match=said):
        mechanisms.plan(
            domain,
            Spec(mechanism="mst", epsilon=Fraction(1), delta=DELTA, parameters=parameters),
        )


def test_a_refusal_for_memory_names_the_columns_to_coarsen() -> None:
    with pytest.raises(SpecError) as refused:
        mechanisms.plan(
            domain_of(3, 900, 800, 2),
            Spec(
                mechanism="mst", epsilon=Fraction(1), delta=DELTA, parameters={"memory_mb": 1}
            ),
        )
    assert "'c1' (900 values), 'c2' (800 values)" in str(refused.value)
