"""Figures of texts against multisets counted one by one."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from synth_engine.evaluation import strings

TEXTS = st.lists(st.sampled_from(["a", "b", "ab", "aa", "abc", "zebra"]), max_size=40)


def tally(texts: list[str]) -> strings.Tally:
    return strings.tally(np.array(texts, dtype="U5"))


@given(TEXTS, TEXTS)
def test_the_intersection_is_that_of_multisets(real: list[str], synthetic: list[str]) -> None:
    shared = Counter(real) & Counter(synthetic)
    found = strings.count_matches(tally(real), tally(synthetic))
    assert dict(zip(tally(real).texts.tolist(), found.tolist(), strict=True)) == {
        t: shared[t] for t in set(real)
    }
    assert strings.intersection(tally(real), tally(synthetic)) == pytest.approx(
        shared.total() / max(1, len(real))
    )


@given(TEXTS, TEXTS)
def test_curves_from_both_ends_meet(real: list[str], synthetic: list[str]) -> None:
    counts, shared = Counter(real), Counter(real) & Counter(synthetic)
    rare, common = (
        draw(tally(real), tally(synthetic))
        for draw in (strings.from_the_rare, strings.from_the_common)
    )
    for place, logarithm in enumerate(rare.logarithms.tolist()):
        upto = [text for text in counts if counts[text] < 2 ** (logarithm + 1)]
        beyond = [text for text in counts if counts[text] >= 2**logarithm]
        for curve, texts in ((rare, upto), (common, beyond)):
            assert curve.records[place] == pytest.approx(
                sum(counts[text] for text in texts) / len(real)
            )
            assert curve.matched[place] == pytest.approx(
                sum(shared[text] for text in texts) / len(real)
            )
    if real:
        assert rare.matched[-1] == pytest.approx(common.matched[0])


def test_shares_by_length_are_of_the_records_of_that_length() -> None:
    real, synthetic = (
        tally(["a", "a", "b", "ab", "abc", "abc"]),
        tally(["a", "abc", "abc", "abc", "zebra"]),
    )
    lengths = np.array([len(text) for text in real.texts.tolist()])
    assert strings.by_group(real, synthetic, lengths) == [
        (1, 3, 1 / 3),
        (2, 1, 0.0),
        (3, 2, 1.0),
    ]


def test_texts_that_come_with_counts_are_added_up() -> None:
    found = strings.tally(np.array([b"b", b"a", b"b"]), np.array([2, 0, 5]))
    assert (found.texts.tolist(), found.counts.tolist(), found.records) == (
        [b"a", b"b"],
        [0, 7],
        7,
    )
    assert (
        strings.intersection(found, strings.tally(np.array([], dtype="S1")), records=70) == 0.0
    )
    assert strings.intersection(found, found, records=70) == 0.1
