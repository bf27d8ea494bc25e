"""Count the uncoded cells of a column: neither moved to a bound nor put in a bin.

Of real cells these are exact counts: for the report of the data steward alone, and never to be released.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from synth_engine.codec import lenient
from synth_engine.codec.fitting import Fit, count_fit, listed, stated_cells
from synth_engine.codec.ladder_cells import (
    is_on_ladder,
    on_declared_steps,
    read_cells,
)
from synth_engine.codec.markers import marker_texts
from synth_engine.codec.raw_pairs import GeneratedPairCounter, RawPairs
from synth_engine.codec.value_counts import NumberCounter, NumberCounts, TextCounter, TextCounts
from synth_engine.domain import (
    OTHER,
    Attribute,
    Categorical,
    Derived,
    Domain,
    Identifier,
    Text,
    Undeclared,
)
from synth_engine.formats import Marks
from synth_engine.formats.marks import UNREADABLE

Floats = NDArray[np.float64]
Counts = NDArray[np.int64]

MAX_NOTATIONS = 4
"""Ways of writing that are followed through a column, after the first unreadable cells have chosen them."""
TRIED_TEXTS = 1_000
"""Unreadable texts by which these are chosen."""
_LEADING_ZERO = r"^[+-]?0[0-9]"
_DIGITS_ALONE = r"^[0-9]{3,}$"


@dataclass(frozen=True, kw_only=True, eq=False)
class RawColumn:
    """What was counted of the uncoded cells of one column.

    private: False for real cells.
    records: cells, missing ones included. missing: those missing by a declared marker. fit: how cells fit the
    description; None for kinds without declared values, and for values of a model. numbers: of a scale, cells
    as numbers of its ladder. texts: of another kind, cells as they are written. unread: cells that no known
    notation reads. notations: those that read most of the cells that the description cannot read, as the end
    of the sentence "declare …".
    markers: how many cells each declared marker has; of values of a model only where markers are separate.
    leading_zeros: cells of digits that begin with a zero. digits: the length of all cells, if all are digits
    of one length. other: cells that are "other", of a column that has it.
    """

    private: bool
    records: int
    missing: int = 0
    fit: Fit | None = None
    numbers: NumberCounts | None = field(default=None, repr=False)
    texts: TextCounts | None = field(default=None, repr=False)
    unread: int = 0
    notations: tuple[str, ...] = ()
    markers: Mapping[str, int] = field(default_factory=dict)
    leading_zeros: int = 0
    digits: int | None = None
    other: int = 0


def is_counted(attribute: Attribute) -> bool:
    """Return whether the uncoded cells of a column are compared."""
    if isinstance(attribute, Identifier | Derived):
        return attribute.in_table  # one that is left out of synthetic tables has no other side
    if isinstance(attribute, Undeclared):
        return is_on_ladder(attribute)
    return bool(attribute.size)


class RawCounter:
    """Takes in the cells of one column block by block."""

    def __init__(self, attribute: Attribute, *, marks: Marks | None = None) -> None:
        """marks: how the file writes numbers."""
        self._attribute = attribute
        self._on_ladder = is_on_ladder(attribute)
        self._is_number = self._on_ladder and attribute.holds_numbers
        self._marks = marks
        self._records = self._missing = self._leading_zeros = self._other = 0
        self._fit: Fit | None = None
        self._numbers, self._texts = NumberCounter(), TextCounter()
        self._unreadable = 0
        self._notations: dict[str, _NotationCount] | None = None
        self._lengths: set[int] = set()
        self._markers: Counter[str] = Counter()

    def add(self, cells: Any, *, times: Counts | None = None) -> None:
        """Count a block of cells (PyArrow texts, null is missing), each as often as `times` says."""
        if isinstance(cells, pa.ChunkedArray):
            cells = cells.combine_chunks()
        if pa.types.is_dictionary(cells.type):
            cells = cells.cast(pa.string())
        coded = cells.dictionary_encode()
        different = coded.dictionary
        indices = coded.indices.fill_null(len(different)).to_numpy(zero_copy_only=False)
        counts = np.bincount(indices, weights=times, minlength=len(different) + 1)
        texts = [*different.to_pylist(), None]
        self._add_different(texts, counts.astype(np.int64))

    def _add_different(self, texts: list[str | None], times: Counts) -> None:
        occurring = np.flatnonzero(times)
        texts, times = [texts[index] for index in occurring.tolist()], times[occurring]
        self._records += int(times.sum())
        stated = stated_cells(self._attribute, texts)
        self._missing += int(times[~stated].sum())
        for place in np.flatnonzero(~stated).tolist():
            self._markers[texts[place] or ""] += int(times[place])
        plain = self._plain(texts)
        cells = read_cells(self._attribute, plain) if self._on_ladder else None
        fit = count_fit(self._attribute, texts, times=times, cells=cells)
        if fit is not None:
            self._fit = fit if self._fit is None else self._fit + fit
        places = np.flatnonzero(stated)
        written, times = [texts[place] or "" for place in places.tolist()], times[places]
        plain = [plain[place] for place in places.tolist()]
        if cells is None:
            self._texts.add(self._as_read(plain, times), times)
            return
        values = cells.values[places]
        self._numbers.add(on_declared_steps(self._attribute, values), times)
        unreadable = np.flatnonzero(np.isnan(values))
        if len(unreadable):
            # By the marks that are declared already, where a text is a number by them.
            self._add_unreadable(
                [
                    written[place] if plain[place] == UNREADABLE else plain[place]
                    for place in unreadable.tolist()
                ],
                times[unreadable],
            )
        if self._is_number:
            self._look_for_codes(plain, times)

    def _as_read(self, texts: list[str], times: Counts) -> list[str]:
        """Each text as the value that it stands for; counts those that are "other"."""
        attribute = self._attribute
        if isinstance(attribute, Text):
            return attribute.spelled(texts)
        if not isinstance(attribute, Categorical):
            return texts
        values = listed(attribute, texts)
        if attribute.has_other:
            beyond = np.array([value is None for value in values], dtype=np.bool_)
            self._other += int(times[beyond].sum())
        return [
            text if value is None else value for text, value in zip(texts, values, strict=True)
        ]

    def _plain(self, texts: list[str | None]) -> list[str]:
        """Texts as the column's kind reads them, by the usual marks; null is empty."""
        cells = pa.array([text or "" for text in texts], type=pa.string())
        plain: list[str] = self._attribute.plain(cells, self._marks).to_pylist()
        return plain

    def _add_unreadable(self, texts: list[str], times: Counts) -> None:
        self._unreadable += int(times.sum())
        if self._notations is None:
            self._notations = self._choose_notations(texts[:TRIED_TEXTS], times[:TRIED_TEXTS])
        for count in self._notations.values():
            count.add(on_declared_steps(self._attribute, count.notation.read(texts)), times)

    def _choose_notations(self, texts: list[str], times: Counts) -> dict[str, _NotationCount]:
        """The notations that read most of some texts."""
        read = [
            (int(times[~np.isnan(notation.read(texts))].sum()), notation)
            for notation in lenient.notations(self._attribute.reader)
        ]
        best = sorted(
            (entry for entry in read if entry[0]), key=lambda entry: entry[0], reverse=True
        )
        return {
            notation.words: _NotationCount(notation) for _, notation in best[:MAX_NOTATIONS]
        }

    def _look_for_codes(self, texts: list[str], times: Counts) -> None:
        """Note what codes written in digits have and numbers lack: leading zeros, and one length."""
        cells = pa.array(texts, type=pa.string())
        zeros = pc.match_substring_regex(cells, _LEADING_ZERO).to_numpy(zero_copy_only=False)
        self._leading_zeros += int(times[zeros].sum())
        digits = pc.match_substring_regex(cells, _DIGITS_ALONE)
        lengths = pc.if_else(digits, pc.binary_length(cells), 0)
        self._lengths |= set(pc.unique(lengths).to_pylist())

    def finish(self) -> RawColumn:
        """Return the counts of all real cells taken in."""
        notations: tuple[str, ...] = ()
        unread = self._unreadable
        if self._notations:
            most = max(count.read for count in self._notations.values())
            best = [count for count in self._notations.values() if count.read == most]
            different: list[_NotationCount] = []
            for count in best:
                # Of several notations that read the same numbers, the first and most usual one is named.
                if not any(count.reads_like(other) for other in different):
                    different.append(count)
            notations = tuple(count.notation.words for count in different)
            self._numbers.merge(best[0].numbers)
            unread -= most
        scale = self._on_ladder
        [length] = self._lengths if len(self._lengths) == 1 else [0]
        return RawColumn(
            private=False,
            records=self._records,
            missing=self._missing,
            fit=self._fit,
            numbers=self._numbers.finish() if scale else None,
            texts=None if scale else self._texts.finish(),
            unread=unread,
            notations=notations,
            markers=dict(self._markers),
            leading_zeros=self._leading_zeros,
            digits=length or None,
            other=self._other,
        )


