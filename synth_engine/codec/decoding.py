"""Convert codes to values, and values to the texts of a file. Numbers, days and moments are drawn uniformly
inside their bin, so that decoding and encoding again gives the same codes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from synth_engine.codec import baskets
from synth_engine.codec.markers import write_markers
from synth_engine.domain import (
    Basket,
    Derived,
    Domain,
    Identifier,
    Integer,
    NotFound,
)
from synth_engine.kinds.attribute import Attribute
from synth_engine.kinds.missing_markers import marker_column


def decode(
    domain: Domain, codes: Mapping[str, NDArray[np.integer[Any]]], rng: np.random.Generator
) -> pd.DataFrame:
    """The table that codes stand for; a missing value is NA. Columns come in the domain's order, identifiers
    are and derived columns are absent, baskets are texts unless they are wide. `rng` places numbers, days and
    moments inside their bins: post-processing, nothing secret hangs on it."""
    rows = len(next(iter(codes.values()), ()))
    nothing = np.zeros(rows, dtype=np.intp)
    return pd.DataFrame(
        {
            a.name: baskets.join_items(a, codes)
            if isinstance(a, Basket)
            else a.sample(
                nothing
                if isinstance(a, NotFound)
                else np.asarray(codes[a.name], dtype=np.intp),
                rng,
            )
            for a in domain.table_columns
            if not isinstance(a, Identifier | Derived)
        }
    )


def values_of_codes(domain: Domain) -> dict[str, pd.Series] | None:
    """Of each column of the table, the values of its codes in order; None where a value is more than its code
    tells."""
    if domain.constraints or not all(map(_is_plain, domain.table_columns)):
        return None
    rng = np.random.default_rng(0)  # values of one code each leave nothing to chance
    return {a.name: a.sample(np.arange(a.size), rng) for a in domain.table_columns}


def _is_plain(attribute: Attribute) -> bool:
    """Whether each code stands for one value."""
    if marker_column(attribute) is not None:
        return False
    if isinstance(attribute, Integer):
        return bool(np.all(np.diff(attribute.cuts) == 1))
    return attribute.lists_values


def as_text(domain: Domain, frame: pd.DataFrame) -> pd.DataFrame:
    """The same table as a file writes it: each missing value by its first marker, or by its own where markers
    are separate, dates in their declared format. Encoding these texts gives back the codes."""
    written = {}
    for column in domain.table_columns:
        if column.name in frame:
            source = domain.written_like(column)
            written[column.name] = write_markers(
                source.write(frame[column.name]), source, frame
            )
    return pd.DataFrame(written)
