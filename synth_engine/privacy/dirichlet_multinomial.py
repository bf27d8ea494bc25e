"""Resampling of the records of public groups from the Dirichlet-multinomial law of their counts plus a prior:
a Pólya urn.

An urn holds `unit` balls for every record of the group and `parts` for every origin there is. A ball is
drawn, looked at and put back together with `unit` more of its origin; after n draws the origins drawn have
that law (docs/proofs/resample.md). Of the balls, those that were added come last, so a ball is a number, and
the number says whether it belongs to a record, to the prior, or to an earlier draw. This file knows neither
what a record is nor where chance comes from. Every step is a whole number below a bound of which each is as
likely as another; no step uses a float.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from synth_engine.errors import PrivacyError
from synth_engine.jit import compiled
from synth_engine.strict_json import JsonObject

Counts = NDArray[np.int64]
UniformBelow = Callable[[Counts], Counts]
"""Independent whole numbers below each bound, each as likely as another; from whoever asks."""

MAX_URN_BALLS = 2**62


@dataclass(frozen=True, kw_only=True, eq=False)
class Resampled:
    """Resampled records of public groups, counted by group and origin.

    clique: the columns of group and origin. shape: how many groups and origins, or public parts of origins,
    there are. cells: those that are not empty, int64, as group times origins plus origin, in order. counts:
    of each cell, int64.
    """

    clique: tuple[str, ...]
    shape: tuple[int, int]
    cells: Counts
    counts: Counts

    @classmethod
    def of(
        cls, clique: Sequence[str], groups: Counts, origins: Counts, *, shape: tuple[int, int]
    ) -> Resampled:
        """Count the drawn records by group and origin. groups, origins: one code of each record."""
        cells, counts = np.unique(
            groups.astype(np.int64) * shape[1] + origins, return_counts=True
        )
        return cls(
            clique=tuple(clique), shape=shape, cells=cells, counts=counts.astype(np.int64)
        )

    @property
    def values(self) -> Counts:
        """All cells, int64, groups by origins. Only where there are not too many."""
        table = np.zeros(self.shape, dtype=np.int64)
        table.ravel()[self.cells] = self.counts
        return table

    @property
    def groups(self) -> Counts:
        return self.cells // self.shape[1]

    @property
    def origins(self) -> Counts:
        return self.cells % self.shape[1]

    def header(self) -> JsonObject:
        return {"clique": list(self.clique), "shape": list(self.shape)}

    def arrays(self) -> dict[str, Counts]:
        return {"resampled_cells": self.cells, "resampled_counts": self.counts}

    @classmethod
    def read(cls, header: Mapping[str, Any], arrays: Mapping[str, Counts]) -> Resampled:
        """Read what `header` and `arrays` wrote. Errors: KeyError, TypeError, ValueError."""
        groups, origins = header["shape"]
        cells, counts = arrays["resampled_cells"], arrays["resampled_counts"]
        return cls(
            clique=tuple(header["clique"]), shape=(groups, origins), cells=cells, counts=counts
        )


@dataclass(frozen=True, kw_only=True)
class Urn:
    """unit: balls of one record. copies: new records for each."""

    unit: int
    copies: int = 1


def draw_origins(
    groups: NDArray[np.integer[Any]],
    origins: NDArray[np.integer[Any]],
    *,
    parts: Counts,
    shape: tuple[int, int],
    urn: Urn,
    below: UniformBelow,
) -> Counts:
    """Resample the origins of as many records of each group as it has, or of so many `copies` of each: int64,
    group by group.

    groups, origins: of each record, as codes below `shape`. parts: the prior of one origin, for each group.
    Errors: PrivacyError for an urn beyond 2^62 balls.
    """
    sizes = np.bincount(groups, minlength=shape[0])
    # The fullest urn holds n records, earlier draws and the prior: all fit int64.
    largest = max(
        (
            int(n) * (1 + urn.copies) * urn.unit + int(p) * shape[1]
            for n, p in zip(sizes, parts, strict=True)
            if n
        ),
        default=0,
    )
    if largest > MAX_URN_BALLS:
        raise PrivacyError("the prior is too large to be drawn from")
    own = origins[np.argsort(groups, kind="stable")].astype(np.int64)
    draws = sizes * urn.copies
    group = np.repeat(np.arange(shape[0]), draws)
    position = np.arange(group.size) - np.repeat(np.cumsum(draws) - draws, draws)
    at_first = sizes * urn.unit + parts * shape[1]
    # Each earlier draw of the group has added `unit` balls.
    balls = below(at_first[group] + position * urn.unit)
    result: Counts = _origins(balls, own, sizes, parts, shape[1], urn.unit, urn.copies)
    return result


@compiled
def _origins(
    balls: Counts,
    own: Counts,
    sizes: Counts,
    parts: Counts,
    origins: int,
    unit: int,
    copies: int,
) -> Counts:
    """The origin that each ball belongs to. own: the origins of the records, group by group."""
    chosen = np.empty(balls.size, dtype=np.int64)
    record = first = 0
    for group in range(sizes.size):
        of_records = sizes[group] * unit
        of_prior = of_records + parts[group] * origins
        for index in range(first, first + sizes[group] * copies):
            ball = balls[index]
            if ball < of_records:
                chosen[index] = own[record + ball // unit]
            elif ball < of_prior:
                chosen[index] = (ball - of_records) // parts[group]
            else:
                # A ball that an earlier draw of the same group added.
                chosen[index] = chosen[first + (ball - of_prior) // unit]
        record += sizes[group]
        first += sizes[group] * copies
    return chosen
