"""What an analyst can reach holds figures of the model and expected ranges, and no figure of real cells:
proved on types, on imports and on values."""

from __future__ import annotations

import ast
import dataclasses
import typing
from pathlib import Path
from types import UnionType

import pytest

from synth_engine.evaluation import (
    column_shapes,
    expected,
    expected_errors,
    figure_origins,
    marginals,
    paid_figures,
)
from synth_engine.evaluation.figure_origins import (
    ExactFigure,
    ExpectedRange,
    ModelFigure,
    PaidFigure,
)
from synthweb.releases import criteria_page, look, look_page, paid, quality
from synthweb.releases import expected as pages
from synthweb.releases import marginals as marginal_pages
from synthweb.runs import validation_page

ROOT = Path(__file__).parents[2]
NUMBERS_MAY_STAND_IN = {ModelFigure, ExpectedRange, PaidFigure}
PLAIN = {str, int, bool, type(None)}
# Modules that hold or count real cells, or figures of them.
CONFIDENTIAL = {
    "raw_columns",
    "raw_pairs",
    "raw_values",
    "value_counts",
    "tallies",
    "report",
    "pipeline",
    "confidential",
    "ExactFigure",
    "RawColumn",
    "RawPairs",
    "Tallies",
}
ANALYST_MODULES = (
    "synth_engine/evaluation/expected.py",
    "synth_engine/evaluation/expected_errors.py",
    "synth_engine/evaluation/column_shapes.py",
    "synth_engine/evaluation/expected_quality.py",
    "synth_engine/evaluation/model_histograms.py",
    "synth_engine/evaluation/marginals.py",
    "synth_engine/evaluation/criteria.py",
    "synth_engine/evaluation/paid_figures.py",
    "synth_engine/evaluation/thumbnails.py",
    "synth_engine/plans/release_check.py",
    "synth_engine/inference/unbiased.py",
    "synth_engine/measurement/paid_counts.py",
    "synthweb/api/serializers/marginals.py",
    "synthweb/api/serializers/paid.py",
    "synthweb/releases/marginals.py",
    "synthweb/releases/criteria_page.py",
    "synthweb/releases/paid.py",
    "synthweb/api/serializers/validations.py",
    "synthweb/runs/validation_page.py",
    "synthweb/runs/validations.py",
    "synthweb/runs/released_counts.py",
    "synthweb/releases/expected.py",
    "synthweb/releases/look.py",
    "synthweb/releases/look_page.py",
    "synth_engine/evaluation/learned_columns.py",
    "synth_engine/evaluation/quality_words.py",
    "synth_engine/evaluation/forecast.py",
    "synth_engine/evaluation/column_forecast.py",
    "synthweb/runs/forecast.py",
    "synthweb/api/views/forecasts.py",
    "synth_engine/evaluation/least_group.py",
    "synth_engine/evaluation/release_verdict.py",
    "synthweb/releases/quality.py",
    "synthweb/releases/quality_facts.py",
    "synthweb/releases/verdict_words.py",
    "synthweb/releases/cards/quality.py",
    "synthweb/runs/ranges.py",
)


def faults(reached: object, *, within: object = None) -> list[str]:
    """Why a type may hold more than figures of a model: every field is walked, with the arguments of generic
    types."""
    if typing.get_origin(reached) is typing.Literal:  # words of a list
        return [
            f"{within} holds {each}"
            for each in typing.get_args(reached)
            if type(each) is not str
        ]
    if typing.get_origin(reached) is not None or isinstance(reached, UnionType):
        return [
            fault
            for argument in typing.get_args(reached)
            if argument is not Ellipsis
            for fault in faults(argument, within=within)
        ]
    if reached in PLAIN:
        return []
    if reached is float:
        return [] if within in NUMBERS_MAY_STAND_IN else [f"{within} holds a bare number"]
    if reached is ExactFigure or not dataclasses.is_dataclass(reached):
        return [f"{within} holds {reached}"]
    hints = typing.get_type_hints(reached)
    return [
        fault
        for field in dataclasses.fields(reached)
        for fault in faults(hints[field.name], within=reached)
    ]


