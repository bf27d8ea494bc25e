"""How far released tables will be from the true ones, computed from public facts or, after a run, from its
noisy answers.

A stand-in takes the place of the table. Before a run nothing is known of the data, so its columns have a
typical shape: the i-th commonest value has a share in proportion to i^-1, i^-2 or i^-3, each as likely as the
others. After a run the shapes of columns and the dependence of pairs are those of the released model. A cell
keeps its noise where the noise is smaller than what the cell holds, and otherwise loses what it holds: about
what cutting at zero and smoothing leave.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from statistics import fmean

import numpy as np
import numpy.typing as npt

from synth_engine.inference import record_refinement
from synth_engine.measurement import Noise

Floats = npt.NDArray[np.float64]
Band = tuple[float, float]
"""Between which errors nine tables of ten are expected to lie."""
Dependences = tuple[float, ...]
"""Distances of pairs from independence, each as likely as the others."""

ROWS = 10_000
"""Where nobody says how many records there may be."""
EXPONENTS = (1.0, 2.0, 3.0)
EXPONENTS_OF_TWO = (1.0, 3.0, 5.0)
"""Of columns of two values, one of which is often rare: an item in a basket, a sickness."""
DEPENDENCE = 0.11
"""Mean distance of a pair of columns of many values from independence, beyond what chance makes, in a typical
table. A column of k values can have 1 - 1/k of it only."""
WEAK, STRONG = 0.004, 0.4
"""The same in tables of columns that hardly depend on one another, and of columns that nearly follow from one
another. Which kind a table is of is no public fact: a band reaches from one to the other."""
MODEL_ERROR = 1.6
"""How far off a forecast of pairs may be where the dependence is as assumed."""
UNEQUAL = (2.4, 0.5, 0.1)
"""How the dependence of pairs differs within a table: of a third of them each, relative to the mean."""
COLUMNS_BAND = (0.4, 1.8)
"""Between which parts of its forecast the error of columns is measured, as a rule."""
UNLEARNT = 0.45
"""The part of it that a network of few parents leaves even without noise: most pairs share no table."""
LEFT_ALONE = 1.3
"""How many times as far pairs are off where a method measures tables one after another and stops early."""
REFINED_FROM_TREE = 0.7
"""The part of `refinement_error` that rows keep which begin with a tree of pairs, not with independent
columns."""
MAX_DISTINCT_STRINGS = 100_000
"""How many texts there are in a column of words or searches, about; most of them are rare."""
_BINS_PER_OCTAVE = 4
_OCTAVES = 60
ASSUMES = (
    "Columns of a typical, skewed shape (shares of the values in proportion to 1/i, 1/i² or 1/i³), pairs "
    f"of columns as dependent as in a typical table (a distance of up to {DEPENDENCE} from independence), "
    "and the number of records given here. Nothing was read from the table. How dependent its columns are "
    "is not public: where they hardly depend on one another, as in baskets of goods, pairs come out far "
    "better, and a band of errors goes from such tables to those whose columns nearly follow from one "
    "another."
)


@dataclass(frozen=True, kw_only=True, eq=False)
class StandIn:
    """The table that a forecast is made for.

    rows: the number of records; shares: of each column, possible histograms of total 1, one a row, each as
    likely as the others; dependences: distances of pairs of columns from independence beyond chance, each as
    likely as the others; weakest, strongest: the same at the ends of the band of pairs; columns_band: the
    ends of the band of columns, relative to the forecast."""

    rows: int
    shares: Mapping[str, Floats]
    dependences: tuple[float, ...]
    weakest: tuple[float, ...]
    strongest: tuple[float, ...]
    columns_band: Band

    @property
    def sizes(self) -> dict[str, int]:
        """The number of codes of each column."""
        return {name: shapes.shape[1] for name, shapes in self.shares.items()}

    def cells(self, columns: int) -> tuple[Floats, Floats]:
        """Return shares of cells of a table of so many columns, and how many cells have about each: the mean
        over groups of columns and over shapes. Shares of a product are sums of logarithms, so the histogram
        of one column's is folded with itself."""
        bins: Floats = np.zeros(_OCTAVES * _BINS_PER_OCTAVE)
        for shapes in self.shares.values():
            held = shapes[shapes > 0]
            octave = np.rint(-np.log2(held) * _BINS_PER_OCTAVE).astype(np.int64)
            counts = np.bincount(np.minimum(octave, bins.size - 1), minlength=bins.size)
            bins += counts / len(shapes)
        bins /= len(self.shares)
        folded: Floats = functools.reduce(np.convolve, [bins] * columns)
        return 2.0 ** (-np.arange(folded.size) / _BINS_PER_OCTAVE), folded

    @cached_property
    def pairs(self) -> tuple[Floats, Floats]:
        """The cells of a table of two columns."""
        return self.cells(2)

    @cached_property
    def group_variance(self) -> float:
        """The variance of rounding all cells of a column and its parents to whole records."""
        shares, counts = self.cells(1 + min(2, len(self.shares) - 1))
        return float((counts * np.minimum(self.rows * shares, 1 / 6)).sum())

    def column_errors(self, deviations: Mapping[str, float]) -> dict[str, float]:
        """Return the expected distance of each column; deviations: mean absolute noise of a cell, in
        records."""
        return {
            name: _histogram_error(self.shares[name], deviation=deviation / self.rows)
            for name, deviation in deviations.items()
        }


