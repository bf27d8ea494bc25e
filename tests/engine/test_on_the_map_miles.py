"""`on-the-map`: by how many miles average distances will be off, said before anything is spent and measured
afterwards."""

from __future__ import annotations

import re
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from synth_engine import mechanisms, pipeline
from synth_engine.domain import Categorical, Domain, PointSet, Totals
from synth_engine.plans.plan import Plan
from synth_engine.privacy.unit import Relation
from synth_engine.spec import Spec
from tests.engine import great_circle


def plan_of(domain: Domain, epsilon: str = "2", delta: str = "1e-6", **parameters: Any) -> Plan:
    spec = Spec(
        mechanism="on-the-map",
        epsilon=Fraction(epsilon),
        delta=Fraction(delta),
        parameters=parameters,
    )
    return mechanisms.plan(domain, spec)


def county(rng: np.random.Generator) -> tuple[Domain, pd.DataFrame]:
    """400 homes and 60 places of work; commutes are longer in some of these than in others."""
    homes, works = tuple(f"h{i}" for i in range(400)), tuple(f"w{i}" for i in range(60))
    at, at_work = (np.array([41.0, -71.0]) + rng.random((n, 2)) * [0.4, 0.5] for n in (400, 60))
    sizes = np.maximum(rng.pareto(0.8, 60) * 15, 3).astype(int)
    apart = great_circle.miles(at_work, at)
    rows = []
    for work, (size, far, scale) in enumerate(
        zip(sizes, apart, rng.uniform(3, 10, 60), strict=True)
    ):
        chances = np.exp(-far / scale) * rng.gamma(1.0, size=400)
        rows += [
            (homes[home], works[work])
            for home in rng.choice(400, size, p=chances / chances.sum())
        ]
    points = {
        name: tuple((*point, 1.0) for point in places.tolist())
        for name, places in (("home", at), ("work", at_work))
    }
    domain = Domain(
        attributes=(
            Categorical(name="home", values=homes, outside="clamp"),
            Categorical(name="work", values=works, outside="clamp"),
        ),
        relation=Relation.REPLACE_ONE,
        totals=Totals(column="work", counts=tuple(sizes.tolist())),
        points=tuple(PointSet(column=name, at=points[name]) for name in ("home", "work")),
    )
    return domain, pd.DataFrame(rows, columns=["home", "work"])


@pytest.mark.parametrize(
    ("epsilon", "parameters"),
    [
        ("8", {"parts": "64 cells"}),
        ("8", {"parts": "64 cells", "filter": False}),
        ("3", {"parts": "16 cells; 64 cells from 100"}),
        ("2", {"parts": "16 cells", "filter": False}),
    ],
)
def test_miles_are_foreseen_within_a_factor_of_two(
    epsilon: str, parameters: dict[str, Any], tmp_path: Path
) -> None:
    """What is foreseen is a mean: that of one release strays from it by a fifth, that of ten releases by a
    fifteenth."""
    domain, rows = county(np.random.default_rng(4))
    rows.to_csv(tmp_path / "county.csv", index=False)
    plan = plan_of(domain, epsilon, "1e-5", **parameters)
    home, work = (np.array([point[:2] for point in points.at]) for points in domain.points)
    apart = great_circle.miles(work, home)
    homes, works = (pd.Index(domain.attribute(name).value_labels) for name in ("home", "work"))

    def by_work(one: pd.DataFrame) -> pd.Series:
        """Mean miles of each place of work."""
        miles = apart[works.get_indexer(one["work"]), homes.get_indexer(one["home"])]
        return pd.Series(miles).groupby(one["work"].to_numpy()).mean()

    real, weights = by_work(rows), rows["work"].value_counts()
    found = []
    for _ in range(10):
        model = plan.fit(pipeline.measure(tmp_path / "county.csv", plan=plan))
        drawn = by_work(mechanisms.draw_table(model, model.rows, "seed"))
        found.append(np.average((real - drawn).abs(), weights=weights[real.index]))
    said = re.search(r"off by about ([\d.]+) miles", plan.expected_error().assumes)
    assert said is not None
    assert 0.5 < float(said[1]) / np.mean(found) < 2


def test_without_points_no_miles_are_foreseen() -> None:
    domain, _ = county(np.random.default_rng(4))
    assert "miles" not in plan_of(replace(domain, points=())).expected_error().assumes
