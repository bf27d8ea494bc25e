"""What the editor of a column asks, shows and says, for one kind of column."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from synthweb.datasets.kinds.typed import TypedFields

Document = Mapping[str, object]
Fields = dict[str, str]
NUMBER_CELLS = ("grouped", "decimals", "before", "after", "digits_wide")
"""Inputs for how numbers are written."""
DAY_CELLS = ("unpadded",)
"""Inputs for how days are written."""
ABSENCE = ("missing_empty", "missing", "outside")
"""Inputs for what is missing, or outside."""
SHARED = (*ABSENCE[:2], "separate_markers", ABSENCE[2], "protected")
"""Inputs that most kinds have and mean alike."""
TO_A_BOUND: Mapping[str, str | Promise] = {
    "clamp": _("moves to the nearest bound"),
    "missing": _("counts as missing"),
}


def shows_unordered_if_set(key: str, fields: Mapping[str, str]) -> bool:
    # On a scale, values without an order are rare: the input is shown only where it is set.
    return key != "unordered" or bool(fields.get(key))


@dataclass(frozen=True, kw_only=True)
class KindForm:
    """One kind of column on the describe page.

    kind: as in the JSON of a domain.
    position: where the kind stands in lists.
    fields: names of the inputs, in order.
    outsides: what may happen to a value outside the declaration, in words.
    document: from typed fields to the JSON of this kind alone. Raises DomainError.
    summary: values, bounds and bins of an attribute in one line.
    labels: label and hint of inputs that are not called as usual.
    inputs: keys of the JSON that are typed in an input of another name, and that name.
    choices: options of an input, and the usual one.
    redraws: inputs on which others depend.
    as_typed: fields from the attribute's JSON, given those that are the same in both.
    is_shown: whether an input is of use, given the fields.
    usual_outside: where a value outside goes unless something else is said, given whether a value can be
    missing.
    """

    kind: str
    label: str | Promise
    position: int
    fields: tuple[str, ...]
    document: Callable[[TypedFields], dict[str, object]]
    summary: Callable[[Any], str]
    outsides: Mapping[str, str | Promise] = field(default_factory=dict)
    labels: Mapping[str, tuple[str | Promise, str | Promise]] = field(default_factory=dict)
    inputs: Mapping[str, str] = field(default_factory=dict)
    choices: Mapping[str, tuple[Mapping[str, str | Promise], str]] = field(default_factory=dict)
    redraws: tuple[str, ...] = ()
    as_typed: Callable[[Document, Fields], Fields] = lambda _document, fields: fields
    is_shown: Callable[[str, Mapping[str, str]], bool] = lambda _key, _fields: True
    usual_outside: Callable[[bool], str] = lambda _has_missing: "clamp"
