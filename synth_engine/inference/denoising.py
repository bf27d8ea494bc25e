"""From noisy tables of columns and groups of columns to plausible ones that agree: the steps that tree models
share.

The total and the one-way tables are weighted least squares over everything that was measured; they are
smoothed, and cut at zero. Each larger table is then pulled to what its smaller ones let one expect, by as
much as is lost in its noise, and scaled to them. All of it is post-processing.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from synth_engine.inference import factors, oneway, shrinkage
from synth_engine.inference.factors import Floats, Noisy, Sizes
from synth_engine.inference.residuals import Residuals
from synth_engine.inference.tables import (
    Margin,
    adjust_to_margins,
    fit_margins,
    shrink_towards,
)
from synth_engine.measurement import Clique


@dataclass(frozen=True, kw_only=True, eq=False)
class Denoised:
    """Expected counts. `tables`: of the measured cliques of two and more attributes, axes in the order of the
    domain; they have the sums of `oneways`, and all add up to `total`."""

    total: int
    oneways: dict[str, Floats]
    tables: dict[Clique, Floats]


class TableReading(Protocol):
    """One table from its noisy form and what is known of its attributes."""

    def __call__(
        self,
        noisy: Noisy,
        oneways: Mapping[str, Floats],
        tables: Mapping[Clique, Floats],
        *,
        total: float,
    ) -> Floats: ...


def denoise_tables(
    noisy: Sequence[Noisy],
    *,
    sizes: Sizes,
    along: Mapping[str, int],
    rows: int | None,
    reading: TableReading | None = None,
) -> Denoised:
    """`along`: how many codes of each attribute stand in an order (see `oneway.denoise`); `rows`: the number
    of records where it is public; `reading`: of tables of two and more attributes, `denoise_table` by
    default. Every attribute must have been measured, by itself or in a larger table."""
    known = Residuals(sizes, total=rows)
    for measured in noisy:
        known.add(measured)
    total = rows if rows is not None else oneway.clip_rows(round(float(known.table(()))))
    oneways = {
        name: denoise_column(known, name, along=along[name], total=total) for name in sizes
    }
    merged = combine_measurements(noisy, sizes)
    tables: dict[Clique, Floats] = {}
    read = reading or denoise_table
    # Small tables first: they are the expectation to which larger ones are shrunk.
    for clique in sorted((c for c in merged if len(c) > 1), key=len):
        tables[clique] = read(merged[clique], oneways, tables, total=total)
    return Denoised(total=total, oneways=oneways, tables=tables)


def denoise_column(known: Residuals, name: str, *, along: int, total: int) -> Floats:
    """The one-way table of an attribute from everything that holds it."""
    values, sigma = known.table((name,)), math.sqrt(known.variance((name,)))
    if total <= 0:
        return np.zeros(values.shape)
    # Only ordered codes are smoothed; "other" and missing have no neighbours.
    if along >= oneway.MIN_LENGTH_TO_SMOOTH:
        values[:along] = oneway.shrink(values[:along], sigma=sigma)
    return oneway.project_to_simplex(values, total=float(total))


def combine_measurements(noisy: Sequence[Noisy], sizes: Sizes) -> dict[Clique, Noisy]:
    """One table for each clique: the mean of its measurements, weighted by their precision."""
    merged: dict[Clique, Noisy] = {}
    for measured in noisy:
        clique = factors.ordered(measured.clique, sizes)
        values = np.asarray(
            factors.turned(measured.values, measured.clique, clique), dtype=np.float64
        )
        new, other = (
            Noisy(clique=clique, values=values, variance=measured.variance),
            merged.get(clique),
        )
        merged[clique] = new if other is None else factors.mean(new, other)
    return merged


def expected_table(
    clique: Clique,
    oneways: Mapping[str, Floats],
    tables: Mapping[Clique, Floats],
    *,
    total: float,
) -> Floats:
    """What the tables that lie within a clique, and else independence, let one expect of it."""
    independent = factors.product([oneways[name] for name in clique], total=total)
    if len(clique) < 3:
        return independent
    within = [
        part
        for size in (2, len(clique) - 1)
        for part in itertools.combinations(clique, size)
        if part in tables
    ]
    margins: list[Margin] = [
        (tuple(clique.index(n) for n in part), tables[part]) for part in dict.fromkeys(within)
    ]
    return fit_margins(independent, margins) if margins else independent


def denoise_table(
    noisy: Noisy,
    oneways: Mapping[str, Floats],
    tables: Mapping[Clique, Floats],
    *,
    total: float,
) -> Floats:
    """One table from its noisy form and what is known of its attributes; of larger ones also of its parts."""
    baseline = expected_table(noisy.clique, oneways, tables, total=total)
    if total <= 0:
        return baseline
    pulled = shrink_towards(noisy.values, baseline, sigma=math.sqrt(noisy.variance))
    return fit_margins(
        pulled, [((axis,), oneways[name]) for axis, name in enumerate(noisy.clique)]
    )


def read_cells(
    noisy: Noisy,
    oneways: Mapping[str, Floats],
    tables: Mapping[Clique, Floats],
    *,
    total: float,
) -> Floats:
    """The same cell by cell: counts that stand out of the noise keep their values, small ones are read beside
    what is expected of them, and the errors of sums are shared out by how uncertain cells are. So large
    counts are hardly biased."""
    baseline = expected_table(noisy.clique, oneways, tables, total=total)
    if total <= 0:
        return baseline
    margins: list[Margin] = [((axis,), oneways[name]) for axis, name in enumerate(noisy.clique)]
    read = shrinkage.estimate_counts(noisy.values, baseline, variance=noisy.variance)
    adjusted = adjust_to_margins(read.counts, read.variances, margins)
    return fit_margins(np.maximum(adjusted, 0.0), margins)
