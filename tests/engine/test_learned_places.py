"""Cells of places that a run learns before a method: what is asked, what a release generates, and what is
refused."""

from __future__ import annotations

import json
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from synth_engine import mechanisms, pipeline, verifier
from synth_engine.domain import Domain
from synth_engine.errors import DomainError, InputError, SpecError
from synth_engine.evaluation import expected, expected_errors
from synth_engine.mechanisms.trees import place_stage
from synth_engine.models.model import SCHEMA, Model
from synth_engine.spec import Spec

ROWS = 4_000
DEGREES: list[dict[str, Any]] = [
    {"name": name, "kind": "number", "low": low, "high": low + 1, "edges": [low + k / 32 for k in range(33)]}
    for name, low in (("north", 41), ("east", -72))
]  # fmt: skip
CORNER = {"name": "corner", "kind": "categorical", "values": ["a", "b", "c", "d"],
    "outside": "clamp"}  # fmt: skip
TOWN = {"name": "town", "kind": "derived", "rule": "nearest", "of": ["north", "east"],
    "points": [[41.2, -71.5, "South"], [41.8, -71.5, "North"]]}  # fmt: skip
HOME = {"name": "home", "latitude": "north", "longitude": "east", "learned": True}
DOCUMENT = {"attributes": [*DEGREES, CORNER, TOWN], "places": [HOME]}
DOMAIN = Domain.from_json(DOCUMENT)
SPEC = Spec(mechanism="auto", epsilon=Fraction(1), delta=Fraction(1, 10**9))


def table() -> pd.DataFrame:
    """Points around the middle, and the corner of the box in which each lies: neither coordinate alone
    decides it."""
    rng = np.random.default_rng(5)
    at = np.clip(rng.normal(0.5, 0.15, (ROWS, 2)), 0, 0.999)
    corner = np.array(list("abcd"))[(at[:, 0] > 0.5) * 2 + (at[:, 1] > 0.5)]
    return pd.DataFrame({"north": 41 + at[:, 0], "east": -72 + at[:, 1], "corner": corner})


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("places") / "table.csv"
    table().to_csv(file, index=False)
    return file


@pytest.fixture(scope="module")
def release(path: Path) -> pipeline.Release:
    return pipeline.synthesize(path, domain=DOMAIN, spec=SPEC)


def test_a_place_is_counted_as_one_column_beside_others(release: pipeline.Release) -> None:
    verbs = [call.query.verb for call in release.answers.calls]
    assert verbs[:2] == ["measure", "grow"]
    columns = {name for call in release.answers.calls[2:] for name in call.query.clique}
    assert columns == {"home", "corner"}
    receipt = release.plan.receipt(release.answers)
    assert receipt["mechanism"]["kind"] == "adaptive"
    verifier.verify(receipt)


def test_other_columns_follow_from_the_place(release: pipeline.Release) -> None:
    sample = mechanisms.draw_table(release.model, ROWS, "seed")
    assert list(sample) == ["north", "east", "corner", "town"]
    north, east = sample["north"] > 41.5, sample["east"] > -71.5
    implied = np.array(list("abcd"))[north.astype(int) * 2 + east.astype(int)]
    # Most pairs of a column and one coordinate say nothing: independent columns would agree in a quarter.
    assert (sample["corner"].to_numpy() == implied).mean() > 0.8
    clear = (
        sample["north"] - 41.5
    ).abs() > 0.01  # the middle of two points is no circle of latitude
    assert (sample["town"] == np.where(north, "North", "South"))[clear].all()


def test_answers_and_models_are_read_again(release: pipeline.Release) -> None:
    again = release.plan.fit(release.answers)
    document = json.loads(json.dumps(release.model.to_json()))
    assert document["schema"] == SCHEMA
    stored = Model.from_json(document)
    for model in (again, stored):
        for name, codes in release.model.sample(300, seed="s").items():
            assert (model.sample(300, seed="s")[name] == codes).all()
    blocks = list(mechanisms.draw_blocks(stored, 300, "s"))
    assert sum(map(len, blocks)) == 300


@pytest.mark.parametrize("change", ["nested", "areas", "columns", "none"])
def test_a_model_of_other_places_is_refused(release: pipeline.Release, change: str) -> None:
    document = json.loads(json.dumps(release.model.to_json()))
    if change == "nested":
        document["coded"]["coded"] = document["coded"]
    elif change == "areas":
        document["places"][0]["areas"][0] = -1
    elif change == "columns":
        document["coded"]["domain"]["attributes"][0]["name"] = "elsewhere"
    else:
        document["places"] = []
    with pytest.raises(InputError):
        Model.from_json(document)


def test_answers_of_another_plan_are_refused(release: pipeline.Release) -> None:
    plain = Domain.from_json(DOCUMENT | {"places": [HOME | {"learned": False}]})
    with pytest.raises(InputError):
        mechanisms.plan(plain, SPEC).fit(release.answers)
    with pytest.raises(InputError):
        release.plan.fit(release.answers[1:])


