"""Everything that is wrong in the inputs of one column, each refusal at the input that it is about."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from synth_engine.errors import DomainError
from synthweb.datasets import inputs
from synthweb.datasets.draft import FIELDS, Column
from synthweb.datasets.draft_to_attribute import attribute_of
from synthweb.datasets.kinds.typed import LABELS, FieldError

_SOUND = "1"
"""Stands for a refused input while the others are read: it is a text, a whole number and a number."""
_ABOUT = (
    ("missing marker", ("missing",)),
    ("step", ("step", "step_days")),
    ("format", ("day_format", "format")),
    ("low", ("low", "widest_low")),
    ("high", ("high", "widest_high")),
    ("bound", ("high", "widest_high")),
    ("edge", ("edges",)),
    ("width", ("width",)),
    ("bins", ("bins", "most_bins")),
    ("pattern", ("pattern", "set_pattern")),
    ("values", ("values",)),
)
"""The first of these words in a refusal of the engine says which input it is about."""
_WORDS = {"low": ("low", "widest_low"), "high": ("high", "widest_high")}


@dataclass(frozen=True, kw_only=True)
class PlacedError:
    """A refusal in the words of the page. key: the input it is about; empty where it is about the whole column."""

    key: str
    rule: str
    repair: str

    @property
    def sentence(self) -> str:
        return f"{self.rule[:1].upper()}{self.rule[1:]}; {self.repair}."


def placed_errors(name: str, column: Column) -> list[PlacedError]:
    """All that is wrong in what was typed, in the order in which it is read. Facts that contradict each other are looked for
    once each of them can be read."""
    kind, fields = str(column.get("kind") or ""), dict(column.get("fields") or {})
    placed: list[PlacedError] = []
    for _ in range(len(fields) + len(FIELDS.get(kind, ()))):
        try:
            attribute_of(name, {**column, "fields": fields})
        except FieldError as error:
            placed.append(_placed(error, kind=kind, key=error.keys[0]))
            fields |= dict.fromkeys(error.keys[1:], "") | {error.keys[0]: _SOUND}
        except DomainError as error:
            if not placed:
                placed.append(_placed(error, kind=kind, key=_key_of(error, kind)))
            break
        else:
            break
    return placed


def as_errors(name: str, column: Column) -> list[DomainError]:
    """The same, to be listed with those of other columns."""
    return [
        DomainError(each.rule, repair=each.repair, column=name)
        for each in placed_errors(name, column)
    ]


def _placed(error: DomainError, *, kind: str, key: str) -> PlacedError:
    return PlacedError(
        key=key, rule=_in_labels(error.rule, kind), repair=_in_labels(error.repair, kind)
    )


def _key_of(error: DomainError, kind: str) -> str:
    """The input that a refusal of the engine is about, by its words."""
    places = {
        match.start(): keys
        for word, keys in _ABOUT
        if (match := re.search(rf"\b{word}", error.rule))
    }
    known = FIELDS.get(kind, ())
    candidates = places[min(places)] if places else ()
    return next((key for key in candidates if key in known), "")


def _in_labels(text: str, kind: str) -> str:
    """A sentence with the inputs called as the page labels them."""
    for key, label in _labels(kind).items():
        text = text.replace(f"“{LABELS[key]}”", f"“{label}”")
    for word, keys in _WORDS.items():
        own = [key for key in keys if key in FIELDS.get(kind, ())]
        if own:
            text = re.sub(rf"\b{word}\b", f"“{inputs.of(own[0], kind, '').label}”", text)
    return text


def _labels(kind: str) -> Mapping[str, str]:
    known = [key for key in FIELDS.get(kind, ()) if key in LABELS]
    return {key: inputs.of(key, kind, "").label.removeprefix("or ") for key in known}
