"""What two sketches say together: how many persons are in both tables, and how their linked columns go
together.

All of it is post-processing of the noisy counts. docs/linking.md derives the estimator and its variance, and
states when its intervals hold.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from statistics import NormalDist
from typing import Any

import numpy as np
from numpy.typing import NDArray

from synth_engine.errors import InputError
from synth_engine.linking.agreement import SIDES, Agreement, Side
from synth_engine.linking.forecast import laplace_cumulants
from synth_engine.linking.sketch import Sketch
from synth_engine.strict_json import JsonObject

SCHEMA = "synth_engine/link-estimate/1"
LEVEL = 0.95
_WIDTH = NormalDist().inv_cdf((1 + LEVEL) / 2)
_INTERVALS = ("left", "right", "both", "left_only", "right_only")
"""The numbers of records that an estimate states with intervals, in the order of its fields."""
_ROUNDS = 200
"""Passes that scale a joint table to its margins."""

Floats = NDArray[np.float64]


@dataclass(frozen=True, kw_only=True)
class EstimateRange:
    """An estimate with the ends of its 95 % interval, in records."""

    value: float
    low: float
    high: float

    def to_json(self) -> JsonObject:
        return {
            "value": round(self.value, 3),
            "low": round(self.low, 3),
            "high": round(self.high, 3),
        }

    @classmethod
    def from_json(cls, document: Mapping[str, Any]) -> EstimateRange:
        return cls(**{key: float(document[key]) for key in ("value", "low", "high")})


@dataclass(frozen=True, kw_only=True)
class LinkEstimate:
    """A link as its sketches show it. left, right: records of each side; both: persons in both tables;
    left_only, right_only: the others. joint, joint_deviation: persons in both by their linked columns on the
    left (rows) and on the right (columns), and the standard deviation of each cell before the table was made
    whole. receipts: the digest of the core of the receipt of each sketch."""

    agreement: Agreement
    receipts: Mapping[Side, str]
    left: EstimateRange
    right: EstimateRange
    both: EstimateRange
    left_only: EstimateRange
    right_only: EstimateRange
    joint: Floats
    joint_deviation: Floats

    @property
    def lines(self) -> list[str]:
        """The numbers of records with their intervals, for people."""
        named = {
            "in both tables": self.both,
            "in the left table alone": self.left_only,
            "in the right table alone": self.right_only,
        }
        return [
            f"{what}: {each.value:,.0f}, 95 % interval {each.low:,.0f} to {each.high:,.0f}"
            for what, each in named.items()
        ]

    def to_json(self) -> JsonObject:
        return {
            "schema": SCHEMA,
            "link": self.agreement.digest,
            "receipts": dict(self.receipts),
            "level": LEVEL,
            "typos": float(self.agreement.typos),
            **{key: getattr(self, key).to_json() for key in _INTERVALS},
            "left_columns": list(self.agreement.left.names),
            "right_columns": list(self.agreement.right.names),
            "joint": np.round(self.joint, 3).tolist(),
            "joint_deviation": np.round(self.joint_deviation, 3).tolist(),
        }

    @classmethod
    def from_json(cls, document: Mapping[str, Any], agreement: Agreement) -> LinkEstimate:
        """Errors: InputError for an estimate of another link, or another document."""
        if document.get("schema") != SCHEMA:
            raise InputError(
                "the document is no estimate of a link",
                repair="give the file that `link estimate` wrote",
            )
        if document.get("link") != agreement.digest:
            raise InputError(
                "the estimate is of another link", repair="give the link that it was made with"
            )
        shape = (agreement.left.cells, agreement.right.cells)
        try:
            joint, deviation = (
                np.array(document[key], dtype=np.float64).reshape(shape)
                for key in ("joint", "joint_deviation")
            )
            receipts: dict[Side, str] = {
                side: str(document["receipts"][side]) for side in SIDES
            }
            intervals = [EstimateRange.from_json(document[key]) for key in _INTERVALS]
        except (KeyError, TypeError, ValueError):
            raise InputError(
                "the estimate is malformed", repair="use the file as `link estimate` wrote it"
            ) from None
        left, right, both, left_only, right_only = intervals
        return cls(
            agreement=agreement,
            receipts=receipts,
            left=left,
            right=right,
            both=both,
            left_only=left_only,
            right_only=right_only,
            joint=joint,
            joint_deviation=deviation,
        )


@dataclass(frozen=True, eq=False)
class _Counts:
    """The noisy counts of one side. cells: shape (buckets, combinations), without the records that have no
    text, of which there are `without`. variance, fourth: cumulants of the noise of one cell."""

    cells: Floats
    without: float
    variance: float
    fourth: float

    @property
    def buckets(self) -> Floats:
        return np.asarray(self.cells.sum(axis=1))

    @property
    def combinations(self) -> int:
        return int(self.cells.shape[1])

    @property
    def total(self) -> float:
        """Records with a text."""
        return max(1.0, float(self.cells.sum()))

    @property
    def bucket_variance(self) -> float:
        """The variance of the noise of one bucket."""
        return self.combinations * self.variance

    @property
    def total_variance(self) -> float:
        return len(self.cells) * self.bucket_variance

    @property
    def colliding(self) -> float:
        """Ordered pairs of different records in one bucket, without bias."""
        buckets = self.buckets
        return float(buckets @ buckets) - self.total_variance - self.total

    @classmethod
    def of(cls, sketch: Sketch) -> _Counts:
        counts = sketch.counts.astype(np.float64).reshape(sketch.agreement.hashing.codes, -1)
        variance, fourth = laplace_cumulants(1 / float(sketch.noise.scale))
        return cls(counts[:-1], float(counts[-1].sum()), variance, fourth)


def estimate(first: Sketch, second: Sketch) -> LinkEstimate:
    """The estimate of a link from the sketches of both sides, in any order. Errors: InputError."""
    sketches = {sketch.side: sketch for sketch in (first, second)}
    agreement = first.agreement
    if len(sketches) < 2 or second.agreement.digest != agreement.digest:
        raise InputError(
            "the two sketches are not of the two sides of one link",
            repair="give one sketch of each side, made with the same link",
        )
    left, right = _Counts.of(sketches["left"]), _Counts.of(sketches["right"])
    matched, deviation = _matched(left, right)
    least = 1 - float(agreement.typos)
    most = min(left.total, right.total)
    # Typos make pairs of one person miss each other, so that what matched is at least this share of them.
    both = _interval(
        2 * matched / (1 + least),
        low=matched - _WIDTH * deviation,
        high=(matched + _WIDTH * deviation) / least,
        most=most,
    )
    joint, joint_deviation = _joint(left, right, both=both.value, matched=matched)
    left_records, right_records = _records(left), _records(right)
    return LinkEstimate(
        agreement=agreement,
        receipts={side: sketches[side].receipt["digest"] for side in SIDES},
        left=left_records,
        right=right_records,
        both=both,
        left_only=_alone(left_records, both),
        right_only=_alone(right_records, both),
        joint=joint,
        joint_deviation=joint_deviation,
    )


def _matched(left: _Counts, right: _Counts) -> tuple[float, float]:
    """The number of pairs of one person that share a bucket, and its standard deviation.

    Of d = √r h − e / √r, with r = |E| / |H|, the sum of squares is about that of the weights of records that
    have no partner: different records that share a bucket by chance cancel, however unequal the buckets are,
    if both sides fill them alike.
    """
    ratio = right.total / left.total
    difference = math.sqrt(ratio) * left.buckets - right.buckets / math.sqrt(ratio)
    noise = ratio * left.bucket_variance + right.bucket_variance / ratio
    fourth = (
        ratio**2 * left.combinations * left.fourth
        + right.combinations * right.fourth / ratio**2
    )
    number = len(difference)
    chance = _chance(left, right)
    squares = float(difference @ difference) - number * noise
    unmatched = squares / (1 - chance)
    matched = (left.total + right.total - unmatched) / 2
    squares = max(squares, 0.0)
    variance = (
        squares * noise
        + number * (2 * noise**2 + fourth) / 4
        + chance * squares**2 / 2
        + (left.total_variance + right.total_variance) / 4
    )
    return matched, math.sqrt(variance)


def _chance(left: _Counts, right: _Counts) -> float:
    """The chance that two different records share a bucket."""
    pairs = left.total**2 + right.total**2
    share = (left.colliding + right.colliding) / pairs
    return min(max(share, 1 / len(left.cells)), 0.5)


def _joint(
    left: _Counts, right: _Counts, *, both: float, matched: float
) -> tuple[Floats, Floats]:
    """Persons in both tables by their linked columns, and the standard deviation of each cell.

    Differences of a column's counts from its share of the bucket have no chance matches on average: their
    products show by how much pairs differ from those of independent columns. The margins follow from products
    with the difference of both sides."""
    shares = [_shares(side) for side in (left, right)]
    own = [
        side.cells - np.outer(side.buckets, share)
        for side, share in zip((left, right), shares, strict=True)
    ]
    ratio = right.total / left.total
    difference = right.buckets - ratio * left.buckets
    number = len(difference)
    interaction = own[0].T @ own[1]
    # Noise of a cell is in both factors of a margin's product, which its expectation takes back.
    rows = own[0].T @ difference + ratio * number * left.variance * (
        1 - shares[0] * left.combinations
    )
    columns = own[1].T @ (-difference / ratio) + number * right.variance / ratio * (
        1 - shares[1] * right.combinations
    )
    table = (
        interaction
        + np.outer(shares[0], columns)
        + np.outer(rows, shares[1])
        + matched * np.outer(shares[0], shares[1])
    )
    deviations = _joint_deviations(left, right, shares, own, difference=difference)
    scale = both / matched if matched > 0 else 1.0
    return _whole(table * scale, both, left=left, right=right), deviations * scale


def _joint_deviations(
    left: _Counts,
    right: _Counts,
    shares: list[Floats],
    own: list[Floats],
    *,
    difference: Floats,
) -> Floats:
    """The standard deviation of each cell, from the products that it is the sum of."""
    number, chance = len(difference), _chance(left, right)
    ratio = right.total / left.total
    noise = [
        side.variance * ((1 - share) ** 2 + share**2 * (side.combinations - 1))
        for side, share in zip((left, right), shares, strict=True)
    ]
    squares = [
        np.maximum(np.einsum("bi,bi->i", part, part) - number * of_noise, 0.0)
        for part, of_noise in zip(own, noise, strict=True)
    ]
    of_difference = right.bucket_variance + ratio**2 * left.bucket_variance
    squares_difference = max(float(difference @ difference) - number * of_difference, 0.0)
    interaction = _product_variance(
        squares[0][:, None], noise[0][:, None], squares[1][None], noise[1][None], number, chance
    )
    rows = _product_variance(
        squares[0], noise[0], squares_difference, of_difference, number, chance
    )
    columns = _product_variance(
        squares[1],
        noise[1],
        squares_difference / ratio**2,
        of_difference / ratio**2,
        number,
        chance,
    )
    _, of_matched = _matched(left, right)
    variance = (
        interaction
        + np.outer(shares[0] ** 2, columns)
        + np.outer(rows, shares[1] ** 2)
        + of_matched**2 * np.outer(shares[0], shares[1]) ** 2
    )
    return np.asarray(np.sqrt(variance))


def _product_variance(
    first: Any, first_noise: Any, second: Any, second_noise: Any, number: int, chance: float
) -> Any:
    """The variance of an inner product of two vectors over the buckets. first, second: their sums of squares
    without noise."""
    of_noise = first * second_noise + second * first_noise + number * first_noise * second_noise
    return of_noise + chance * first * second


def _shares(side: _Counts) -> Floats:
    """The share of each combination of linked columns among the records of a side."""
    totals = np.maximum(side.cells.sum(axis=0), 0.0)
    if totals.sum() <= 0:
        return np.full(side.combinations, 1 / side.combinations)
    return np.asarray(totals / totals.sum())


def _whole(table: Floats, both: float, *, left: _Counts, right: _Counts) -> Floats:
    """The nearest table of this kind without negative cells, with the sum `both`, and with no margin above
    what its side has."""
    table = np.maximum(table, 0.0)
    limits = [np.maximum(side.cells.sum(axis=0), 0.0) for side in (left, right)]
    if table.sum() <= 0:
        table = np.outer(_shares(left), _shares(right))
    for _ in range(_ROUNDS):
        table *= both / max(table.sum(), 1e-12)
        before = table.copy()
        for axis, limit in enumerate(limits):
            margin = table.sum(axis=1 - axis)
            factor = np.minimum(1.0, limit / np.maximum(margin, 1e-12))
            table *= np.expand_dims(factor, 1 - axis)
        if np.allclose(table, before):
            break
    return table


def _records(side: _Counts) -> EstimateRange:
    """The records of a side, those without a text among them."""
    total = side.total + side.without
    width = _WIDTH * math.sqrt((len(side.cells) + 1) * side.bucket_variance)
    return _interval(total, low=total - width, high=total + width, most=math.inf)


def _alone(records: EstimateRange, both: EstimateRange) -> EstimateRange:
    """Records of one side alone. Ends of both intervals together, which is wider than need be."""
    return _interval(
        records.value - both.value,
        low=records.low - both.high,
        high=records.high - both.low,
        most=records.high,
    )


def _interval(value: float, *, low: float, high: float, most: float) -> EstimateRange:
    """Numbers of records are not negative, and no more than `most`."""
    low, value, high = (min(max(end, 0.0), most) for end in (low, value, high))
    return EstimateRange(value=value, low=low, high=high)
