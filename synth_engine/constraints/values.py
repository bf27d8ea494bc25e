"""Order within bins: codes say that two values can be in order, and here they are.

Values of columns that are not in order are drawn again within their bins, all of the record's together, which
makes them uniform among the ordered ones; the few that are left take the smallest values in order."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from synth_engine.domain import Domain
from synth_engine.domain.relations import Orders

Floats = NDArray[np.float64]
Places = NDArray[np.intp]
Codes = Mapping[str, NDArray[np.integer[Any]]]

_TRIES = 24


def enforce_order(
    domain: Domain, frame: pd.DataFrame, *, codes: Codes, rng: np.random.Generator
) -> pd.DataFrame:
    """The decoded table with every order kept by its values. Other columns, and records in order, are as they
    were."""
    for component in domain.components:
        for orders in component.orders:
            frame = _enforce_orders(domain, orders, frame, codes=codes, rng=rng)
    return frame


def breaking(domain: Domain, orders: Orders, frame: pd.DataFrame) -> NDArray[np.bool_]:
    """Returns which records have values that are not in order."""
    values = {name: domain.attribute(name).comparable(frame[name]) for name in orders.columns}
    broken = np.zeros(len(frame), dtype=np.bool_)
    for name, edges in orders.below.items():
        for other, strict in edges:  # a missing value is NaN, and no comparison with it is true
            broken |= (
                (values[other] >= values[name]) if strict else (values[other] > values[name])
            )
    return broken


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
            name: domain.attribute(name).sample(part[name], rng) for name in orders.columns
        }
        _put(frame, bad, again)
        bad = bad[breaking(domain, orders, pd.DataFrame(again))]
        if not bad.size:
            return frame
    # Where two bins overlap in few values, chance may not hit an ordered pair; by their codes,
    # one exists.
    least, _ = orders.least(
        {name: np.asarray(codes[name][bad], dtype=np.intp) for name in orders.columns}
    )
    _put(
        frame,
        bad,
        {name: domain.attribute(name).natural(values) for name, values in least.items()},
    )
    return frame


def _put(frame: pd.DataFrame, rows: Places, columns: Mapping[str, pd.Series]) -> None:
    for name, values in columns.items():
        column = frame[name].copy()
        column.iloc[rows] = (
            values.to_numpy() if values.dtype == column.dtype else values.astype(column.dtype)
        )
        frame[name] = column
