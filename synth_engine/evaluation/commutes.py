"""Distances of commutes, computed from tallies of where records start and where they end, and
nothing else of them.

Definitions in docs/comparison.md. Distances are great circles between public points; a
destination is a position of its end, so with public points one value of the column, and with
latitude and longitude one public cell."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from synth_engine.evaluation import distance_distribution
from synth_engine.evaluation.distance_distribution import DistanceEntry
from synth_engine.evaluation.tallies import ContingencyTable
from synth_engine.indexing import places
from synth_engine.indexing.commutes import Commute, kilometres
from synth_engine.models.model import generator

SHORT_KM = 10.0
"""Commutes up to it are short ones, unless a reader says otherwise."""
BANDS: tuple[tuple[int, int | None], ...] = ((1, 5), (6, 20), (21, 100), (101, None))
IMPLICATES = 200
BAND_COVERAGE = 0.9  # of implicates, by the band

Floats = NDArray[np.float64]
Whole = NDArray[np.int64]
Entry = dict[str, Any]


@dataclass(frozen=True, kw_only=True, eq=False)
class Flows:
    """The pairs of positions that occur, how many records each has, and how far apart they are. `lacking`:
    records that start or end nowhere."""

    commute: Commute
    origins: Whole
    destinations: Whole
    counts: Whole
    km: Floats
    missing: int = 0

    @classmethod
    def of(cls, commute: Commute, table: ContingencyTable) -> Flows:
        """Makes the flows of the counts of those cells of a commute that occur."""
        cells, counts = table.cells.astype(np.int64), table.counts.astype(np.int64)
        distance_km = kilometres(commute, cells)
        located = ~np.isnan(distance_km)
        origins, destinations = commute.split(cells[located])
        return cls(
            commute=commute,
            origins=origins,
            destinations=destinations,
            counts=counts[located],
            km=distance_km[located],
            missing=int(counts[~located].sum()),
        )

    @property
    def total(self) -> int:
        """Records, without those that lack an end."""
        return int(self.counts.sum())

    @property
    def mean_km(self) -> float:
        """0 of no records."""
        return float(self.counts @ self.km) / max(1, self.total)

    @property
    def staying(self) -> float:
        """The share of records that end where they start; 0 of no records."""
        return float(self.counts[self.km == 0].sum()) / max(1, self.total)

    def up_to(self, km: float) -> Flows:
        """Selects records that go at most so many kilometres."""
        return self._where(self.km <= km)

    def homes_within(self, km: float, *, north: float, east: float) -> Flows:
        """Selects records that start at most so many kilometres from a point."""
        latitudes, longitudes = self.commute.origin.at(self.origins)
        away = places.great_circle(
            latitudes,
            longitudes,
            np.full_like(latitudes, north),
            np.full_like(longitudes, east),
        )
        return self._where(away <= km)

    def _where(self, mask: NDArray[np.bool_]) -> Flows:
        return replace(
            self,
            origins=self.origins[mask],
            destinations=self.destinations[mask],
            counts=self.counts[mask],
            km=self.km[mask],
            missing=0,
        )


def edges(commute: Commute) -> Floats:
    """Public edges of bins of distance, in kilometres: from 0 to the largest possible one."""
    boxes = np.array([commute.origin.box, commute.destination.box])
    (south, west), (north, east) = boxes[:, :2].min(axis=0), boxes[:, 2:].max(axis=0)
    return places.round_edges(places.across(south, west, north, east))


def bin_distances(flows: Flows, cuts: Floats) -> Whole:
    """Records in each bin of distance; a bin holds its upper edge, and the first one the records that do not
    move."""
    bins = np.clip(np.searchsorted(cuts, flows.km, side="left") - 1, 0, len(cuts) - 2)
    return np.bincount(bins, weights=flows.counts, minlength=len(cuts) - 1).astype(np.int64)


def gap(first: Flows, second: Flows) -> tuple[float, float, tuple[float, float]]:
    """Returns the distance of Kolmogorov and Smirnov, where it is reached, in kilometres, and both
    shares there. It is exact, not one of bins. Neither side may be empty."""
    # Both curves are step functions, so their largest gap is at a distance that occurs.
    at = np.union1d(first.km, second.km)
    shares = [_share_within(flows, at) for flows in (first, second)]
    index = int(np.abs(shares[0] - shares[1]).argmax())
    ends = float(shares[0][index]), float(shares[1][index])
    return abs(ends[0] - ends[1]), float(at[index]), ends


def _share_within(flows: Flows, at: Floats) -> Floats:
    order = np.argsort(flows.km, kind="stable")
    below = np.concatenate([[0], np.cumsum(flows.counts[order])])
    shares: Floats = below[np.searchsorted(flows.km[order], at, side="right")] / flows.total
    return shares


def band(counts: Whole, *, seed: str) -> tuple[Floats, Floats]:
    """Returns the bounds between which the cumulative shares of nine of ten implicates lie, at
    the upper edge of each bin.

    Implicates are tables of the same size, resampled from the bins of the given one, which is
    synthetic. No record is read."""
    total = int(counts.sum())
    if not total:
        return np.zeros(len(counts)), np.zeros(len(counts))
    # The seed is public: the band is the same at every view, and drawing it uses no randomness
    # of the noise.
    rng = generator(seed, purpose=("implicates",))
    implicates = rng.multinomial(total, counts / total, size=IMPLICATES).cumsum(axis=1) / total
    low, high = np.quantile(
        implicates, [(1 - BAND_COVERAGE) / 2, (1 + BAND_COVERAGE) / 2], axis=0
    )
    return low, high


def curve(sides: Mapping[str, Flows], *, seed: str) -> DistanceEntry:
    """Compares the curves as `compare_curves` does, and adds the band of implicates."""
    low, high = band(
        bin_distances(sides["synthetic"], edges(sides["synthetic"].commute)), seed=seed
    )
    return {
        **compare_curves(sides),
        "band": [bound.round(distance_distribution.DIGITS).tolist() for bound in (low, high)],
    }


def compare_curves(sides: Mapping[str, Flows]) -> DistanceEntry:
    """Cumulative shares by distance of "synthetic" and perhaps "real" records, in the form of the entries of
    `apart`."""
    commute = sides["synthetic"].commute
    cuts = edges(commute)
    tables = {side: bin_distances(flows, cuts) for side, flows in sides.items()}
    entry = distance_distribution.entry(
        commute.pair,
        cuts,
        counts=tables,
        missing={side: flows.missing for side, flows in sides.items()},
    )
    if entry["ks_by_chance"] is None:
        return entry
    ks, at, ends = gap(sides["real"], sides["synthetic"])
    return {
        **entry,
        "ks": ks,
        "ks_at_km": at,
        "ks_ends": list(ends),
        "verdict": distance_distribution.verdict(ks, entry["ks_by_chance"]),
    }


@dataclass(frozen=True, kw_only=True, eq=False)
class Averages:
    """Destinations that occur: their positions, their records and how far these came on
    average, in kilometres."""

    positions: Whole
    records: Whole
    km: Floats

    def over(self, size: int) -> Floats:
        """The distances by position, of so many; NaN where no record ends."""
        km = np.full(size, np.nan)
        km[self.positions] = self.km
        return km


def by_destination(flows: Flows) -> Averages:
    """Average commute of each destination."""
    positions, index = np.unique(flows.destinations, return_inverse=True)
    records = np.bincount(index, weights=flows.counts, minlength=positions.size)
    total = np.bincount(index, weights=flows.counts * flows.km, minlength=positions.size)
    return Averages(
        positions=positions, records=records.astype(np.int64), km=total / np.maximum(records, 1)
    )


@dataclass(frozen=True, kw_only=True, eq=False)
class Errors:
    """Absolute errors of the average commute, in kilometres, of destinations with records on
    both sides.

    `workers`: real records of each destination. `without`: real records of destinations that
    the synthetic table lacks."""

    workers: Whole
    km: Floats
    without: int

    @property
    def weighted(self) -> float | None:
        """The mean error, each worker counted once."""
        return float(self.workers @ self.km / self.workers.sum()) if self.km.size else None

    def within(self, low: int, high: int | None) -> Floats:
        """Errors of destinations of so many workers."""
        return self.km[
            (self.workers >= low) & (self.workers <= (high or self.workers.max(initial=0)))
        ]


def errors(real: Flows, synthetic: Flows, *, up_to: float | None = None) -> Errors:
    """Computes the errors of all commutes, or of those up to so many kilometres on either side,
    from real data. Destinations are ranked by all of their workers."""
    # Bands are by all real workers even for short commutes, so that a destination stays in its
    # band in both columns.
    workers = by_destination(real)
    first, second = (
        by_destination(flows if up_to is None else flows.up_to(up_to))
        for flows in (real, synthetic)
    )
    # An average needs records on both sides. Destinations without synthetic records have no
    # error; they are reported as a count, or losing them would improve the figure.
    shared, in_first, in_second = np.intersect1d(
        first.positions, second.positions, assume_unique=True, return_indices=True
    )
    size = workers.records[np.searchsorted(workers.positions, shared)]
    lost = ~np.isin(first.positions, second.positions)
    return Errors(
        workers=size,
        km=np.abs(first.km[in_first] - second.km[in_second]),
        without=int(first.records[lost].sum()),
    )


def error_rows(real: Flows, synthetic: Flows, *, short_km: float) -> list[Entry]:
    """Returns one row for each band of workers, and one for all.

    A row has the number of destinations and, of all and of short commutes, the mean error and
    its quantiles in kilometres; None where there are no destinations. The last row has the mean
    with each worker counted once as well."""
    by_kind = {"all": errors(real, synthetic), "short": errors(real, synthetic, up_to=short_km)}
    rows: list[Entry] = []
    for low, high in (*BANDS, (1, None)):
        parts = {kind: errors_of.within(low, high) for kind, errors_of in by_kind.items()}
        rows.append(
            {
                "band": "all"
                if (low, high) == (1, None)
                else f"over {low - 1}"
                if high is None
                else f"{low}–{high}",
                "destinations": int(parts["all"].size),
                **{kind: _spread(part) for kind, part in parts.items()},
            }
        )
    rows[-1]["weighted"] = {kind: errors_of.weighted for kind, errors_of in by_kind.items()}
    rows[-1]["without"] = {kind: errors_of.without for kind, errors_of in by_kind.items()}
    return rows


def _spread(values: Floats) -> Entry | None:
    if not values.size:
        return None
    quartiles = np.quantile(values, [0.05, 0.25, 0.5, 0.75, 0.95])
    return {
        "mean": float(values.mean()),
        "quantiles": quartiles.round(distance_distribution.DIGITS).tolist(),
    }
