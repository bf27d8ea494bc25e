"""How far released tables will be from the true ones, reckoned beforehand from public facts alone.

Nothing is known of the data, so columns of a typical shape stand in for it: the i-th commonest value of a column has a
share in proportion to i^-1, i^-2 or i^-3, each as likely as the others. A cell then keeps its noise where the noise is
smaller than what the cell holds, and otherwise loses what it holds: about what cutting at zero and smoothing leave.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from synth_engine.measurement import Noise

Floats = npt.NDArray[np.float64]

ROWS = 10_000
"""Where nobody says how many records there may be."""
EXPONENTS = (1.0, 2.0, 3.0)
DEPENDENCE = 0.08
"""Mean distance of a pair of columns of common tables from independence, beyond what chance makes: between that of
tables of people (0.06 to 0.07) and of events (0.17)."""
UNLEARNT = 0.45
"""The part of it that a network of few parents leaves even without noise: most pairs share no table."""
CHANCE_LEFT = 0.5
"""The part of what chance makes of a pair that is left where most pairs are measured themselves."""
_BINS_PER_OCTAVE = 4
_OCTAVES = 60
ASSUMES = (
    "Columns of a typical, skewed shape (shares of the values in proportion to 1/i, 1/i² or 1/i³), pairs of columns as "
    f"dependent as in common tables of people (a distance of {DEPENDENCE} from independence), and the number of records "
    "given here. Nothing was read from the table. Two tables of people kept within a factor of two of it; in a table of "
    "events, whose columns depend on one another far more, pairs came out up to two and a half times worse."
)


def independent(noises: Mapping[str, Noise], *, sizes: Mapping[str, int], rows: int) -> dict[str, Any]:
    """For columns measured with that noise and drawn independently."""
    errors = {name: column(sizes[name], deviation=noise.mean_deviation / rows) for name, noise in noises.items()}
    return _document(errors, rows=rows, pairs=DEPENDENCE + chance(sizes, rows=rows))


def network(
    noises: Mapping[str, Noise],
    table: Noise | None,
    *,
    sizes: Mapping[str, int],
    rows: int,
    unlearnt: float = UNLEARNT,
) -> dict[str, Any]:
    """For columns measured with that noise, and a table of each with few others measured with the noise `table`. What
    it says of a dependence counts for as much as it is larger than the noise that is left in it. `unlearnt`: the part of
    dependences that would be left without noise."""
    noisy = {name: column(sizes[name], deviation=noise.mean_deviation / rows) for name, noise in noises.items()}
    if table is None:
        return _document(noisy, rows=rows, pairs=0.0)
    drawn = {name: _drawn_in_groups(size, sizes=sizes, rows=rows) for name, size in sizes.items()}
    errors = {name: min(math.hypot(error, drawn[name]), 1 - 1 / sizes[name]) for name, error in noisy.items()}
    left = _noise_of_pair(sizes, spread=math.sqrt(table.variance) / rows)
    missed = unlearnt + (1 - unlearnt) * left / (left + DEPENDENCE)
    return _document(errors, rows=rows, pairs=(DEPENDENCE + chance(sizes, rows=rows)) * missed)


def views(
    deviations: Mapping[str, float], pairs: float, *, covered: float, sizes: Mapping[str, int], rows: int
) -> dict[str, Any]:
    """For overlapping groups of columns that were made to agree. deviations: the mean absolute noise of a cell of each
    column, in records; pairs: of a cell of two columns that share a group, and covered: the part of pairs that do."""
    errors = {name: column(sizes[name], deviation=deviation / rows) for name, deviation in deviations.items()}
    found = _document(errors, rows=rows, pairs=0.0)
    if len(sizes) == 1:
        return found
    shares, counts = _cells_of_groups(tuple(sorted(sizes.values())), columns=2)
    known = float((counts * np.minimum(shares, 0.5 * pairs / rows)).sum())
    apart = min(1.0, found["mean"] + DEPENDENCE + chance(sizes, rows=rows))
    return found | {"mean_pairs": covered * min(1.0, known) + (1 - covered) * apart}


def pairs(
    noises: Mapping[str, Noise],
    tables: Sequence[tuple[float, Noise | None]],
    *,
    sizes: Mapping[str, int],
    rows: int,
) -> dict[str, Any]:
    """For columns measured with noise of that kind, and tables of pairs read against what the others make one expect.
    Each of `tables` is a part of all pairs, and the noise if so many are measured, alike; the best one counts."""
    noisy = {name: column(sizes[name], deviation=noise.mean_deviation / rows) for name, noise in noises.items()}
    shares, counts = _cells_of_groups(tuple(sorted(sizes.values())), columns=2)
    errors = []
    for part, noise in tables:
        left = DEPENDENCE
        if noise is not None and part > 0:
            cells = np.minimum(noise.mean_deviation / rows, 2 * DEPENDENCE * shares)
            left = float(part * 0.5 * (counts * cells).sum() + (1 - part) * DEPENDENCE)
        errors.append(left)
    return _document(noisy, rows=rows, pairs=min(errors) + CHANCE_LEFT * chance(sizes, rows=rows))


def uniform(*, sizes: Mapping[str, int], rows: int) -> dict[str, Any]:
    """For columns of which nothing is measured, and every value is taken to be equally likely."""
    errors = {name: _from_uniform(size) for name, size in sizes.items()}
    found = _document(errors, rows=rows, pairs=0.0)
    return found | {"mean_pairs": 1 - (1 - found["mean"]) ** 2 if len(sizes) > 1 else 0.0}


def column(cells: int, *, deviation: float) -> float:
    """The expected distance of a histogram; `deviation`: mean absolute noise of a cell, as a share of the records.
    Where noise drowns everything, the values that come out commonest are any."""
    left = np.minimum(deviation, 2 * _shapes(cells)).sum(axis=1)
    return min(0.5 * float(left.mean()), 1 - 1 / cells)


def chance(sizes: Mapping[str, int], *, rows: int) -> float:
    """The mean distance of a pair of independent columns from what independence lets one expect: records are whole."""
    shares, counts = _cells_of_groups(tuple(sorted(sizes.values())), columns=2)
    return float((counts * np.minimum(shares, 0.5 * np.sqrt(2 / math.pi * shares / rows))).sum())


def _document(errors: Mapping[str, float], *, rows: int, pairs: float) -> dict[str, Any]:
    mean = math.fsum(errors.values()) / len(errors)
    together = min(1.0, mean + pairs) if len(errors) > 1 else 0.0
    columns = {name: float(error) for name, error in errors.items()}
    found = {"measure": "tvd1", "rows": rows, "attributes": columns, "mean": mean, "mean_pairs": together}
    return found | {"assumes": ASSUMES}


@functools.lru_cache(maxsize=1024)
def _shapes(cells: int) -> Floats:
    """One typical histogram in each row, commonest value first."""
    shares: Floats = np.arange(1.0, cells + 1) ** -np.array(EXPONENTS)[:, None]
    shares /= shares.sum(axis=1, keepdims=True)
    shares.setflags(write=False)
    return shares


@functools.lru_cache(maxsize=1024)
def _from_uniform(cells: int) -> float:
    return 0.5 * float(np.abs(_shapes(cells) - 1 / cells).sum(axis=1).mean())


@functools.lru_cache(maxsize=64)
def _cells_of_groups(sizes: tuple[int, ...], *, columns: int) -> tuple[Floats, Floats]:
    """(share of a cell, how many cells of a group of columns have about that share), the mean over groups and shapes.
    Shares of a product are sums of logarithms, so the histogram of one column's is folded with itself."""
    bins = np.zeros(_OCTAVES * _BINS_PER_OCTAVE)
    for size in sizes:
        place = np.rint(-np.log2(_shapes(size)) * _BINS_PER_OCTAVE).astype(np.int64).ravel()
        bins += np.bincount(np.minimum(place, bins.size - 1), minlength=bins.size)
    bins /= len(sizes) * len(EXPONENTS)
    counts = functools.reduce(np.convolve, [bins] * columns)
    return 2.0 ** (-np.arange(counts.size) / _BINS_PER_OCTAVE), counts


def _drawn_in_groups(cells: int, *, sizes: Mapping[str, int], rows: int) -> float:
    """The distance that drawing a column group by group of its parents' values adds: each cell is rounded, up or down,
    with a variance of 1/6 on average or, where it is smaller, of what it holds."""
    parents = min(2, len(sizes) - 1)
    shares, counts = _cells_of_groups(tuple(sorted(sizes.values())), columns=parents + 1)
    variance = float((counts * np.minimum(rows * shares, 1 / 6)).sum())
    return math.sqrt(effective(cells) * variance / (2 * math.pi)) / rows if cells > 1 else 0.0


def _noise_of_pair(sizes: Mapping[str, int], *, spread: float) -> float:
    """The distance that noise of that spread a cell makes of one direction of a table of two typical columns: an
    edge of the spectrum of noise, over as many cells as hold most records."""
    values = float(np.mean([effective(size) for size in sizes.values()]))
    return 0.5 * spread * math.sqrt(2 * values) * values


@functools.lru_cache(maxsize=1024)
def effective(cells: int) -> float:
    """How many equally common values have the entropy of a typical column."""
    shares = _shapes(cells)
    return float(np.exp(-(shares * np.log(shares)).sum(axis=1)).mean())
