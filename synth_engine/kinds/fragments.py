"""Pieces of JSON Schema that several kinds share."""

from __future__ import annotations

from typing import TypeAlias

from synth_engine.values import KINDS

MAX_EXACT = 2**53  # beyond it a number in JSON is no longer the number that was written
_MAX_BINS = 10_000
Schema: TypeAlias = dict[str, object]

NAME: Schema = {"type": "string", "minLength": 1}
TEXT: Schema = {"type": "string"}
TEXTS: Schema = {
    "type": "array",
    "items": {"type": "string"},
    "minItems": 1,
    "uniqueItems": True,
}
POSITIVE: Schema = {"type": "integer", "minimum": 1}
WHOLE: Schema = {"type": "integer", "minimum": -MAX_EXACT, "maximum": MAX_EXACT}
NUMBER: Schema = {"type": "number", "minimum": -MAX_EXACT, "maximum": MAX_EXACT}
DAY: Schema = {"type": "string", "format": "date", "pattern": "^[0-9]{4}-[0-9]{2}-[0-9]{2}$"}
VALUE_SET: Schema = {
    "type": "object",
    "description": "A public set of texts, see docs/domain.md.",
    "properties": {"set": {"enum": list(KINDS)}, "size": {"type": "integer", "minimum": 1}},
    "required": ["set"],
}


def optional(schema: Schema) -> Schema:
    return {"anyOf": [schema, {"type": "null"}]}


def edges(item: Schema) -> Schema:
    """Edges of bins, one more than there may be codes."""
    return optional(
        {
            "type": "array",
            "items": item,
            "minItems": 2,
            "maxItems": _MAX_BINS + 1,
            "description": "Increasing, from low to high. A bin holds its lower edge; the last one holds "
            "both.",
        }
    )
