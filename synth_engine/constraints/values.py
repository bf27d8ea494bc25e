"""Order within bins: codes say that two values can be in order, and here they are.

Values of columns that are not in order are drawn again within their bins, all of the record's together, which makes
them uniform among the ordered ones; the few that are left take the smallest values in order."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from synth_engine import codec
from synth_engine.domain import Attribute, Date, DateTime, Domain, Integer
from synth_engine.domain.relations import Orders

Floats = NDArray[np.float64]
Places = NDArray[np.intp]
Codes = Mapping[str, NDArray[np.integer[Any]]]

_TRIES = 24
_EPOCH = 719_163  # the ordinal of 1970-01-01
_DAY = 86_400


def enforce_order(
    domain: Domain, frame: pd.DataFrame, *, codes: Codes, rng: np.random.Generator
) -> pd.DataFrame:
    """The decoded table with every order kept by its values. Other columns, and records in order, are as they were."""
    for component in domain.components:
        for orders in component.orders:
            frame = _enforce_orders(domain, orders, frame, codes=codes, rng=rng)
    return frame


def breaking(domain: Domain, orders: Orders, frame: pd.DataFrame) -> NDArray[np.bool_]:
    """Which records have values that are not in order."""
    values = {name: comparable(domain.attribute(name), frame[name]) for name in orders.columns}
    broken = np.zeros(len(frame), dtype=np.bool_)
    for name, edges in orders.below.items():
        for other, strict in edges:  # a missing value is NaN, and no comparison with it is true
            broken |= (
                (values[other] >= values[name]) if strict else (values[other] > values[name])
            )
    return broken


def comparable(attribute: Attribute, column: pd.Series) -> Floats:
    """Values as the numbers of their ladder; NaN where missing."""
    if not isinstance(attribute, Date | DateTime):
        return column.to_numpy(dtype=np.float64, na_value=np.nan)
    moments = column.to_numpy().astype("datetime64[s]")
    seconds = np.where(np.isnat(moments), np.nan, moments.astype(np.int64).astype(np.float64))
    days = seconds / _DAY if isinstance(attribute, Date) else seconds
    return days + (_EPOCH if isinstance(attribute, Date) else _EPOCH * _DAY)


def _enforce_orders(
    domain: Domain,
    orders: Orders,
    frame: pd.DataFrame,
    *,
    codes: Codes,
    rng: np.random.Generator,
) -> pd.DataFrame:
    bad = np.flatnonzero(breaking(domain, orders, frame))
    if not bad.size:
        return frame
    frame = frame.copy()
    for _ in range(_TRIES):
        part = {name: np.asarray(codes[name][bad], dtype=np.intp) for name in orders.columns}
        again = {
            name: codec.values_of(domain.attribute(name), part[name], rng)
            for name in orders.columns
        }
        _put(frame, bad, again)
        bad = bad[breaking(domain, orders, pd.DataFrame(again))]
        if not bad.size:
            return frame
    least, _ = orders.least(
        {name: np.asarray(codes[name][bad], dtype=np.intp) for name in orders.columns}
    )
    _put(
        frame,
        bad,
        {name: _natural(domain.attribute(name), values) for name, values in least.items()},
    )
    return frame


def _put(frame: pd.DataFrame, rows: Places, columns: Mapping[str, pd.Series]) -> None:
    for name, values in columns.items():
        column = frame[name].copy()
        column.iloc[rows] = (
            values.to_numpy() if values.dtype == column.dtype else values.astype(column.dtype)
        )
        frame[name] = column


def _natural(attribute: Attribute, values: Floats) -> pd.Series:
    """Numbers of a ladder as the column holds them; minus infinity is missing."""
    missing = np.isneginf(values)
    plain = np.where(missing, 0.0, values)
    if isinstance(attribute, Date | DateTime):
        scale, epoch = (_DAY, _EPOCH) if isinstance(attribute, Date) else (1, _EPOCH * _DAY)
        seconds = ((plain - epoch) * scale).astype(np.int64)
        return pd.Series(seconds.astype("datetime64[s]")).mask(missing)
    natural = plain.astype(np.int64) if isinstance(attribute, Integer) else plain
    if attribute.missing is None:
        return pd.Series(natural)
    return (
        pd.Series(natural)
        .astype("Int64" if isinstance(attribute, Integer) else "Float64")
        .mask(missing)
    )
