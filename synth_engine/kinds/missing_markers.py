"""Markers of missing values with codes of their own: a column of which marker a cell has, or that it has a
value.

Such a column has no cells of its own in a file: it is read from the cells of the column that it belongs to,
is measured like any other one, and says by which marker a missing value of a generated table is written."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from synth_engine.kinds.attribute import Attribute
from synth_engine.kinds.categorical import Categorical
from synth_engine.kinds.reading import Codes, code_dtype

VALUE = "a value"
EMPTY = "empty cell"
VALUE_CODE = 0
_LONGEST_NAME = 200


def marker_column(attribute: Attribute) -> Categorical | None:
    """The column of the markers of a column; None for one whose markers are not separate."""
    if not attribute.separate_markers:
        return None
    name = f"{attribute.name} (marker)"
    if len(name) > _LONGEST_NAME:
        raise attribute.error(
            "separate markers of a column with a long name",
            repair=f"shorten the name to {_LONGEST_NAME - len(' (marker)')} characters",
            field="separate_markers",
        )
    # In quotation marks no marker is one of the two other labels.
    labels = [f"“{marker}”" if marker else EMPTY for marker in attribute.missing or ()]
    return Categorical(
        name=name,
        values=(VALUE, *labels),
        outside="clamp",
        provenance={
            "kind": attribute.facts["kind"],
            "values": attribute.facts["missing"],
            "missing": attribute.facts["missing"],
        },
    )


def marker_codes(attribute: Attribute, texts: Sequence[str | None]) -> Codes:
    """The code of each text in the column of markers, a function of this text alone. A null counts as an
    empty cell, or as the first marker where an empty cell is none."""
    markers = list(attribute.missing or ())
    codes = {marker: place for place, marker in enumerate(markers, start=VALUE_CODE + 1)}
    null = codes.get("", VALUE_CODE + 1)
    return np.fromiter(
        (null if text is None else codes.get(text, VALUE_CODE) for text in texts),
        dtype=code_dtype(len(markers) + 1),
        count=len(texts),
    )


def codes_of_texts(attribute: Attribute, texts: Sequence[str | None]) -> Codes:
    """Codes of different texts of one attribute, each a function of its own text alone; null is missing."""
    if attribute.missing_code is None:
        return attribute.encode([text or "" for text in texts])
    # Missing goes by marker, before a text is read as a value: "?" or "-1" may be either.
    markers = set(attribute.missing or ())
    is_missing = np.fromiter(
        (text is None or text in markers for text in texts), dtype=bool, count=len(texts)
    )
    # Any text does in the place of a missing one; a short number keeps a column of numbers one.
    codes = attribute.encode(
        ["0" if gone else text or "" for text, gone in zip(texts, is_missing, strict=True)]
    )
    codes[is_missing] = attribute.missing_code
    return codes
