"""Fields of a JSON object, type by type; every refusal names the column and the field."""

from __future__ import annotations

import datetime
import re
from collections.abc import Mapping
from typing import Any, NamedTuple

from synth_engine import values as public_sets
from synth_engine.errors import DomainError
from synth_engine.kinds.completions import Completions

_LAST = datetime.time(23, 59, 59)
ISO_DAY = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
"""A day of a description."""
# Fractions and zones are refused later, in words of their own.
_ISO_MOMENT = re.compile(ISO_DAY.pattern + r"([T ][0-9]{2}:[0-9]{2}(:[0-9]{2}\S*|[Z+-]\S*)?)?")


class Problem(NamedTuple):
    """The rule that facts break, its repair, and the key of the fact to change."""

    rule: str
    repair: str
    field: str


class Fields:
    """Fields of a JSON object, type by type; every refusal names the column."""

    def __init__(self, document: Mapping[str, object], *, column: str | None = None) -> None:
        self.document, self.column = document, column

    def wrong(self, key: str, wanted: str) -> DomainError:
        return DomainError(
            f"{key} is not {wanted}", repair=f"give {wanted}", column=self.column, field=key
        )

    def only(self, *known: str) -> None:
        for key in self.document:
            if key not in known:
                raise DomainError(
                    f"unknown field {key!r}",
                    repair=f"known are {', '.join(known)}",
                    column=self.column,
                )

    def text(self, key: str, *, default: str | None = "") -> Any:
        value = self.document.get(key)
        if value is None:
            return default
        if not isinstance(value, str):
            raise self.wrong(key, "text")
        return value

    def integer(self, key: str, *, default: int | None = None) -> int | None:
        value = self.document.get(key, default)
        # `bool` is a subclass of `int`: true must not pass for 1.
        if value is not None and (not isinstance(value, int) or isinstance(value, bool)):
            raise self.wrong(key, "a whole number")
        return value

    def number(self, key: str) -> float | None:
        value = self.document.get(key)
        if value is not None and (
            not isinstance(value, int | float) or isinstance(value, bool)
        ):
            raise self.wrong(key, "a number")
        return value

    def boolean(self, key: str) -> bool:
        value = self.document.get(key, False)
        if not isinstance(value, bool):
            raise self.wrong(key, "true or false")
        return value

    def list(self, key: str) -> list[Any]:
        value = self.document.get(key)
        if not isinstance(value, list):
            raise self.wrong(key, "a list")
        return value

    def texts(self, key: str) -> tuple[str, ...] | None:
        return None if self.document.get(key) is None else tuple(self.list(key))

    def numbers(self, key: str, *, whole: bool) -> tuple[Any, ...] | None:
        if self.document.get(key) is None:
            return None
        values = self.list(key)
        allowed: tuple[type, ...] = (int,) if whole else (int, float)
        if any(not isinstance(value, allowed) or isinstance(value, bool) for value in values):
            raise self.wrong(key, "a list of whole numbers" if whole else "a list of numbers")
        return tuple(values)

    def day(self, key: str) -> datetime.date | None:
        text = self.text(key)
        # Stricter than `fromisoformat`, which takes weeks and days without hyphens.
        if text and not ISO_DAY.fullmatch(text):
            raise self.wrong(key, 'a date like "2024-12-31"')
        try:
            return datetime.date.fromisoformat(text) if text else None
        except ValueError:
            raise self.wrong(key, 'a date like "2024-12-31"') from None

    def moment(self, key: str, *, end: bool = False) -> datetime.datetime | None:
        """A moment without a zone; a day alone is its beginning, or its last second."""
        text = self.text(key)
        if text and not _ISO_MOMENT.fullmatch(text):
            raise self.wrong(key, 'a moment like "2024-12-31T23:59"')
        try:
            if text and len(text) == len("2024-12-31"):
                return datetime.datetime.combine(
                    datetime.date.fromisoformat(text), _LAST if end else datetime.time()
                )
            return datetime.datetime.fromisoformat(text) if text else None
        except ValueError:
            raise self.wrong(key, 'a moment like "2024-12-31T23:59"') from None

    def bound(self, key: str) -> Any:
        """A number, or a day where the range is one of days."""
        if self.document.get("of") == "date":
            return self.day(key)
        return self.integer(key) if self.document.get("of") == "integer" else self.number(key)

    def value_set(self, key: str) -> public_sets.ValueSet | None:
        value = self.document.get(key)
        try:
            return None if value is None else public_sets.from_json(value)
        except DomainError as error:
            raise DomainError(
                error.rule, repair=error.repair, column=self.column, field=key
            ) from None

    def completions(self, key: str) -> Completions | None:
        value = self.document.get(key)
        try:
            return None if value is None else Completions.from_json(value)
        except DomainError as error:
            raise DomainError(
                error.rule, repair=error.repair, column=self.column, field=key
            ) from None

    def needed(self, **values: object) -> dict[str, object]:
        for key, value in values.items():
            if value is None:
                raise DomainError(
                    f"{key} is not given",
                    repair=f"declare {key}",
                    column=self.column,
                    field=key,
                )
        return values

    def provenance(self) -> Any:
        value = self.document.get("provenance", "declared")
        if isinstance(value, str) or (
            isinstance(value, Mapping)
            and all(isinstance(origin, str) for origin in value.values())
        ):
            return value
        raise self.wrong("provenance", "one word, or one word for each fact")
