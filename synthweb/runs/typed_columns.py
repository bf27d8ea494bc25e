"""What was typed into fields that name columns, as JSON text: weights of columns and groups of columns. It
imports nothing of the engine: whoever renders a template loads it."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

LONGEST = 200_000  # signs of JSON text, as the engine reads them


def read(text: Any) -> Any:
    """What JSON text says; None if it says nothing."""
    try:
        return json.loads(text) if isinstance(text, str) and len(text) <= LONGEST else None
    # The text comes from a browser: deep nesting in it must be no 500.
    except (ValueError, RecursionError):
        return None


@dataclass(frozen=True, kw_only=True)
class PurposeLine:
    """A column and its weight as it was typed."""

    column: str
    weight: str
    known: bool


def lines(text: Any, columns: Sequence[str]) -> list[PurposeLine]:
    """The table of weights: every column, and those that are none any more."""
    parsed = read(text)
    weights = parsed if isinstance(parsed, dict) else {}
    gone = [name for name in weights if name not in columns]
    return [
        PurposeLine(column=name, weight=_plain(weights.get(name, "")), known=name in columns)
        for name in [*columns, *gone]
    ]


def groups(text: Any) -> Iterator[str]:
    """The groups in words."""
    parsed = read(text)
    for group in parsed if isinstance(parsed, list) else ():
        yield " × ".join(map(str, group)) if isinstance(group, list) else str(group)


def _plain(weight: Any) -> str:
    return f"{weight:g}" if isinstance(weight, float) else str(weight)
