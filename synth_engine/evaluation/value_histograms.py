"""Histograms of values as they are written, on an axis on which the bulk is visible."""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from synth_engine.codec.value_counts import NumberCounts
from synth_engine.domain import Attribute
from synth_engine.evaluation import bars
from synth_engine.evaluation.plots import Figure, Report, frame, margin_for
from synth_engine.evaluation.scale_text import is_moment, number_text, text_of
from synth_engine.evaluation.style import escape
from synth_engine.evaluation.wording import Json, per_hundred

Floats = NDArray[np.float64]

BARS = 60
BULK = (0.01, 0.99)
"""Quantiles between which the axis lies."""
HIDDEN_BULK = 5.0
"""How many times as long as the bulk of the real values the axis may be."""
SKEWED = 5.0
"""How many times as far the upper end is from the real median as the lower end, from which on the axis is
logarithmic."""
TICKS = 5
"""Days and times that are named on an axis."""
MANY_DECADES = 3
"""Powers of ten from which on only these are named."""
_DECADES = 2
"""Powers of ten that positive values cover at least on a logarithmic axis."""
DIGITS = 9


def value_histogram(
    attribute: Attribute, real: NumberCounts, synthetic: NumberCounts, *, step: float
) -> Json:
    """Bins of the visible part of the axis, the shares of both sides in them, and the shares left and right
    of it.

    real, synthetic: columns with at least one number each. step: the distance of declared values, 0 if none
    is declared.
    """
    logarithmic = _is_skewed(real, synthetic)
    low, high = _ends(real, synthetic, logarithmic=logarithmic)
    edges = _log_edges(low, high) if logarithmic else _even_edges(low, high, step=step)
    shares, outside = {}, {}
    for side, counts in (("real", real), ("synthetic", synthetic)):
        below = counts.below(edges, inclusive=False)
        shares[side] = np.round(np.diff(below), DIGITS).tolist()
        outside[side] = [
            round(float(below[0]), DIGITS),
            round(float(1 - below[-1]), DIGITS),
        ]
    # Ends of bins are between values where values have a step.
    inner = edges + step / 2 if step and not logarithmic else edges
    return {
        "scale": "log" if logarithmic else "linear",
        "edges": edges.tolist(),
        "labels": [
            _label(attribute, start, end, step=0.0 if logarithmic else step)
            for start, end in pairwise(inner.tolist())
        ],
        "shares": shares,
        "left": {side: ends[0] for side, ends in outside.items()},
        "right": {side: ends[1] for side, ends in outside.items()},
        "ends": [text_of(attribute, low), text_of(attribute, high)],
        "ticks": _log_ticks(edges) if logarithmic else _even_ticks(attribute, edges),
    }


def _even_ticks(attribute: Attribute, edges: Floats) -> list[Json]:
    """Round numbers, or days and times at equal distances; where they stand, and their texts."""
    low, high = float(edges[0]), float(edges[-1])
    if is_moment(attribute):
        places = np.linspace(low, high, TICKS + 2)[1:-1]
        if attribute.value_step >= 1:
            places = np.unique(np.round(places))
    else:
        places = np.array(bars.round_numbers(low, high))
    return [{"at": float(place), "text": text_of(attribute, place)} for place in places]


def _log_ticks(edges: Floats) -> list[Json]:
    """Powers of ten at the places of their logarithms, with halves and fifths where they are few."""
    low, high = math.log10(edges[0]), math.log10(edges[-1])
    powers = range(math.floor(low), math.ceil(high) + 1)
    factors = (1, 2, 5) if high - low < MANY_DECADES else (1,)
    places = [
        (math.log10(factor) + power, factor * 10.0**power)
        for power in powers
        for factor in factors
    ]
    return [
        {"at": place, "text": number_text(value)}
        for place, value in places
        if low <= place <= high
    ]


def _is_skewed(real: NumberCounts, synthetic: NumberCounts) -> bool:
    """Whether all values are positive, and the real ones cover decades with a long upper tail."""
    if min(real.values[0], synthetic.values[0]) <= 0:
        return False
    low, high = (real.quantile(level) for level in BULK)
    median = real.quantile(0.5)
    return high >= low * 10**_DECADES and high - median > SKEWED * (median - low)


def _ends(
    real: NumberCounts, synthetic: NumberCounts, *, logarithmic: bool
) -> tuple[float, float]:
    """The bulk of both sides, or of the real values alone where they would be lost on a longer axis."""
    (low, high), other = (
        tuple(side.quantile(level) for level in BULK) for side in (real, synthetic)
    )
    whole = min(low, other[0]), max(high, other[1])

    def length(ends: tuple[float, float]) -> float:
        return math.log10(ends[1] / ends[0]) if logarithmic else ends[1] - ends[0]

    if 0 < length((low, high)) * HIDDEN_BULK < length(whole):
        return low, high
    return whole


def _log_edges(low: float, high: float) -> Floats:
    edges: Floats = np.geomspace(low, high, BARS + 1)
    # Rounding must not push the ends of the bulk out of the picture.
    edges[0], edges[-1] = low, np.nextafter(high, np.inf)
    return edges


def _even_edges(low: float, high: float, *, step: float) -> Floats:
    if step:
        steps = round((high - low) / step) + 1
        width = step * -(-steps // BARS)
        count = -(-steps * step // width)
        whole: Floats = low - step / 2 + width * np.arange(count + 1)
        return whole
    if low == high:
        margin = abs(low) / 100 or 1.0
        low, high = low - margin, high + margin
    edges: Floats = np.linspace(low, high, BARS + 1)
    edges[-1] = np.nextafter(high, np.inf)
    return edges


def _label(attribute: Attribute, start: float, end: float, *, step: float) -> str:
    last = end - step
    if step and last <= start:
        return text_of(attribute, start)
    return f"{text_of(attribute, start)} to {text_of(attribute, last)}"


def draw_histogram(report: Report, entry: Json) -> Figure:
    """The figure of one entry of `values` that has a histogram: solid bars for real, a dashed outline for
    synthetic."""
    histogram = entry["histogram"]
    positions = [
        math.log10(edge) if histogram["scale"] == "log" else edge for edge in histogram["edges"]
    ]
    low, high = positions[:-1], positions[1:]
    widths = [end - start for start, end in zip(low, high, strict=True)]
    ticks = histogram["ticks"]
    layout = {
        "margin": margin_for([tick["text"] for tick in ticks]),
        "xaxis": {
            "title": {"text": escape(entry["name"])},
            "showgrid": False,
            "zeroline": False,
            "range": [positions[0], positions[-1]],
            "tickvals": [tick["at"] for tick in ticks],
            "ticktext": [escape(tick["text"]) for tick in ticks],
            "automargin": True,
        },
        "yaxis": bars.share_axis("share of values"),
        "bargap": 0,
    }
    named = {**histogram, "name": entry["name"]}
    bars.set_spike_apart(layout, named, low, high)
    words = (
        f"Shares of values of {entry['name']} as they are written, real beside synthetic. "
        f"{entry['verdict']['words']} {tails(histogram)}"
    )
    return frame(report, bars.two_sides(named, low, widths), layout, words=words.strip())


def tails(histogram: Json) -> str:
    """What lies outside the axis, in words; empty if nothing does."""
    words = []
    for key, side, end in (("left", "below", 0), ("right", "above", 1)):
        sides = [
            f"{per_hundred(share)} of 100 {name}"
            for name, share in histogram[key].items()
            if share > 0
        ]
        if sides:
            words.append(f"{' and '.join(sides)} values lie {side} {histogram['ends'][end]}")
    return f"Not on the axis: {'; '.join(words)}." if words else ""
