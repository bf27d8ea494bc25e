"""Strings that the web application shows on pages go through gettext."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
KEYWORDS = ("label", "help_text", "empty_label", "verbose_name", "verbose_name_plural")
# The descriptions of REST are in English, as its keys are; an operator reads commands and settings.
OTHERS = ("api", "local", "management", "migrations", "server")
MODULES = sorted(
    path
    for path in (ROOT / "synthweb").rglob("*.py")
    if not set(OTHERS) & set(path.relative_to(ROOT).parts)
)


def untranslated(source: str) -> list[int]:
    """Returns the lines of labels, help texts, choices and messages that are literals outside gettext."""
    return sorted(
        text.lineno
        for call in ast.walk(ast.parse(source))
        if isinstance(call, ast.Call)
        for text in _texts_of(call)
        if _has_words(text)
    )


def _texts_of(call: ast.Call) -> Iterator[ast.expr]:
    for keyword in call.keywords:
        if keyword.arg in KEYWORDS:
            yield keyword.value
        if keyword.arg == "choices" and isinstance(keyword.value, ast.List | ast.Tuple):
            for choice in keyword.value.elts:
                if isinstance(choice, ast.Tuple) and len(choice.elts) == 2:
                    yield choice.elts[1]
    function = call.func
    if isinstance(function, ast.Attribute) and ast.unparse(function.value) == "messages":
        yield from call.args[1:2]


def _has_words(text: ast.expr) -> bool:
    """Whether an expression is a literal with a word of its own; a symbol of a unit is none."""
    parts = text.values if isinstance(text, ast.JoinedStr) else [text]
    return any(
        isinstance(part, ast.Constant)
        and isinstance(part.value, str)
        and re.search(r"[A-Za-z]{3}", part.value) is not None
        for part in parts
    )


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(ROOT)))
def test_labels_help_texts_choices_and_messages_go_through_gettext(path: Path) -> None:
    assert untranslated(path.read_text()) == []


@pytest.mark.parametrize(
    "source",
    [
        'forms.CharField(label="Name")',
        'forms.CharField(help_text=f"At most {most} letters.")',
        'forms.ChoiceField(choices=[("any", "Any of them")])',
        'messages.success(request, "Saved.")',
        'messages.error(request, f"Not saved: {error}.")',
    ],
)
def test_a_literal_would_be_noticed(source: str) -> None:
    assert untranslated(source) == [1]


@pytest.mark.parametrize(
    "source",
    [
        'forms.CharField(label=_("Name"))',
        'forms.ChoiceField(choices=[("km", "km")], empty_label="")',
        'messages.error(request, f"{rule}; {repair}.")',
        'messages.error(request, _("Not saved: %(error)s.") % {"error": error})',
    ],
)
def test_a_translated_string_is_no_literal(source: str) -> None:
    assert untranslated(source) == []
