"""Between texts and codes, a column at a time.

Encoding never fails on a value: what a column does not declare goes where its `outside` says. Decoding draws numbers
and days uniformly inside their bin, so that decoding and encoding again gives the same codes.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import ArrayLike, NDArray

from synth_engine.domain import OTHER, Attribute, Boolean, Categorical, Date, Domain, Integer, Number
from synth_engine.errors import DomainError

Codes = NDArray[np.uint16]
Column = pd.Series  # of one attribute, in its natural type

_WHOLE = re.compile(r"[+-]?[0-9]{1,1000}(\.0*)?")
_DECIMAL = re.compile(r"[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]{1,9})?")
_GRID_POINTS = 2  # decimals finer than a bin's width: at least a hundred values to draw from
_MAX_DECIMALS = 15


def encode(domain: Domain, columns: Mapping[str, Any]) -> dict[str, Codes]:
    """Codes of each modelled attribute, from columns of text (PyArrow or NumPy; null is missing).

    Raises DomainError only for a column that is not there at all."""
    absent = [name for name in domain.names if name not in columns]
    if absent:
        raise DomainError("the table has no such column", repair="check the header or the domain", column=absent[0])
    return {attribute.name: encode_column(attribute, columns[attribute.name]) for attribute in domain.modelled}


def encode_column(attribute: Attribute, column: Any) -> Codes:
    """Codes of one column of text: each different text is read once."""
    if not isinstance(column, pa.Array | pa.ChunkedArray):
        column = pa.array(np.asarray(column, dtype=object), type=pa.string(), from_pandas=True)
    if not pa.types.is_dictionary(column.type):
        column = column.dictionary_encode()
    chunks = column.chunks if isinstance(column, pa.ChunkedArray) else [column]
    pieces, texts, table = [], None, np.empty(0, dtype=np.uint16)
    for chunk in chunks:
        if texts is None or not chunk.dictionary.equals(texts):
            texts = chunk.dictionary
            table = np.append(_codes_of(attribute, texts.to_pylist()), _codes_of(attribute, [None])[0])
        # A null has no index: it takes the last place of the table.
        indices = pc.fill_null(chunk.indices, len(texts)) if chunk.null_count else chunk.indices
        pieces.append(table[indices.to_numpy(zero_copy_only=False)])
    return np.concatenate(pieces) if pieces else np.empty(0, dtype=np.uint16)


def _codes_of(attribute: Attribute, texts: Sequence[str | None]) -> Codes:
    """Codes of different texts of one attribute."""
    if attribute.missing_code is None:
        return _value_codes(attribute, [text or "" for text in texts])
    # Missing goes by marker, before a text is read as a value: "?" or "-1" may be either.
    markers = set(attribute.missing or ())
    codes = _value_codes(attribute, [text or "" for text in texts])
    is_missing = np.fromiter((text is None or text in markers for text in texts), dtype=bool, count=len(texts))
    codes[is_missing] = attribute.missing_code
    return codes


def _value_codes(attribute: Attribute, texts: list[str]) -> Codes:
    match attribute:
        case Categorical() | Boolean():
            return _listed(attribute, texts)
        case Integer():
            return _binned(attribute, texts, read=_whole, low=attribute.low, high=attribute.high, cuts=attribute.cuts)
        case Number():
            return _binned(attribute, texts, read=_decimal, low=attribute.low, high=attribute.high, cuts=attribute.cuts)
        case Date():
            span = (attribute.high - attribute.low).days
            cuts = [*range(0, span + 1, attribute.step_days), span + 1]
            return _binned(attribute, texts, read=partial(_days_since, attribute), low=0, high=span, cuts=cuts)
    raise TypeError(f"no codes for {attribute.kind}")


def _listed(attribute: Categorical | Boolean, texts: list[str]) -> Codes:
    codes = {text: code for code, text in enumerate(attribute.value_labels)}
    if attribute.other_code is not None:
        codes[OTHER] = attribute.other_code
    outside = {"other": attribute.other_code, "missing": attribute.missing_code, "clamp": 0}[attribute.outside or ""]
    return np.fromiter((codes.get(text, outside) for text in texts), dtype=np.uint16, count=len(texts))


def _binned(
    attribute: Attribute,
    texts: list[str],
    *,
    read: Callable[[str], float | None],
    low: float,
    high: float,
    cuts: ArrayLike,
) -> Codes:
    """Codes of texts on a scale. What cannot be read at all is missing, or the lowest code if nothing can be."""
    absent = attribute.missing_code
    outside_is_missing = attribute.outside == "missing"
    values = np.full(len(texts), low, dtype=np.float64)
    missing = np.zeros(len(texts), dtype=bool)
    for position, text in enumerate(texts):
        value = read(text)
        if value is None:
            missing[position] = True
        elif low <= value <= high:
            values[position] = value
        else:
            values[position] = low if value < low else high
            missing[position] = outside_is_missing
    bins = np.searchsorted(np.asarray(cuts, dtype=np.float64), values, side="right") - 1
    codes: Codes = np.minimum(bins, attribute.value_count - 1).astype(np.uint16)  # the last bin holds its end
    if absent is not None:
        codes[missing] = absent
    return codes


def _whole(text: str) -> int | None:
    text = text.strip(" \t")
    return int(text.partition(".")[0]) if _WHOLE.fullmatch(text) else None


def _decimal(text: str) -> float | None:
    text = text.strip(" \t")
    return float(text) if _DECIMAL.fullmatch(text) else None


def _days_since(attribute: Date, text: str) -> int | None:
    day = attribute.parse(text)
    return None if day is None else (day - attribute.low).days


def decode(domain: Domain, codes: Mapping[str, NDArray[np.integer[Any]]], rng: np.random.Generator) -> pd.DataFrame:
    """The table that codes stand for; a missing value is NA. Columns come in the domain's order, identifiers are
    absent. `rng` places numbers and days inside their bins: post-processing, nothing secret hangs on it."""
    return pd.DataFrame({a.name: _values(a, np.asarray(codes[a.name], dtype=np.intp), rng) for a in domain.modelled})


def _values(attribute: Attribute, codes: NDArray[np.intp], rng: np.random.Generator) -> Column:
    match attribute:
        case Categorical() | Boolean():
            return _texts(attribute, codes)
        case Integer():
            return _integers(attribute, codes, rng)
        case Number():
            return _numbers(attribute, codes, rng)
        case Date():
            return _dates(attribute, codes, rng)
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
    return pd.Series(values) if attribute.missing is None else pd.Series(values).astype("Int64").mask(missing)


def _numbers(attribute: Number, codes: NDArray[np.intp], rng: np.random.Generator) -> Column:
    grid = [_grid(attribute, code) for code in range(attribute.value_count)]
    first, last, scale = (np.asarray(part) for part in zip(*grid, strict=True))
    missing = codes == attribute.missing_code
    bins = np.where(missing, 0, codes)
    drawn = rng.integers(first[bins], last[bins], endpoint=True)
    starts = np.asarray(attribute.cuts, dtype=np.float64)[bins]
    # A bin too narrow for any short decimal gives its lower edge.
    values = np.divide(drawn, scale[bins], out=starts, where=scale[bins] > 0)
    return pd.Series(values) if attribute.missing is None else pd.Series(values).astype("Float64").mask(missing)


def _dates(attribute: Date, codes: NDArray[np.intp], rng: np.random.Generator) -> Column:
    missing = codes == attribute.missing_code
    days = np.where(missing, 0, codes) * attribute.step_days
    if attribute.step_days > 1:
        end = (attribute.high - attribute.low).days + 1
        days = rng.integers(days, np.minimum(days + attribute.step_days, end))
    return pd.Series((np.datetime64(attribute.low, "D") + days).astype("datetime64[s]")).mask(missing)


def _grid(attribute: Number, code: int) -> tuple[int, int, float]:
    """First and last multiple of 1/scale inside a bin; scale 0 where there is none."""
    start, end = attribute.cuts[code], attribute.cuts[code + 1]
    if start == end:
        return 0, 0, 0.0
    room = 17 - math.ceil(math.log10(max(abs(start), abs(end), 1.0)) + 1)
    decimals = max(0, min(_GRID_POINTS - math.floor(math.log10(end - start)), _MAX_DECIMALS, room))
    scale = 10.0**decimals
    closed = code == attribute.value_count - 1
    first, last = math.floor(start * scale) - 1, math.ceil(end * scale) + 1
    # Rounding may put a product on the wrong side of an edge by one step; the division is what gets written.
    while first / scale < start:
        first += 1
    while last / scale > end or (not closed and last / scale == end):
        last -= 1
    return (first, last, scale) if first <= last else (0, 0, 0.0)


def as_text(domain: Domain, frame: pd.DataFrame) -> pd.DataFrame:
    """The same table as a file writes it: each missing value by its first marker, dates in their declared format.
    Encoding these texts gives back the codes."""
    return pd.DataFrame({a.name: _written(a, frame[a.name]) for a in domain.modelled})


def _written(attribute: Attribute, column: Column) -> Column:
    marker = attribute.missing[0] if attribute.missing else ""
    match attribute:
        case Date():
            places, days = pd.factorize(column)  # a missing day has place -1
            texts = [*pd.Series(days).dt.strftime(attribute.format), marker]
            return pd.Series(texts, dtype="str").take(places % len(texts)).reset_index(drop=True)
        case Number():  # Python's own shortest decimals
            absent = column.isna().to_numpy()
            pairs = zip(column.tolist(), absent, strict=True)
            return pd.Series([marker if gone else str(value) for value, gone in pairs], dtype="str")
        case Integer():
            texts = pc.fill_null(pc.cast(pa.array(column), pa.string()), marker)
            return pd.Series(texts.to_numpy(zero_copy_only=False), dtype="str")
    return column.fillna(marker).reset_index(drop=True)
