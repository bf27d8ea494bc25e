"""Columns of which nothing is written anywhere: from any kind of numbers or days to a scale whose bounds a
release learns, and from listed or made-up texts to a public set in which it finds the frequent ones."""

from __future__ import annotations

from collections.abc import Iterable

from synth_engine.kinds.date_time import SECONDS
from synth_engine.kinds.lattice import SCALES
from synth_engine.values import ANY_SHORT_TEXT, from_json
from synthweb.datasets import sets
from synthweb.datasets.draft import Column, markers
from synthweb.datasets.kinds.form import SHARED, Fields
from synthweb.datasets.list_fields import split

_BOUNDS = ("widest_low", "widest_high")
_TEXTS = ("categorical", "text")
ANY_TEXT: Fields = sets.typed_of(ANY_SHORT_TEXT)
"""Every short text, as somebody would have typed it."""


def is_learned(column: Column) -> bool:
    """Whether a column is described without bounds, which a release then learns."""
    fields = column.get("fields") or {}
    return column.get("kind") == "scale" and not any(fields.get(key) for key in _BOUNDS)


def may_be_learned(column: Column) -> bool:
    """Whether a column is of a kind whose bounds can be learned."""
    return column.get("kind") in (*SCALES, "range", "scale")


def may_be_found(column: Column) -> bool:
    """Whether a column is one of texts, of which a release can find the frequent ones."""
    return column.get("kind") in _TEXTS


def is_found(column: Column) -> bool:
    """Whether a column is described by every short text, of which a release finds the frequent ones."""
    fields = column.get("fields") or {}
    return column.get("kind") == "weak" and all(
        fields.get(key) == text for key, text in ANY_TEXT.items()
    )


def not_found(texts: Iterable[str]) -> list[str]:
    """Those texts that are not among the short ones, so that no release finds them."""
    short_texts = from_json(ANY_SHORT_TEXT)
    return [text for text in texts if text not in short_texts]


def as_found(column: Column) -> Column:
    """The same column with every short text as its public set. Markers of missing values that are such texts
    are found as values of their own, because a set and the markers share no text."""
    fields = column["fields"]
    other_markers = not_found(split(fields.get("missing") or ""))
    learned = {**ANY_TEXT, "missing": markers(other_markers), "outside": "other"}
    if fields.get("missing_empty"):
        learned["missing_empty"] = fields["missing_empty"]
    return {**column, "kind": "weak", "fields": learned}


def as_learned(column: Column) -> Column:
    """The same column without bounds and bins."""
    fields, kind = column["fields"], column["kind"]
    of = fields.get("of") or "integer" if kind in ("range", "scale") else kind
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
