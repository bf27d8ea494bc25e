"""Identifiers use the words of docs/glossary.md, and classes of one package have names of their own."""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PACKAGES = ("synth_engine", "synthweb")
# Each stands in the glossary's table of words that are not used, with what to say instead.
BANNED = (
    "found",
    "told",
    "said",
    "kept",
    "anew",
    "wished",
    "foreseen",
    "threes",
    "worded",
    "beside",
    "apart",
    "mended",
    "drawn",
    "settled",
    "grip",
    "insist",
    "ring",
    "errand",
    "desk",
    "let_go",
    "step_back",
)
BANNED_BEGINNING = "OF_"
"""A constant is named by a noun: `RELEASE_URLS`, not `OF_RELEASE`."""
BANNED_ANYWHERE = re.compile(r"(?<!f)errand", re.IGNORECASE)
"""Stands in no name, text, comment or migration at all; `Ferrando` is an author."""


def sources(package: str) -> list[Path]:
    return sorted(
        path for path in (ROOT / package).rglob("*.py") if "migrations" not in path.parts
    )


def identifiers(tree: ast.AST) -> Iterator[str]:
    """Names that a module defines: functions, classes, parameters, variables and attributes."""
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield node.name
        elif isinstance(node, ast.arg):
            yield node.arg
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id
        elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
            yield node.attr


def banned(tree: ast.AST) -> set[str]:
    return {
        name
        for name in identifiers(tree)
        if name.strip("_") in BANNED or name.strip("_").startswith(BANNED_BEGINNING)
    }


@pytest.mark.parametrize("package", PACKAGES)
def test_identifiers_have_none_of_the_words_that_are_not_used(package: str) -> None:
    faults = {
        path.relative_to(ROOT).as_posix(): sorted(names)
        for path in sources(package)
        if (names := banned(ast.parse(path.read_text())))
    }
    assert faults == {}


@pytest.mark.parametrize("package", [*PACKAGES, "templates"])
def test_a_word_without_exception_stands_nowhere(package: str) -> None:
    texts = [path for path in (ROOT / package).rglob("*") if path.suffix in {".py", ".html"}]
    assert texts
    faults = [path.name for path in texts if BANNED_ANYWHERE.search(path.read_text())]
    assert faults == []


@pytest.mark.parametrize(
    "source",
    [
        "found = 1",
        "def told(): ...",
        "class Kept: _kept: int",
        "def f(*, beside): ...",
        "self._drawn = 1",
        "for said in (): ...",
        "OF_RELEASE = 1",
        "_OF_RELEASE = 1",
    ],
)
def test_each_kind_of_identifier_is_looked_at(source: str) -> None:
    assert banned(ast.parse(source))


def test_the_glossary_says_what_to_write_instead() -> None:
    glossary = (ROOT / "docs" / "glossary.md").read_text()
    table = glossary.split("## Words that are not used")[1].split("\n## ")[0]
    listed = set(
        re.findall(
            r"`(\w+)`",
            "\n".join(row.split("|")[1] for row in re.findall(r"^\|.*$", table, re.MULTILINE)),
        )
    )
    assert set(BANNED) - listed == set()


@pytest.mark.parametrize("package", PACKAGES)
def test_no_two_classes_of_a_package_have_one_name(package: str) -> None:
    where = defaultdict(list)
    for path in sources(package):
        for node in ast.parse(path.read_text()).body:
            if isinstance(node, ast.ClassDef) and node.name != "Command":  # Django names it
                where[node.name].append(path.relative_to(ROOT).as_posix())
    assert {name: paths for name, paths in where.items() if len(paths) > 1} == {}
