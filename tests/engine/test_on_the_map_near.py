"""`on-the-map` by parts near each group: less prior, long commutes by themselves, and totals as they are."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from synth_engine import mechanisms, pipeline, verifier
from synth_engine.errors import SpecError
from tests.engine import great_circle
from tests.engine.test_on_the_map_miles import county, plan_of

NEAR, ALL = "values within 8 miles", "values"


def test_fewer_parts_need_less_prior_and_far_records_stay_far(tmp_path: Path) -> None:
    domain, rows = county(np.random.default_rng(4))
    rows.to_csv(tmp_path / "county.csv", index=False)
    plan, whole = plan_of(domain, "3", parts=NEAR), plan_of(domain, "3", parts=ALL)
    assert plan.prior_share < 0.8 * whole.prior_share  # type: ignore[attr-defined]
    assert "miles" not in plan.expected_error().assumes.replace(NEAR, "")
    answers = pipeline.measure(tmp_path / "county.csv", plan=plan)
    verifier.verify(plan.receipt(answers))
    model = plan.fit(answers)
    drawn = mechanisms.draw_table(model, model.rows, "s")
    assert drawn["work"].value_counts().to_dict() == rows["work"].value_counts().to_dict()
    home, work = (np.array([point[:2] for point in points.at]) for points in domain.points)
    apart = great_circle.miles(work, home)
    far = [
        np.mean(
            [
                apart[int(w[1:]), int(h[1:])] > 8
                for h, w in zip(t["home"], t["work"], strict=True)
            ]
        )
        for t in (rows, drawn)
    ]
    assert abs(far[0] - far[1]) < 0.1


def test_a_farthest_distance_leaves_no_far_pair(tmp_path: Path) -> None:
    domain, rows = county(np.random.default_rng(4))
    rows.to_csv(tmp_path / "county.csv", index=False)
    plan = plan_of(domain, "3", parts="values within 20 miles", farthest_miles=20)
    model = plan.fit(pipeline.measure(tmp_path / "county.csv", plan=plan))
    drawn = mechanisms.draw_table(model, model.rows, "s")
    home, work = (np.array([point[:2] for point in points.at]) for points in domain.points)
    apart = great_circle.miles(work, home)
    miles = [
        apart[int(w[1:]), int(h[1:])] for h, w in zip(drawn["home"], drawn["work"], strict=True)
    ]
    assert max(miles) <= 20.01


def test_parts_within_a_distance_need_points() -> None:
    from dataclasses import replace

    domain, _ = county(np.random.default_rng(4))
    with pytest.raises(SpecError, match="points of both columns"):
        plan_of(replace(domain, points=()), parts=NEAR)
