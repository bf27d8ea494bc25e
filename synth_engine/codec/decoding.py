"""From codes to values, and from values to what a file says. Numbers, days and moments are drawn uniformly inside their
bin, so that decoding and encoding again gives the same codes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from synth_engine.codec import baskets, texts, timestamps
from synth_engine.domain import (
    OTHER,
    Attribute,
    Basket,
    Boolean,
    Categorical,
    Date,
    DateTime,
    Domain,
    Identifier,
    Integer,
    Number,
    Text,
)
from synth_engine.domain.ordinal_scales import decimals_inside

Column = pd.Series  # of one attribute, in its natural type


def decode(
    domain: Domain, codes: Mapping[str, NDArray[np.integer[Any]]], rng: np.random.Generator
) -> pd.DataFrame:
    """The table that codes stand for; a missing value is NA. Columns come in the domain's order, identifiers are
    absent, baskets are texts unless they are wide. `rng` places numbers, days and moments inside their bins: post-processing, nothing secret hangs on it."""
    return pd.DataFrame(
        {
            a.name: baskets.join_items(a, codes)
            if isinstance(a, Basket)
            else values_of(a, np.asarray(codes[a.name], dtype=np.intp), rng)
            for a in domain.table_columns
            if not isinstance(a, Identifier)
        }
    )


def values_of(
    attribute: Attribute, codes: NDArray[np.intp], rng: np.random.Generator
) -> Column:
    """The column that the codes of one attribute stand for."""
    match attribute:
        case Categorical() | Boolean():
            return _texts(attribute, codes)
        case Integer():
            return _integers(attribute, codes, rng)
        case Number():
            return _numbers(attribute, codes, rng)
        case Date():
            return _dates(attribute, codes, rng)
        case DateTime():
            return timestamps.sample_moments(attribute, codes, rng)
        case Text():
            return texts.sample_texts(attribute, codes, rng)
    raise TypeError(f"no values for {attribute.kind}")


def _texts(attribute: Categorical | Boolean, codes: NDArray[np.intp]) -> Column:
    labels: list[str | None] = [*attribute.value_labels]
    labels += [OTHER] if attribute.has_other else []
    labels += [] if attribute.missing is None else [None]
    return pd.Series(labels, dtype="str").take(codes).reset_index(drop=True)


def _integers(attribute: Integer, codes: NDArray[np.intp], rng: np.random.Generator) -> Column:
    cuts = np.asarray(attribute.cuts, dtype=np.int64)
    missing = codes == attribute.missing_code
    bins = np.where(missing, 0, codes)
    values = cuts[bins]
    if np.any(np.diff(cuts) > 1):
        values = rng.integers(values, cuts[bins + 1])
    return (
        pd.Series(values)
        if attribute.missing is None
        else pd.Series(values).astype("Int64").mask(missing)
    )


def _numbers(attribute: Number, codes: NDArray[np.intp], rng: np.random.Generator) -> Column:
    grid = [decimals_inside(attribute, code) for code in range(attribute.value_count)]
    first, last, scale = (np.asarray(part) for part in zip(*grid, strict=True))
    missing = codes == attribute.missing_code
    bins = np.where(missing, 0, codes)
    numerators = rng.integers(first[bins], last[bins], endpoint=True)
    starts = np.asarray(attribute.cuts, dtype=np.float64)[bins]
    # A bin too narrow for any short decimal gives its lower edge.
    values = np.divide(numerators, scale[bins], out=starts, where=scale[bins] > 0)
    return (
        pd.Series(values)
        if attribute.missing is None
        else pd.Series(values).astype("Float64").mask(missing)
    )


def _dates(attribute: Date, codes: NDArray[np.intp], rng: np.random.Generator) -> Column:
    missing = codes == attribute.missing_code
    days = np.where(missing, 0, codes) * attribute.step_days
    if attribute.step_days > 1:
        end = (attribute.high - attribute.low).days + 1
        days = rng.integers(days, np.minimum(days + attribute.step_days, end))
    return pd.Series((np.datetime64(attribute.low, "D") + days).astype("datetime64[s]")).mask(
        missing
    )


def as_text(domain: Domain, frame: pd.DataFrame) -> pd.DataFrame:
    """The same table as a file writes it: each missing value by its first marker, dates in their declared format.
    Encoding these texts gives back the codes."""
    return pd.DataFrame(
        {a.name: _written(a, frame[a.name]) for a in domain.table_columns if a.name in frame}
    )


def _written(attribute: Attribute, column: Column) -> Column:
    marker = attribute.missing[0] if attribute.missing else ""
    match attribute:
        case Date() | DateTime():
            places, days = pd.factorize(column)  # a missing day has place -1
            texts = [*pd.Series(days).dt.strftime(attribute.format), marker]
            return (
                pd.Series(texts, dtype="str").take(places % len(texts)).reset_index(drop=True)
            )
        case Number():  # Python's own shortest decimals
            absent = column.isna().to_numpy()
            pairs = zip(column.tolist(), absent, strict=True)
            return pd.Series(
                [marker if gone else str(value) for value, gone in pairs], dtype="str"
            )
        case Integer():
            texts = pc.fill_null(pc.cast(pa.array(column), pa.string()), marker)
            return pd.Series(texts.to_numpy(zero_copy_only=False), dtype="str")
    return column.fillna(marker).reset_index(drop=True)