def test_figures_of_a_release_take_the_columns_that_were_counted(
    release: pipeline.Release,
) -> None:
    receipt = release.plan.receipt(release.answers)
    figures = expected.expected_columns(release.model, receipt["calls"])
    assert {each.name: bool(each.figures) for each in figures}["corner"]
    plan = expected_errors.plan_of(DOMAIN, receipt)
    assert plan is not None
    assert expected_errors.simulated(release.model, plan) is None


def test_a_tiny_budget_leaves_few_cells_and_a_table(path: Path) -> None:
    spec = replace(SPEC, epsilon=Fraction(1, 1_000))
    release = pipeline.synthesize(path, domain=DOMAIN, spec=spec)
    # Each further split needs noise that 1 of 100 cells has: nine of them come about less than once in 10⁹
    # runs.
    assert release.model.places[0].size <= 25
    assert len(mechanisms.draw_table(release.model, 100, "s")) == 100


@pytest.mark.parametrize("rows", [0, 1])
def test_a_table_of_hardly_any_record_does_not_fail(tmp_path: Path, rows: int) -> None:
    table().head(rows).to_csv(tmp_path / "small.csv", index=False)
    release = pipeline.synthesize(tmp_path / "small.csv", domain=DOMAIN, spec=SPEC)
    mechanisms.draw_table(release.model, 10, "s")


def test_points_outside_of_the_box_count_at_its_border(tmp_path: Path) -> None:
    outside = table()
    outside.loc[:100, "north"], outside.loc[:100, "east"] = 95.0, -500.0
    outside.to_csv(tmp_path / "outside.csv", index=False)
    release = pipeline.synthesize(tmp_path / "outside.csv", domain=DOMAIN, spec=SPEC)
    sample = mechanisms.draw_table(release.model, 200, "s")
    assert sample["north"].between(41, 42).all()
    assert sample["east"].between(-72, -71).all()


@pytest.mark.parametrize("values", [1, 90])
def test_cells_of_public_points_and_columns_that_are_learned_too(
    tmp_path: Path, values: int
) -> None:
    points = [{"place": "home", "at": [[41.5, -71.5], [41.6, -71.4], [41.2, -71.9]]}]
    wide = {"name": "size", "kind": "scale", "of": "integer", "low": 0, "high": 99}
    domain = Domain.from_json(
        DOCUMENT | {"points": points, "attributes": [*DEGREES, CORNER, wide]}
    )
    table().assign(size=np.arange(ROWS) % values).to_csv(tmp_path / "table.csv", index=False)
    release = pipeline.synthesize(tmp_path / "table.csv", domain=domain, spec=SPEC)
    verifier.verify(release.plan.receipt(release.answers))
    assert not release.model.domain.undeclared
    stored = Model.from_json(json.loads(json.dumps(release.model.to_json())))
    sample = stored.sample(500, seed="s")
    assert len(set(zip(sample["north"].tolist(), sample["east"].tolist(), strict=True))) <= 3
    assert mechanisms.draw_table(stored, 500, "s")["size"].between(0, 99).all()


@pytest.mark.parametrize("mechanism", ["independent", "random", "adaptive"])
def test_methods_that_do_not_choose_tables_count_degrees(mechanism: str) -> None:
    domain = Domain.from_json(DOCUMENT | {"attributes": [*DEGREES, CORNER]})
    plan = mechanisms.plan(domain, replace(SPEC, mechanism=mechanism))
    assert not isinstance(plan, place_stage.PlacesPlan)


def test_what_is_forecast_is_that_of_the_method_with_what_is_left() -> None:
    estimate = mechanisms.estimate(DOMAIN, SPEC, rows=ROWS)
    assert 0 < estimate.errors.mean < 1
    assert estimate.resources.memory_bytes > 0
    assert estimate.loss.epsilon <= 1


def test_an_older_description_keeps_its_digest() -> None:
    plain = {"name": "home", "latitude": "north", "longitude": "east"}
    domain = Domain.from_json(DOCUMENT | {"places": [plain]})
    assert domain.to_json()["places"] == [plain]
    assert DOMAIN.to_json()["places"] == [HOME]
    assert DOMAIN.digest != domain.digest


@pytest.mark.parametrize(
    "change",
    [
        {"places": [HOME | {"learned": "yes"}]},
        {"places": [HOME | {"name": "corner"}]},
    ],
)
def test_what_cannot_be_learned_is_refused_in_the_description(change: dict[str, Any]) -> None:
    with pytest.raises(DomainError) as refused:
        Domain.from_json(DOCUMENT | change)
    assert refused.value.repair


@pytest.mark.parametrize(
    "change",
    [
        {"attributes": [DEGREES[0] | {"missing": ["?"]}, *DEGREES[1:], CORNER]},
        {"constraints": [{"kind": "impossible", "columns": {"north": [{"to": 41.25}], "corner": ["a"]}}]},
    ],
)  # fmt: skip
def test_what_has_no_cells_is_refused_before_anything_is_paid(change: dict[str, Any]) -> None:
    domain = Domain.from_json(DOCUMENT | change)
    with pytest.raises((DomainError, SpecError)) as refused:
        mechanisms.plan(domain, SPEC)
    assert refused.value.repair
