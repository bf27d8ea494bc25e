"""The JSON Schema of a domain, published as docs/domain.schema.json."""

from __future__ import annotations

from synth_engine.domain.constraints import (
    MAX_CONSTRAINTS,
    MAX_PAIRS,
    ORIGINS,
    Constraint,
    Dependency,
    ExistingPairs,
    Impossible,
    MissingIff,
    Order,
)
from synth_engine.domain.document import SCHEMA_NAME
from synth_engine.domain.file_form import LINE_ENDS, QUOTING
from synth_engine.domain.multiplicity import MAX_REPEATS
from synth_engine.domain.names import MAX_NAME_LENGTH as MAX_CODE_NAME_LENGTH
from synth_engine.domain.places import MAX_PLACES
from synth_engine.domain.purchases import MAX_PURCHASES
from synth_engine.formats import DECIMALS, DELIMITERS, ENCODINGS, QUOTES, THOUSANDS
from synth_engine.kinds import attribute_schemas
from synth_engine.kinds.attribute import MAX_CODES
from synth_engine.kinds.fragments import NAME, Schema, optional
from synth_engine.privacy.unit import Relation, Spelling

_VALUE: Schema = {
    "description": "The text of a value or bin, null for missing, or values of a scale from one end to the "
    "other.",
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
# A dependency gives one value for one value, so that neither can be a range.
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
        {"first": NAME, "second": NAME, "strict": {"type": "boolean"}},
        optional=("strict",),
    ),
    _constraint(
        Dependency,
        {
            "from": NAME,
            "to": NAME,
            "table": {
                "type": "array",
                "items": {"type": "array", "items": _PLAIN_VALUE, "minItems": 2, "maxItems": 2},
                "minItems": 1,
                "maxItems": MAX_CODES,
            },
        },
    ),
    _constraint(
        ExistingPairs,
        {
            "first": NAME,
            "second": NAME,
            "table": {
                "type": "array",
                "items": {
                    "type": "array",
                    "items": {"type": ["string", "integer"]},
                    "minItems": 2,
                    "maxItems": 2,
                },
                "minItems": 1,
                "maxItems": MAX_PAIRS,
            },
        },
    ),
    _constraint(MissingIff, {"column": NAME, "when": NAME, "values": _VALUES}),
)

_POINT: Schema = {"type": "array", "items": {"type": "number"}, "minItems": 2, "maxItems": 3}
_NAMES: Schema = {
    "type": "object",
    "description": "What people call codes, where a public table says so.",
    "additionalProperties": {
        "type": "string",
        "minLength": 1,
        "maxLength": MAX_CODE_NAME_LENGTH,
    },
}
_SOURCE: Schema = {
    "type": "object",
    "description": "The published table that this is a copy of.",
    "properties": {
        "name": NAME,
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
            of: NAME,
            "at": at[of],
            "source": optional(_SOURCE),
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
        "unit": optional(
            {
                "type": "object",
                "description": "Who is protected: whoever is behind at most max_records records that share "
                "a value of the column.",
                "properties": {
                    "max_records": {"type": "integer", "minimum": 1, "maximum": 10**6},
                    "column": optional({"type": "string", "minLength": 1}),
                    "spelling": {
                        "enum": [spelling.value for spelling in Spelling],
                        "description": "When two values of the column are one unit; blanks around them "
                        "never count.",
                    },
                },
                "additionalProperties": False,
            }
        ),
        "invariants": {"type": "array", "items": {"type": "string"}},
        "rows": optional(
            {
                "type": "integer",
                "minimum": 1,
                "description": "The exact public number of records (replace-one only).",
            }
        ),
        "shorthand": {"type": "boolean"},
        "attributes": {"type": "array", "items": {"oneOf": attribute_schemas()}, "minItems": 1},
        "places": {
            "type": "array",
            "description": "Points of a record: which columns of numbers are latitude and longitude, in "
            "degrees.",
            "maxItems": MAX_PLACES,
            "items": {
                "type": "object",
                "properties": {
                    **dict.fromkeys(("name", "latitude", "longitude"), NAME),
                    "learned": {"type": "boolean"},
                },
                "required": ["name", "latitude", "longitude"],
                "additionalProperties": False,
            },
        },
        "repeats": optional(
            {
                "type": "object",
                "description": "The column that says how many records a row stands for, at most so many.",
                "properties": {
                    "column": NAME,
                    "most": {"type": "integer", "minimum": 1, "maximum": MAX_REPEATS},
                },
                "required": ["column", "most"],
                "additionalProperties": False,
            }
        ),
        "totals": optional(
            {
                "type": "object",
                "description": "How many records have each value of one column, where that is public and "
                "exact (replace-one, units of one record). Values that are left out have none.",
                "properties": {
                    "column": NAME,
                    "counts": {
                        "type": "object",
                        "additionalProperties": {"type": "integer", "minimum": 0},
                    },
                    "source": optional(_SOURCE),
                },
                "required": ["column", "counts"],
                "additionalProperties": False,
            }
        ),
        "points": {
            "type": "array",
            "description": "Where each declared value of a column lies, or every point where records of a "
            "place may be: latitude and longitude in degrees, and a weight.",
            "items": {"oneOf": [_points("column"), _points("place")]},
        },
        "partitions": {
            "type": "array",
            "description": "Public parts, such as tracts or towns, that the declared values of a column "
            "belong to.",
            "items": {
                "type": "object",
                "properties": {
                    "name": NAME,
                    "column": NAME,
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
        "file": optional(
            {
                "type": "object",
                "description": "How a file is written, for samples that are written as it came in.",
                "properties": {
                    "encoding": {"enum": list(ENCODINGS)},
                    "delimiter": {"enum": list(DELIMITERS)},
                    "quote": {"enum": list(QUOTES)},
                    "quoting": {"enum": list(QUOTING)},
                    "line_end": {"enum": list(LINE_ENDS)},
                    "header": {"type": "boolean"},
                    "decimal": {"enum": list(DECIMALS)},
                    "thousands": {"enum": list(THOUSANDS)},
                    "provenance": {"enum": list(ORIGINS)},
                    "why": {"type": "string"},
                },
                "additionalProperties": False,
            }
        ),
        "bought": {
            "type": "array",
            "description": "The earlier runs that learned columns of this description: the digest of the "
            "core of the receipt of each, its guarantee as ratios, and the columns that rest on it.",
            "maxItems": MAX_PURCHASES,
            "items": {
                "type": "object",
                "properties": {
                    "receipt": {"type": "string", "pattern": "^[0-9a-f]{64}$"},
                    "epsilon": {"type": "string"},
                    "delta": {"type": "string"},
                    "columns": {"type": "array", "items": NAME, "uniqueItems": True},
                },
                "required": ["receipt", "epsilon", "delta", "columns"],
                "additionalProperties": False,
            },
        },
        "constraints": {
            "type": "array",
            "description": "What holds in every record, as public knowledge. Synthetic tables keep to all "
            "of it.",
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
