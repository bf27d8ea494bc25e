"""The JSON Schema of a domain, published as docs/domain.schema.json."""

from __future__ import annotations

from typing import Any

from synth_engine.domain.attributes import (
    MAX_CODES,
    MAX_PLACED_CODES,
    Attribute,
    Boolean,
    Categorical,
)
from synth_engine.domain.baskets import MAX_ITEMS, SEPARATORS, Basket, WeakBasket
from synth_engine.domain.constraints import (
    MAX_CONSTRAINTS,
    ORIGINS,
    Constraint,
    Dependency,
    Impossible,
    MissingIff,
    Order,
)
from synth_engine.domain.document import SCHEMA_NAME
from synth_engine.domain.facts import PROVENANCES
from synth_engine.domain.identifiers import MAX_PATTERN_LENGTH, REGENERATE, Identifier
from synth_engine.domain.multiplicity import MAX_REPEATS
from synth_engine.domain.names import MAX_NAME_LENGTH as LONGEST_NAME_OF_CODE
from synth_engine.domain.places import MAX_PLACES
from synth_engine.domain.reading import BARE
from synth_engine.domain.scales import MAX_EXACT, Date, Integer, Number
from synth_engine.domain.texts import CLASSES, MAX_TEXT_LENGTH, Text
from synth_engine.domain.timestamps import UNITS, DateTime
from synth_engine.domain.undeclared import MAX_BINS, SCALES, Range, Weak
from synth_engine.privacy.unit import Relation, Spelling
from synth_engine.values import KINDS

Schema = dict[str, Any]

_NAME: Schema = {"type": "string", "minLength": 1}
_TEXTS: Schema = {
    "type": "array",
    "items": {"type": "string"},
    "minItems": 1,
    "uniqueItems": True,
}
_WHOLE: Schema = {"type": "integer", "minimum": -MAX_EXACT, "maximum": MAX_EXACT}
_NUMBER: Schema = {"type": "number", "minimum": -MAX_EXACT, "maximum": MAX_EXACT}
_DAY: Schema = {"type": "string", "format": "date", "pattern": "^[0-9]{4}-[0-9]{2}-[0-9]{2}$"}
_MOMENT: Schema = {
    "type": "string",
    "pattern": "^[0-9]{4}-[0-9]{2}-[0-9]{2}([T ][0-9]{2}:[0-9]{2}(:[0-9]{2})?)?$",
    "description": "Without a time zone. A day alone stands for its first second as low, for its last as high.",
}


def _optional(schema: Schema) -> Schema:
    return {"anyOf": [schema, {"type": "null"}]}


def _edges(item: Schema) -> Schema:
    return _optional(
        {
            "type": "array",
            "items": item,
            "minItems": 2,
            "maxItems": MAX_CODES + 1,
            "description": "Increasing, from low to high. A bin holds its lower edge; the last one holds both.",
        }
    )


def _provenance(kind: type[Attribute]) -> Schema:
    word: Schema = {"enum": list(PROVENANCES)}
    facts: Schema = {
        "type": "object",
        "properties": dict.fromkeys(kind.fact_names, word),
        "required": list(kind.fact_names),
        "additionalProperties": False,
    }
    return {
        "anyOf": [word, facts],
        "description": 'Where the facts come from. "suggested" ones were read off the data and must be confirmed.',
    }


def _attribute(
    kind: type[Attribute], properties: Schema, *, required: tuple[str, ...] = ()
) -> Schema:
    shared: Schema = {
        "name": {"type": "string", "minLength": 1, "maxLength": 200},
        "kind": {"const": kind.kind},
        "provenance": _provenance(kind),
        "why": {
            "type": "string",
            "description": "A sentence for people; not part of the domain.",
        },
    }
    if kind not in BARE:
        shared |= {
            "missing": _optional(
                _TEXTS
                | {"description": "Texts that stand for a missing value; null: none can be."}
            ),
            "outside": _optional({"enum": list(kind.outsides)}),
            "ordered": {"type": "boolean"},
        }
    return {
        "type": "object",
        "description": (kind.__doc__ or "").replace("\n", " ").replace("    ", ""),
        "properties": shared | properties,
        "required": ["name", "kind", *required],
        "additionalProperties": False,
    }


_ITEMS: Schema = _TEXTS | {"maxItems": MAX_ITEMS}
_SET: Schema = {
    "type": "object",
    "description": "A public set of texts, see docs/domain.md.",
    "properties": {"set": {"enum": list(KINDS)}, "size": {"type": "integer", "minimum": 1}},
    "required": ["set"],
}
_BASKETS: Schema = {"separator": {"enum": list(SEPARATORS)}, "wide": {"type": "boolean"}}

