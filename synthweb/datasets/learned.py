"""Columns whose bounds are written nowhere: from any kind of numbers or days to a scale that a release learns."""

from __future__ import annotations

from synth_engine.kinds.date_time import SECONDS
from synthweb.datasets.draft import Column
from synthweb.datasets.kinds.form import SHARED, Fields

_OF = {"integer": "integer", "number": "number", "date": "date", "datetime": "datetime"}
_BOUNDS = ("widest_low", "widest_high")


def is_learned(column: Column) -> bool:
    """Whether a column is described without bounds, which a release then learns."""
    fields = column.get("fields") or {}
    return column.get("kind") == "scale" and not any(fields.get(key) for key in _BOUNDS)


def may_be_learned(column: Column) -> bool:
    """Whether a column is of a kind whose bounds can be learned."""
    return column.get("kind") in (*_OF, "range", "scale")


def as_learned(column: Column) -> Column:
    """The same column without bounds and bins."""
    fields, kind = column["fields"], column["kind"]
    of = fields.get("of") or "integer" if kind in ("range", "scale") else _OF[kind]
    learned: Fields = {"of": of}
    if kind == "scale" and fields.get("step"):
        learned["step"] = fields["step"]
    elif kind == "datetime":
        step, unit = fields.get("step") or "1", fields.get("unit") or "seconds"
        if step.isdecimal() and unit in SECONDS:
            learned["step"] = str(int(step) * SECONDS[unit])
    written = fields.get("day_format") or fields.get("format")
    if written and of in ("date", "datetime"):
        learned["day_format"] = written
    learned |= {key: fields[key] for key in SHARED if fields.get(key)}
    return {**column, "kind": "scale", "fields": learned}
