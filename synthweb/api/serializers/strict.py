"""Fields that take what they say and nothing near it: a text is a text, a whole number is a JSON integer, and
a name that nobody knows is a mistake to be told of, not to be passed over."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rest_framework import serializers
from rest_framework.exceptions import ErrorDetail

from synthweb.api.faults import UNKNOWN


class StrictSerializer(serializers.Serializer[Any]):
    """Base of every body and every query."""

    also_allowed: frozenset[str] = frozenset()

    def to_internal_value(self, data: Any) -> Any:
        if isinstance(data, Mapping):
            known = {
                name for name, field in self.fields.items() if not field.read_only
            } | self.also_allowed
            # A misspelt `delta` would be ignored otherwise, and
            # the run planned with the default.
            if unknown := sorted(str(name) for name in data if name not in known):
                rule = f"There is no such field; known are: {', '.join(sorted(known))}."
                raise serializers.ValidationError(
                    {name: ErrorDetail(rule, code=UNKNOWN) for name in unknown}
                )
        return super().to_internal_value(data)


class Text(serializers.CharField):
    """A JSON string; numbers and truth values are not taken for one."""

    def to_internal_value(self, data: Any) -> str:
        # CharField would make "5" of 5.
        if not isinstance(data, str):
            self.fail("invalid")
        return str(super().to_internal_value(data))


class Choice(serializers.ChoiceField):
    """One of some texts."""

    def to_internal_value(self, data: Any) -> Any:
        # ChoiceField compares str(data), and so takes numbers for texts.
        if not isinstance(data, str):
            self.fail("invalid_choice", input=data)
        return super().to_internal_value(data)


class WholeNumber(serializers.IntegerField):
    """A JSON integer: not "5", not 5.0, not true."""

    def to_internal_value(self, data: Any) -> int:
        # Not isinstance(), because True is an int.
        if type(data) is not int:
            self.fail("invalid")
        return int(super().to_internal_value(data))


class Truth(serializers.BooleanField):
    """true or false, and nothing that means as much."""

    def to_internal_value(self, data: Any) -> bool:
        # BooleanField takes "yes", "on" and 1 as well.
        if not isinstance(data, bool):
            self.fail("invalid", input=data)
        return data
