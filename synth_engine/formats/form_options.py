"""The facts of a form as people type them: `header=no`, `delimiter=tab`, `names=id,age`."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from synth_engine.errors import InputError
from synth_engine.formats.dialect import DELIMITERS, QUOTES, Dialect

_TRUTHS = {"yes": True, "true": True, "no": False, "false": False}
_SIGNS = {
    "delimiter": {name.replace(" ", "-"): sign for sign, name in DELIMITERS.items()},
    "quote": {name.split(" ")[0]: sign for sign, name in QUOTES.items()} | {"none": ""},
    "escape": {"backslash": "\\", "": ""},
    "decimal": {"point": ".", "comma": ","},
    "thousands": {"none": "", "comma": ",", "point": ".", "space": " ", "apostrophe": "'"},
}
_BOOLEANS = ("header", "spaced", "literal")
_NUMBERS = ("skip", "footer", "header_lines", "columns")
_TEXTS = ("encoding", "extra_rows", "sheet", "error_cells", "vouched_by")
_LISTS = ("names", "units")
FACTS = (*_SIGNS, *_BOOLEANS, *_NUMBERS, *_TEXTS, *_LISTS)


def apply(dialect: Dialect, pairs: Iterable[str]) -> Dialect:
    """A form with facts that a person states as KEY=VALUE. What is stated is open no longer. Raises
    InputError."""
    facts: dict[str, Any] = {}
    for pair in pairs:
        key, equals, value = pair.partition("=")
        if not equals or key not in FACTS:
            raise InputError(
                "a fact of the form is malformed",
                repair=f"write KEY=VALUE, KEY one of {', '.join(FACTS)}",
            )
        facts[key] = _value(key, value)
    # What a person states is no guess any more, whatever the file suggests.
    asked = tuple(one for one in dialect.asked if one not in facts)
    confirmed = dialect.marks_confirmed or not {"decimal", "thousands"}.isdisjoint(facts)
    return replace(dialect, **facts, asked=asked, marks_confirmed=confirmed)


def flags(facts: Mapping[str, Any]) -> str:
    """Facts of a form as a person states them on the command line."""
    return " ".join(f"--read {key}={_spelled(key, value)}" for key, value in facts.items())


def _spelled(key: str, value: Any) -> str:
    if key in _SIGNS:
        return next(name for name, sign in _SIGNS[key].items() if sign == value)
    return ",".join(value) if key in _LISTS else str(value)


def _value(key: str, value: str) -> Any:
    if key in _SIGNS:
        return _SIGNS[key].get(value, value)
    if key in _BOOLEANS:
        if value not in _TRUTHS:
            raise InputError(
                f"{key} is neither yes nor no", repair=f"write {key}=yes or {key}=no"
            )
        return _TRUTHS[value]
    if key in _NUMBERS:
        if not value.isdecimal():
            raise InputError(f"{key} is no whole number", repair=f"write {key}=1")
        return int(value)
    return tuple(next(csv.reader([value]), [])) if key in _LISTS else value
