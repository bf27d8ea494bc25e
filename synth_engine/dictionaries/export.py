"""A description as a Frictionless Table Schema, version 2: what a table drawn from a release of it looks like.

Kinds, values, bounds and missing values are kept. Bins are not: the specification has no word for them. Columns that
are left out of releases are left out here.
"""

from __future__ import annotations

from typing import Any

from synth_engine.domain import (
    OTHER,
    Attribute,
    Baskets,
    Boolean,
    Categorical,
    Date,
    DateTime,
    Domain,
    Identifier,
    Integer,
    Range,
    Text,
    Weak,
)  # fmt: skip
from synth_engine.domain.scales import ISO
from synth_engine.domain.timestamps import ISO_MOMENT

SCHEMA = "https://datapackage.org/profiles/2.0/tableschema.json"


def to_schema(domain: Domain) -> dict[str, Any]:
    """The schema of the tables that releases of this description give."""
    return {
        "$schema": SCHEMA,
        "fields": [_field(attribute) for attribute in domain.table_columns],
        "missingValues": [],
    }


def _field(attribute: Attribute) -> dict[str, Any]:
    kind, more, constraints = _of_kind(attribute)
    field: dict[str, Any] = {"name": attribute.name, "type": kind, **more}
    if attribute.missing is None:
        constraints |= {"required": True}
    else:
        field["missingValues"] = list(attribute.missing)
    return field | {"constraints": constraints}


def _of_kind(attribute: Attribute) -> tuple[str, dict[str, Any], dict[str, Any]]:
    """Type, further properties of the field, constraints."""
    match attribute:
        case Categorical():
            listed = [*attribute.values, *([OTHER] if attribute.has_other else [])]
            order: dict[str, Any] = (
                {"categories": listed, "categoriesOrdered": True} if attribute.ordered else {}
            )
            return "string", order, {"enum": listed}
        case Boolean():
            return (
                "boolean",
                {"trueValues": [attribute.true], "falseValues": [attribute.false]},
                {},
            )
        case Date():
            ends = {"minimum": attribute.low, "maximum": attribute.high}
            style = {} if attribute.format == ISO else {"format": attribute.format}
            return (
                "date",
                style,
                {end: day.strftime(attribute.format) for end, day in ends.items()},
            )
        case DateTime():
            moments = {"minimum": attribute.low, "maximum": attribute.high}
            style = {} if attribute.format == ISO_MOMENT else {"format": attribute.format}
            return (
                "datetime",
                style,
                {end: moment.strftime(attribute.format) for end, moment in moments.items()},
            )
        case Weak() | Baskets():
            return "string", {}, {}  # which values come out is learned by each release
        case Range():
            return _wide(attribute)
        case Text(max_length=most) if most is not None:
            return "string", {}, {"minLength": attribute.min_length, "maxLength": most}
        case Text():
            return "string", {}, {}
        case Identifier():
            return (
                "string",
                {"format": "uuid"} if attribute.regenerate == "uuid" else {},
                {"unique": True},
            )
    bounds = attribute.details()
    whole = isinstance(attribute, Integer)
    return (
        "integer" if whole else "number",
        {},
        {"minimum": bounds["low"], "maximum": bounds["high"]},
    )


def _wide(attribute: Range) -> tuple[str, dict[str, Any], dict[str, Any]]:
    """The widest bounds; where values lie between them is learned by each release."""
    ends = {"minimum": attribute.low, "maximum": attribute.high}
    if attribute.of != "date":
        return attribute.of, {}, ends
    style = {} if attribute.format == ISO else {"format": attribute.format}
    return "date", style, {end: day.strftime(attribute.format) for end, day in ends.items()}
