"""The error that is expected after a run: the plan simulated on a table that its own model generates."""

from __future__ import annotations

import itertools
from dataclasses import replace
from fractions import Fraction
from statistics import fmean
from typing import cast

import numpy as np
import pytest
from numpy.typing import NDArray

from synth_engine import mechanisms
from synth_engine.domain import Domain, Integer
from synth_engine.evaluation import expected_errors
from synth_engine.evaluation.expected_errors import SimulatedSession
from synth_engine.measurement import Candidate, Noise, Session
from synth_engine.models.model import Model
from synth_engine.plans.plan import Plan
from synth_engine.privacy.unit import Relation
from synth_engine.spec import Spec

ROWS = 6_000
SIZES = (2, 3, 5, 8, 4)
QUIET = Noise(law="rounded-gaussian", scale=Fraction(1, 2**10))
Table = dict[str, NDArray[np.int64]]


def domain_of() -> Domain:
    attributes = tuple(
        Integer(name=f"c{at}", low=0, high=size - 1, width=1) for at, size in enumerate(SIZES)
    )
    return Domain(attributes=attributes, relation=Relation.ADD_REMOVE)


def plan_of(method: str = "auto") -> Plan:
    spec = Spec(mechanism=method, epsilon=Fraction(1), delta=Fraction(1, 10**9))
    return mechanisms.plan(domain_of(), spec)


def table_of(dependence: float) -> Table:
    """Columns that copy a hidden one with this probability, and are uniform else."""
    rng = np.random.default_rng(5)
    hidden = rng.integers(0, 1_000, ROWS)
    return {
        f"c{at}": np.where(
            rng.random(ROWS) < dependence, hidden % size, rng.integers(0, size, ROWS)
        )
        for at, size in enumerate(SIZES)
    }


def session_of(table: Table, *, seed: int = 1) -> SimulatedSession:
    rng = np.random.default_rng(seed)
    return SimulatedSession(domain=domain_of(), table=table, rng=rng)


def released(plan: Plan, table: Table) -> Model:
    return plan.fit(plan.run(cast(Session, session_of(table))))


def distance(table: Table, model: Model, columns: int) -> float:
    synthetic = model.sample(model.rows, seed="a table of the release")
    return fmean(
        expected_errors._distance(table, synthetic, clique, domain_of().sizes)
        for clique in itertools.combinations(domain_of().names, columns)
    )


@pytest.mark.parametrize("dependence", [0.0, 0.4, 0.9])
def test_errors_are_expected_as_they_are_however_dependent_columns_are(
    dependence: float,
) -> None:
    # All noise has a fixed seed: the same figures in every run.
    table, plan = table_of(dependence), plan_of()
    model = released(plan, table)
    errors = expected_errors.simulated(model, plan)
    assert errors is not None
    for columns, expected in ((1, errors.columns), (2, errors.pairs)):
        assert 0.5 < expected.estimate.value / distance(table, model, columns) < 2
        assert 0 < expected.low < expected.estimate.value < expected.high <= 1
    if not dependence:
        assert errors.relations is None
    else:
        assert errors.relations is not None and errors.relations.estimate.value < 0.3
    assert errors == expected_errors.simulated(model, plan)
    assert errors == expected_errors.from_json(expected_errors.to_json(errors))


def test_methods_that_do_not_look_at_every_pair_have_no_expected_errors() -> None:
    plan = plan_of("independent")
    assert expected_errors.simulated(released(plan, table_of(0.4)), plan) is None
    assert expected_errors.from_json(expected_errors.to_json(None)) is None


def test_a_run_that_takes_too_long_is_not_simulated(monkeypatch: pytest.MonkeyPatch) -> None:
    plan = plan_of()
    model = released(plan, table_of(0.4))
    monkeypatch.setattr(expected_errors, "MAX_SECONDS", 0.0)
    assert expected_errors.simulated(model, plan) is None


def test_the_plan_of_a_release_follows_from_its_documents_or_is_not_known() -> None:
    plan = plan_of()
    receipt = plan.receipt()
    found = expected_errors.plan_of(domain_of(), receipt)
    assert found is not None and found.digest == plan.digest
    other = replace(domain_of(), relation=Relation.REPLACE_ONE, rows=ROWS)
    assert expected_errors.plan_of(other, receipt) is None
    prior = receipt["mechanism"] | {"parameters": {"prior": {"sha256": "0" * 64}}}
    assert expected_errors.plan_of(domain_of(), receipt | {"mechanism": prior}) is None


def test_simulated_answers_are_counts_contrasts_and_distances_with_noise() -> None:
    table, clique = table_of(0.9), ("c1", "c3")
    session = session_of(table)
    counts = np.zeros((SIZES[1], SIZES[3]), dtype=np.int64)
    np.add.at(counts, (table["c1"], table["c3"]), 1)
    assert np.array_equal(session.measure(clique, noise=QUIET).values, counts)
    halves = np.array([0, 0, 0, 0, 1, 1, 1, 1])
    merged = session.measure(clique, noise=QUIET, merged={"c3": halves}).values
    assert np.array_equal(
        merged, np.stack([counts[:, :4].sum(axis=1), counts[:, 4:].sum(axis=1)], axis=1)
    )
    contrast = session.interaction(clique, noise=QUIET).values
    assert not contrast.sum(axis=0).any() and not contrast.sum(axis=1).any()
    assert contrast.any()
    product = np.rint(np.multiply.outer(counts.sum(axis=1), counts.sum(axis=0)) / ROWS)
    near = Candidate(clique=clique, reference=counts.copy())
    far = Candidate(clique=clique, reference=product.astype(np.int64), penalty=7)
    scores = session.score([near, far], noise=QUIET).values
    assert scores.tolist() == [0, int(np.abs(counts - far.reference).sum()) - 7]
    assert session.select([near, far], scale=Fraction(1, 10)) == 1
    assert len(session.answers) == 5
    noisy = session.measure(clique, noise=Noise(law="discrete-laplace", scale=Fraction(100)))
    assert 50 < float(np.abs(noisy.values - counts).mean()) < 200
