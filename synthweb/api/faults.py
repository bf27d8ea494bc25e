"""What is wrong with a request, where, and how to mend it; apart from problems.py, which needs all of REST framework."""

from __future__ import annotations

from collections.abc import Sequence
from http import HTTPStatus
from typing import TypedDict

from rest_framework import exceptions

UNKNOWN = "unknown-field"


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


def fault(rule: str, *, pointer: str = "", column: str | None = None, repair: str = "") -> Fault:
    """One fault with its defaults."""
    return Fault(pointer=pointer, column=column, rule=rule, repair=repair)


def escaped(key: str) -> str:
    """One step of a JSON pointer."""
    return key.replace("~", "~0").replace("/", "~1")
