"""Tables that form a network: drawing from them, denoising them, and what `bayesian-network` makes of its
answers."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from synth_engine import mechanisms
from synth_engine.domain import Domain, Integer
from synth_engine.errors import InputError, SpecError
from synth_engine.inference.tables import fit_margins, shrink_towards
from synth_engine.measurement import Answers, Candidate, Measurement, Selection
from synth_engine.mechanisms.pairwise.bayesian_network import BayesianNetworkPlan
from synth_engine.models import conditional
from synth_engine.models.model import Model, Node, Table, generator, whole_weights
from synth_engine.privacy.loss import Pure
from synth_engine.room.rows import Rows
from synth_engine.room.session import open_session
from synth_engine.spec import Spec
from tests.answers import replaced

SIZES = (4, 3, 2, 12)


def domain_of(sizes: Sequence[int] = SIZES) -> Domain:
    attributes = tuple(
        Integer(name=name, low=0, high=size - 1, width=1, ordered=False)
        for name, size in zip("abcdefgh", sizes, strict=False)
    )
    return Domain(attributes=attributes)


def codes_of(rows: int = 20_000) -> dict[str, np.ndarray]:
    """b follows a, c is whether a and b agree in parity, d is on its own."""
    rng = np.random.default_rng(5)
    a = rng.integers(0, 4, rows)
    b = np.where(rng.random(rows) < 0.9, a % 3, rng.integers(0, 3, rows))
    c = np.where(rng.random(rows) < 0.95, (a + b) % 2, rng.integers(0, 2, rows))
    return {"a": a, "b": b, "c": c, "d": rng.integers(0, 12, rows)}


@dataclass(frozen=True)
class Run:
    plan: mechanisms.Plan
    answers: Answers
    model: Model


def run_of(
    *, epsilon: str = "2", delta: str = "1e-9", rows: int = 20_000, **parameters: Any
) -> Run:
    spec = Spec(
        mechanism="bayesian-network",
        epsilon=Fraction(epsilon),
        delta=Fraction(delta),
        parameters=parameters,
    )
    plan = mechanisms.plan(domain_of(), spec)
    records = Rows(
        {name: codes.astype(np.uint16) for name, codes in codes_of(rows).items()},
        domain=plan.domain,
    )
    answers = plan.run(open_session(records, domain=plan.domain, cap=plan.loss))
    return Run(plan, answers, plan.fit(answers))


def distance(one: dict[str, np.ndarray], other: dict[str, np.ndarray], names: str) -> float:
    shape = [dict(zip("abcd", SIZES, strict=True))[name] for name in names]
    tables = [
        np.bincount(
            np.ravel_multi_index([codes[name] for name in names], shape),
            minlength=np.prod(shape),
        )
        / codes[names[0]].size
        for codes in (one, other)
    ]
    return 0.5 * float(np.abs(tables[0] - tables[1]).sum())


@pytest.mark.parametrize("delta", ["0", "1e-9"])
def test_relations_of_two_and_three_columns_are_kept(delta: str) -> None:
    real = codes_of()
    drawn = run_of(delta=delta, degree=2).model.sample(20_000, seed="s")
    assert distance(real, drawn, "ab") < 0.03
    assert distance(real, drawn, "abc") < 0.05
    assert all(distance(real, drawn, name) < 0.02 for name in "abcd")


def test_a_column_that_depends_on_nothing_is_taken_alone_or_learns_nothing() -> None:
    """Chance alone puts 20,000 records 0.02 apart from what would be independent, and 80,000 half as far."""
    drawn = run_of(epsilon="5", rows=80_000).model.sample(80_000, seed="s")
    assert distance(codes_of(80_000), drawn, "ad") < 0.03


def test_the_degree_and_the_size_of_tables_bound_the_network() -> None:
    for parameters in (
        {"degree": 1},
        {"degree": 3},
        {"table_cells": 8},
        {"degree": 2, "table_cells": 24},
    ):
        model = run_of(**parameters).model
        assert max(len(node.parents) for node in model.network) <= parameters.get("degree", 2)
        sizes = [table.weights.size for table in model.tables if len(table.clique) > 1]
        assert max(sizes, default=1) <= parameters.get("table_cells", 20_000)


def test_the_same_answers_give_the_same_model_and_other_answers_are_refused() -> None:
    run = run_of()
    again = run.plan.fit(run.answers)
    assert json.dumps(run.model.to_json()) == json.dumps(again.to_json())
    fewer = replaced(run.answers, Measurement, run.answers.measurements[:-1])
    astray = replaced(run.answers, Selection, (999, *run.answers.selections[1:]))
    for damaged in (fewer, astray):
        with pytest.raises(InputError, match="not of this plan"):
            run.plan.fit(damaged)


def test_a_network_survives_being_written_down() -> None:
    model = run_of().model
    again = Model.from_json(json.loads(json.dumps(model.to_json())))
    assert again.network == model.network
    first = mechanisms.draw_table(model, 300, "a seed").to_csv()
    assert first == mechanisms.draw_table(again, 300, "a seed").to_csv()


def test_a_reference_asked_about_again_keeps_its_distance_and_another_in_its_place_has_its_own() -> (
    None
):
    domain = domain_of((2, 2))
    rows = Rows({name: np.zeros(1000, dtype=np.uint16) for name in "ab"}, domain=domain)
    session = open_session(rows, domain=domain, cap=Pure(epsilon=Fraction(10**6)))

    def chosen(*references: list[int]) -> int:
        candidates = [
            Candidate(clique=(name,), reference=np.array(reference))
            for name, reference in zip("ab", references, strict=True)
        ]
        return session.select(candidates, scale=Fraction(1))

    for _ in range(50):  # arrays that are gone make room, often in the same place, for new ones
        assert chosen([0, 0], [1000, 0]) == 0
        assert chosen([1000, 0], [0, 0]) == 1
    kept = [
        Candidate(clique=("a",), reference=np.array([500, 0])),
        Candidate(clique=("b",), reference=np.array([1000, 0])),
    ]  # fmt: skip
    with pytest.raises(ValueError, match="read-only"):
        kept[0].reference[0] = 1000
    assert [session.select(kept, scale=Fraction(1)) for _ in range(3)] == [0, 0, 0]


def test_the_network_is_written_in_the_order_of_growth_with_how_much_each_column_depends_on_its_parents() -> (
    None
):
    model = run_of(epsilon="20").model
    nodes = model.to_json()["network"]
    assert [node["attribute"] for node in nodes] == [table.clique[-1] for table in model.tables]
    drawn: list[str] = []
    for node in nodes:
        assert set(node) == {"attribute", "parents", "strength"}
        assert set(node["parents"]) <= set(drawn)
        drawn.append(node["attribute"])
    strengths = {node["attribute"]: node["strength"] for node in nodes}
    assert strengths[nodes[0]["attribute"]] == 0
    assert strengths["d"] < 0.03
    assert 0.3 < max(strengths.values()) < 0.7


def test_strength_is_the_distance_from_independence() -> None:
    tied = np.array([[[2.0, 0.0], [0.0, 1.0]], [[0.0, 3.0], [4.0, 0.0]]])
    loose = np.multiply.outer([[1.0, 2.0], [3.0, 4.0]], [5.0, 5.0])
    for shares, expected in (
        (tied, 0.48),
        (loose, 0.0),
        (np.ones((2, 1)), 0.0),
        (np.ones(5), 0.0),
    ):
        clique = tuple("abc"[: shares.ndim])
        assert Table(clique=clique, weights=whole_weights(shares)).strength == expected


@pytest.mark.parametrize(("rows", "epsilon"), [(0, "1"), (1, "0.001"), (5, "1")])
def test_tiny_tables_and_losses_give_a_model_that_can_be_drawn_from(
    rows: int, epsilon: str
) -> None:
    for delta in ("0", "1e-9"):
        model = run_of(rows=rows, epsilon=epsilon, delta=delta).model
        assert len(mechanisms.draw_table(model, 40, "s")) == 40


@pytest.mark.parametrize("delta", [Fraction(0), Fraction(1, 10**9)])
def test_the_smaller_epsilon_is_the_more_of_it_goes_to_single_columns_and_all_of_it_is_shared_out(
    delta: Fraction,
) -> None:
    parts = []
    for epsilon in ("0.001", "0.01", "0.02", "1", "100"):
        spec = Spec(mechanism="bayesian-network", epsilon=Fraction(epsilon), delta=delta)
        plan = mechanisms.plan(domain_of(), spec)
        assert isinstance(plan, BayesianNetworkPlan)
        shares = plan.shares
        whole = plan.cap.epsilon if isinstance(plan.cap, Pure) else plan.rho
        assert shares.columns + shares.choices + shares.tables == whole
        assert min(shares.choices, shares.tables) > 0
        parts.append(shares.columns / whole)
    assert parts == sorted(parts, reverse=True)
    assert (parts[0], parts[-1]) == (Fraction(9, 10), Fraction(3, 5))


def test_shares_that_are_given_are_taken() -> None:
    spec = Spec(
        mechanism="bayesian-network", epsilon=Fraction(1), parameters={"structure_share": 0.5}
    )
    plan = mechanisms.plan(domain_of(), spec)
    assert isinstance(plan, BayesianNetworkPlan)
    assert plan.shares.choices == Fraction(1, 2)
    assert plan.shares.tables > 0
    spec = Spec(
        mechanism="bayesian-network", epsilon=Fraction(1), parameters={"columns_share": 0.2}
    )
    again = mechanisms.plan(domain_of(), spec)
    assert isinstance(again, BayesianNetworkPlan)
    assert again.shares.columns == Fraction(1, 5)


def test_one_column_is_a_histogram() -> None:
    spec = Spec(mechanism="bayesian-network", epsilon=Fraction(1))
    plan = mechanisms.plan(domain_of((3,)), spec)
    rows = Rows({"a": np.array([0, 1, 1], dtype=np.uint16)}, domain=plan.domain)
    session = open_session(rows, domain=plan.domain, cap=plan.loss)
    assert [node.attribute for node in plan.fit(plan.run(session)).network] == ["a"]


@pytest.mark.parametrize(
    ("parameters", "reason"),
    [
        ({"degree": 4}, "only 3 others"), ({"degree": -1}, "between"), ({"degree": "two"}, "type integer"),
        ({"table_cells": 10**7}, "between"),
        ({"columns_share": 0.9, "structure_share": 0.1}, "nothing for tables"),
        ({"columns_share": "nan"}, "type number"), ({"structure_share": -0.1}, "between"),
    ],
)  # fmt: skip
def test_wrong_parameters_are_refused_by_name(parameters: dict[str, Any], reason: str) -> None:
    spec = Spec(mechanism="bayesian-network", epsilon=Fraction(1), parameters=parameters)
    with pytest.raises(SpecError, match=reason):
        mechanisms.plan(domain_of(), spec)


@pytest.mark.parametrize(
    "network",
    [
        [{"attribute": "b", "parents": ["a"]}, {"attribute": "a", "parents": []}],
        [{"attribute": "a", "parents": []}],
        [{"attribute": "a", "parents": []}, {"attribute": "b", "parents": []}],
        [{"attribute": "a", "parents": []}, {"attribute": "b", "parents": ["c"]}],
        [{"attribute": "a"}, {"attribute": "b", "parents": ["a"]}],
    ],
)
def test_a_network_without_order_or_without_its_tables_is_refused(
    network: list[dict[str, Any]],
) -> None:
    tables = (
        Table(clique=("a",), weights=whole_weights(np.ones(2))),
        Table(clique=("a", "b"), weights=whole_weights(np.ones((2, 2)))),
    )
    nodes = (Node(attribute="a", parents=()), Node(attribute="b", parents=("a",)))
    domain = domain_of((2, 2))
    document = Model(
        mechanism="bayesian-network", domain=domain, rows=3, tables=tables, network=nodes
    ).to_json()
    Model.from_json(document)
    with pytest.raises(InputError):
        Model.from_json(document | {"network": network})


def test_counts_drawn_within_a_group_are_within_one_of_their_expectation() -> None:
    weights = whole_weights(np.array([[0.5, 0.3, 0.2], [0.0, 0.1, 0.9], [0.0, 0.0, 0.0]]) + 0.0)
    given = np.repeat(np.array([0, 1, 2], dtype=np.uint16), [700, 200, 100])
    drawn = conditional.draw(weights, [given], rows=1000, rng=generator("s", purpose=("test",)))
    shares = weights / np.maximum(weights.sum(axis=1, keepdims=True), 1)
    shares[2] = weights.sum(axis=0) / weights.sum()
    for group, size in enumerate((700, 200, 100)):
        found = np.bincount(drawn[given == group], minlength=3)
        assert np.abs(found - shares[group] * size).max() <= 1
        assert np.all(found[shares[group] == 0] == 0)


def test_many_small_groups_together_have_the_right_counts() -> None:
    weights = whole_weights(np.tile([0.2, 0.5, 0.3], (2000, 1)))
    given = np.repeat(np.arange(2000, dtype=np.uint16), 2)
    drawn = conditional.draw(weights, [given], rows=4000, rng=generator("s", purpose=("test",)))
    assert np.abs(np.bincount(drawn, minlength=3) - [800, 2000, 1200]).max() < 40


def test_siblings_are_independent_given_their_parent() -> None:
    """Drawing both children of a parent in the same order would tie them together."""
    node = [
        Node(attribute="a", parents=()),
        Node(attribute="b", parents=("a",)),
        Node(attribute="c", parents=("a",)),
    ]
    tables = tuple(
        Table(
            clique=(*n.parents, n.attribute),
            weights=whole_weights(np.ones((2,) * (len(n.parents) + 1))),
        )
        for n in node
    )
    model = Model(
        mechanism="bayesian-network",
        domain=domain_of((2, 2, 2)),
        rows=0,
        tables=tables,
        network=tuple(node),
    )
    codes = model.sample(20_000, seed="s")
    assert abs(np.corrcoef(codes["b"], codes["c"])[0, 1]) < 0.03


def test_shrinking_keeps_strong_relations_and_drops_noise() -> None:
    rng = np.random.default_rng(2)
    shares = np.outer(rng.dirichlet(np.ones(60)), rng.dirichlet(np.ones(20)))
    baseline = 30_000 * shares
    tilted = baseline * (
        1 + 0.8 * np.outer(np.sign(rng.normal(size=60)), np.sign(rng.normal(size=20)))
    )
    for truth, bound in ((baseline, 0.15), (tilted, 0.6)):
        noisy = truth + 25 * rng.standard_normal(truth.shape)
        shrunk = shrink_towards(noisy, baseline, sigma=25.0)
        assert shrunk.min() >= 0
        assert np.abs(shrunk - truth).sum() < bound * np.abs(noisy - truth).sum()


def test_fitted_margins_hold() -> None:
    rng = np.random.default_rng(4)
    truth = rng.random((3, 4, 5))
    fitted = fit_margins(
        rng.random((3, 4, 5)), [((0, 1), truth.sum(axis=2)), ((2,), truth.sum(axis=(0, 1)))]
    )
    assert np.allclose(fitted.sum(axis=2), truth.sum(axis=2), rtol=1e-3)
    assert np.allclose(fitted.sum(axis=(0, 1)), truth.sum(axis=(0, 1)))
