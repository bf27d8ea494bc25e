"""From texts to codes, a column at a time. Nothing fails on a value: what a column does not declare goes where its
`outside` says."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import ArrayLike, NDArray

from synth_engine.codec import texts as texts_of_no_meaning
from synth_engine.codec import timestamps
from synth_engine.codec.baskets import encode_baskets
from synth_engine.domain import (
    OTHER,
    Attribute,
    Basket,
    Boolean,
    Categorical,
    Date,
    DateTime,
    Domain,
    Integer,
    Number,
    Range,
    Text,
    Weak,
)
from synth_engine.errors import DomainError

Codes = NDArray[np.uint16]
Values = NDArray[np.float64]

MANY = 1_000  # texts for which it pays to read them at once
_HUGE = 10**300
_WHOLE = re.compile(r"([+-]?)(?:0++([0-9]{0,1000})|([0-9]{1,1000}))(?:\.0*)?")
# Numbers that a library casts to what reading them alone gives: no sign +, no exponent, no blank, no base of sixteen.
_PLAIN_WHOLE, _PLAIN_DECIMAL = r"^-?[0-9]{1,15}$", r"^-?[0-9]{1,15}(?:\.[0-9]{1,15})?$"
_DECIMAL = re.compile(r"[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]+)?")


def encode(domain: Domain, columns: Mapping[str, Any]) -> dict[str, Codes]:
    """Codes of each modelled attribute, from columns of text (PyArrow or NumPy; null is missing).

    Raises DomainError only for a column that is not there at all."""
    absent = [name for name in domain.columns if name not in columns]
    if absent:
        raise DomainError(
            "the table has no such column",
            repair="check the header or the domain",
            column=absent[0],
        )
    codes: dict[str, Codes] = {}
    for attribute in domain.attributes:
        if isinstance(attribute, Basket):
            codes |= encode_baskets(attribute, columns[attribute.name])
        elif attribute.size:
            codes[attribute.name] = encode_column(attribute, columns[attribute.name])
    return codes


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
            table = np.append(
                _codes_of(attribute, texts.to_pylist()), _codes_of(attribute, [None])[0]
            )
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
    is_missing = np.fromiter(
        (text is None or text in markers for text in texts), dtype=bool, count=len(texts)
    )
    # Any text does in the place of a missing one; a short number keeps a column of numbers one.
    codes = _value_codes(
        attribute,
        ["0" if gone else text or "" for text, gone in zip(texts, is_missing, strict=True)],
    )
    codes[is_missing] = attribute.missing_code
    return codes


@dataclass(frozen=True, kw_only=True, eq=False)
class Scaled:
    """Texts as numbers on the scale of their column. values: shape (n,), NaN where a text cannot be read; low, high: the
    declared bounds; cuts: lower ends of the bins and the end of the last, on the same scale."""

    values: Values
    low: float
    high: float
    cuts: ArrayLike


def scaled(attribute: Attribute, texts: list[str]) -> Scaled | None:
    """Texts of a column of numbers, days or moments on its scale; None for a column without one."""
    match attribute:
        case Integer():
            values = _cast(texts, pa.int64(), _whole, plainly=_PLAIN_WHOLE)
            return Scaled(
                values=values, low=attribute.low, high=attribute.high, cuts=attribute.cuts
            )
        case Number():
            values = _cast(texts, pa.float64(), _decimal, plainly=_PLAIN_DECIMAL)
            return Scaled(
                values=values, low=attribute.low, high=attribute.high, cuts=attribute.cuts
            )
        case Date():
            span = (attribute.high - attribute.low).days
            cuts = [*range(0, span + 1, attribute.step_days), span + 1]
            values = _read(lambda text: _days_since(attribute, text), texts)
            return Scaled(values=values, low=0, high=span, cuts=cuts)
        case DateTime():
            span = int((attribute.high - attribute.low).total_seconds())
            cuts = [*map(attribute.offset, attribute.cuts[:-1]), span + 1]
            return Scaled(
                values=timestamps.seconds_since(attribute, texts), low=0, high=span, cuts=cuts
            )
    return None


def _value_codes(attribute: Attribute, texts: list[str]) -> Codes:
    if (on_scale := scaled(attribute, texts)) is not None:
        return _binned(
            attribute, on_scale.values, low=on_scale.low, high=on_scale.high, cuts=on_scale.cuts
        )
    match attribute:
        case Categorical() | Boolean():
            return _listed(attribute, texts)
        case Text():
            return texts_of_no_meaning.codes_of(attribute, texts)
        case Range():
            return _value_codes(attribute.grid, texts)
        case Weak():
            return np.zeros(
                len(texts), dtype=np.uint16
            )  # "other", or missing where there is no "other"
    raise TypeError(f"no codes for {attribute.kind}")


def _listed(attribute: Categorical | Boolean, texts: list[str]) -> Codes:
    codes = {text: code for code, text in enumerate(attribute.value_labels)}
    if attribute.other_code is not None:
        codes[OTHER] = attribute.other_code
    outside = {"other": attribute.other_code, "missing": attribute.missing_code, "clamp": 0}[
        attribute.outside or ""
    ]
    return np.fromiter(
        (codes.get(text, outside) for text in texts), dtype=np.uint16, count=len(texts)
    )


def _cast(
    texts: list[str], kind: pa.DataType, read: Callable[[str], float | None], *, plainly: str
) -> Values:
    """What each text says as a number. Those that are plainly written are cast at once, which is fast, and all others are
    read one by one: which of the two a text is depends on that text alone, whatever stands beside it."""
    if len(texts) < MANY:
        return _read(read, texts)
    array = pa.array(texts, type=pa.string())
    plain = pc.match_substring_regex(array, plainly).to_numpy(zero_copy_only=False)
    values: Values = (
        pc.cast(pc.if_else(pa.array(plain), array, "0"), kind).to_numpy().astype(np.float64)
    )
    others = np.flatnonzero(~plain)
    values[others] = _read(read, [texts[place] for place in others.tolist()])
    return values


def _read(read: Callable[[str], float | None], texts: list[str]) -> Values:
    """What each text says as a number; NaN where it cannot be read. A whole number may be beyond all floats."""
    values = np.full(len(texts), np.nan)
    for position, text in enumerate(texts):
        value = read(text)
        if value is not None:
            values[position] = (
                value if abs(value) < _HUGE else math.inf if value > 0 else -math.inf
            )
    return values


def _binned(
    attribute: Attribute, values: Values, *, low: float, high: float, cuts: ArrayLike
) -> Codes:
    """Codes of values on a scale. What cannot be read at all is missing, or the lowest code if nothing can be."""
    absent = attribute.missing_code
    missing = np.isnan(values)
    if attribute.outside == "missing":
        missing |= (values < low) | (values > high)
    values = np.clip(np.where(np.isnan(values), low, values), low, high)
    bins = np.searchsorted(np.asarray(cuts, dtype=np.float64), values, side="right") - 1
    codes: Codes = np.minimum(bins, attribute.value_count - 1).astype(
        np.uint16
    )  # the last bin holds its end
    if absent is not None:
        codes[missing] = absent
    return codes


def _whole(text: str) -> int | None:
    match = _WHOLE.fullmatch(text.strip(" \t"))
    return int(match[1] + (match[2] or match[3] or "0")) if match else None


def _decimal(text: str) -> float | None:
    text = text.strip(" \t")
    return float(text) if _DECIMAL.fullmatch(text) else None


def _days_since(attribute: Date, text: str) -> int | None:
    day = attribute.parse(text)
    return None if day is None else (day - attribute.low).days