def typical(sizes: Mapping[str, int], *, rows: int) -> StandIn:
    """Return what stands in for a table of which these public facts are known."""
    possible = _possible_dependence(sizes) if len(sizes) > 1 else 0.0

    def unequal(mean: float) -> tuple[float, ...]:
        return tuple(possible * mean * factor for factor in UNEQUAL)

    return StandIn(
        rows=rows,
        shares={name: _shapes(size) for name, size in sizes.items()},
        dependences=unequal(DEPENDENCE),
        weakest=unequal(WEAK),
        strongest=unequal(STRONG),
        columns_band=COLUMNS_BAND,
    )


@dataclass(frozen=True, kw_only=True)
class LearnedColumn:
    """An undeclared column that a run learns. cells: of the public set or grid. threshold: about how many
    records must share a value for it to be found; None for bounds, bins and items."""

    cells: int
    threshold: int | None


@dataclass(frozen=True, kw_only=True)
class LearningForecast:
    """What learning costs. share: of the budget, None where the method learns in its one and only step."""

    share: float | None
    columns: Mapping[str, LearnedColumn]


@dataclass(frozen=True, kw_only=True)
class ErrorForecast:
    """Expected total variation distances, 0 to 1, from public facts alone. rows: the number of records it is
    made for. attributes: of each one-way marginal; mean: over these; mean_pairs: over two-way marginals.
    column_noise: the mean absolute noise of a count of each column, in records; without the columns that are
    not counted code by code. pair_noise: the same of a table of two columns where as many are counted as a
    tree of all columns has edges; infinite where none is, None where that does not follow from the plan.
    assumes: what is taken for granted, for people."""

    rows: int
    attributes: Mapping[str, float]
    mean: float
    mean_pairs: float
    column_noise: Mapping[str, float]
    pair_noise: float | None
    assumes: str = ASSUMES
    learning: LearningForecast | None = None
    pairs_band: Band | None = None
    relative_band: Band = COLUMNS_BAND

    @property
    def columns_band(self) -> Band:
        low, high = self.relative_band
        return low * self.mean, min(1.0, high * self.mean)


def independent(noises: Mapping[str, Noise], table: StandIn) -> ErrorForecast:
    """For columns measured with that noise and drawn independently."""
    # The records of the table and the generated ones are both subject to chance.
    chance = math.sqrt(2) * _chance(table)
    return _document(
        table.column_errors(_deviations(noises)),
        table,
        pairs=lambda mean, dependence: fmean(
            math.hypot(2 * mean, each, chance) for each in dependence
        ),
        column_noise=_deviations(noises),
        pair_noise=math.inf,
    )


def network(
    noises: Mapping[str, Noise], measured: Noise | None, table: StandIn
) -> ErrorForecast:
    """For columns measured with that noise, and a table of each with few others measured with the noise
    `measured`. What it says of a dependence counts for as much as it is larger than the noise that is left in
    it; without such tables columns are drawn independently."""
    if measured is None:
        return independent(noises, table)
    errors = {
        name: min(
            math.hypot(error, _group_sampling_error(table, name)),
            1 - 1 / table.sizes[name],
        )
        for name, error in table.column_errors(_deviations(noises)).items()
    }
    residual = _noise_of_pair(table, spread=math.sqrt(measured.variance) / table.rows)
    chance = math.sqrt(2) * _chance(table)

    def pairs(mean: float, dependences: Dependences) -> float:
        # Even without noise, a network of few parents misses a part of the dependence.
        missed = UNLEARNT + (1 - UNLEARNT) * residual / (residual + fmean(dependences))
        return fmean(math.hypot(2 * mean, missed * each, chance) for each in dependences)

    return _document(
        errors,
        table,
        pairs=pairs,
        column_noise=_deviations(noises),
        pair_noise=measured.mean_deviation,
    )


