"""Strings that the web application shows on pages go through gettext."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
KEYWORDS = (
    "label",
    "help_text",
    "empty_label",
    "verbose_name",
    "verbose_name_plural",
    "labels",
)
# The descriptions of REST are in English, as its keys are; an operator reads commands and settings.
OTHERS = ("api", "rest", "local", "management", "migrations", "server")
MODULES = sorted(
    path
    for path in (ROOT / "synthweb").rglob("*.py")
    if not set(OTHERS) & set(path.relative_to(ROOT).parts)
)


# Tables of words that are no strings of pages, or are shown as data: stored with a failed run, parts of
# sentences of the engine, names of formats, or of documents, which are in English.
OTHER_TABLES = frozenset(
    [
        "accounts/demo.py:PEOPLE",
        "audit/labels.py:SENTENCES",
        "datasets/kinds/typed.py:LABELS",
        "lib/number_format.py:RELATIONS",
        "pages/errors_page.py:TITLES",
        "releases/call_sums.py:KINDS",
        "releases/expected.py:_LABELS",
        "releases/screens.py:NOISE",
        "releases/screens.py:VERBS",
        "runs/methods.py:BEYOND",
        "runs/job_kinds/table_job.py:READING_FAILED",
        "settings.py:SPECTACULAR_SETTINGS",
        "settings.py:UNFOLD",
    ]
)


def untranslated(source: str, *, path: str = "") -> list[int]:
    """Returns the lines of labels, help texts, choices, messages, refusals of forms and tables of labels that
    are literals outside gettext. path: of the module, by which `OTHER_TABLES` names tables."""
    tree = ast.parse(source)
    calls = (call for call in ast.walk(tree) if isinstance(call, ast.Call))
    found = [text for call in calls for text in _texts_of(call) if _has_words(text)]
    found += [text for text in _texts_of_tables(tree, path) if _is_phrase(text)]
    return sorted({text.lineno for text in found})


def _texts_of_tables(tree: ast.Module, path: str) -> Iterator[ast.expr]:
    """The values of dictionaries that a module makes when it is imported."""
    for statement in tree.body:
        match statement:
            case ast.Assign(targets=[ast.Name(id=name)], value=ast.Dict() as table):
                pass
            case ast.AnnAssign(target=ast.Name(id=name), value=ast.Dict() as table):
                pass
            case _:
                continue
        if f"{path}:{name}" not in OTHER_TABLES:
            yield from _values_of(table)


def _values_of(value: ast.expr) -> Iterator[ast.expr]:
    """A value, or the values in it."""
    if isinstance(value, ast.Dict | ast.Tuple | ast.List):
        for part in value.values if isinstance(value, ast.Dict) else value.elts:
            yield from _values_of(part)
    else:
        yield value


def _is_phrase(text: ast.expr) -> bool:
    """Whether it is a literal of several words; one word may be a key."""
    return (
        isinstance(text, ast.Constant)
        and isinstance(text.value, str)
        and re.search(r"[A-Za-z]{2,},? [A-Za-z]", text.value) is not None
    )


def _texts_of(call: ast.Call) -> Iterator[ast.expr]:
    for keyword in call.keywords:
        if keyword.arg in KEYWORDS:
            yield from _values_of(keyword.value)
        if keyword.arg == "choices" and isinstance(keyword.value, ast.List | ast.Tuple):
            for choice in keyword.value.elts:
                if isinstance(choice, ast.Tuple) and len(choice.elts) == 2:
                    yield choice.elts[1]
    function = call.func
    name = ast.unparse(function)
    if name.endswith("ValidationError"):
        yield from (text for argument in call.args[:1] for text in _values_of(argument))
    if name.endswith(".add_error"):
        yield from call.args[1:2]
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
    name = str(path.relative_to(ROOT / "synthweb"))
    assert untranslated(path.read_text(), path=name) == []


@pytest.mark.parametrize(
    "source",
    [
        'forms.CharField(label="Name")',
        'forms.CharField(help_text=f"At most {most} letters.")',
        'forms.ChoiceField(choices=[("any", "Any of them")])',
        'messages.success(request, "Saved.")',
        'messages.error(request, f"Not saved: {error}.")',
        'ORIGINS = {"declared": "Declared public"}',
        'LABELS: dict[str, tuple[str, str]] = {"low": (_("Lowest"), "Of all values.")}',
        'KindForm(labels={"low": ("Lowest", "")})',
        'raise forms.ValidationError("A name has no colon.")',
        'raise ValidationError({"roles": "Choose one."})',
        'form.add_error("until", "The last day lies before the first.")',
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
        'ORIGINS = {"declared": _("Declared public"), "x": "key"}',
        'form.add_error("code", f"{error.text}.")',
        'messages.error(request, _("Not saved: %(error)s.") % {"error": error})',
    ],
)
def test_a_translated_string_is_no_literal(source: str) -> None:
    assert untranslated(source) == []