class _NotationCount:
    """Numbers of cells that are read in one notation."""

    def __init__(self, notation: lenient.Notation) -> None:
        self.notation, self.numbers, self.read = notation, NumberCounter(), 0

    def add(self, values: Floats, times: Counts) -> None:
        self.read += int(times[~np.isnan(values)].sum())
        self.numbers.add(values, times)

    def reads_like(self, other: _NotationCount) -> bool:
        """Whether another notation reads the same numbers."""
        mine, others = self.numbers.finish(), other.numbers.finish()
        return np.array_equal(mine.values, others.values) and np.array_equal(
            mine.counts, others.counts
        )


class GeneratedCounter:
    """Takes in the values of one column of a synthetic table block by block."""

    def __init__(self, attribute: Attribute) -> None:
        self._attribute = attribute
        self._records = self._missing = self._other = 0
        self._numbers, self._texts = NumberCounter(), TextCounter()
        self._markers: Counter[str] = Counter()

    def add_markers(self, frame: pd.DataFrame) -> None:
        """Count the markers of a block of rows, where they are separate."""
        markers = marker_texts(self._attribute, frame)
        if markers is not None:
            self._markers.update(markers[frame[self._attribute.name].isna().to_numpy()])

    def add(self, values: pd.Series) -> None:
        """Count a block of values in the natural type of the column; NA is missing."""
        self._records += len(values)
        stated = values[values.notna()]
        self._missing += len(values) - len(stated)
        once = np.ones(len(stated), dtype=np.int64)
        if self._attribute.is_comparable:
            self._numbers.add(self._attribute.comparable(stated), once)
            return
        counts = stated.astype(str).value_counts(sort=False)
        self._texts.add(counts.index.tolist(), np.asarray(counts, dtype=np.int64))
        if self._attribute.has_other:
            self._other += int((stated == OTHER).sum())

    def finish(self) -> RawColumn:
        """Return the counts of all values taken in: post-processing of a model."""
        scale = self._attribute.is_comparable
        return RawColumn(
            private=True,
            records=self._records,
            missing=self._missing,
            numbers=self._numbers.finish() if scale else None,
            texts=None if scale else self._texts.finish(),
            markers=dict(self._markers),
            other=self._other,
        )


class RawTable(NamedTuple):
    """What was counted of the uncoded cells of a table: of single columns by name, and of pairs of them."""

    columns: Mapping[str, RawColumn]
    pairs: RawPairs


def count_generated(domain: Domain, blocks: Any) -> RawTable:
    """Count the values of a synthetic table. blocks: data frames as a model generates them."""
    pairs = GeneratedPairCounter(domain)
    counters = {
        attribute.name: GeneratedCounter(attribute)
        for attribute in domain.attributes
        if is_counted(attribute)
    }
    for frame in blocks:
        for name, counter in counters.items():
            if name in frame:
                counter.add(frame[name])
                counter.add_markers(frame)
        pairs.add(frame)
    return RawTable(
        {name: counter.finish() for name, counter in counters.items()}, pairs.finish()
    )