def views(
    deviations: Mapping[str, float], of_pairs: float, table: StandIn, *, covered: float
) -> ErrorForecast:
    """For overlapping groups of columns that were made to agree. deviations: the mean absolute noise of a
    cell of each column, in records; of_pairs: of a cell of two columns that share a group, and covered: the
    part of pairs that do."""
    shares, counts = table.pairs
    noisy = min(1.0, float((counts * np.minimum(shares, 0.5 * of_pairs / table.rows)).sum()))
    # Of the others some follows from those that are known.
    unlearnt = 1 - (1 - UNLEARNT) * math.sqrt(covered)
    chance = _chance(table)

    def pairs(mean: float, dependences: Dependences) -> float:
        unshared = fmean(math.hypot(2 * mean, unlearnt * each, chance) for each in dependences)
        return covered * noisy + (1 - covered) * min(1.0, unshared)

    return _document(
        table.column_errors(deviations),
        table,
        pairs=pairs,
        column_noise=deviations,
        pair_noise=of_pairs if covered else math.inf,
    )


def pairs(
    noises: Mapping[str, Noise],
    tables: Sequence[tuple[float, Noise | None]],
    table: StandIn,
    *,
    few_tables: bool = False,
) -> ErrorForecast:
    """For columns measured with noise of that kind, tables of pairs read against what the others make one
    expect, and records mended towards all of them. Each of `tables` is a part of all pairs, and the noise if
    so many are measured, alike; the best one counts. A cell keeps its noise or what is not known of it
    otherwise, whichever is less. few_tables: the method may leave weak pairs alone, however little noise
    there is."""
    shares, counts = table.pairs
    chance = _by_chance(shares, rows=table.rows)
    unrefined = REFINED_FROM_TREE * refinement_error(table)

    def of_pairs(mean: float, dependences: Dependences) -> float:
        unknown = [each * shares + chance for each in sorted(dependences, reverse=True)]
        without = [float((counts * each).sum()) for each in unknown]
        errors = [fmean(without)]
        for part, noise in tables:
            if noise is None or part <= 0:
                continue
            deviation = 0.5 * noise.mean_deviation / table.rows
            known = [float((counts * np.minimum(deviation, each)).sum()) for each in unknown]
            errors.append(_strongest_first(part, known, without))
        left = (LEFT_ALONE if few_tables else 1.0) * min(errors)
        return math.hypot(math.sqrt(2) * mean, left + unrefined)

    forecast = _document(
        table.column_errors(_deviations(noises)),
        table,
        pairs=of_pairs,
        column_noise=_deviations(noises),
        pair_noise=_noise_of_a_tree(tables, columns=len(noises)),
    )
    if few_tables and forecast.pairs_band is not None:
        low, high = forecast.pairs_band
        unmeasured = 2 * _chance(table)
        return replace(forecast, pairs_band=(low, max(high, min(1.0, unmeasured))))
    return forecast


def _noise_of_a_tree(tables: Sequence[tuple[float, Noise | None]], *, columns: int) -> float:
    """The mean absolute noise of a cell where as many tables are measured as a tree has edges."""
    measured = [(part, noise) for part, noise in tables if noise is not None and part > 0]
    if not measured:
        return math.inf
    part, noise = min(measured, key=lambda each: each[0])
    # The budget is shared among tables: the variance of Gaussian noise grows with their number, and the scale
    # of Laplace noise.
    power = 1.0 if noise.law == "discrete-laplace" else 0.5
    return noise.mean_deviation * math.pow(2 / columns / part, power)


def _deviations(noises: Mapping[str, Noise]) -> dict[str, float]:
    return {name: noise.mean_deviation for name, noise in noises.items()}


def _strongest_first(part: float, known: Sequence[float], without: Sequence[float]) -> float:
    """The mean error if that part of all pairs is measured, and these are the most dependent ones."""
    error, left = 0.0, part * len(known)
    for measured, unmeasured in zip(known, without, strict=True):
        share = min(1.0, left)
        left -= share
        error += (share * measured + (1 - share) * unmeasured) / len(known)
    return error


def refinement_error(table: StandIn) -> float:
    """The distance from their targets at which records are left that are mended towards tables of all pairs.
    They begin as far off as chance makes them, and each code of a record can be mended once: the more cells
    there are for a code, the less of it is made good."""
    sizes = list(table.sizes.values())
    refined = record_refinement.rows_refined(table.rows, len(sizes))
    cells = (sum(sizes) ** 2 - sum(size**2 for size in sizes)) / 2
    return _chance(table, rows=refined) * min(1.0, cells / (refined * len(sizes)))


def uniform(*, sizes: Mapping[str, int], rows: int) -> ErrorForecast:
    """For columns of which nothing is measured, and every value is taken to be equally likely."""
    errors = {name: _from_uniform(size) for name, size in sizes.items()}
    forecast = _document(
        errors,
        typical(sizes, rows=rows),
        pairs=lambda mean, _: 1 - (1 - mean) ** 2,
        column_noise=dict.fromkeys(errors, math.inf),
        pair_noise=math.inf,
    )
    return replace(forecast, pairs_band=None)


