"""`on-the-map` beside an earlier table of the same columns: what it improves, what stays, and what is
refused."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from synth_engine import mechanisms, pipeline, verifier
from synth_engine.errors import SpecError, VerificationError
from synth_engine.inference.geography import EarlierRecords
from synth_engine.references import PublicTable, load_public_table
from tests.engine.test_on_the_map_miles import county, plan_of


def earlier(rows: pd.DataFrame, folder: Path, name: str = "earlier.csv") -> PublicTable:
    rows.to_csv(folder / name, index=False)
    return load_public_table(folder / name, published="the bureau's page")


def distance(one: pd.DataFrame, other: pd.DataFrame) -> float:
    shares = [rows.value_counts(normalize=True) for rows in (one, other)]
    return float(shares[0].subtract(shares[1], fill_value=0).abs().sum() / 2)


def test_an_earlier_table_is_a_better_shape_than_distance(tmp_path: Path) -> None:
    domain, rows = county(np.random.default_rng(4))
    # Last year: most records are as they were, and some have another home.
    again = rows.sample(frac=1.0, replace=True, random_state=1)
    rows.to_csv(tmp_path / "county.csv", index=False)
    plan = plan_of(domain, "2", "1e-5", parts="values")
    answers = pipeline.measure(tmp_path / "county.csv", plan=plan)
    beside = plan.with_prior(earlier(again, tmp_path))
    errors = []
    for one in (plan, beside):
        model = one.fit(answers)
        drawn = mechanisms.draw_table(model, model.rows, "s")
        assert drawn["work"].value_counts().to_dict() == rows["work"].value_counts().to_dict()
        errors.append(distance(rows[["home", "work"]], drawn[["home", "work"]]))
    assert errors[1] < 0.7 * errors[0]


def test_what_is_asked_and_what_it_costs_stay(tmp_path: Path) -> None:
    domain, rows = county(np.random.default_rng(4))
    rows.to_csv(tmp_path / "county.csv", index=False)
    plan = plan_of(domain, "2", "1e-5", parts="16 cells")
    prior = earlier(rows.head(500), tmp_path)
    beside = plan.with_prior(prior)
    assert beside.calls == plan.calls and beside.epsilon == plan.epsilon
    answers = pipeline.measure(tmp_path / "county.csv", plan=beside)
    receipt: Any = beside.receipt(answers)
    assert receipt["mechanism"]["parameters"]["earlier"]["sha256"] == prior.source.sha256
    assert any(prior.source.sha256 in caveat for caveat in verifier.verify(receipt).caveats)
    # A request that states the table is not fitted without it.
    with pytest.raises(SpecError):
        replace(beside, prior=None).fit(answers)
    with pytest.raises(SpecError):
        mechanisms.plan(domain, beside.spec)
    assert mechanisms.plan(domain, beside.spec, prior=prior).spec == beside.spec
    stated: Any = beside.spec.parameters["earlier"]
    parameters = {**beside.spec.parameters, "earlier": {**stated, "sha256": "x"}}
    forged = replace(beside, spec=replace(beside.spec, parameters=parameters))
    with pytest.raises(VerificationError, match="public table"):
        verifier.verify(dict(forged.receipt(answers)))


def test_a_table_that_can_shape_nothing_is_refused(tmp_path: Path) -> None:
    domain, rows = county(np.random.default_rng(4))
    plan = plan_of(domain, parts="16 cells")
    with pytest.raises(SpecError, match="not both columns"):
        plan.with_prior(earlier(rows[["home"]], tmp_path))
    whole = earlier(rows, tmp_path, "whole.csv")
    for other in (
        plan_of(domain, parts="16 cells", filter=False),
        plan_of(replace(domain, points=()), parts="values"),
    ):
        with pytest.raises(SpecError, match="points of both columns"):
            other.with_prior(whole)


def test_groups_with_few_earlier_records_keep_to_distance() -> None:
    flows = EarlierRecords(
        groups=np.repeat([0, 2], [2_000, 2]), parts=np.repeat([1, 0], [2_000, 2])
    )
    mass = np.array([[3.0, 1.0, 0.0]] * 3)
    blended = flows.blend(mass, 0)
    assert blended.sum(axis=1) == pytest.approx([1, 1, 1])
    assert blended[0, 1] > 0.98 and (blended[:, 2] == 0).all()
    assert blended[1] == pytest.approx([0.75, 0.25, 0])
    assert 0.75 < blended[2, 0] < 0.8
    assert flows.blend(mass[1:], 1) == pytest.approx(blended[1:])