def types_in(reached: object) -> set[object]:
    """Every type in the fields of a type, at any depth."""
    arguments = {each for argument in typing.get_args(reached) for each in types_in(argument)}
    if not isinstance(reached, type) or not dataclasses.is_dataclass(reached):
        return {reached, *arguments}
    hints = typing.get_type_hints(reached)
    return {reached} | {
        each for field in dataclasses.fields(reached) for each in types_in(hints[field.name])
    }


@pytest.mark.parametrize(
    "reached",
    [
        expected.ExpectedColumn,
        expected_errors.ExpectedErrors,
        pages.ExpectedPage,
        look.Look,
        look_page.LookPage,
        marginals.Marginal,
        marginal_pages.MarginalPage,
        paid_figures.CheckedResult,
        paid.PaidPage,
        validation_page.ValidationPage,
        criteria_page.CriteriaPage,
        quality.ReleaseAnswer,
    ],
)
def test_every_field_that_an_analyst_can_reach_has_a_private_origin(reached: type) -> None:
    assert faults(reached) == []


@pytest.mark.parametrize(
    "free",
    [
        expected.ExpectedColumn,
        expected_errors.ExpectedErrors,
        pages.ExpectedPage,
        look_page.LookPage,
        marginal_pages.MarginalPage,
    ],
)
def test_free_figures_and_paid_ones_never_stand_together(free: type) -> None:
    assert PaidFigure not in types_in(free)
    for page in (paid.PaidPage, validation_page.ValidationPage):
        assert types_in(page) & {ModelFigure, ExpectedRange, PaidFigure} == {PaidFigure}


@dataclasses.dataclass(frozen=True)
class WithExact:
    figure: ExactFigure


@dataclasses.dataclass(frozen=True)
class WithNumber:
    figures: tuple[float, ...]


@dataclasses.dataclass(frozen=True)
class WithOption:
    range: ExpectedRange | ExactFigure


@dataclasses.dataclass(frozen=True)
class WithAnything:
    anything: object


@pytest.mark.parametrize("mutant", [WithExact, WithNumber, WithOption, WithAnything])
def test_each_planted_field_is_detected(mutant: type) -> None:
    assert faults(mutant)


def imported(source: str) -> set[str]:
    """Every name that a module imports, split at dots."""
    names: set[str] = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            names |= {part for alias in node.names for part in alias.name.split(".")}
        elif isinstance(node, ast.ImportFrom):
            names |= set((node.module or "").split("."))
            names |= {alias.name for alias in node.names}
    return names


@pytest.mark.parametrize("path", ANALYST_MODULES)
def test_modules_of_analysts_import_nothing_that_holds_real_cells(path: str) -> None:
    assert imported((ROOT / path).read_text()) & CONFIDENTIAL == set()


@pytest.mark.parametrize(
    "source",
    [
        "from synth_engine.codec.raw_columns import RawCounter",
        "from synth_engine.codec import RawColumn",
        "import synth_engine.evaluation.tallies",
        "from synth_engine.evaluation.figure_origins import ExactFigure",
        "from synth_engine import pipeline",
    ],
)
def test_each_planted_import_is_detected(source: str) -> None:
    assert imported(source) & CONFIDENTIAL


def test_no_function_turns_an_exact_figure_into_another() -> None:
    """The only method that takes one answers yes or no, and no module outside of benchmarks calls it."""
    users = [
        path.relative_to(ROOT).as_posix()
        for package in ("synth_engine", "synthweb")
        for path in (ROOT / package).rglob("*.py")
        if ".holds(" in path.read_text()
        and "figure_origins" in path.read_text()
        and path != Path(figure_origins.__file__)
    ]
    assert users == []
    assert typing.get_type_hints(ExpectedRange.holds)["return"] is bool
    assert "ExactFigure" not in Path(column_shapes.__file__).read_text()
