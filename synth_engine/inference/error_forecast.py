"""How far released tables will be from the true ones, reckoned beforehand from public facts alone.

Nothing is known of the data, so columns of a typical shape stand in for it: the i-th commonest value of a column has a
share in proportion to i^-1, i^-2 or i^-3, each as likely as the others. A cell then keeps its noise where the noise is
smaller than what the cell holds, and otherwise loses what it holds: about what cutting at zero and smoothing leave.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import fmean

import numpy as np
import numpy.typing as npt

from synth_engine.inference import record_refinement
from synth_engine.measurement import Noise

Floats = npt.NDArray[np.float64]
Band = tuple[float, float]
"""Between which errors nine tables of ten are expected to lie."""

ROWS = 10_000
"""Where nobody says how many records there may be."""
EXPONENTS = (1.0, 2.0, 3.0)
EXPONENTS_OF_TWO = (1.0, 3.0, 5.0)
"""Of columns of two values, one of which is often rare: an item in a basket, a sickness."""
DEPENDENCE = 0.11
"""Mean distance of a pair of columns of many values from independence, beyond what chance makes, in a typical table. A column
of k values can have 1 - 1/k of it only."""
WEAK, STRONG = 0.004, 0.4
"""The same in tables of columns that hardly depend on one another, and of columns that nearly follow from one another. Which
kind a table is of is no public fact: a band reaches from one to the other."""
MODEL_ERROR = 1.6
"""How far off a forecast of pairs may be where the dependence is as assumed."""
UNEQUAL = (2.4, 0.5, 0.1)
"""How the dependence of pairs differs within a table: of a third of them each, relative to the mean."""
COLUMNS_BAND = (0.4, 1.8)
"""Between which parts of its forecast the error of columns is measured, as a rule."""
UNLEARNT = 0.45
"""The part of it that a network of few parents leaves even without noise: most pairs share no table."""
MAX_DISTINCT_STRINGS = 100_000
"""How many texts there are in a column of words or searches, about; most of them are rare."""
_BINS_PER_OCTAVE = 4
_OCTAVES = 60
ASSUMES = (
    "Columns of a typical, skewed shape (shares of the values in proportion to 1/i, 1/i² or 1/i³), pairs of columns as "
    f"dependent as in a typical table (a distance of up to {DEPENDENCE} from independence), and the number of records given "
    "here. Nothing was read from the table. How dependent its columns are is not public: where they hardly depend on one "
    "another, as in baskets of goods, pairs come out far better, and a band of errors goes from such tables to those whose "
    "columns nearly follow from one another."
)


@dataclass(frozen=True, kw_only=True)
class LearnedColumn:
    """An undeclared column that a run learns. cells: of the public set or grid. threshold: about how many records must
    share a value for it to be found; None for bounds, bins and items."""

    cells: int
    threshold: int | None


@dataclass(frozen=True, kw_only=True)
class LearningForecast:
    """What learning costs. share: of the budget, None where the method learns in its one and only step. if_declared: the
    forecast with the whole budget for the method, None where that cannot be said."""

    share: float | None
    columns: Mapping[str, LearnedColumn]
    if_declared: ErrorForecast | None


@dataclass(frozen=True, kw_only=True)
class ErrorForecast:
    """Expected total variation distances, 0 to 1, from public facts alone. rows: the number of records it is made for.
    attributes: of each one-way marginal; mean: over these; mean_pairs: over two-way marginals. assumes: what is taken
    for granted, for people."""

    rows: int
    attributes: Mapping[str, float]
    mean: float
    mean_pairs: float
    assumes: str = ASSUMES
    learning: LearningForecast | None = None
    pairs_band: Band | None = None

    @property
    def columns_band(self) -> Band:
        low, high = COLUMNS_BAND
        return low * self.mean, min(1.0, high * self.mean)


def independent(
    noises: Mapping[str, Noise], *, sizes: Mapping[str, int], rows: int
) -> ErrorForecast:
    """For columns measured with that noise and drawn independently."""
    errors = {
        name: column_error(sizes[name], deviation=noise.mean_deviation / rows)
        for name, noise in noises.items()
    }
    # The records of the table and the generated ones are both subject to chance.
    chance = math.sqrt(2) * chance_error(sizes, rows=rows)
    return _document(
        errors,
        sizes=sizes,
        rows=rows,
        pairs=lambda mean, dependence: math.hypot(2 * mean, dependence, chance),
    )


def network(
    noises: Mapping[str, Noise],
    table: Noise | None,
    *,
    sizes: Mapping[str, int],
    rows: int,
) -> ErrorForecast:
    """For columns measured with that noise, and a table of each with few others measured with the noise `table`. What
    it says of a dependence counts for as much as it is larger than the noise that is left in it; without such tables
    columns are drawn independently."""
    if table is None:
        return independent(noises, sizes=sizes, rows=rows)
    noisy = {
        name: column_error(sizes[name], deviation=noise.mean_deviation / rows)
        for name, noise in noises.items()
    }
    sampling = {
        name: _group_sampling_error(size, sizes=sizes, rows=rows)
        for name, size in sizes.items()
    }
    errors = {
        name: min(math.hypot(error, sampling[name]), 1 - 1 / sizes[name])
        for name, error in noisy.items()
    }
    residual = _noise_of_pair(sizes, spread=math.sqrt(table.variance) / rows)
    chance = math.sqrt(2) * chance_error(sizes, rows=rows)

    def pairs(mean: float, dependence: float) -> float:
        # Even without noise, a network of few parents misses a part of the dependence.
        missed = UNLEARNT + (1 - UNLEARNT) * residual / (residual + dependence)
        return math.hypot(2 * mean, missed * dependence, chance)

    return _document(errors, sizes=sizes, rows=rows, pairs=pairs)


def views(
    deviations: Mapping[str, float],
    pairs: float,
    *,
    covered: float,
    sizes: Mapping[str, int],
    rows: int,
) -> ErrorForecast:
    """For overlapping groups of columns that were made to agree. deviations: the mean absolute noise of a cell of each
    column, in records; pairs: of a cell of two columns that share a group, and covered: the part of pairs that do."""
    errors = {
        name: column_error(sizes[name], deviation=deviation / rows)
        for name, deviation in deviations.items()
    }
    shares, counts = _cells_of_groups(tuple(sorted(sizes.values())), columns=2)
    noisy = min(1.0, float((counts * np.minimum(shares, 0.5 * pairs / rows)).sum()))
    # Of the others some follows from those that are known.
    unlearnt = 1 - (1 - UNLEARNT) * math.sqrt(covered)
    chance = chance_error(sizes, rows=rows)

    def of_pairs(mean: float, dependence: float) -> float:
        unshared = min(1.0, math.hypot(2 * mean, unlearnt * dependence, chance))
        return covered * noisy + (1 - covered) * unshared

    return _document(errors, sizes=sizes, rows=rows, pairs=of_pairs)


def pairs(
    noises: Mapping[str, Noise],
    tables: Sequence[tuple[float, Noise | None]],
    *,
    sizes: Mapping[str, int],
    rows: int,
    few_tables: bool = False,
) -> ErrorForecast:
    """For columns measured with noise of that kind, tables of pairs read against what the others make one expect, and
    records mended towards all of them. Each of `tables` is a part of all pairs, and the noise if so many are measured,
    alike; the best one counts. A cell keeps its noise or what is not known of it otherwise, whichever is less.
    few_tables: the method may leave weak pairs alone, however little noise there is."""
    noisy = {
        name: column_error(sizes[name], deviation=noise.mean_deviation / rows)
        for name, noise in noises.items()
    }
    shares, counts = _cells_of_groups(tuple(sorted(sizes.values())), columns=2)
    chance = _by_chance(shares, rows=rows)
    unrefined = refinement_error(sizes, rows=rows)

    def of_pairs(mean: float, dependence: float) -> float:
        unknown = [dependence * factor * shares + chance for factor in UNEQUAL]
        without = [float((counts * each).sum()) for each in unknown]
        errors = [fmean(without)]
        for part, noise in tables:
            if noise is None or part <= 0:
                continue
            deviation = 0.5 * noise.mean_deviation / rows
            known = [float((counts * np.minimum(deviation, each)).sum()) for each in unknown]
            errors.append(_strongest_first(part, known, without))
        return math.hypot(math.sqrt(2) * mean, min(errors) + unrefined)

    forecast = _document(noisy, sizes=sizes, rows=rows, pairs=of_pairs)
    if few_tables and forecast.pairs_band is not None:
        low, high = forecast.pairs_band
        unmeasured = 2 * chance_error(sizes, rows=rows)
        return replace(forecast, pairs_band=(low, max(high, min(1.0, unmeasured))))
    return forecast


def _strongest_first(part: float, known: Sequence[float], without: Sequence[float]) -> float:
    """The mean error if that part of all pairs is measured, and these are the most dependent ones."""
    error, left = 0.0, part * len(known)
    for measured, unmeasured in zip(known, without, strict=True):
        share = min(1.0, left)
        left -= share
        error += (share * measured + (1 - share) * unmeasured) / len(known)
    return error


def refinement_error(sizes: Mapping[str, int], *, rows: int) -> float:
    """The distance from their targets at which records are left that are mended towards tables of all pairs. They begin as
    far off as chance makes them, and each code of a record can be mended once: the more cells there are for a code, the
    less of it is made good."""
    refined = record_refinement.rows_refined(rows, len(sizes))
    values = sum(sizes.values())
    cells = (values**2 - sum(size**2 for size in sizes.values())) / 2
    return chance_error(sizes, rows=refined) * min(1.0, cells / (refined * len(sizes)))


def uniform(*, sizes: Mapping[str, int], rows: int) -> ErrorForecast:
    """For columns of which nothing is measured, and every value is taken to be equally likely."""
    errors = {name: _from_uniform(size) for name, size in sizes.items()}
    forecast = _document(
        errors, sizes=sizes, rows=rows, pairs=lambda mean, _: 1 - (1 - mean) ** 2
    )
    return replace(forecast, pairs_band=None)


def with_string_column(
    forecast: ErrorForecast, name: str, *, least: float, kinds: int
) -> ErrorForecast:
    """A forecast in which a column of texts also loses those that fewer than `least` records have, and so are not found. The i-th
    commonest of up to 100,000 out of so many `kinds` has a share in proportion to 1/i. Of 3,000 to 5,000,000 draws from the words of
    a language that comes within about 0.15 of what such texts hold, at epsilon 0.1 to 10 (docs/forecast.md)."""
    kinds, rows = min(kinds, MAX_DISTINCT_STRINGS), forecast.rows
    discovered = min(float(kinds), rows / (max(least, 1.0) * _harmonic(kinds)))
    lost = 1.0 if discovered < 1 else 1 - _harmonic(discovered) / _harmonic(kinds)
    errors = {**forecast.attributes, name: max(forecast.attributes[name], lost)}
    mean = math.fsum(errors.values()) / len(errors)
    together = max(forecast.mean_pairs, min(1.0, mean)) if len(errors) > 1 else 0.0
    statement = (
        f"Texts that fewer than about {math.ceil(least):,} records have are not found; texts as frequent as words of a language "
        f"(the i-th commonest of {kinds:,} has a share in proportion to 1/i)."
    )
    return replace(
        forecast,
        attributes=errors,
        mean=mean,
        mean_pairs=together,
        assumes=f"{statement} {forecast.assumes}",
    )


def _harmonic(number: float) -> float:
    """1 + 1/2 + … + 1/number, about."""
    return math.log(number) + 0.57722 + 0.5 / number


def column_error(cells: int, *, deviation: float) -> float:
    """The expected distance of a histogram; `deviation`: mean absolute noise of a cell, as a share of the records.
    Where noise drowns everything, the values that come out commonest are any."""
    # A cell loses its noise or its content, whichever is smaller.
    error = np.minimum(deviation, 2 * _shapes(cells)).sum(axis=1)
    return min(0.5 * float(error.mean()), 1 - 1 / cells)


def chance_error(sizes: Mapping[str, int], *, rows: int) -> float:
    """The mean distance of a pair of independent columns from what independence lets one expect: records are whole."""
    shares, counts = _cells_of_groups(tuple(sorted(sizes.values())), columns=2)
    return float((counts * _by_chance(shares, rows=rows)).sum())


def _by_chance(shares: Floats, *, rows: int) -> Floats:
    """Half of the mean deviation of a cell of that share among so many records; an empty one is off by what it lacks."""
    error: Floats = np.minimum(shares, 0.5 * np.sqrt(2 / math.pi * shares / rows))
    return error


def _document(
    errors: Mapping[str, float],
    *,
    sizes: Mapping[str, int],
    rows: int,
    pairs: Callable[[float, float], float],
) -> ErrorForecast:
    """pairs: the mean error of pairs, from that of columns and a dependence."""
    mean = math.fsum(errors.values()) / len(errors)
    columns = {name: float(error) for name, error in errors.items()}
    if len(errors) == 1:
        return ErrorForecast(rows=rows, attributes=columns, mean=mean, mean_pairs=0.0)
    low, high = COLUMNS_BAND
    possible = _possible_dependence(sizes)
    return ErrorForecast(
        rows=rows,
        attributes=columns,
        mean=mean,
        mean_pairs=min(1.0, pairs(mean, possible * DEPENDENCE)),
        pairs_band=(
            min(1.0, pairs(low * mean, possible * WEAK) / MODEL_ERROR),
            min(1.0, pairs(high * mean, possible * STRONG) * MODEL_ERROR),
        ),
    )


def _possible_dependence(sizes: Mapping[str, int]) -> float:
    """The mean over pairs of columns of the product of 1 - 1/k."""
    each = [1 - 1 / size for size in sizes.values()]
    squares = math.fsum(one**2 for one in each)
    return (math.fsum(each) ** 2 - squares) / (len(each) * (len(each) - 1))


@functools.lru_cache(maxsize=1024)
def _shapes(cells: int) -> Floats:
    """One typical histogram in each row, commonest value first."""
    return _skewed(cells, EXPONENTS_OF_TWO if cells == 2 else EXPONENTS)


def _skewed(cells: int, exponents: tuple[float, ...]) -> Floats:
    shares: Floats = np.arange(1.0, cells + 1) ** -np.array(exponents)[:, None]
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
        octave = np.rint(-np.log2(_shapes(size)) * _BINS_PER_OCTAVE).astype(np.int64).ravel()
        bins += np.bincount(np.minimum(octave, bins.size - 1), minlength=bins.size)
    bins /= len(sizes) * len(EXPONENTS)
    counts = functools.reduce(np.convolve, [bins] * columns)
    return 2.0 ** (-np.arange(counts.size) / _BINS_PER_OCTAVE), counts


def _group_sampling_error(cells: int, *, sizes: Mapping[str, int], rows: int) -> float:
    """The distance that drawing a column group by group of its parents' values adds: each cell is rounded, up or down,
    with a variance of 1/6 on average or, where it is smaller, of what it holds."""
    parents = min(2, len(sizes) - 1)
    shares, counts = _cells_of_groups(tuple(sorted(sizes.values())), columns=parents + 1)
    variance = float((counts * np.minimum(rows * shares, 1 / 6)).sum())
    return (
        math.sqrt(effective_size(cells) * variance / (2 * math.pi)) / rows if cells > 1 else 0.0
    )


def _noise_of_pair(sizes: Mapping[str, int], *, spread: float) -> float:
    """The distance that noise of that spread a cell makes of one direction of a table of two typical columns: an
    edge of the spectrum of noise, over as many cells as hold most records."""
    values = float(np.mean([effective_size(size) for size in sizes.values()]))
    return 0.5 * spread * math.sqrt(2 * values) * values


@functools.lru_cache(maxsize=1024)
def effective_size(cells: int) -> float:
    """How many equally common values have the entropy of a typical column."""
    shares = _skewed(cells, EXPONENTS)
    return float(np.exp(-(shares * np.log(shares)).sum(axis=1)).mean())
