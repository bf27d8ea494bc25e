"""What is said of the rows of a release is about rows that the present sampler draws, as it draws those that people get."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from synth_engine import codec, mechanisms, pipeline
from synth_engine.confidential.trials import record_samples
from synth_engine.models import samplers
from synth_engine.models.model import Codes, Model
from synth_engine.plans import release_check
from synth_engine.plans.release_check import CheckedFigure, CheckedRelease, CheckPlan
from tests.engine.test_fast_sampler import refined_model

ROWS = 600
SEED = "s"


def codes_of(model: Model, sampler: int) -> Codes:
    return samplers.draw_together(model, ROWS, seed=SEED, sampler=sampler)


def is_same(one: Codes, other: Codes) -> bool:
    return all(np.array_equal(column, other[name]) for name, column in one.items())


@pytest.fixture
def table(tmp_path: Path) -> Path:
    frame = mechanisms.draw_table(refined_model(), ROWS, "a table")
    frame.to_csv(tmp_path / "table.csv", index=False)
    return tmp_path / "table.csv"


def test_samplers_draw_other_rows_of_this_model() -> None:
    of = refined_model()
    assert not is_same(codes_of(of, 1), codes_of(of, mechanisms.SAMPLER))


@pytest.mark.parametrize("sampler", [None, 1, 2, 5])
def test_a_report_shows_and_counts_the_rows_of_one_sampler(
    table: Path, sampler: int | None
) -> None:
    of = refined_model()
    named = {} if sampler is None else {"sampler": sampler}
    report = pipeline.report(table, model=of, rows=ROWS, seed=SEED, **named)
    frame = mechanisms.draw_table(of, ROWS, SEED, sampler=sampler or mechanisms.SAMPLER)
    shown = codec.as_text(of.domain, frame.head(20))
    assert report["side_by_side"]["synthetic"] == shown.to_numpy().tolist()
    name = report["attributes"][0]["name"]
    codes = codes_of(of, sampler or mechanisms.SAMPLER)[name]
    counts = np.bincount(codes.astype(int), minlength=of.domain.sizes[name])
    assert report["attributes"][0]["counts"]["synthetic"] == counts.tolist()


def test_models_and_attacks_see_the_rows_of_the_present_sampler() -> None:
    of = refined_model()
    seen = pipeline.GeneratedTable(model=of, rows=ROWS, seed=SEED).records()
    expected = record_samples.synthetic_sample(codes_of(of, mechanisms.SAMPLER), of.domain)
    assert is_same(dict(seen.codes), dict(expected.codes))


def plan_of(checked: CheckedRelease) -> CheckPlan:
    first, second, *_ = checked.model.domain.names
    figure = CheckedFigure(kind="distance", columns=(first, second))
    return release_check.plan(checked, [figure], epsilon=Fraction(1), delta=Fraction(0))


def test_a_check_names_its_sampler_and_stored_ones_without_a_name_keep_the_first() -> None:
    of = refined_model()
    plan = plan_of(CheckedRelease(core="0" * 64, seed=SEED, rows=ROWS, model=of))
    assert plan.spec.parameters["sampler"] == mechanisms.SAMPLER
    assert release_check.sampler_of(plan.spec) == mechanisms.SAMPLER
    assert is_same(plan.codes, codes_of(of, mechanisms.SAMPLER))
    first = CheckedRelease(core="0" * 64, seed=SEED, rows=ROWS, model=of, sampler=1)
    stored = plan_of(first)
    assert "sampler" not in stored.spec.parameters
    assert release_check.sampler_of(stored.spec) == 1
    assert is_same(stored.codes, of.sample(ROWS, seed=SEED))
