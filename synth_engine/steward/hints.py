"""What a suggestion says besides its facts: how sure it is, what else the column could be, what its steward
has to answer.

Hints are made from rows, like suggestions, and are for the steward's eyes alone."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, NotRequired, TypedDict

Certainty = Literal["sure", "probable", "open"]


class ChoiceDocument(TypedDict):
    """A choice as JSON."""

    key: str
    label: str
    facts: NotRequired[dict[str, Any]]
    form: NotRequired[dict[str, Any]]


class HintDocument(TypedDict):
    """A hint as JSON."""

    certainty: Certainty
    question: str
    choices: list[ChoiceDocument]
    remarks: list[str]


class FormQuestionDocument(TypedDict):
    """A question about the form of a file as JSON."""

    key: str
    text: str
    columns: list[str]
    choices: list[ChoiceDocument]


@dataclass(frozen=True, kw_only=True)
class ReadingChoice:
    """One way to read a column or a file.

    key: names it in every reading of the same column, so that an answer outlives a preview.
    label: in words, with cells of the table.
    facts: the column's description if this is chosen, without its name; None where the form of the file
    decides. form: what of the form of the file becomes different.
    """

    key: str
    label: str
    facts: Mapping[str, Any] | None = None
    form: Mapping[str, Any] | None = None

    def to_json(self) -> ChoiceDocument:
        document: ChoiceDocument = {"key": self.key, "label": self.label}
        if self.facts is not None:
            document["facts"] = dict(self.facts)
        if self.form is not None:
            document["form"] = dict(self.form)
        return document


@dataclass(kw_only=True)
class Hint:
    """Facts about one suggestion. `question` is empty where nothing has to be answered; `choices` are its
    answers, or what else the column could be. `remarks` hold in the data and are no facts of the
    description."""

    certainty: Certainty = "sure"
    question: str = ""
    choices: list[ReadingChoice] = field(default_factory=list)
    remarks: list[str] = field(default_factory=list)

    def to_json(self) -> HintDocument:
        return {
            "certainty": self.certainty,
            "question": self.question,
            "choices": [choice.to_json() for choice in self.choices],
            "remarks": list(self.remarks),
        }


@dataclass(frozen=True, kw_only=True)
class FormQuestion:
    """A question about the form of the file, which several columns raise."""

    key: str
    text: str
    columns: tuple[str, ...]
    choices: tuple[ReadingChoice, ...]

    def to_json(self) -> FormQuestionDocument:
        return {
            "key": self.key,
            "text": self.text,
            "columns": list(self.columns),
            "choices": [choice.to_json() for choice in self.choices],
        }
