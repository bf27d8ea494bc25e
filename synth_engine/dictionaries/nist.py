"""Data dictionaries as NIST publishes them with its excerpts of the American Community Survey.

{"AGEP": {"description": …, "values": {"min": 0, "max": 99}}, "SEX": {"values": {"1": "Male", "2": "Female"}},
…}: codes with their meaning, or the ends of a range, beside which codes may stand ("N": not applicable, "0":
none).
"""

from __future__ import annotations

import re
import string
from collections.abc import Mapping
from typing import Any

from synth_engine.dictionaries.base import (
    DictionaryContents,
    Remark,
    Underspecified,
    attribute,
    numeric,
)
from synth_engine.domain import Attribute
from synth_engine.errors import DomainError

_KNOWN = frozenset({"description", "values", "details", "link"})
_ABSENT = re.compile(r"\s*(n/?a\b|not applicable|missing\b)", re.IGNORECASE)
_WHOLE = re.compile(r"-?[0-9]{1,15}")
_ENDS = ("min", "max")
_SOUGHT = {
    "set": "strings",
    "alphabet": string.digits + string.ascii_letters,
    "min_length": 1,
    "max_length": 8,
}
_NO_VALUES = (
    "the dictionary does not say which values it has, so a run spends some of its budget to find frequent "
    "ones of up to 8 letters and digits",
    "list its values, if they are public elsewhere, or leave the column out",
)
_ASIDE = (
    "has codes beside its range that are far from it or no numbers; they count as missing",
    "list the column as categories if they must be kept apart",
)
_ONE_END = ("its range has only one end", "add the other one here")
_NO_TEXT = ("a code or its meaning is not text", "correct the dictionary")


def looks_like(document: Mapping[str, object]) -> bool:
    """Whether every entry is a column with a description or values."""
    return all(
        isinstance(name, str) and isinstance(entry, Mapping) and bool(_KNOWN & set(entry))
        for name, entry in document.items()
    )


def read(document: Mapping[str, Any]) -> DictionaryContents:
    """Attributes of the columns it describes. Of a column without values nothing public is known: its
    frequent values are found with budget."""
    attributes: list[Attribute] = []
    remarks: list[Remark] = []
    for name, entry in document.items():
        try:
            column, remark = _column(name, entry.get("values"))
            attributes.append(column)
            remarks += [Remark(name, *remark)] if remark else []
        except Underspecified as unsaid:
            remarks.append(Remark(name, unsaid.rule, unsaid.repair))
    if not attributes:
        raise DomainError(
            "the dictionary describes no column", repair="give its columns values"
        )
    return DictionaryContents(attributes=tuple(attributes), remarks=tuple(remarks))


def _column(name: str, values: Any) -> tuple[Attribute, tuple[str, str] | None]:
    if not values:
        return attribute(
            {"name": name, "kind": "weak", "values": _SOUGHT, "missing": [""]}
        ), _NO_VALUES
    if not isinstance(values, Mapping):
        raise Underspecified(
            "its values are no list of codes", "write them as code and meaning"
        )
    is_range = _is_range(values)
    codes = {key: meaning for key, meaning in values.items() if not (is_range and key in _ENDS)}
    if not all(isinstance(meaning, str) for meaning in codes.values()):
        raise Underspecified(*_NO_TEXT)
    missing = [key for key, meaning in codes.items() if _ABSENT.match(meaning)]
    own = [key for key in codes if key not in missing]
    if is_range:
        return _range(name, values, missing=missing, own=own)
    document = {"name": name, "kind": "categorical", "values": own, "missing": missing or None}
    return attribute(document | {"outside": "missing" if missing else "clamp"}), None


def _is_range(values: Mapping[str, object]) -> bool:
    """ "min" and "max" are ends when they are numbers; two codes may be called so as well."""
    ends = [values[end] for end in _ENDS if isinstance(values.get(end), int | float)]
    if len(ends) == 1:
        raise Underspecified(*_ONE_END)
    return len(ends) == 2


def _range(
    name: str, values: Mapping[str, Any], *, missing: list[str], own: list[str]
) -> tuple[Attribute, tuple[str, str] | None]:
    """A range, widened by a code next to it. Other codes beside it are markers of something that is no
    number."""
    low, high = values["min"], values["max"]
    whole = all(isinstance(end, int) and not isinstance(end, bool) for end in (low, high))
    # A code next to the range, as 0 below 1 to 99, joins it. One far from it would stretch the
    # range over values that do not occur, and counts as missing.
    next_to = {int(key): key for key in own if whole and _WHOLE.fullmatch(key)}
    if whole:
        low, high = low - (low - 1 in next_to), high + (high + 1 in next_to)
    aside = [
        key for key in own if not (whole and _WHOLE.fullmatch(key) and low <= int(key) <= high)
    ]
    markers = [*missing, *aside]
    document = {"name": name, "missing": markers or None} | numeric(low, high, whole=whole)
    return attribute(document), _ASIDE if aside else None
