"""JSON of which every reader sees the same: no name twice in one object, and no numbers that JSON does not
have."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, NoReturn, TypeAlias

JsonValue: TypeAlias = (
    "Mapping[str, JsonValue] | Sequence[JsonValue] | str | int | float | bool | None"
)
"""What JSON can say."""
JsonObject: TypeAlias = dict[str, JsonValue]


class NamedTwice(ValueError):
    """An object has a name twice: one reader would take the first value, another the last. `name`: which, as
    it was given."""

    def __init__(self, name: str) -> None:
        super().__init__("a name is given twice")
        self.name = name


def loads(text: str, **numbers: Any) -> Any:
    """What a text of JSON says. numbers: as of `json.loads`, how numbers are read. Errors: NamedTwice,
    ValueError, RecursionError where it is nested too deep."""
    return json.loads(text, object_pairs_hook=_once, parse_constant=_refused, **numbers)


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    document = dict(pairs)
    if len(document) < len(pairs):
        raise NamedTwice(_first_repeated(pairs))
    return document


def _first_repeated(pairs: list[tuple[str, Any]]) -> str:
    """The first name that came before; one pass, so that a hostile document costs no more than its length."""
    seen: set[str] = set()
    for name, _ in pairs:
        if name in seen:
            return name
        seen.add(name)
    raise ValueError("no name is repeated")


def _refused(_constant: str) -> NoReturn:
    raise ValueError("JSON has no numbers like NaN and Infinity")
