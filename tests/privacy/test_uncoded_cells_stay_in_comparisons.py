"""Cells that are read leniently serve comparisons with real data alone: no query, plan or model can see what
was counted of them."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2] / "synth_engine"
NAMES = {"RawCounter", "RawColumn", "count_raw_columns", "lenient", "raw_columns"} | {
    "RawPairCounter",
    "RawPairs",
    "RawTable",
    "raw_pairs",
}
ALLOWED = {
    # They define what is counted,
    "codec/__init__.py",
    "codec/raw_columns.py",
    "codec/raw_pairs.py",
    # count it for the steward, by way of the pipeline alone,
    "steward/raw_cells.py",
    "pipeline/comparing.py",
    # say in a draft whether the steward's column keeps to a public range,
    "steward/drafts.py",
    # hold a description against cells of the steward's preview before it is confirmed,
    "evaluation/column_check.py",
    # and compare it, marked as not private.
    "evaluation/figure.py",
    "evaluation/figures/conditional_means.py",
    "evaluation/figures/date_gaps.py",
    "evaluation/figures/last_digits.py",
    "evaluation/figures/missing_markers.py",
    "evaluation/figures/rank_correlation.py",
    "evaluation/figures/values.py",
    "evaluation/raw_values.py",
    "evaluation/report.py",
    "evaluation/tallies.py",
}


def names_in(source: str) -> set[str]:
    """Names that a module reads, imports or defines."""
    used = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Name):
            used.add(node.id)
        elif isinstance(node, ast.Attribute):
            used.add(node.attr)
        elif isinstance(node, ast.alias):
            used |= {*node.name.split("."), node.asname or ""}
        elif isinstance(node, ast.ImportFrom):
            used |= set((node.module or "").split("."))
        elif isinstance(node, ast.FunctionDef | ast.ClassDef):
            used.add(node.name)
    return used


def test_no_other_module_knows_of_uncoded_cells() -> None:
    users = {
        path.relative_to(ROOT).as_posix()
        for path in ROOT.rglob("*.py")
        if names_in(path.read_text()) & NAMES
    }
    assert users - ALLOWED == set()
    assert "steward/raw_cells.py" in users


@pytest.mark.parametrize(
    "source",
    [
        "from synth_engine.codec import RawCounter",
        "from synth_engine.codec.raw_columns import is_counted",
        "import synth_engine.codec.lenient",
        "rows.count_raw_columns(path, domain)",
        "source.raw_columns()",
        "source.raw_pairs()",
        "from synth_engine.codec import RawPairCounter",
    ],
)
def test_each_way_of_using_them_is_seen(source: str) -> None:
    assert names_in(source) & NAMES


def functions_of_the_pipeline() -> dict[str, ast.FunctionDef]:
    return {
        node.name: node
        for path in (ROOT / "pipeline").glob("*.py")
        for node in ast.parse(path.read_text()).body
        if isinstance(node, ast.FunctionDef)
    }


def users_in_the_pipeline(name: str) -> set[str]:
    return {
        function
        for function, node in functions_of_the_pipeline().items()
        if name in names_in(ast.unparse(node)) and function != name
    }


def test_the_pipeline_counts_them_for_comparisons_alone() -> None:
    # `open_file` serves `report` and `compare`, which are not private.
    assert users_in_the_pipeline("count_raw_columns") == {"open_file"}


def test_files_are_opened_so_by_comparisons_alone() -> None:
    assert users_in_the_pipeline("open_file") == {"report", "compare"}