def with_string_column(
    forecast: ErrorForecast, name: str, *, least: float, kinds: int
) -> ErrorForecast:
    """A forecast in which a column of texts also loses those that fewer than `least` records have, and so are
    not found. The i-th commonest of up to 100,000 out of so many `kinds` has a share in proportion to 1/i. Of
    3,000 to 5,000,000 draws from the words of a language that comes within about 0.15 of what such texts
    hold, at epsilon 0.1 to 10 (docs/forecast.md)."""
    kinds, rows = min(kinds, MAX_DISTINCT_STRINGS), forecast.rows
    discovered = min(float(kinds), rows / (max(least, 1.0) * _harmonic(kinds)))
    lost = 1.0 if discovered < 1 else 1 - _harmonic(discovered) / _harmonic(kinds)
    errors = {**forecast.attributes, name: max(forecast.attributes[name], lost)}
    mean = math.fsum(errors.values()) / len(errors)
    together = max(forecast.mean_pairs, min(1.0, mean)) if len(errors) > 1 else 0.0
    statement = (
        f"Texts that fewer than about {math.ceil(least):,} records have are not found; texts as frequent "
        f"as words of a language (the i-th commonest of {kinds:,} has a share in proportion to 1/i)."
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
    """The expected distance of a histogram; `deviation`: mean absolute noise of a cell, as a share of the
    records. Where noise drowns everything, the values that come out commonest are any."""
    return _histogram_error(_shapes(cells), deviation=deviation)


def _histogram_error(shapes: Floats, *, deviation: float) -> float:
    # A cell loses its noise or its content, whichever is smaller.
    error = np.minimum(deviation, 2 * shapes).sum(axis=1)
    guess: float = 1 - 1 / shapes.shape[1]
    return min(0.5 * float(error.mean()), guess)


def chance_error(sizes: Mapping[str, int], *, rows: int) -> float:
    """The mean distance of a pair of independent columns from what independence lets one expect: records are
    whole."""
    return _chance(typical(sizes, rows=rows))


def _chance(table: StandIn, *, rows: int | None = None) -> float:
    shares, counts = table.pairs
    return float((counts * _by_chance(shares, rows=rows or table.rows)).sum())


def _by_chance(shares: Floats, *, rows: int) -> Floats:
    """Half of the mean deviation of a cell of that share among so many records; an empty one is off by what
    it lacks."""
    error: Floats = np.minimum(shares, 0.5 * np.sqrt(2 / math.pi * shares / rows))
    return error


def _document(
    errors: Mapping[str, float],
    table: StandIn,
    *,
    pairs: Callable[[float, Dependences], float],
    column_noise: Mapping[str, float],
    pair_noise: float | None,
) -> ErrorForecast:
    """pairs: the mean error of pairs, from that of columns and from dependences; the noise as of
    `ErrorForecast`."""
    mean = math.fsum(errors.values()) / len(errors)
    columns = {name: float(error) for name, error in errors.items()}
    forecast = ErrorForecast(
        rows=table.rows,
        attributes=columns,
        mean=mean,
        mean_pairs=0.0,
        column_noise={name: float(noise) for name, noise in column_noise.items()},
        pair_noise=pair_noise,
        relative_band=table.columns_band,
    )
    if len(errors) == 1:
        return forecast
    low, high = table.columns_band
    return replace(
        forecast,
        mean_pairs=min(1.0, pairs(mean, table.dependences)),
        pairs_band=(
            min(1.0, pairs(low * mean, table.weakest) / MODEL_ERROR),
            min(1.0, pairs(high * mean, table.strongest) * MODEL_ERROR),
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


def _group_sampling_error(table: StandIn, name: str) -> float:
    """The distance that drawing a column group by group of its parents' values adds: each cell is rounded, up
    or down, with a variance of 1/6 on average or, where it is smaller, of what it holds."""
    shapes = table.shares[name]
    if shapes.shape[1] == 1:
        return 0.0
    return math.sqrt(_effective(shapes) * table.group_variance / (2 * math.pi)) / table.rows


def _noise_of_pair(table: StandIn, *, spread: float) -> float:
    """The distance that noise of that spread a cell makes of one direction of a table of two columns: an edge
    of the spectrum of noise, over as many cells as hold most records."""
    values = fmean(_effective(shapes) for shapes in table.shares.values())
    return 0.5 * spread * math.sqrt(2 * values) * values


@functools.lru_cache(maxsize=1024)
def effective_size(cells: int) -> float:
    """How many equally common values have the entropy of a typical column."""
    return _effective(_skewed(cells, EXPONENTS))


def _effective(shapes: Floats) -> float:
    logarithms = np.log(np.where(shapes > 0, shapes, 1.0))
    return float(np.exp(-(shapes * logarithms).sum(axis=1)).mean())