_ATTRIBUTES: tuple[Schema, ...] = (
    _attribute(
        Categorical,
        {"values": _TEXTS | {"maxItems": MAX_PLACED_CODES}, "other": {"type": "boolean"}},
        required=("values",),
    ),
    _attribute(
        Integer,
        {
            "low": _WHOLE,
            "high": _WHOLE,
            "edges": _edges(_WHOLE),
            "width": _optional({"type": "integer", "minimum": 1}),
        },
        required=("low", "high"),
    ),
    _attribute(
        Number,
        {"low": _NUMBER, "high": _NUMBER, "edges": _edges(_NUMBER)},
        required=("low", "high"),
    ),
    _attribute(Boolean, {"true": {"type": "string"}, "false": {"type": "string"}}),
    _attribute(
        Date,
        {
            "low": _DAY,
            "high": _DAY,
            "step_days": {"type": "integer", "minimum": 1},
            "format": {"type": "string"},
        },
        required=("low", "high"),
    ),
    _attribute(
        DateTime,
        {
            "low": _MOMENT,
            "high": _MOMENT,
            "step": {"type": "integer", "minimum": 1},
            "unit": {"enum": list(UNITS)},
            "width": _optional({"type": "integer", "minimum": 1}),
            "format": {"type": "string"},
        },
        required=("low", "high"),
    ),
    _attribute(
        Weak,
        {
            "values": _SET,
            "rho": {"type": "number", "exclusiveMinimum": 0, "exclusiveMaximum": 1},
            "completions": {"type": "object", "required": ["set"]},
        },
        required=("values",),
    ),
    _attribute(
        Range,
        {
            "of": {"enum": list(SCALES)},
            "low": {"anyOf": [_NUMBER, _DAY]},
            "high": {"anyOf": [_NUMBER, _DAY]},
            "bins": {"type": "integer", "minimum": 2, "maximum": MAX_BINS},
            "format": {"type": "string"},
        },
        required=("of", "low", "high"),
    ),
    _attribute(
        Text,
        {
            "min_length": {"type": "integer", "minimum": 0, "maximum": MAX_TEXT_LENGTH},
            "max_length": {"type": "integer", "minimum": 1, "maximum": MAX_TEXT_LENGTH},
            "signs": {
                "type": "array",
                "items": {"enum": list(CLASSES)},
                "minItems": 1,
                "uniqueItems": True,
            },
            "leading": {"type": "boolean"},
            "pattern": {"type": "string", "minLength": 1, "maxLength": MAX_PATTERN_LENGTH},
        },
    ),
    _attribute(Basket, {"items": _ITEMS} | _BASKETS, required=("items",)),
    _attribute(
        WeakBasket,
        {"values": _SET, "keep": {"type": "integer", "minimum": 1, "maximum": MAX_ITEMS}}
        | _BASKETS,
        required=("values",),
    ),
    _attribute(
        Identifier,
        {
            "regenerate": _optional({"enum": list(REGENERATE)}),
            "pattern": _optional(
                {"type": "string", "minLength": 1, "maxLength": MAX_PATTERN_LENGTH}
            ),
        },
    ),
)

_VALUE: Schema = {
    "description": "The text of a value or bin, null for missing, or values of a scale from one end to the other.",
    "anyOf": [
        {"type": ["string", "integer", "null"]},
        {
            "type": "object",
            "properties": {
                key: {"type": ["string", "number", "null"]} for key in ("from", "to")
            },
            "minProperties": 1,
            "additionalProperties": False,
        },
    ],
}
_VALUES: Schema = {"type": "array", "items": _VALUE, "minItems": 1}
_PLAIN_VALUE: Schema = {"type": ["string", "integer", "null"]}


def _constraint(
    kind: type[Constraint], properties: Schema, *, optional: tuple[str, ...] = ()
) -> Schema:
    shared: Schema = {
        "kind": {"const": kind.kind},
        "provenance": {"enum": list(ORIGINS)},
        "why": {
            "type": "string",
            "description": "A sentence for people; not part of the domain.",
        },
    }
    return {
        "type": "object",
        "description": (kind.__doc__ or "").replace("\n", " ").replace("    ", ""),
        "properties": shared | properties,
        "required": ["kind", *(name for name in properties if name not in optional)],
        "additionalProperties": False,
    }


_CONSTRAINTS: tuple[Schema, ...] = (
    _constraint(
        Impossible,
        {"columns": {"type": "object", "minProperties": 1, "additionalProperties": _VALUES}},
    ),
    _constraint(
        Order,
        {"first": _NAME, "second": _NAME, "strict": {"type": "boolean"}},
        optional=("strict",),
    ),
    _constraint(
        Dependency,
        {
            "from": _NAME,
            "to": _NAME,
            "table": {
                "type": "array",
                "items": {"type": "array", "items": _PLAIN_VALUE, "minItems": 2, "maxItems": 2},
                "minItems": 1,
                "maxItems": MAX_CODES,
            },
        },
    ),
    _constraint(MissingIff, {"column": _NAME, "when": _NAME, "values": _VALUES}),
)

