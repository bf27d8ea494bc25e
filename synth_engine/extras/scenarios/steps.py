"""What a step of a scenario is: a name, parameters with a JSON schema, and a function that alters a draft."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from synth_engine.extras.scenarios.draft import Draft
from synth_engine.plans.parameters import ParameterRule, ParameterSchema

Parameters = Mapping[str, Any]
Apply = Callable[[Draft, Parameters, np.random.Generator, int], None]
"""Alters the draft. Arguments: the draft, the parameters, randomness of this step alone, its number in the
scenario."""


@dataclass(frozen=True, kw_only=True)
class StepKind:
    """A kind of step. added_rows: how many rows it adds to the table, by its parameters. is_situation:
    whether every cell still holds a value of its column; else it is a fault."""

    id: str
    title: str
    summary: str
    properties: Mapping[str, ParameterRule]
    apply: Apply
    added_rows: Callable[[Parameters], int] = lambda _: 0
    is_situation: bool = True

    @property
    def columns(self) -> tuple[str, ...]:
        """The parameters that name columns."""
        return tuple(name for name, rule in self.properties.items() if "x-columns" in rule)

    @property
    def schema(self) -> ParameterSchema:
        return {
            "type": "object",
            "properties": self.properties,
            "additionalProperties": False,
        }


def column_rule(title: str, description: str, *, optional: bool = False) -> ParameterRule:
    """The schema of a parameter that names a column."""
    rule: ParameterRule = {
        "type": "string",
        "title": title,
        "description": description,
        "maxLength": 200,
        "x-columns": "one",
    }
    if optional:
        rule["default"] = ""
    return rule


def text_rule(title: str, description: str, *, optional: bool = False) -> ParameterRule:
    """The schema of a parameter that is a value as a file has it."""
    rule: ParameterRule = {
        "type": "string",
        "title": title,
        "description": description,
        "maxLength": 200,
    }
    if optional:
        rule["default"] = ""
    return rule


def share_rule(title: str, description: str, *, default: float | None = None) -> ParameterRule:
    """The schema of a parameter from 0 to 1."""
    rule: ParameterRule = {
        "type": "number",
        "title": title,
        "description": description,
        "minimum": 0,
        "maximum": 1,
    }
    if default is not None:
        rule["default"] = default
    return rule


def whole_rule(
    title: str, description: str, *, least: int, most: int, default: int
) -> ParameterRule:
    """The schema of a parameter that is a whole number."""
    return {
        "type": "integer",
        "title": title,
        "description": description,
        "minimum": least,
        "maximum": most,
        "default": default,
    }


def rounded(share: float, count: int) -> int:
    """A share of so many, rounded half up."""
    return int(np.floor(share * count + 0.5))
