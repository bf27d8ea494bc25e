"""Distances between two places of a record, real and synthetic, as one entry of a report."""

from __future__ import annotations

from collections.abc import Mapping
from math import pi, sqrt
from typing import NotRequired, TypedDict

import numpy as np
from numpy.typing import NDArray

from synth_engine.evaluation import wording
from synth_engine.evaluation.distances import shares
from synth_engine.evaluation.tallies import Pair
from synth_engine.indexing import places

DIGITS = 9
NO_DISTANCE: wording.FigureVerdict = {
    "level": "large",
    "words": "One of the tables has no record with both places: nothing to compare.",
}


class DistanceEntry(TypedDict):
    """Distances of one pair, by side; what compares both sides is None where it cannot be."""

    places: list[str]
    edges_km: list[float]
    counts: dict[str, list[int]]
    lacking: dict[str, int]
    within: dict[str, list[float]]
    ks: float | None
    ks_by_chance: float | None
    ks_at_km: float | None
    ks_ends: NotRequired[list[float]]
    median_km: dict[str, float] | None
    verdict: wording.FigureVerdict
    band: NotRequired[list[list[float]]]  # of implicates, from and to


def entry(
    pair: Pair,
    edges: NDArray[np.float64],
    *,
    counts: Mapping[str, NDArray[np.int64]],
    missing: Mapping[str, int],
) -> DistanceEntry:
    """Makes the entry of tables by bins of distance, one for each side. What compares both is
    None where a side has no record, or is not there."""
    within = {side: np.cumsum(shares(table)) for side, table in counts.items()}
    totals = {side: int(table.sum()) for side, table in counts.items()}
    document: DistanceEntry = {
        "places": list(pair),
        "edges_km": edges.tolist(),
        "counts": {side: table.tolist() for side, table in counts.items()},
        "lacking": dict(missing),
        "within": {side: np.round(share, DIGITS).tolist() for side, share in within.items()},
        "ks": None,
        "ks_by_chance": None,
        "ks_at_km": None,
        "median_km": None,
        "verdict": NO_DISTANCE,
    }
    # Of an empty side all shares are zero: their gap would be the other curve, not a
    # difference.
    if len(totals) < 2 or not all(totals.values()):
        return document
    gaps = np.abs(within["real"] - within["synthetic"])
    ks, chance = float(gaps.max()), by_chance(*totals.values())
    return {
        **document,
        "ks": ks,
        "ks_by_chance": chance,
        "ks_at_km": float(edges[1 + int(gaps.argmax())]),
        "median_km": {side: median(edges, share) for side, share in within.items()},
        "verdict": verdict(ks, chance),
    }


def median(edges: NDArray[np.float64], within: NDArray[np.float64]) -> float:
    """The upper edge of the bin up to which half of the records are."""
    return float(edges[1 + min(int(np.searchsorted(within, 0.5)), len(within) - 1)])


def verdict(ks: float, chance: float) -> wording.FigureVerdict:
    return wording.gap_verdict(ks, chance=chance)


def by_chance(first: int, second: int) -> float:
    """The mean of the distance of Kolmogorov and Smirnov between two samples of one continuous law, for large
    samples: sqrt(pi / 2) ln 2 / sqrt(n), with 1/n = 1/first + 1/second. Bins make it a little smaller."""
    return min(1.0, sqrt(pi / 2) * float(np.log(2)) * sqrt(1 / first + 1 / second))


def miles(kilometres: float) -> float:
    return kilometres / places.KILOMETRES_A_MILE
