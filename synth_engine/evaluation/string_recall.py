"""Texts of the real records that a synthetic table has again: entries of a report.

A text is found as often as the smaller of its two counts says; a synthetic table of another size is counted as if it had
as many texts as the real one.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from synth_engine.evaluation import strings, wording
from synth_engine.evaluation.trees import OccupiedCells, aggregate
from synth_engine.hierarchy import StringHierarchy

Entry = dict[str, Any]
DIGITS = 9


def of_texts(
    words: StringHierarchy, texts: NDArray[Any], places: NDArray[np.int64]
) -> OccupiedCells:
    """Of a synthetic column: different texts, and the place among them of each record. What is no text over the alphabet, such
    as one with a mark behind it, counts nowhere."""
    counts = np.bincount(places, minlength=len(texts)).astype(np.int64)
    known = np.array([words.member(str(text)) for text in texts], dtype=np.bool_)
    return aggregate(words, words.encode([str(text) for text in texts[known]]), counts[known])


def entries(real: Iterable[OccupiedCells], synthetic: Iterable[OccupiedCells]) -> list[Entry]:
    """One for each column of texts that both sides have counted."""
    other = {each.hierarchy.columns: each for each in synthetic}
    mine = [
        each for each in real if isinstance(each.hierarchy, StringHierarchy) and each.records
    ]
    return [
        _entry(each, other[each.hierarchy.columns])
        for each in mine
        if each.hierarchy.columns in other
    ]


def _entry(real: OccupiedCells, synthetic: OccupiedCells) -> Entry:
    words = real.hierarchy
    assert isinstance(words, StringHierarchy)  # noqa: S101 - the caller looked
    scale = real.records / max(1, synthetic.records)
    first = strings.tally(real.codes, real.counts)
    second = strings.tally(synthetic.codes, np.rint(synthetic.counts * scale).astype(np.int64))
    common, rare = strings.from_the_common(first, second), strings.from_the_rare(first, second)
    lengths = (words.path(first.texts) > 0).sum(axis=1).astype(np.int64)
    share = strings.intersection(first, second)
    return {
        "column": words.columns[0],
        "records": {"real": real.records, "synthetic": synthetic.records},
        "found": share,
        "times": (2**common.logarithms).tolist(),
        "records_above": np.round(common.records, DIGITS).tolist(),
        "found_above": np.round(common.matched, DIGITS).tolist(),
        "at_most": (2 ** (rare.logarithms + 1) - 1).tolist(),
        "records_below": np.round(rare.records, DIGITS).tolist(),
        "found_below": np.round(rare.matched, DIGITS).tolist(),
        "lengths": [list(each) for each in strings.by_group(first, second, lengths)],
        "verdict": wording.distance_verdict(1.0 - share, chance=0.0),
        **({} if real.read is None else {"read": dict(real.read)}),
    }
