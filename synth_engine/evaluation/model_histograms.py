"""Small histograms of the columns of a model: what a release holds of each column, without any real cell."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from synth_engine.domain import Attribute
from synth_engine.evaluation import column_shapes
from synth_engine.evaluation.column_shapes import ColumnShape
from synth_engine.evaluation.expected import model_counts
from synth_engine.evaluation.figure_origins import ModelFigure
from synth_engine.evaluation.scale_text import text_of
from synth_engine.models.model import Model

Floats = NDArray[np.float64]

BARS = 40
_TAIL = 0.005
"""The share of values beyond either end of a scale: bars of a few values far away would leave no room for the
others."""


@dataclass(frozen=True, kw_only=True)
class HistogramBar:
    """A bar: the values that it stands for, and their share among the records that have a value."""

    label: str
    share: ModelFigure


@dataclass(frozen=True, kw_only=True)
class ModelHistogram:
    """Bars in the order of the values, or the most frequent first where values have none.

    more: how many values have no bar. missing: the share of all records without a value, None where no value
    can be missing.
    """

    bars: tuple[HistogramBar, ...]
    more: int
    missing: ModelFigure | None

    @property
    def words(self) -> str:
        """What the picture shows, for who cannot see it."""
        highest = sorted(self.bars, key=lambda bar: -bar.share.value)[:3]
        shares = ", ".join(f"{bar.label}: {100 * bar.share.value:.2g} %" for bar in highest)
        return f"most frequent: {shares}"


def of_column(model: Model, attribute: Attribute) -> ModelHistogram | None:
    """The histogram of a modelled attribute; None where the model has no table of it, as in trees."""
    counts = model_counts(model, attribute)
    if counts is None or not counts.sum():
        return None
    shape = column_shapes.of_attribute(attribute, counts)
    if shape.is_numeric:
        bars, more = _on_a_scale(shape), 0
    else:
        bars, more = _by_value(shape)
    return ModelHistogram(
        bars=bars,
        more=more,
        missing=None if attribute.missing_code is None else ModelFigure(value=shape.missing),
    )


def _on_a_scale(shape: ColumnShape) -> tuple[HistogramBar, ...]:
    """Bars of equal width between the quantiles of the tails; values are uniform within a piece."""
    low, high = shape.quantile(_TAIL), shape.quantile(1 - _TAIL)
    if shape.step:
        values = round((high - low) / shape.step) + 1
        width = shape.step * -(-values // BARS)
        places = np.arange(-(-values // round(width / shape.step)) + 1, dtype=np.float64)
        edges: Floats = np.asarray(low + width * places, dtype=np.float64)
        # A bar of whole steps ends where the next value begins.
        last = edges[1:] - shape.step
    else:
        edges = np.linspace(low, high, BARS + 1) if high > low else np.array([low, low + 1])
        last = edges[1:]
    shares = np.diff(_below(shape, edges))
    shares[0] += _below(shape, edges[:1])[0]
    shares[-1] += 1 - shares.sum()
    texts = [
        (text_of(shape.attribute, first), text_of(shape.attribute, end))
        for first, end in zip(edges[:-1].tolist(), last.tolist(), strict=True)
    ]
    return tuple(
        HistogramBar(
            label=first if first == end else f"{first} to {end}",
            share=ModelFigure(value=max(float(share), 0.0)),
        )
        for (first, end), share in zip(texts, shares.tolist(), strict=True)
    )


def _below(shape: ColumnShape, values: Floats) -> Floats:
    """The share of values below each number. values: increasing."""
    starts, ends = shape.firsts, shape.lasts + shape.step
    widths = np.maximum(ends - starts, 1e-300)
    parts = np.clip((values[:, None] - starts[None, :]) / widths[None, :], 0.0, 1.0)
    below: Floats = parts @ shape.shares
    return below


def _by_value(shape: ColumnShape) -> tuple[tuple[HistogramBar, ...], int]:
    """A bar for each value, in the order of ordered ones; of many the most frequent, so that none of them is
    too thin."""
    labels = [
        label
        for code, label in enumerate(shape.attribute.labels)
        if code != shape.attribute.missing_code
    ]
    shares = shape.shares.tolist()
    frequent = sorted(range(len(labels)), key=lambda code: -shares[code])[:BARS]
    shown = sorted(frequent) if shape.attribute.ordered else frequent
    bars = tuple(
        HistogramBar(label=labels[code], share=ModelFigure(value=shares[code]))
        for code in shown
    )
    return bars, len(labels) - len(bars)
