"""The histogram of real values of a column on the page *Describe*: it opens once a range is stated, and what
is changed after that look is recorded."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from synth_engine.domain import Attribute
from synthweb.datasets.draft import Column, Draft

_RANGE = ("low", "high", "edges", "bins")
_BOUNDS = ("low", "high", "edges", "widest_low", "widest_high")
"""The inputs of bounds."""


def has_range(typed: Column | None) -> bool:
    """Whether somebody stated a range: confirmed it, also as one that is learned, or typed a bound."""
    if typed is None:
        return False
    return bool(typed.get("confirmed")) or any(typed["fields"].get(key) for key in _BOUNDS)


def range_of(attribute: Attribute) -> dict[str, object]:
    """The range that an attribute states; nothing of one that is learned."""
    document = attribute.to_json()
    return {key: document[key] for key in _RANGE if document.get(key) is not None}


def noted(draft: Draft, looked: Mapping[str, Mapping[str, object]] | None) -> Draft:
    """The looks of a draft with further ones. Who has looked cannot forget it: what counts is the range
    before the first look."""
    known = {**(looked or {}), **(draft.get("looked") or {})}
    return {"looked": known} if known else {}


def changed_after(draft: Draft, attributes: Sequence[Attribute]) -> list[str]:
    """Columns of a description whose range is another one than before the first look at their real values.
    One that is learned now states nothing that could have been seen."""
    looked = draft.get("looked") or {}
    return [
        each.name
        for each in attributes
        if each.name in looked and range_of(each) not in ({}, looked[each.name])
    ]
