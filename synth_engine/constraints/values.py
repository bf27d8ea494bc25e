"""Constraints within bins: codes say that two values can be in order, or that a bin holds values beside those
that a constraint names, and here they keep to it.

Values of columns that break a constraint are drawn again within their bins, all of the record's together,
which makes them uniform among those that keep it; the few that are left take the smallest values in order, or
a combination that a search finds in their bins."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from synth_engine.domain import Domain, FineComponent
from synth_engine.domain.relations import Orders
from synth_engine.domain.satisfiable import witness
from synth_engine.kinds.attribute import Attribute
from synth_engine.kinds.scale_bins import ScaleBins

Floats = NDArray[np.float64]
Places = NDArray[np.intp]
Codes = Mapping[str, NDArray[np.integer[Any]]]

_TRIES = 24


def enforce(
    domain: Domain, frame: pd.DataFrame, *, codes: Codes, rng: np.random.Generator
) -> pd.DataFrame:
    """The decoded table with every constraint kept by its values. Other columns, and records that keep them,
    are as they were."""
    enforcement = domain.enforcement
    for component, fine in zip(enforcement.components, enforcement.fine, strict=True):
        if fine is not None:
            frame = _enforce_within_bins(domain, fine, frame, codes=codes, rng=rng)
            continue
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
    columns = {name: domain.attribute(name) for name in orders.columns}
    for _ in range(_TRIES):
        again = _sample(columns, _at(codes, bad, orders.columns), rng)
        _put(frame, bad, again)
        bad = bad[breaking(domain, orders, pd.DataFrame(again))]
        if not bad.size:
            return frame
    # Where two bins overlap in few values, chance may not hit an ordered pair; by their codes,
    # one exists.
    _put(frame, bad, _least(domain, orders, _at(codes, bad, orders.columns)))
    return frame


def _enforce_within_bins(
    domain: Domain,
    fine: FineComponent,
    frame: pd.DataFrame,
    *,
    codes: Codes,
    rng: np.random.Generator,
) -> pd.DataFrame:
    """The same for a component that distinguishes values of one bin."""
    columns = {name: domain.attribute(name) for name in fine.component.columns}
    bad = np.flatnonzero(_breaking_within(domain, fine, frame, codes))
    if not bad.size:
        return frame
    frame = frame.copy()
    again = {name: each for name, each in columns.items() if each.is_comparable}
    for _ in range(_TRIES):
        part = _at(codes, bad, columns)
        values = pd.DataFrame(_sample(again, part, rng))
        _put(frame, bad, {str(name): column for name, column in values.items()})
        bad = bad[_breaking_within(domain, fine, values, part)]
        if not bad.size:
            return frame
    repaired = _search(fine, columns, _at(codes, bad, columns))
    values = pd.DataFrame(_sample(fine.attributes, repaired, rng))
    for orders in fine.component.orders:
        off = np.flatnonzero(breaking(domain, orders, values))
        _put(values, off, _least(domain, orders, _at(repaired, off, orders.columns)))
    _put(frame, bad, {str(name): column for name, column in values.items()})
    return frame


def _breaking_within(
    domain: Domain, fine: FineComponent, frame: pd.DataFrame, codes: Codes
) -> NDArray[np.bool_]:
    """Which records break a component. frame: values of its columns; codes: of the same records."""
    at = {
        name: _bins_of(attribute, frame[name])
        if isinstance(attribute, ScaleBins)
        else np.asarray(codes[name], dtype=np.intp)
        for name, attribute in fine.attributes.items()
    }
    broken = np.broadcast_to(~fine.component.holds(at), (len(frame),)).copy()
    for orders in fine.component.orders:
        broken |= breaking(domain, orders, frame)
    return broken


def _bins_of(attribute: ScaleBins, column: pd.Series) -> Places:
    """The bin of each value."""
    values = attribute.comparable(column)
    missing = np.isnan(values)
    firsts, _ = attribute.bin_spans()
    bins = np.searchsorted(firsts, np.where(missing, firsts[0], values), side="right") - 1
    if attribute.missing_code is not None:
        bins[missing] = attribute.missing_code
    return bins


def _search(
    fine: FineComponent, coarse: Mapping[str, Attribute], codes: Codes
) -> dict[str, Places]:
    """Codes of the finer bins that keep the component, within the bins of `codes` where these leave any. The
    same for all records with the same codes."""
    names = list(coarse)
    table = np.column_stack([codes[name] for name in names])
    contexts, of = np.unique(table, axis=0, return_inverse=True)
    parents = {name: _parents(coarse[name], fine.attributes[name]) for name in names}
    records = []
    for context in contexts:
        within = {
            name: parents[name] == code for name, code in zip(names, context, strict=True)
        }
        record = witness(fine.component, fine.attributes, within=within)
        record = record or witness(fine.component, fine.attributes) or {}
        records.append([record[name] for name in names])
    of_rows = np.array(records, dtype=np.intp)[of.ravel()]
    return {name: of_rows[:, index] for index, name in enumerate(names)}


def _parents(coarse: Attribute, fine: Attribute) -> Places:
    """The code of a column for each code of the same column with finer bins."""
    if not isinstance(coarse, ScaleBins) or not isinstance(fine, ScaleBins):
        return np.arange(fine.size)
    cuts = np.array(coarse.cuts, dtype=np.uint64)
    bins = np.searchsorted(cuts, np.array(fine.cuts[:-1], dtype=np.uint64), side="right") - 1
    return np.append(bins, np.arange(coarse.value_count, coarse.size)).astype(np.intp)


def _at(codes: Codes, rows: Places, names: Iterable[str]) -> dict[str, Places]:
    return {name: np.asarray(codes[name][rows], dtype=np.intp) for name in names}


def _sample(
    attributes: Mapping[str, Attribute], codes: Mapping[str, Places], rng: np.random.Generator
) -> dict[str, pd.Series]:
    return {name: each.sample(codes[name], rng) for name, each in attributes.items()}


def _least(domain: Domain, orders: Orders, codes: Codes) -> dict[str, pd.Series]:
    """The smallest values of these codes that are in order."""
    least, _ = orders.least(codes)
    return {name: domain.attribute(name).natural(values) for name, values in least.items()}


def _put(frame: pd.DataFrame, rows: Places, columns: Mapping[str, pd.Series]) -> None:
    for name, values in columns.items():
        column = frame[name].copy()
        column.iloc[rows] = (
            values.to_numpy() if values.dtype == column.dtype else values.astype(column.dtype)
        )
        frame[name] = column