_POINT: Schema = {"type": "array", "items": {"type": "number"}, "minItems": 2, "maxItems": 3}
_NAMES: Schema = {
    "type": "object",
    "description": "What people call codes, where a public table says so.",
    "additionalProperties": {
        "type": "string",
        "minLength": 1,
        "maxLength": LONGEST_NAME_OF_CODE,
    },
}
_SOURCE: Schema = {
    "type": "object",
    "description": "The published table that this is a copy of.",
    "properties": {
        "name": _NAME,
        "version": {"type": "string"},
        "sha256": {"type": "string", "pattern": "^[0-9a-f]{64}$"},
    },
    "required": ["name"],
    "additionalProperties": False,
}


def _points(of: str) -> Schema:
    at: dict[str, Schema] = {
        "column": {"type": "object", "additionalProperties": _POINT},
        "place": {"type": "array", "items": _POINT, "minItems": 1},
    }
    return {
        "type": "object",
        "properties": {
            of: _NAME,
            "at": at[of],
            "source": _optional(_SOURCE),
            **({"names": _NAMES} if of == "column" else {}),
        },
        "required": [of, "at"],
        "additionalProperties": False,
    }


_FULL: Schema = {
    "title": "The public description of a table",
    "type": "object",
    "properties": {
        "schema": {"const": SCHEMA_NAME},
        "relation": {"enum": [relation.value for relation in Relation]},
        "unit": _optional(
            {
                "type": "object",
                "description": "Who is protected: whoever is behind at most max_records records that share a value "
                "of the column.",
                "properties": {
                    "max_records": {"type": "integer", "minimum": 1, "maximum": 10**6},
                    "column": _optional({"type": "string", "minLength": 1}),
                    "spelling": {
                        "enum": [spelling.value for spelling in Spelling],
                        "description": "When two values of the column are one unit; blanks around them never count.",
                    },
                },
                "additionalProperties": False,
            }
        ),
        "invariants": {"type": "array", "items": {"type": "string"}},
        "rows": _optional(
            {
                "type": "integer",
                "minimum": 1,
                "description": "The exact public number of records (replace-one only).",
            }
        ),
        "shorthand": {"type": "boolean"},
        "attributes": {"type": "array", "items": {"oneOf": list(_ATTRIBUTES)}, "minItems": 1},
        "places": {
            "type": "array",
            "description": "Points of a record: which columns of numbers are latitude and longitude, in degrees.",
            "maxItems": MAX_PLACES,
            "items": {
                "type": "object",
                "properties": dict.fromkeys(("name", "latitude", "longitude"), _NAME),
                "required": ["name", "latitude", "longitude"],
                "additionalProperties": False,
            },
        },
        "repeats": _optional(
            {
                "type": "object",
                "description": "The column that says how many records a row stands for, at most so many.",
                "properties": {
                    "column": _NAME,
                    "most": {"type": "integer", "minimum": 1, "maximum": MAX_REPEATS},
                },
                "required": ["column", "most"],
                "additionalProperties": False,
            }
        ),
        "totals": _optional(
            {
                "type": "object",
                "description": "How many records have each value of one column, where that is public and exact "
                "(replace-one, units of one record). Values that are left out have none.",
                "properties": {
                    "column": _NAME,
                    "counts": {
                        "type": "object",
                        "additionalProperties": {"type": "integer", "minimum": 0},
                    },
                    "source": _optional(_SOURCE),
                },
                "required": ["column", "counts"],
                "additionalProperties": False,
            }
        ),
        "points": {
            "type": "array",
            "description": "Where each declared value of a column lies, or every point where records of a place may be: "
            "latitude and longitude in degrees, and a weight.",
            "items": {"oneOf": [_points("column"), _points("place")]},
        },
        "partitions": {
            "type": "array",
            "description": "Public parts, such as tracts or towns, that the declared values of a column belong to.",
            "items": {
                "type": "object",
                "properties": {
                    "name": _NAME,
                    "column": _NAME,
                    "of": {
                        "type": "object",
                        "additionalProperties": {"type": "string", "minLength": 1},
                    },
                    "source": {
                        "type": "object",
                        "properties": {
                            key: {"type": "string"} for key in ("name", "version", "sha256")
                        },
                        "additionalProperties": False,
                    },
                    "names": _NAMES,
                },
                "required": ["name", "column", "of"],
                "additionalProperties": False,
            },
        },
        "constraints": {
            "type": "array",
            "description": "What holds in every record, as public knowledge. Synthetic tables keep to all of it.",
            "maxItems": MAX_CONSTRAINTS,
            "items": {"oneOf": list(_CONSTRAINTS)},
        },
    },
    "required": ["attributes"],
    "additionalProperties": False,
}

_SHORTHAND: Schema = {
    "title": "Shorthand: column sizes, for columns of integer codes 0 to size-1",
    "type": "object",
    "minProperties": 1,
    "additionalProperties": {"type": "integer", "minimum": 1, "maximum": MAX_CODES},
}

SCHEMA: Schema = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "$id": SCHEMA_NAME,
    "anyOf": [_FULL, _SHORTHAND],
}
