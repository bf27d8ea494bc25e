"""What has to be done before something else is a sentence that pages show in the language of their reader."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from synthweb.lib import sentences

ROOT = Path(__file__).parents[2]
FIELD = "7"
"""In place of what a sentence is formatted with: a number and a name match it."""


def _text(node: ast.expr | None) -> str:
    match node:
        case ast.Constant(value=str(text)):
            return text
        case ast.JoinedStr(values=parts):
            return "".join(
                _text(part) if isinstance(part, ast.Constant) else FIELD for part in parts
            )
    return ""


def _sentences() -> Iterator[tuple[str, str]]:
    for path in sorted((ROOT / "synthweb").rglob("*.py")):
        if "extras" in path.parts:  # what they say they translate themselves
            continue
        for call in ast.walk(ast.parse(path.read_text())):
            if not (isinstance(call, ast.Call) and call.args):
                continue
            if not ast.unparse(call.func).endswith("NotReady"):
                continue
            repair = next((word.value for word in call.keywords if word.arg == "repair"), None)
            yield path.name, "; ".join(filter(None, (_text(call.args[0]), _text(repair))))


@pytest.mark.parametrize(("place", "sentence"), sorted(set(_sentences())))
def test_what_is_missing_has_a_pattern_that_is_translated(place: str, sentence: str) -> None:
    assert sentences.fields_of(sentence) is not None or sentence in sentences.PATTERNS, place


def test_a_sentence_without_a_pattern_is_noticed() -> None:
    assert sentences.fields_of("nobody has thought of this; think of it") is None
