"""Checks the parameters of a mechanism against its JSON schema, as much of it as forms and help texts show.

A value may come as text (a form field, `--param key=value`) and is read by the type that the schema names.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from typing import Any

from synth_engine.errors import SpecError

_WHOLE = re.compile(r"[+-]?[0-9]{1,18}")
_DECIMAL = re.compile(r"[+-]?[0-9]{1,18}(\.[0-9]{1,18})?([eE][+-]?[0-9]{1,3})?")
_REPAIRS = {
    "string": "give a text",
    "integer": 'write it in digits, like "2"',
    "number": 'write it like "0.5"',
    "boolean": "give true or false",
}


def checked(given: Mapping[str, Any], *, schema: Mapping[str, Any]) -> dict[str, Any]:
    """Every parameter with its value, defaults filled in. Errors: SpecError naming the parameter."""
    properties: Mapping[str, Mapping[str, Any]] = schema.get("properties", {})
    for name in given:
        if name not in properties:
            known = ", ".join(properties) or "none"
            raise SpecError(f"there is no parameter {name!r}", repair=f"known: {known}")
    return {name: _value(name, given.get(name), rule) for name, rule in properties.items()}


def _value(name: str, value: Any, rule: Mapping[str, Any]) -> Any:
    if value is None:
        if "default" not in rule:
            raise SpecError(f"parameter {name!r} is missing")
        return rule["default"]
    try:
        value = _READERS[rule["type"]](value)
    except (TypeError, ValueError):
        raise SpecError(f"parameter {name!r} must be of type {rule['type']}", repair=_REPAIRS[rule["type"]]) from None
    if "enum" in rule and value not in rule["enum"]:
        raise SpecError(f"parameter {name!r} must be one of {', '.join(map(str, rule['enum']))}")
    low, high = rule.get("minimum", -math.inf), rule.get("maximum", math.inf)
    if rule["type"] in ("integer", "number") and not low <= value <= high:
        raise SpecError(
            f"parameter {name!r} must lie between {low} and {high}",
            repair=f"leave it out for {rule['default']}" if "default" in rule else "give one of these",
        )
    return value


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError
    return value


def _integer(value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int | str):
        raise TypeError
    if isinstance(value, str) and not _WHOLE.fullmatch(value):
        raise ValueError
    return int(value)


def _number(value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        raise TypeError
    if isinstance(value, str) and not _DECIMAL.fullmatch(value):
        raise ValueError
    number = float(value)
    vanished = (
        number == 0 and isinstance(value, str) and any(digit in "123456789" for digit in value.lower().split("e")[0])
    )
    if vanished or not math.isfinite(number):
        raise ValueError
    return number


def _boolean(value: Any) -> bool:
    words = {"true": True, "false": False}
    if isinstance(value, str) and value.lower() in words:
        return words[value.lower()]
    if not isinstance(value, bool):
        raise TypeError
    return value


_READERS: dict[str, Callable[[Any], Any]] = {
    "string": _text,
    "integer": _integer,
    "number": _number,
    "boolean": _boolean,
}
