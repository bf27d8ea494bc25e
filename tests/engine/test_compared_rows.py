"""Statements about the rows of a release are about rows that are drawn as people get them."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from synth_engine import codec, mechanisms, pipeline
from synth_engine.models.model import Codes
from synth_engine.plans import release_check
from synth_engine.plans.release_check import CheckedFigure, CheckedRelease, CheckPlan
from synth_engine.trials import record_samples
from tests.engine.test_fast_sampler import refined_model

ROWS = 600
SEED = "s"


def is_same(one: Codes, other: Codes) -> bool:
    return all(np.array_equal(column, other[name]) for name, column in one.items())


@pytest.fixture
def table(tmp_path: Path) -> Path:
    frame = mechanisms.draw_table(refined_model(), ROWS, "a table")
    frame.to_csv(tmp_path / "table.csv", index=False)
    return tmp_path / "table.csv"


def test_a_report_shows_and_counts_the_rows_that_a_release_gives_out(table: Path) -> None:
    of = refined_model()
    report = pipeline.report(table, model=of, rows=ROWS, seed=SEED)
    frame = mechanisms.draw_table(of, ROWS, SEED)
    shown = codec.as_text(of.domain, frame.head(20))
    assert report["side_by_side"]["synthetic"] == shown.to_numpy().tolist()
    name = report["attributes"][0]["name"]
    codes = of.sample(ROWS, seed=SEED)[name]
    counts = np.bincount(codes.astype(int), minlength=of.domain.sizes[name])
    assert report["attributes"][0]["counts"]["synthetic"] == counts.tolist()


def test_models_and_attacks_see_these_rows_too() -> None:
    of = refined_model()
    seen = pipeline.GeneratedTable(model=of, rows=ROWS, seed=SEED).records()
    expected = record_samples.synthetic_sample(of.sample(ROWS, seed=SEED), of.domain)
    assert is_same(dict(seen.codes), dict(expected.codes))


def plan_of(checked: CheckedRelease) -> CheckPlan:
    first, second, *_ = checked.model.domain.names
    figure = CheckedFigure(kind="distance", columns=(first, second))
    return release_check.plan(checked, [figure], epsilon=Fraction(1), delta=Fraction(0))


def test_a_check_is_about_the_rows_that_a_release_gives_out() -> None:
    of = refined_model()
    plan = plan_of(CheckedRelease(core="0" * 64, seed=SEED, rows=ROWS, model=of))
    assert is_same(plan.codes, of.sample(ROWS, seed=SEED))
