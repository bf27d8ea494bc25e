"""What a suggestion says besides its facts, as the describe page shows it: its question, and what else the
column could be.

An answer is stored by its key alone. The facts that it stands for are read from the data, and stay in the
preview store until the steward confirms them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, TypedDict

from django.utils.translation import gettext

from synthweb.datasets import draft as drafts
from synthweb.datasets.draft import Column
from synthweb.datasets.kinds.form import Fields

MAX_CHOICES = 8
_MAX_TEXT_LENGTH = 1_000
FORM_FACTS = ("decimal", "thousands", "units", "header_lines")
"""Facts of the form of a file that a question on the describe page may change."""


class ShownChoice(TypedDict):
    """One thing that a column could be, as somebody would have typed it."""

    key: str
    label: str
    kind: str
    fields: Fields


class ShownHint(TypedDict):
    """The part of a page that goes with a suggestion. `answer`: the key of the choice that was taken, empty
    for none. `first`: the suggestion as it was before that."""

    certainty: str
    question: str
    remarks: list[str]
    choices: list[ShownChoice]
    answer: str
    first: Column


def suggested_column(
    suggestion: Mapping[str, Any], hint: Mapping[str, Any] | None, *, answer: str = ""
) -> Column:
    """A suggestion as the page shows it, with its hint, after an answer. hint: None of a column that asks
    nothing."""
    first: Column = {**drafts.typed_from(suggestion), "why": str(suggestion.get("why", ""))}
    if not hint:
        return first
    choices: list[ShownChoice] = []
    for each in hint.get("choices") or ():
        if "facts" in each:
            typed = drafts.typed_from(each["facts"])
            choices.append(
                {
                    "key": str(each["key"]),
                    "label": str(each["label"]),
                    "kind": typed["kind"],
                    "fields": typed["fields"],
                }
            )
    shown: ShownHint = {
        "certainty": str(hint.get("certainty", "")),
        "question": str(hint.get("question", "")),
        "remarks": [str(remark) for remark in hint.get("remarks") or ()],
        "choices": choices,
        "answer": "",
        "first": first,
    }
    return answered({**first, "hint": dict(shown)}, answer)


def answered(column: Column, answer: str) -> Column:
    """A suggestion after an answer, or as it was first for an empty or unknown one."""
    hint = column.get("hint")
    if not hint:
        return column
    choice = next((each for each in hint["choices"] if each["key"] == answer), None)
    if choice is None:
        first: Column = hint["first"].copy()
        first["hint"] = {**hint, "answer": ""}
        return first
    return {
        "kind": choice["kind"],
        "fields": dict(choice["fields"]),
        "why": f"Your answer: {choice['label']}.",
        "hint": {**hint, "answer": answer},
    }


def answers(draft: Mapping[str, Any]) -> dict[str, str]:
    """The answers that were given, by column."""
    return {str(name): str(key) for name, key in (draft.get("answers") or {}).items()}


def suggested_columns(
    payload: Mapping[str, Any], draft: Mapping[str, Any]
) -> dict[str, Column]:
    """The suggestions of a preview as the page shows them, by column."""
    given, hints = answers(draft), payload.get("hints") or {}
    person = (draft.get("table") or {}).get("unit_column")
    return {
        item["name"]: suggested_column(
            item, hints.get(item["name"]), answer=given.get(item["name"], "")
        )
        if item["name"] != person
        else _of_person()
        for item in payload.get("suggestions", ())
    }


def _of_person() -> Column:
    """The suggestion for the column that identifies people."""
    return {
        "kind": "identifier",
        "fields": {},
        "why": gettext("It identifies people, so it is left out of the description."),
    }


def read_hint(document: object) -> dict[str, Any] | None:
    """A hint that came back from a browser, trusted no more than what is typed; None if it is none."""
    if not isinstance(document, Mapping) or not isinstance(document.get("first"), Mapping):
        return None
    first = read_column(document["first"])
    choices = document.get("choices")
    if first is None or not isinstance(choices, list):
        return None
    return {
        "certainty": _text(document.get("certainty")),
        "question": _text(document.get("question")),
        "remarks": [_text(each) for each in _some(document.get("remarks"))],
        "choices": [
            {
                "key": _text(each.get("key")),
                "label": _text(each.get("label")),
                "kind": column["kind"],
                "fields": column["fields"],
            }
            for each in _some(choices)
            if isinstance(each, Mapping) and (column := read_column(each)) is not None
        ],
        "answer": _text(document.get("answer")),
        "first": first,
    }


def read_column(document: object) -> Column | None:
    """Kind and fields of a column that came back from a browser; None if they are none."""
    if not isinstance(document, Mapping) or not isinstance(document.get("fields"), Mapping):
        return None
    kind = str(document.get("kind"))
    fields = {
        key: clean(str(text))
        for key, text in document["fields"].items()
        if key in drafts.FIELDS.get(kind, ())
    }
    return {"kind": kind, "fields": fields, "why": _text(document.get("why"))}


def clean(text: str) -> str:
    """Without what no database stores: NUL and halves of surrogate pairs."""
    return text.replace("\x00", "").encode("utf-8", "replace").decode("utf-8")


def _text(given: object) -> str:
    return clean(str(given or ""))[:_MAX_TEXT_LENGTH]


def _some(given: object) -> Iterable[Any]:
    return given[:MAX_CHOICES] if isinstance(given, list) else []
