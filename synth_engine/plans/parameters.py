"""Checks the parameters of a mechanism against its JSON schema, as much of it as forms and help texts show.

A value may come as text (a form field, `--param key=value`) and is read by the type that the schema names; a
list or an object comes as JSON text, or as it is. No error repeats what was given: an entry of a list is
named by its place.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Literal, TypedDict

from synth_engine import strict_json
from synth_engine.errors import SpecError
from synth_engine.spec import require_moderate
from synth_engine.strict_json import JsonValue

ParameterRule = TypedDict(
    "ParameterRule",
    {
        "type": str,
        "title": str,
        "description": str,
        "default": JsonValue,
        "enum": Sequence[str],
        "minimum": float,
        "maximum": float,
        "maxLength": int,
        "items": "ParameterRule",
        "minItems": int,
        "maxItems": int,
        "uniqueItems": bool,
        "propertyNames": "ParameterRule",
        "additionalProperties": "ParameterRule",
        "maxProperties": int,
        "x-labels": Mapping[str, str],  # of the values of an enum
        "x-columns": str,  # how it names columns: "one", "each" or "groups"
    },
    total=False,
)
"""The JSON schema of one parameter."""


class ParameterSchema(TypedDict):
    """The JSON schema of the parameters of a mechanism."""

    type: Literal["object"]
    properties: Mapping[str, ParameterRule]
    additionalProperties: Literal[False]


MAX_RECORDS = 10**9
RECORDS = "records"


def records_parameter(use: str) -> ParameterRule:
    """The JSON schema of about how many records there are, of a method whose plan depends on it. use: for
    what, in words."""
    return {
        "type": "integer",
        "minimum": 0,
        "maximum": MAX_RECORDS,
        "default": 0,
        "title": "Records, roughly",
        "description": f"About how many there are, as far as this is public: {use}. 0: the public number, "
        "else 10,000.",
    }


MAX_JSON_LENGTH = 200_000  # signs of JSON: a thousand tables of three columns
_WHOLE = re.compile(r"[+-]?[0-9]{1,18}")
_DECIMAL = re.compile(r"[+-]?[0-9]{1,18}(\.[0-9]{1,18})?([eE][+-]?[0-9]{1,3})?")
_REPAIRS = {
    "string": "give a text of printable signs",
    "integer": 'write it in digits, like "2"',
    "number": 'write it like "0.5"',
    "boolean": "give true or false",
    "array": 'give a list, as JSON text like ["a", "b"] where only text can be given',
    "object": 'give an object, as JSON text like {"a": 2} where only text can be given',
}


def validate(given: Mapping[str, object], *, schema: ParameterSchema) -> dict[str, object]:
    """Every parameter with its value, defaults filled in; lists come out as tuples, so that nobody changes
    them. Errors: SpecError naming the parameter."""
    properties = schema.get("properties", {})
    for name in given:
        if name not in properties:
            known = ", ".join(properties) or "none"
            raise SpecError(f"there is no parameter {name!r}", repair=f"known: {known}")
    return {name: _parameter(name, given.get(name), rule) for name, rule in properties.items()}


def _parameter(name: str, value: Any, rule: ParameterRule) -> Any:
    if value is None:
        if "default" not in rule:
            raise SpecError(f"parameter {name!r} is missing")
        value = rule["default"]
    structured = rule["type"] in ("array", "object")
    if structured and isinstance(value, str):
        value = _from_json(name, value, rule)
    if structured:
        require_moderate(name, value)
    return _value(f"parameter {name!r}", value, rule)


def _from_json(name: str, text: str, rule: ParameterRule) -> Any:
    """A list or an object out of JSON text. Empty text, as a form sends it, is the default."""
    if not text.strip() and "default" in rule:
        return rule["default"]
    if len(text) > MAX_JSON_LENGTH:
        raise SpecError(
            f"parameter {name!r} has more than {MAX_JSON_LENGTH} signs", repair="list less"
        )
    try:
        return strict_json.loads(text, parse_float=_number, parse_int=_integer)
    except strict_json.NamedTwice:
        raise SpecError(
            f"parameter {name!r} has a name twice in one object", repair="give each once"
        ) from None
    # A short text can nest thousands of lists: the parser's stack must not end the process.
    except RecursionError:
        raise SpecError(
            f"parameter {name!r} is nested too deep", repair="make it flatter"
        ) from None
    except ValueError:
        raise SpecError(
            f"parameter {name!r} is no JSON text", repair=_REPAIRS[rule["type"]]
        ) from None


def _value(where: str, value: Any, rule: ParameterRule) -> Any:
    """where: what an error calls it."""
    try:
        value = _READERS[rule["type"]](value)
    except (TypeError, ValueError):
        raise SpecError(
            f"{where} must be of type {rule['type']}", repair=_REPAIRS[rule["type"]]
        ) from None
    if "enum" in rule and value not in rule["enum"]:
        raise SpecError(f"{where} must be one of {', '.join(map(str, rule['enum']))}")
    if rule["type"] in ("integer", "number"):
        _check_bounds(where, value, rule)
    elif rule["type"] == "string":
        _check_length(where, len(value), rule, of="Length", what="signs")
    elif rule["type"] == "array":
        return _list(where, value, rule)
    elif rule["type"] == "object":
        return _object(where, value, rule)
    return value


def _check_bounds(where: str, value: float, rule: ParameterRule) -> None:
    low, high = rule.get("minimum", -math.inf), rule.get("maximum", math.inf)
    if not low <= value <= high:
        raise SpecError(
            f"{where} must lie between {low} and {high}",
            repair=f"leave it out for {rule['default']}"
            if "default" in rule
            else "give one of these",
        )


def _check_length(where: str, count: int, rule: ParameterRule, *, of: str, what: str) -> None:
    bounds: Mapping[str, Any] = rule
    least, most = bounds.get(f"min{of}", 0), bounds.get(f"max{of}", math.inf)
    if count < least:
        raise SpecError(
            f"{where} has fewer than {least} {what}", repair="add some, or leave it out"
        )
    if count > most:
        raise SpecError(f"{where} has more than {most} {what}", repair="shorten it")


def _list(where: str, value: list[Any], rule: ParameterRule) -> tuple[Any, ...]:
    _check_length(where, len(value), rule, of="Items", what="entries")
    inner = rule.get("items")
    entries = tuple(
        _entry(where, number, entry, inner) for number, entry in enumerate(value, start=1)
    )
    if rule.get("uniqueItems") and any(
        entry in entries[:number] for number, entry in enumerate(entries)
    ):
        raise SpecError(f"{where} has an entry twice", repair="give each once")
    return entries


def _object(where: str, value: Mapping[str, object], rule: ParameterRule) -> dict[str, object]:
    _check_length(where, len(value), rule, of="Properties", what="entries")
    inner, named = rule.get("additionalProperties"), rule.get("propertyNames", {})
    entries = {}
    for number, (name, entry) in enumerate(value.items(), start=1):
        _value(f"the name of entry {number} of {where}", name, {"type": "string", **named})
        entries[name] = _entry(where, number, entry, inner)
    return entries


def _entry(where: str, number: int, value: Any, rule: ParameterRule | None) -> Any:
    return value if rule is None else _value(f"entry {number} of {where}", value, rule)


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError
    if not value.isprintable():
        raise ValueError
    return value


def _integer(value: Any) -> int:
    # bool is a subclass of int in Python, and "true" is no number of anything.
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
    number = float(value) if isinstance(value, str | float) or abs(value) < 10**18 else math.inf
    # Text such as 1e-400 is read as 0.0: a parameter that was not asked for, so it is refused.
    vanished = (
        number == 0
        and isinstance(value, str)
        and any(digit in "123456789" for digit in value.lower().split("e")[0])
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


def _array(value: Any) -> list[Any]:
    if (
        isinstance(value, str)
        or not isinstance(value, Iterable)
        or isinstance(value, Mapping | set | frozenset)
    ):
        raise TypeError
    return list(value)


def _mapping(value: Any) -> dict[str, object]:
    if not isinstance(value, Mapping):
        raise TypeError
    return dict(value)


_READERS: dict[str, Callable[[Any], Any]] = {
    "string": _text,
    "integer": _integer,
    "number": _number,
    "boolean": _boolean,
    "array": _array,
    "object": _mapping,
}
