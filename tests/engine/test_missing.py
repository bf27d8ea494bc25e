"""A missing value is a value of its attribute like any other, so what goes together with its being missing is
kept."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from synth_engine import mechanisms, pipeline
from synth_engine.domain import Categorical, Domain, Integer, Number
from synth_engine.mechanisms import uniform
from synth_engine.spec import Spec

ROWS = 6_000
DOMAIN = Domain(
    attributes=(
        Integer(name="income", low=0, high=99, width=10, missing=("",)),
        Number(name="hours", low=0, high=60, edges=(0, 20, 40, 60), missing=("?", "")),
        Categorical(name="works", values=("yes", "no"), missing=("-",)),
    )
)


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Income and hours are missing together, for nearly all who do not work and few others."""
    rng = np.random.default_rng(7)
    works = rng.random(ROWS) < 0.6
    gone = rng.random(ROWS) < np.where(works, 0.05, 0.9)
    hours_gone = np.where(rng.random(ROWS) < 0.95, gone, ~gone)
    income = rng.integers(0, 100, ROWS)
    hours = rng.integers(0, 60, ROWS)
    path = tmp_path_factory.mktemp("missing") / "table.csv"
    cells = (
        f"{'' if a else i},{('?', '')[i % 2] if b else h},{'yes' if w else 'no'}"
        for i, h, a, b, w in zip(
            income.tolist(), hours.tolist(), gone, hours_gone, works, strict=True
        )
    )
    path.write_text("income,hours,works\n" + "\n".join(cells) + "\n")
    return path


def _together(frame: object) -> float:
    """The correlation of the two columns' being missing."""
    gone = frame[["income", "hours"]].isna().to_numpy(dtype=float)  # type: ignore[index]
    return float(np.corrcoef(gone.T)[0, 1])


def _release(table: Path, mechanism: str) -> pipeline.Release:
    spec = Spec(mechanism=mechanism, epsilon=Fraction(2), seed="s")
    return pipeline.synthesize(table, domain=DOMAIN, spec=spec)


@pytest.mark.parametrize("mechanism", ["bayesian-network", "contingency-table"])
def test_a_network_and_a_whole_table_keep_that_two_columns_are_missing_together(
    table: Path, mechanism: str
) -> None:
    drawn = mechanisms.draw_table(_release(table, mechanism).model, ROWS, "s")
    assert _together(drawn) > 0.7  # 0.9 in the table
    idle = drawn["works"] == "no"
    assert drawn.loc[idle, "income"].isna().mean() > 0.75
    assert drawn.loc[~idle, "income"].isna().mean() < 0.2


def test_independent_columns_keep_how_many_are_missing_and_nothing_more(table: Path) -> None:
    release = _release(table, "independent")
    drawn = mechanisms.draw_table(release.model, ROWS, "s")
    assert (
        abs(_together(drawn)) < 0.2
    )  # noise moves it by 0.01, and 0.05 would be six times its spread
    assert abs(drawn["income"].isna().mean() - 0.39) < 0.03


def test_random_values_are_missing_as_often_as_any_other_value() -> None:
    drawn = mechanisms.draw_table(uniform.model(DOMAIN, rows=ROWS), 6_600, "s")
    assert drawn["income"].isna().sum() == 600  # ten bins and missing
    assert drawn["hours"].isna().mean() == pytest.approx(1 / 4, abs=0.001)


def test_the_report_counts_missing_values_with_their_column(table: Path) -> None:
    release = _release(table, "bayesian-network")
    found = pipeline.report(table, model=release.model, rows=ROWS, seed="s")
    income = next(entry for entry in found["attributes"] if entry["name"] == "income")
    assert income["labels"][-1] == "(missing)"
    assert income["missing"]["real"] == pytest.approx(0.39, abs=0.03)
    assert income["missing"]["synthetic"] == pytest.approx(income["missing"]["real"], abs=0.03)
    pair = next(
        entry for entry in found["pairs"] if set(entry["attributes"]) == {"income", "hours"}
    )
    assert pair["cells"] == 11 * 4  # missing is a code on both sides
    assert pair["nmi_real"] > 0.2  # nothing but being missing ties the two
    assert pair["nmi_synthetic"] > 0.6 * pair["nmi_real"]
