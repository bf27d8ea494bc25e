"""Faults of a request: what, where, and how to repair it; apart from problems.py, which needs all of REST
framework."""

from __future__ import annotations

from collections.abc import Sequence
from http import HTTPStatus
from typing import TypedDict

from rest_framework import exceptions

UNKNOWN = "unknown-field"
LONGEST_POINTER = 1_000
"""Characters. A longer pointer is cut to the nearest place above it that fits: names come from the caller,
and an answer with many faults would repeat a long one in each."""


class Fault(TypedDict):
    """One thing to mend."""

    pointer: str
    column: str | None
    rule: str
    repair: str


class Unusable(exceptions.APIException):
    """A body that is well formed and still cannot be used: names every fault at once."""

    status_code = HTTPStatus.UNPROCESSABLE_ENTITY

    def __init__(self, *, detail: str, faults: Sequence[Fault]) -> None:
        self.faults = list(faults)
        super().__init__(detail)


def fault(
    rule: str, *, pointer: str = "", column: str | None = None, repair: str = ""
) -> Fault:
    """One fault with its defaults."""
    return Fault(pointer=_bounded(pointer), column=column, rule=rule, repair=repair)


def _bounded(pointer: str) -> str:
    if len(pointer) <= LONGEST_POINTER:
        return pointer
    # Between two steps: half a name could be that of another field.
    return pointer[: pointer.rindex("/", 0, LONGEST_POINTER + 1)]


def escaped(key: str) -> str:
    """One step of a JSON pointer."""
    # RFC 6901: the tilde first, or it would escape the escape of the slash.
    return key.replace("~", "~0").replace("/", "~1")
