"""Hold the description of one column against cells as they are written: which are lost, and what mends it.

The verdict is made before anything is released, with the same limits as the comparison afterwards
(`raw_values`). Cells are real data: the result is for the data steward alone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import date
from typing import Literal

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from synth_engine.codec import RawColumn, RawCounter, is_counted, sentinels
from synth_engine.codec.fitting import listed, stated_cells
from synth_engine.codec.ladder_cells import is_on_ladder, read_cells
from synth_engine.codec.value_counts import NumberCounts
from synth_engine.domain import Attribute, Date, Integer, Undeclared, Weak
from synth_engine.evaluation.raw_values import (
    MAX_BIN_SHARE,
    MAX_GAP,
    MAX_INVENTED_SHARE,
    MAX_LOST_SHARE,
    MIN_RECORDS_PER_CODE,
    reading_repair,
)
from synth_engine.evaluation.scale_text import is_learnable, text_of
from synth_engine.evaluation.value_histograms import value_histogram
from synth_engine.evaluation.wording import Json, per_hundred
from synth_engine.formats import Marks

Light = Literal["fits", "question", "unfit"]
Floats = NDArray[np.float64]
MOST_EDGES = 400
"""Edges of declared bins that a picture of sixty bars can show at most."""


@dataclass(frozen=True, kw_only=True)
class ColumnCheck:
    """How cells fit a description. unreadable, outside: shares of the cells that are not missing, 0 to 1.
    reasons: why cells are lost, with their repairs; doubts: what may be meant otherwise. has_values: whether
    some cells are values with an order. histogram: bars of the values as they are written, with `cuts`, the
    bounds between declared bins on the same axis; None for a kind without order, or where none is drawn."""

    light: Light
    unreadable: float = 0.0
    outside: float = 0.0
    missing: float = 0.0
    reasons: tuple[str, ...] = ()
    doubts: tuple[str, ...] = ()
    has_values: bool = False
    histogram: Json | None = field(default=None, repr=False)


def check_column(
    attribute: Attribute,
    texts: Sequence[str],
    counts: Sequence[int],
    *,
    marks: Marks,
    draws: bool = True,
) -> ColumnCheck:
    """Check a column. texts: different cells; counts: rows of each, of the same length. marks: how the file
    writes numbers. draws: whether the histogram is made."""
    if not texts or not (is_counted(attribute) or is_on_ladder(attribute)):
        return ColumnCheck(light="fits")
    counter = RawCounter(attribute, marks=marks)
    counter.add(pa.array(texts, type=pa.string()), times=np.array(counts, dtype=np.int64))
    raw = counter.finish()
    cells = max(raw.records - raw.missing, 1)
    unreadable = raw.fit.unreadable / cells if raw.fit else 0.0
    outside = raw.fit.outside / cells if raw.fit else 0.0
    reasons = _lost(attribute, raw, unreadable=unreadable, outside=outside)
    doubts: list[str] = []
    histogram = None
    if raw.numbers is not None and raw.numbers.total:
        reasons += _in_one_bin(attribute, raw.numbers)
        reasons += _leading_zeros(raw)
        codes = [] if reasons else _codes(attribute, raw, raw.numbers)
        doubts = [*codes, *_sentinels(attribute, raw.numbers)]
        histogram = _histogram(attribute, raw.numbers) if draws else None
    return ColumnCheck(
        light="unfit" if reasons else "question" if doubts else "fits",
        unreadable=unreadable,
        outside=outside,
        missing=raw.missing / max(raw.records, 1),
        reasons=tuple(reasons),
        doubts=tuple(doubts),
        has_values=raw.numbers is not None and bool(raw.numbers.total),
        histogram=histogram,
    )


def readings(attribute: Attribute, texts: Sequence[str], *, marks: Marks) -> list[str]:
    """Say in words what becomes of each cell."""
    written = list(texts)
    stated = stated_cells(attribute, [*written])
    if not is_on_ladder(attribute):
        return _readings_of_values(attribute, written, stated)
    cells = pa.array(written, type=pa.string())
    read = read_cells(attribute, attribute.plain(cells, marks).to_pylist())
    words = []
    for index, is_stated in enumerate(stated.tolist()):
        if not is_stated:
            words.append("missing")
        elif read is None or np.isnan(read.values[index]):
            words.append(f"cannot be read, {_fate(attribute)}")
        elif read.outside[index]:
            value = text_of(attribute, float(read.values[index]))
            words.append(f"{value} is outside, {_fate(attribute)}")
        else:
            words.append(text_of(attribute, float(read.values[index])))
    return words


def _readings_of_values(
    attribute: Attribute, texts: list[str], stated: NDArray[np.bool_]
) -> list[str]:
    if isinstance(attribute, Weak):
        values, unlisted = attribute.listed(texts), "not in the set"
    elif not is_counted(attribute) or not hasattr(attribute, "value_labels"):
        return ["" for _ in texts]
    elif attribute.lists_values:
        values, unlisted = listed(attribute, texts), "not listed"
    else:
        values, unlisted = [*texts], ""
    beyond = "other" if attribute.has_other else f"{unlisted}, {_fate(attribute)}"
    return [
        "missing" if not is_stated else beyond if value is None else value
        for value, is_stated in zip(values, stated, strict=True)
    ]


def _fate(attribute: Attribute) -> str:
    if attribute.outside == "missing":
        return "counts as missing"
    return "moves to a bound" if is_on_ladder(attribute) else "counts as the first value"


def _lost(
    attribute: Attribute, raw: RawColumn, *, unreadable: float, outside: float
) -> list[str]:
    """Why cells are lost: they cannot be read, or are outside what is declared."""
    reasons = []
    if raw.fit is not None and unreadable > MAX_LOST_SHARE:
        reasons.append(
            f"{per_hundred(unreadable)} of 100 cells cannot be read as {attribute.reader.cell_words}: "
            f"{reading_repair(raw, raw.fit)}"
        )
    if outside > MAX_LOST_SHARE:
        repair = (
            "widen the bounds by a source, learn them privately, or keep them: each such cell"
            if is_on_ladder(attribute)
            else 'add them from a source, declare "any other", or keep the list: each such cell'
        )
        reasons.append(
            f"{per_hundred(outside)} of 100 cells are outside: {repair} {_fate(attribute)}"
        )
    return reasons


def _in_one_bin(attribute: Attribute, numbers: NumberCounts) -> list[str]:
    """Why one bin is too wide: most values lie in it, and not as evenly as they will be drawn."""
    if not attribute.is_comparable or isinstance(attribute, Undeclared):
        return []
    first, last = attribute.bin_spans()
    ends = np.append(first[1:], np.nextafter(last[-1], np.inf))
    shares = numbers.below(ends, inclusive=False) - numbers.below(first, inclusive=False)
    fullest = int(np.argmax(shares))
    if shares[fullest] <= MAX_BIN_SHARE:
        return []
    low, high = float(first[fullest]), float(last[fullest])
    inside = slice(*np.searchsorted(numbers.values, (low, np.nextafter(high, np.inf))))
    values, counts = numbers.values[inside], numbers.counts[inside]
    step = attribute.value_step
    # A whole number stands for its step, so a bin of one value is never uneven.
    even = np.clip((values - low + step) / max(high - low + step, 1e-300), 0.0, 1.0)
    actual = np.cumsum(counts) / counts.sum()
    gap = float(
        np.max(np.maximum(np.abs(actual - even), np.abs(actual - counts / counts.sum() - even)))
    )
    if (len(values) < 2 and step and high - low < step) or gap <= MAX_GAP:
        return []
    spike = float(values[int(np.argmax(counts))])
    repair = (
        f"give {text_of(attribute, spike)} a bin of its own"
        if counts.max() > MAX_BIN_SHARE * counts.sum()
        else "make bins finer there"
    )
    learned = ", or describe none and learn them privately" if is_learnable(attribute) else ""
    return [
        f"{per_hundred(float(shares[fullest]))} of 100 cells lie in the one bin "
        f"{attribute.value_labels[fullest]}, unevenly: {repair}{learned}"
    ]


def _leading_zeros(raw: RawColumn) -> list[str]:
    share = raw.leading_zeros / max(raw.records, 1)
    if share <= MAX_LOST_SHARE:
        return []
    return [
        (
            f"{per_hundred(share)} of 100 cells begin with zeros, which numbers lose: describe the column "
            "as categories"
        )
    ]


def _codes(attribute: Attribute, raw: RawColumn, numbers: NumberCounts) -> list[str]:
    """Whether whole numbers look like codes: of one length, each in many rows, with gaps that numbers would
    fill."""
    if raw.digits is None or not isinstance(attribute.reader, Integer) or not numbers.exact:
        return []
    span = float(numbers.values[-1] - numbers.values[0]) + 1
    gaps = 1 - len(numbers.values) / span
    if numbers.total < MIN_RECORDS_PER_CODE * len(numbers.values) or gaps <= MAX_INVENTED_SHARE:
        return []
    return [
        f"All cells have {raw.digits} digits, and {per_hundred(gaps)} of 100 numbers between them do not "
        "occur: if they are codes, describe the column as categories"
    ]


def _sentinels(attribute: Attribute, numbers: NumberCounts) -> list[str]:
    """Whether numbers or days that the description takes for values seem to stand for none: 999 far above the
    rest."""
    if not numbers.exact or not len(numbers.values):
        return []
    if attribute.holds_numbers:
        alone = sentinels.of_numbers(numbers.values, numbers.counts)
    elif isinstance(attribute.reader, Date):
        days = [date.fromordinal(int(day)).isoformat() for day in numbers.values.tolist()]
        alone = sentinels.of_days(pa.array(days, type=pa.string()))
    else:
        return []
    if alone is None:
        return []
    values = [text_of(attribute, value) for value in numbers.values[alone].tolist()]
    share = float(numbers.counts[alone].sum()) / max(numbers.total, 1)
    return [
        f"{per_hundred(share)} of 100 cells are {' or '.join(values)}, far from all others: if that means "
        "missing, add it to the markers of missing values, and leave it outside of the bounds"
    ]


def _histogram(attribute: Attribute, numbers: NumberCounts) -> Json:
    histogram = value_histogram(attribute, numbers, numbers, step=attribute.value_step)
    cuts: list[float] = []
    if attribute.is_comparable and not isinstance(attribute, Undeclared):
        first, last = attribute.bin_spans()
        cuts = [*first.tolist(), float(last[-1])] if len(first) <= MOST_EDGES else []
    quantiles = [numbers.quantile(level) for level in np.linspace(0, 1, 101)]
    return {**histogram, "cuts": cuts, "quantiles": quantiles}
