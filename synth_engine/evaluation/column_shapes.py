"""The distribution of a column that a model or simulated answers describe: pieces of values with weights, and
its figures."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field, replace

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from synth_engine.domain import Attribute, ScaleBins
from synth_engine.evaluation.scale_text import text_of
from synth_engine.inference.scale_tree import Pieces

Floats = NDArray[np.float64]
_LEAST_TOP_SHARE = 0.01


@dataclass(frozen=True, kw_only=True, eq=False)
class ColumnShape:
    """Weights of pieces of a column, or of its codes where it has no scale.

    firsts, lasts: the first and the last value of each piece, as numbers of the ladder; shape (pieces,),
    empty without a scale. middles: the mean of the values of each piece, same shape. step: the distance of
    values, 0 for decimals. shares: of the records that have a value; shape (pieces,), or (codes,). missing:
    the share of records without one.
    """

    attribute: Attribute
    firsts: Floats = field(repr=False)
    lasts: Floats = field(repr=False)
    middles: Floats = field(repr=False)
    shares: Floats = field(repr=False)
    step: float
    missing: float

    @property
    def is_numeric(self) -> bool:
        """Whether there are numbers to be averaged."""
        return bool(len(self.firsts)) and float(self.shares.sum()) > 0

    def mean(self) -> float:
        return float(self.shares @ self.middles)

    def standard_deviation(self) -> float:
        widths = self.lasts - self.firsts
        # Values at equal steps, or uniform ones.
        within = (widths**2 + 2 * self.step * widths) / 12
        variance = self.shares @ (within + self.middles**2) - self.mean() ** 2
        return float(np.sqrt(max(float(variance), 0.0)))

    def quantile(self, level: float) -> float:
        """The smallest value up to which such a share lies, with values uniform within pieces."""
        reached = np.cumsum(self.shares)
        piece = min(int(np.searchsorted(reached, level - 1e-12)), len(self.shares) - 1)
        before = float(reached[piece] - self.shares[piece])
        part = min(max((level - before) / max(float(self.shares[piece]), 1e-300), 0.0), 1.0)
        first, width = float(self.firsts[piece]), float(self.lasts[piece] - self.firsts[piece])
        if not self.step:
            return first + part * width
        values = width / self.step + 1
        return first + self.step * max(math.ceil(part * values - 1e-9) - 1, 0)

    def piece_ends(self, value: float) -> tuple[float, float]:
        """The first and the last value of the piece that holds a value, or the value itself between
        pieces."""
        piece = int(np.searchsorted(self.firsts, value, side="right")) - 1
        if piece < 0 or value > self.lasts[piece]:
            return value, value
        return float(self.firsts[piece]), float(self.lasts[piece])

    def share(self, value: float) -> float:
        """The share of all records with a value: a number of the ladder, or a code of a column without a
        scale."""
        stated = 1 - self.missing
        if not len(self.firsts):
            return float(self.shares[int(value)]) * stated
        piece = int(np.searchsorted(self.firsts, value, side="right")) - 1
        if piece < 0 or value > self.lasts[piece]:
            return 0.0
        width = float(self.lasts[piece] - self.firsts[piece])
        values = width / self.step + 1 if self.step else 1.0
        return float(self.shares[piece]) / values * stated

    def top(self, count: int) -> Iterator[tuple[float, str]]:
        """The most frequent values with their texts: codes, or pieces of one value."""
        order = np.argsort(-self.shares, kind="stable")
        single = [
            index
            for index in order.tolist()
            if self.shares[index] >= _LEAST_TOP_SHARE
            and (not len(self.firsts) or self.firsts[index] == self.lasts[index])
        ]
        for index in single[:count]:
            if len(self.firsts):
                value = float(self.firsts[index])
                yield value, text_of(self.attribute, value)
            else:
                yield float(index), self.attribute.labels[index]

    def jittered(self, rng: np.random.Generator) -> ColumnShape:
        """The same with the mean of each piece elsewhere: how values lie within a piece is not known.

        The means move by up to a quarter of the width of their piece together, because densities fall or rise
        over many pieces, and by up to another quarter each by itself."""
        widths = self.lasts - self.firsts
        together = rng.uniform(-0.25, 0.25)
        shifts = (together + rng.uniform(-0.25, 0.25, widths.shape)) * widths
        return replace(self, middles=self.middles + shifts)


def of_attribute(attribute: Attribute, counts: Floats) -> ColumnShape:
    """The shape that codes of a column have. counts: records of each code, shape (codes,)."""
    if isinstance(attribute, ScaleBins):
        weights = np.array(attribute.weights, dtype=np.int64)
        return of_pieces(
            attribute,
            counts,
            Pieces(
                starts=attribute.pieces,
                weights=tuple(weights.tolist()),
                leaf=tuple(range(len(weights))),
            ),
        )
    missing = _missing(attribute, counts)
    if not attribute.is_comparable:
        stated = np.delete(
            counts, [] if attribute.missing_code is None else [attribute.missing_code]
        )
        nothing = np.empty(0)
        return ColumnShape(
            attribute=attribute,
            firsts=nothing,
            lasts=nothing,
            middles=nothing,
            shares=stated / max(float(stated.sum()), 1e-300),
            step=0.0,
            missing=missing,
        )
    firsts, lasts = attribute.bin_spans()
    stated = counts[: len(firsts)]
    return ColumnShape(
        attribute=attribute,
        firsts=firsts,
        lasts=lasts,
        middles=(firsts + lasts) / 2,
        shares=stated / max(float(stated.sum()), 1e-300),
        step=attribute.value_step,
        missing=missing,
    )


def of_pieces(attribute: ScaleBins, counts: Floats, pieces: Pieces) -> ColumnShape:
    """The shape of a learned column: the pieces say how values lie within a bin, and counts how many a bin
    has."""
    positions = np.array(pieces.starts, dtype=np.float64)
    learned = np.append(0.0, np.cumsum(np.array(pieces.weights, dtype=np.float64)))
    cuts = np.array(attribute.cuts, dtype=np.float64)
    # Pieces are cut where bins end, so that each lies in one bin.
    ends = np.unique(np.concatenate([positions, cuts]))
    at_ends = np.interp(ends, positions, learned)
    shares = _piece_shares(attribute, counts, ends=ends, weights=np.diff(at_ends))
    used = shares > 0
    first_values = _values(attribute, ends[:-1][used])
    last_values = _values(attribute, ends[1:][used] - 1)
    return ColumnShape(
        attribute=attribute,
        firsts=first_values,
        lasts=last_values,
        middles=(first_values + last_values) / 2,
        shares=shares[used] / max(float(shares.sum()), 1e-300),
        step=float(attribute.step),
        missing=_missing(attribute, counts),
    )


def reached(attribute: ScaleBins, counts: Floats) -> Floats:
    """The share of values below each position of the pieces, with the records of bins as they are in
    `counts`."""
    shares = _piece_shares(
        attribute,
        counts,
        ends=np.array(attribute.pieces, dtype=np.float64),
        weights=np.array(attribute.weights, dtype=np.float64),
    )
    cumulative: Floats = np.append(0.0, np.cumsum(shares))
    return cumulative


def _piece_shares(
    attribute: ScaleBins, counts: Floats, *, ends: Floats, weights: Floats
) -> Floats:
    """The share of each piece among the records with a value: that of its bin, divided by the weights of the
    bin's pieces, or by their widths in a bin without weight.

    counts: records of each code, shape (codes,). ends: the first position of each piece and the end of the
    last one, shape (pieces + 1,); each piece lies in one bin. weights: shape (pieces,)."""
    cuts = np.array(attribute.cuts, dtype=np.float64)
    bins = np.clip(np.searchsorted(cuts, ends[:-1], side="right") - 1, 0, len(cuts) - 2)
    in_bin = np.bincount(bins, weights=weights, minlength=len(cuts) - 1)
    widths = np.diff(ends)
    in_width = np.bincount(bins, weights=widths, minlength=len(cuts) - 1)
    stated = counts[: attribute.value_count]
    within_bin = np.where(
        in_bin[bins] > 0,
        weights / np.maximum(in_bin[bins], 1e-300),
        widths / np.maximum(in_width[bins], 1e-300),
    )
    shares: Floats = within_bin * stated[bins] / max(float(stated.sum()), 1e-300)
    return shares


def _values(attribute: ScaleBins, positions: Floats) -> Floats:
    """Positions of the lattice as numbers of the ladder."""
    whole = np.clip(positions, 0, float(attribute.lattice.count - 1)).astype(np.uint64)
    return attribute.comparable(pd.Series(attribute.lattice.values(whole)))


def _missing(attribute: Attribute, counts: Floats) -> float:
    code = attribute.missing_code
    total = float(counts.sum())
    return 0.0 if code is None or not total else float(counts[code]) / total
