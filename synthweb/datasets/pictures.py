"""The picture of one column on the describe page: bars of real values, and the error to expect, as plain
numbers."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from django.utils.translation import gettext

from synth_engine.plans import sample_size
from synth_engine.plans.scale_learning import MAX_BINS
from synthweb.lib.language import written_number
from synthweb.lib.number_format import grouped

WIDTH, HEIGHT = 600.0, 120.0
MOST_CUTS = 120


@dataclass(frozen=True, kw_only=True)
class ColumnForecast:
    """What a release can tell of one column at ε = 1, from public facts alone. wrong: records of a hundred
    that would have to change. clear_bins: how many bins stand clear of the noise."""

    wrong: str
    clear_bins: int
    rows: str

    @classmethod
    def of(cls, codes: int, *, columns: int, max_records: int, rows: int) -> ColumnForecast:
        """rows: of the table, as far as they are public."""
        error = sample_size.expected_error(
            codes, columns=columns, max_records=max_records, rows=rows
        )
        clear = sample_size.clear_codes(columns=columns, max_records=max_records, rows=rows)
        return cls(
            wrong=f"{100 * error:.2g}",
            clear_bins=min(MAX_BINS, clear),
            rows=grouped(rows),
        )


@dataclass(frozen=True, kw_only=True)
class HistogramBar:
    """A bar in the units of the picture; label: its values and share."""

    x: float
    y: float
    width: float
    height: float
    label: str


@dataclass(frozen=True, kw_only=True)
class Bars:
    """Bars, places of the bounds between bins, and the texts of both ends."""

    bars: Sequence[HistogramBar]
    cuts: Sequence[float]
    low: str
    high: str
    width: float = WIDTH
    height: float = HEIGHT

    @classmethod
    def of(cls, histogram: Mapping[str, Any], *, affordable: int | None) -> Bars:
        """histogram: as a column check has it. affordable: bins of equal frequency to draw instead of
        declared ones."""
        logarithmic = histogram["scale"] == "log"
        edges = [_place(edge, logarithmic=logarithmic) for edge in histogram["edges"]]
        first, span = edges[0], max(edges[-1] - edges[0], 1e-300)
        shares = histogram["shares"]["real"]
        most = max([*shares, 1e-300])
        bars = [
            HistogramBar(
                x=round((start - first) / span * WIDTH, 2),
                y=round(HEIGHT * (1 - share / most), 2),
                width=round((end - start) / span * WIDTH, 2),
                height=round(HEIGHT * share / most, 2),
                label=gettext("%(values)s: %(share)s of 100")
                % {"values": label, "share": written_number(f"{100 * share:.2g}")},
            )
            for (start, end), share, label in zip(
                pairwise(edges), shares, histogram["labels"], strict=True
            )
        ]
        values = histogram["cuts"]
        if affordable:
            quantiles = histogram["quantiles"]
            values = [quantiles[round(100 * i / affordable)] for i in range(1, affordable)]
        places = {
            round((_place(value, logarithmic=logarithmic) - first) / span * WIDTH, 1)
            for value in values
            if value > 0 or not logarithmic
        }
        cuts = sorted(place for place in places if 0 < place < WIDTH)
        low, high = histogram["ends"]
        return cls(bars=bars, cuts=cuts if len(cuts) <= MOST_CUTS else [], low=low, high=high)


def _place(value: float, *, logarithmic: bool) -> float:
    return math.log10(value) if logarithmic else value
