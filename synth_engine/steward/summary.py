"""Summaries of columns, taken in block by block in bounded memory, for the suggestions that a
steward is shown.

While a column has few different texts they are all counted. When they become many, what a draft
needs is updated instead: which kinds of values still fit, the ends of the range, how the
frequent texts are called."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from synth_engine.codec import numbers
from synth_engine.formats import Marks
from synth_engine.steward.cell_sample import CellSample, CellsDocument, thinned
from synth_engine.steward.markers import MARKERS, MAX_ODD_TEXTS, may_be_markers

MAX_DISTINCT_TEXTS = 20_000  # texts of a column that are all counted
MAX_DISTINCT_TEXTS_OF_TABLE = 1_000_000  # of all columns of a table
MIN_DISTINCT_TEXTS = 500
MAX_TEXT_BYTES = 200  # bytes of a text that may be a category
MAX_REPEATED_TEXTS = 200_000
CANDIDATES = 500  # texts of a block that may be among the most frequent of the column
SAMPLED = 256  # values of a block
SAMPLED_TEXTS = 20_000  # texts by which a column of many texts is judged
LOOKED_AT = 8  # blocks of texts that are all looked at, and of those after them one in so many
_MARKER_LENGTHS = sorted({len(marker) for marker in MARKERS})


class Column:
    """A column whose texts are all counted while they are few; see `wide` when they are many."""

    def __init__(self, marks: Marks, *, of: int = 1) -> None:
        """One of so many columns."""
        self._most = min(
            MAX_DISTINCT_TEXTS, max(MIN_DISTINCT_TEXTS, MAX_DISTINCT_TEXTS_OF_TABLE // of)
        )
        self.times: Counter[str] = Counter()
        self.wide: Wide | None = None
        self._sample: CellSample | None = None
        self.marks = marks

    def add(self, texts: pa.Array) -> None:
        """The next block."""
        if texts.null_count:
            texts = pc.fill_null(texts, "")
        if self.wide is not None:
            if self._sample is not None:
                self._sample.add(texts)
            return self.wide.add(texts)
        counted = texts.value_counts()
        different = counted.field("values").to_pylist()
        self.times.update(
            dict(zip(different, counted.field("counts").to_pylist(), strict=True))
        )
        if (
            len(self.times) > self._most
            or pc.max(pc.binary_length(counted.field("values"))).as_py() > MAX_TEXT_BYTES
        ):
            self.wide = Wide(self.times, self.marks)
            self._sample = CellSample(self.times)
            self.times = Counter()
        return None

    def cells(self, most: int) -> CellsDocument:
        """Returns so many different cells at most, each with the rows that it stands for."""
        return thinned(self.times, most) if self._sample is None else self._sample.cells(most)

    def without(self, texts: Collection[str]) -> Column:
        """The same column without some of its texts, if they are all counted."""
        others = Column(self.marks)
        others.times, others.wide = (
            Counter({text: n for text, n in self.times.items() if text not in texts}),
            self.wide,
        )
        return others

    @property
    def unique(self) -> bool:
        """Returns whether no two records share a text, missing values aside: looked at in full
        while texts are few, within blocks when they are many."""
        if self.wide is None:
            most = max(
                (times for text, times in self.times.items() if text not in MARKERS), default=0
            )
            return most == 1 and len(self.times) > 1
        if self.wide.read == "texts":
            return self.wide.looked_at == self.wide.different
        return self.wide.read == "numbers" and self.wide.whole and self.wide.all_different


class Wide:
    """A column of many different texts, markers of missing values counted apart. It is `read` as numbers or
    as times as long as all its values can be, else as texts."""

    def __init__(self, times: Counter[str], marks: Marks) -> None:
        self.marks = marks
        self.missing: Counter[str] = Counter()
        self.odd: Counter[str] = (
            Counter()
        )  # texts beside numbers or times that may stand for missing values
        self._some_texts: list[pa.Array] = []
        self.rows = self.longest = 0
        self.read = ""
        self.whole, self.all_different = True, True  # of numbers; different within each block
        self.least, self.most = math.inf, -math.inf
        self.days = True  # of times; false with a clock
        self.common = 0  # greatest common divisor of times of day in seconds
        self.spellings: set[tuple[str, int]] = (
            set()
        )  # the sign before the clock, and the length
        self.looked_at = self.different = (
            0  # texts of the blocks that were looked at, and how many differ in a block
        )
        self.frequent: Counter[str] = Counter()
        self._blocks = 0
        self._sample: list[NDArray[np.float64]] = []
        texts, counts = list(times), np.fromiter(times.values(), dtype=np.int64)
        counts = np.maximum(1, counts * min(1.0, MAX_REPEATED_TEXTS / counts.sum())).astype(
            np.int64
        )
        # To begin with, every text as often as it came, or as its share of so many.
        self.add(
            pa.array(texts, type=pa.string()).take(
                pa.array(np.repeat(np.arange(len(texts)), counts))
            )
        )

    def add(self, texts: pa.Array) -> None:
        if self.read in ("", "numbers"):
            if (values := self._values(texts)) is None and len(
                texts := self._without_markers(texts)
            ):
                values = self._values(texts)
            if values is None and len(texts):
                values = self._values_beside_odd(texts)
            if values is not None:
                self.read = "numbers"
                return self._numbers(values)
        else:
            texts = self._without_markers(texts)
        if not len(texts):
            return None
        if self.read in ("", "times") and self._times(texts):
            self.read = "times"
        else:
            self.read = "texts"
            self._texts(texts)
        self.rows += len(texts)
        return None

    def sample(self) -> NDArray[np.float64]:
        """Returns some of the numbers, evenly spread over the rows."""
        return np.concatenate(self._sample)

    def some_texts(self) -> pa.Array:
        """Returns some of the texts, evenly spread over the blocks that were looked at."""
        return pa.chunked_array(self._some_texts, type=pa.string()).combine_chunks()

    @property
    def markers(self) -> list[str]:
        """Returns the texts that seem to stand for a missing value, known ones first."""
        known = [marker for marker in MARKERS if self.missing[marker]]
        return known + sorted(text for text in self.odd if text not in known)

    def _values_beside_odd(self, texts: pa.Array) -> Any:
        """The numbers among texts of which few others may stand for missing values; None if they may not."""
        trimmed = pc.utf8_trim(texts, " \t")
        written = pc.match_substring_regex(self.marks.plain(trimmed), numbers.DECIMAL)
        if not pc.any(written).as_py():
            return None
        counted = texts.filter(pc.invert(written)).value_counts().to_pylist()
        odd = self.odd + Counter(
            {each["values"]: each["counts"] for each in counted[: MAX_ODD_TEXTS + 1]}
        )
        trimmed = trimmed.filter(written)
        different = len(pc.unique(trimmed))
        if len(counted) > MAX_ODD_TEXTS or not may_be_markers(list(odd), values=different):
            return None
        values = self._values(trimmed)
        if values is not None:
            self.odd = odd
        return values

    def _without_markers(self, texts: pa.Array) -> pa.Array:
        """Removes markers of missing values, which are short, and counts them."""
        # Lengths are compared first: comparing every long text with all markers costs far more.
        short = np.isin(pc.binary_length(texts).to_numpy(), _MARKER_LENGTHS)
        if not short.any():
            return texts
        for counted in texts.filter(pa.array(short)).value_counts().to_pylist():
            if counted["values"] in MARKERS:
                self.missing[counted["values"]] += counted["counts"]
        return texts.filter(pc.invert(pc.is_in(texts, value_set=pa.array(MARKERS))))

    def _values(self, texts: pa.Array) -> Any:
        if not len(texts):
            return None
        texts = self.marks.plain(texts)
        if self.whole and (values := numbers.whole(texts)) is not None:
            return values
        decimals = numbers.decimal(texts)
        self.whole = self.whole and decimals is None
        return decimals

    def _numbers(self, values: Any) -> None:
        self.rows += len(values)
        self.least, self.most = min(self.least, values.min()), max(self.most, values.max())
        self._sample.append(values[:: max(1, len(values) // SAMPLED)].astype(np.float64))
        if self.whole and self.all_different:
            rising = bool((np.diff(values) > 0).all())
            self.all_different = rising or len(np.unique(values)) == len(values)

    def _times(self, texts: pa.Array) -> bool:
        """Takes them in, if they are days or moments."""
        times = numbers.times(texts)
        if times is None:
            return False
        self.days = self.days and times.days
        self.spellings |= times.spellings
        if not times.days and self.common != 1:
            self.common = int(np.gcd.reduce(times.clocks, initial=self.common))
        return self.days or not times.days

    def _texts(self, texts: pa.Array) -> None:
        """Counts which texts are frequent, as long as they repeat at all; of a long table, in
        some of its blocks."""
        self.longest = max(self.longest, pc.max(pc.binary_length(texts)).as_py())
        self._blocks += 1
        if self._blocks > LOOKED_AT and self._blocks % LOOKED_AT:
            return
        if sum(map(len, self._some_texts)) < SAMPLED_TEXTS:
            step = -(-len(texts) // SAMPLED_TEXTS)
            self._some_texts.append(texts.take(pa.array(range(0, len(texts), step))))
        counted = texts.value_counts()
        self.looked_at, self.different = (
            self.looked_at + len(texts),
            self.different + len(counted),
        )
        counts = counted.field("counts").to_numpy()
        if len(counts) > 0.9 * len(texts) or self.longest > MAX_TEXT_BYTES:
            return
        top = np.argsort(-counts, kind="stable")[:CANDIDATES]
        names = counted.field("values").take(pa.array(top)).to_pylist()
        self.frequent.update(dict(zip(names, counts[top].tolist(), strict=True)))
        # Memory stays bounded; halving makes this sort rare.
        if len(self.frequent) > MAX_DISTINCT_TEXTS:
            self.frequent = Counter(dict(self.frequent.most_common(MAX_DISTINCT_TEXTS // 2)))
