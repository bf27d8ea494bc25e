"""Everything that is wrong in the inputs of one column, each refusal at the input that it is about."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from synth_engine.errors import DomainError
from synthweb.datasets import inputs
from synthweb.datasets.draft import FIELDS, Column
from synthweb.datasets.draft_to_attribute import attribute_of
from synthweb.datasets.kinds import FORMS
from synthweb.datasets.kinds.form import Fields
from synthweb.datasets.kinds.typed import LABELS, FieldError

_SOUND = "1"
"""Stands for a refused input while the others are read: it is a text, a whole number and a number."""
_INPUTS = {
    "written/decimals": ("decimals",),
    "written/width": ("digits_wide",),
    "written/grouped": ("grouped",),
    "written/before": ("before",),
    "written/after": ("after",),
    "written/unpadded": ("unpadded",),
    "missing": ("missing", "missing_empty"),
    "width": ("width", "bins"),
    "edges": ("edges", "bins"),
    "step_days": ("step_days", "bins"),
}
"""Keys of a description, and the inputs that they are typed in, where they are not called alike in every
kind."""


@dataclass(frozen=True, kw_only=True)
class PlacedError:
    """A refusal in the words of the page. key: the input it is about; empty where it is about the whole
    column."""

    key: str
    rule: str
    repair: str

    @property
    def sentence(self) -> str:
        return f"{self.rule[:1].upper()}{self.rule[1:]}; {self.repair}."


def placed_errors(
    name: str, column: Column, *, refused: Sequence[DomainError] = ()
) -> list[PlacedError]:
    """All that is wrong in what was typed, in the order in which it is read. Facts that contradict each other
    are looked for once each of them can be read.

    refused: what the description as a whole has against this column, which is said where nothing else is."""
    kind, fields = str(column.get("kind") or ""), dict(column.get("fields") or {})
    placed: dict[str, PlacedError] = {}
    for _ in range(len(fields) + len(FIELDS.get(kind, ()))):
        try:
            attribute_of(name, {**column, "fields": fields})
        except FieldError as error:
            key = error.keys[0]
            if key in placed:
                break
            placed[key] = _placed(error, kind=kind, key=key)
            fields |= dict.fromkeys(error.keys[1:], "") | {key: _SOUND}
        except DomainError as error:
            if not placed:
                refused = (error,)
            break
        else:
            break
    if placed:
        return list(placed.values())
    return [
        _placed(error, kind=kind, key=input_of(error.field, kind=kind, fields=fields))
        for error in refused
    ]


def as_errors(name: str, column: Column) -> list[DomainError]:
    """The same, to be listed with those of other columns."""
    return [
        DomainError(each.rule, repair=each.repair, column=name)
        for each in placed_errors(name, column)
    ]


def input_of(field: str, *, kind: str, fields: Fields) -> str:
    """The input in which a fact of a column is typed; the one that is filled in, where there are several.
    Empty where there is none. field: its key in the description."""
    if kind not in FORMS:
        return ""
    own = FORMS[kind].inputs.get(field)
    keys = (own,) if own else _INPUTS.get(field, (field,))
    known = [key for key in keys if key in FIELDS[kind]]
    return next((key for key in known if fields.get(key)), known[0] if known else "")


def _placed(error: DomainError, *, kind: str, key: str) -> PlacedError:
    return PlacedError(
        key=key, rule=_in_labels(error.rule, kind), repair=_in_labels(error.repair, kind)
    )


def _in_labels(text: str, kind: str) -> str:
    """A sentence with the inputs called as the page labels them."""
    for key, label in _labels(kind).items():
        text = text.replace(f"“{LABELS[key]}”", f"“{label}”")
    for word in ("low", "high"):
        if own := input_of(word, kind=kind, fields={}):
            text = re.sub(rf"\b{word}\b", f"“{inputs.of(own, kind, '').label}”", text)
    return text


def _labels(kind: str) -> Mapping[str, str]:
    known = [key for key in FIELDS.get(kind, ()) if key in LABELS]
    return {key: inputs.of(key, kind, "").label.removeprefix("or ") for key in known}
