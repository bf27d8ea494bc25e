"""Expected ranges: figures of single columns with bands from the noise of the answers, from model and receipt
alone.

A parametric bootstrap (Efron and Tibshirani 1993, chapter 6) for each column by itself: the model is taken
for the truth, the questions that the receipt lists for the column are answered again with noise of their
public scales, and estimated again. Definitions and measured coverage in docs/comparison.md and
docs/benchmarks.md.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, get_args

import numpy as np
from numpy.typing import NDArray

from synth_engine.domain import Attribute, Domain, NotFound, ScaleBins
from synth_engine.evaluation import column_shapes
from synth_engine.evaluation.column_shapes import ColumnShape
from synth_engine.evaluation.figure_origins import ExpectedRange, ModelFigure
from synth_engine.inference import allocation, oneway, scale_tree
from synth_engine.measurement.noise import Noise, NoiseLaw
from synth_engine.models.model import Model, generator
from synth_engine.privacy.receipt import CallDocument

Floats = NDArray[np.float64]

LEVEL = 0.9
SIMULATIONS = 100
TOP_VALUES = 5
QUANTILES = {
    "quantile_5": 0.05,
    "quantile_25": 0.25,
    "median": 0.5,
    "quantile_75": 0.75,
    "quantile_95": 0.95,
}
VERSION = "expected-ranges/2"
"""Of the computation: figures of another version are computed again."""


@dataclass(frozen=True, kw_only=True)
class ExpectedFigure:
    """One figure of a column. key: its name in JSON; value: of a share, the value whose share it is."""

    key: str
    expected: ExpectedRange
    value: str = ""


@dataclass(frozen=True, kw_only=True)
class ExpectedColumn:
    """The figures of one column; none with the reason in `note` where the receipt has no question about it
    alone."""

    name: str
    kind: str
    figures: tuple[ExpectedFigure, ...]
    note: str = ""


NO_QUESTION = "The method asked nothing about this column whose noise could be followed to single figures."


def expected_columns(
    model: Model,
    calls: Sequence[CallDocument],
    *,
    progress: Callable[[float], None] = lambda _: None,
) -> list[ExpectedColumn]:
    """The figures of every column that is modelled. calls: of the receipt; the same documents give the same
    bands. progress: is given the share of the columns that is done before each of them."""
    columns = []
    # Other columns than places are in the model of cells, which is the one with tables.
    tables = model.coded or model
    for number, attribute in enumerate(model.domain.modelled):
        progress(number / len(model.domain.modelled))
        asked = [call for call in calls if _asks(call, attribute.name)]
        columns.append(_column(attribute, tables, asked))
    return columns


def expected_distance(model: Model, calls: Sequence[CallDocument], column: str) -> float | None:
    """The expected total variation distance of a column from the real one, by the noise of the tables that
    count it with all codes; what makes noise smaller afterwards is left out. None where no such table was
    asked for."""
    attribute = model.domain.attribute(column)
    counts = model_counts(model, attribute)
    deviation = _deviation([c for c in calls if _asks(c, column)], attribute, model.domain)
    if counts is None or deviation is None or not counts.sum():
        return None
    return min(1.0, allocation.histogram_error(counts, deviation) / (2 * float(counts.sum())))


def _asks(call: CallDocument, name: str) -> bool:
    return name in call["query"].get("clique", ())


def _column(
    attribute: Attribute, model: Model, calls: Sequence[CallDocument]
) -> ExpectedColumn:
    # Of a column that was not found there is nothing to be far from.
    counts = None if isinstance(attribute, NotFound) else model_counts(model, attribute)
    deviation = _deviation(calls, attribute, model.domain)
    rounds = _interval_noise(calls, attribute)
    known = (isinstance(attribute, ScaleBins) and bool(rounds)) or deviation is not None
    if counts is None or not known or not counts.sum():
        return ExpectedColumn(
            name=attribute.name, kind=attribute.kind, figures=(), note=NO_QUESTION
        )
    simulated = _Simulation(
        attribute=attribute,
        counts=counts,
        deviation=deviation,
        rounds=rounds,
        rng=generator(VERSION, purpose=("column", attribute.name)),
    )
    return ExpectedColumn(
        name=attribute.name, kind=attribute.kind, figures=tuple(_figures(simulated))
    )


def model_counts(model: Model, attribute: Attribute) -> Floats | None:
    """Records of each code in the model; shape (codes,). None where it has no table of the column."""
    name = attribute.name
    merged = {each.attribute: each for each in model.merged}
    # In a network the last attribute of a table is the one that it generates.
    tables = [each for each in model.tables if each.clique[-1] == name or not model.network]
    table = next((each for each in tables if name in each.clique), None)
    if table is None:
        return None
    axis = table.clique.index(name)
    others = tuple(each for each in range(table.weights.ndim) if each != axis)
    weights = table.weights.sum(axis=others).astype(np.float64)
    if name in merged:
        binning = merged[name]
        spread = binning.spread.astype(np.float64)
        weights = weights @ (spread / spread.sum(axis=1, keepdims=True))
    counts: Floats = weights * (model.rows / weights.sum())
    return counts


def variance_of(call: CallDocument) -> float | None:
    """The variance of the noise on one count of a call; None for a law without a scale of counts."""
    document = call["noise"]
    law = next((each for each in get_args(NoiseLaw) if each == document.get("law")), None)
    if law is None:
        return None
    if "sigma_squared" in document:
        squared = float(Fraction(document["sigma_squared"]))
        return squared + 1 / 12 if law == "rounded-gaussian" else squared
    return Noise(law=law, scale=Fraction(document["scale"])).variance


def _deviation(
    calls: Sequence[CallDocument], attribute: Attribute, domain: Domain
) -> float | None:
    """The standard deviation of the noise on a count of one code, by the tables that count the column with
    all codes."""
    precision = 0.0
    for call in calls:
        query, variance = call["query"], variance_of(call)
        if query["verb"] != "measure" or query.get("bins") or variance is None:
            continue
        others = math.prod(domain.sizes[name] for name in query["clique"]) // attribute.size
        # A sum over the other columns has the noise of as many cells.
        precision += 1 / (variance * others)
    return 1 / math.sqrt(precision) if precision else None


def _interval_noise(calls: Sequence[CallDocument], attribute: Attribute) -> list[float]:
    """The standard deviations of the rounds by which a column was learned; none of one that was not."""
    if not isinstance(attribute, ScaleBins):
        return []
    asked = [call for call in calls if call["query"]["verb"] == "intervals"]
    variances = [each for call in asked if (each := variance_of(call)) is not None]
    # The last question is the one about round numbers, of a lattice that has some.
    rounds = variances[:-1] if len(attribute.lattice.divisors) > 1 else variances
    return [math.sqrt(variance) for variance in rounds]


@dataclass(kw_only=True, eq=False)
class _Simulation:
    """A column of the model, and the same estimated again from simulated answers."""

    attribute: Attribute
    counts: Floats
    deviation: float | None
    rounds: Sequence[float]
    rng: np.random.Generator = field(repr=False)

    def model_shape(self) -> ColumnShape:
        return column_shapes.of_attribute(self.attribute, self.counts)

    def shapes(self) -> Iterator[ColumnShape]:
        for _ in range(SIMULATIONS):
            counts = self._counts_again()
            if isinstance(self.attribute, ScaleBins) and self.rounds:
                pieces = self._pieces_again(self.attribute)
                # How far a column that was found may be off, given that it is.
                shape = (
                    column_shapes.of_attribute(self.attribute, counts)
                    if pieces is None
                    else column_shapes.of_pieces(self.attribute, counts, pieces)
                )
            else:
                shape = column_shapes.of_attribute(self.attribute, counts)
            yield shape.jittered(self.rng)

    def _counts_again(self) -> Floats:
        if self.deviation is None:
            return self.counts
        noisy = self.counts + self.rng.normal(0, self.deviation, self.counts.shape)
        return oneway.project_to_simplex(noisy, total=float(self.counts.sum()))

    def _pieces_again(self, attribute: ScaleBins) -> scale_tree.Pieces | None:
        """Learn the values of the column again, from simulated counts of intervals."""
        lattice = attribute.lattice
        known = float(self.counts[: attribute.value_count].sum())
        positions = np.array(attribute.pieces, dtype=np.float64)
        reached = column_shapes.reached(attribute, self.counts)
        rounds: list[scale_tree.CountedCells] = []
        while scale_tree.next_share(rounds) is not None:
            spread = self.rounds[min(len(rounds), len(self.rounds) - 1)]
            cuts = scale_tree.next_cuts(
                rounds, count=lattice.count, zero=lattice.zero, spread=spread
            )
            within = np.interp(np.array(cuts, dtype=np.float64), positions, reached)
            exact = known * np.diff(within)
            noisy = np.rint(exact + self.rng.normal(0, spread, exact.shape))
            rounds.append(scale_tree.CountedCells(cuts=cuts, values=noisy, variance=spread**2))
        return scale_tree.pieces(rounds, zero=lattice.zero)


def _figures(simulation: _Simulation) -> Iterator[ExpectedFigure]:
    model = simulation.model_shape()
    again = list(simulation.shapes())
    if model.is_numeric:
        for key in ("mean", "standard_deviation"):
            values = np.array([getattr(shape, key)() for shape in again])
            yield ExpectedFigure(key=key, expected=_band(getattr(model, key)(), values))
        for key, level in QUANTILES.items():
            values = np.array([shape.quantile(level) for shape in again])
            band = _band(model.quantile(level), values)
            # Where in a piece its values lie is not known.
            low, high = model.piece_ends(band.low)[0], model.piece_ends(band.high)[1]
            yield ExpectedFigure(
                key=key,
                expected=ExpectedRange(
                    estimate=band.estimate,
                    low=min(low, band.low),
                    high=max(high, band.high),
                    level=LEVEL,
                ),
            )
    if simulation.attribute.missing_code is not None:
        shares = np.array([shape.missing for shape in again])
        yield ExpectedFigure(key="missing", expected=_share_band(model.missing, shares))
    for value, label in model.top(TOP_VALUES):
        shares = np.array([shape.share(value) for shape in again])
        yield ExpectedFigure(
            key="share", value=label, expected=_share_band(model.share(value), shares)
        )


def _band(estimate: float, simulated: Floats) -> ExpectedRange:
    """The wider end, on either side, of the basic and the percentile bootstrap: the first corrects the bias
    of the estimate, the second holds it."""
    low, high = np.quantile(simulated, ((1 - LEVEL) / 2, (1 + LEVEL) / 2))
    return ExpectedRange(
        estimate=ModelFigure(value=estimate),
        low=float(min(low, 2 * estimate - high, estimate)),
        high=float(max(high, 2 * estimate - low, estimate)),
        level=LEVEL,
    )


def _share_band(estimate: float, simulated: Floats) -> ExpectedRange:
    band = _band(estimate, simulated)
    return ExpectedRange(
        estimate=band.estimate,
        low=max(band.low, 0.0),
        high=min(band.high, 1.0),
        level=LEVEL,
    )


def to_json(columns: Sequence[ExpectedColumn]) -> list[dict[str, object]]:
    """The columns as plain values, for REST and files."""
    return [
        {
            "name": column.name,
            "kind": column.kind,
            "note": column.note,
            "figures": [
                {
                    "figure": each.key,
                    "value": each.value,
                    "estimate": each.expected.estimate.value,
                    "low": each.expected.low,
                    "high": each.expected.high,
                    "level": each.expected.level,
                }
                for each in column.figures
            ],
        }
        for column in columns
    ]


def from_json(documents: Sequence[Mapping[str, Any]]) -> list[ExpectedColumn]:
    """The columns of `to_json`."""
    return [
        ExpectedColumn(
            name=column["name"],
            kind=column["kind"],
            note=column["note"],
            figures=tuple(
                ExpectedFigure(
                    key=each["figure"],
                    value=each["value"],
                    expected=ExpectedRange(
                        estimate=ModelFigure(value=each["estimate"]),
                        low=each["low"],
                        high=each["high"],
                        level=each["level"],
                    ),
                )
                for each in column["figures"]
            ),
        )
        for column in documents
    ]
