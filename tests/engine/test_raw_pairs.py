"""Figures of two columns of uncoded values: exact by hand on tiny tables, independent of blocks, bounded in
memory."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from synth_engine.codec import RawPairCounter, RawPairs, count_generated, raw_pairs
from synth_engine.codec.raw_pairs import rank_correlation, sums_by_value
from synth_engine.domain import Categorical, Domain, Integer, Number

DOMAIN = Domain(
    attributes=(
        Integer(name="age", low=0, high=9, missing=("", "?")),
        Number(name="pay", low=0.0, high=10.0, missing=("",)),
        Categorical(name="job", values=("cook", "smith"), other=True, missing=("",)),
    )
)
AGE = ["1", "2", "2", "3", "?", "40"]
PAY = ["1", "3.5", "2", "3.5", "7", ""]
JOB = ["cook", "cook", "smith", "baker", "", "smith"]


def counted(*blocks: tuple[list[str], list[str], list[str]], times: Any = None) -> RawPairs:
    counter = RawPairCounter(DOMAIN)
    for block in blocks:
        cells = [pa.array(column, type=pa.string()) for column in block]
        counter.add(dict(zip(("age", "pay", "job"), cells, strict=True)), times=times)
    return counter.finish()


def by_hand(made: RawPairs) -> None:
    # Midranks 1, 2.5, 2.5, 4 and 1, 3.5, 2, 3.5; four concordant pairs, one tie on either side.
    ranks = made.ranks["age", "pay"]
    assert ranks.records == 4 and made.records == made.retained == 6
    assert ranks.spearman == pytest.approx(5 / 6)
    assert ranks.kendall == pytest.approx(4 / 5)
    by_job = made.means["job", "pay"]
    # cook, smith, other, missing
    assert by_job.counts.tolist() == [2, 1, 1, 1]
    assert by_job.sums.tolist() == [4.5, 2.0, 3.5, 7.0]
    assert by_job.squares.tolist() == [13.25, 4.0, 12.25, 49.0]
    by_age = made.means["age", "pay"]
    assert by_age.ends is not None and by_age.ends.tolist() == [1, 2, 3]
    assert by_age.sums.tolist() == [1.0, 5.5, 3.5]
    # A value beyond the declared bounds is the one that is written.
    assert made.means["job", "age"].sums.tolist() == [3.0, 42.0, 3.0, 0.0]
    assert not made.private


def test_figures_of_a_tiny_table_by_hand() -> None:
    by_hand(counted((AGE, PAY, JOB)))


def test_blocks_change_nothing() -> None:
    by_hand(counted((AGE[:2], PAY[:2], JOB[:2]), (AGE[2:], PAY[2:], JOB[2:])))


def test_rows_that_stand_for_several_records_count_as_often() -> None:
    made = counted((["1", "2", "3"], ["1", "2", "5"], ["cook"] * 3), times=np.array([2, 0, 1]))
    assert made.records == 3 and made.means["job", "pay"].sums[0] == 7.0
    assert made.ranks["age", "pay"].spearman == 1.0


def test_generated_values_are_counted_like_cells() -> None:
    frame = pd.DataFrame(
        {
            "age": pd.array([1, 2, 2, 3, None], dtype="Int64"),
            "pay": pd.array([1.0, 3.5, 2.0, 3.5, 7.0], dtype="Float64"),
            "job": pd.Series(["cook", "cook", "smith", "baker", None], dtype="str"),
        }
    )
    made = count_generated(DOMAIN, [frame[:2], frame[2:]]).pairs
    assert made.private and made.ranks["age", "pay"].kendall == pytest.approx(4 / 5)
    assert made.means["job", "pay"].sums.tolist() == [4.5, 2.0, 3.5, 7.0]


@pytest.mark.parametrize("sign", [1, -1])
def test_an_order_that_is_kept_or_turned_round_has_the_extreme_correlation(sign: int) -> None:
    values = np.random.default_rng(1).lognormal(size=200)
    made = rank_correlation(values, sign * np.exp(values))
    assert made.spearman == pytest.approx(sign) and made.kendall == pytest.approx(sign)


def test_a_constant_column_has_no_rank_correlation() -> None:
    made = rank_correlation(np.ones(3), np.arange(3.0))
    assert made.records == 3 and made.spearman is None and made.kendall is None
    assert rank_correlation(np.array([np.nan]), np.array([1.0])).spearman is None


def test_a_table_beyond_the_bound_is_thinned_evenly(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(raw_pairs, "MAX_RECORDS", 100)
    # 1,000 records in blocks of 70: every sixteenth is retained, the first one included.
    ages = [str(number) for number in range(1_000)]
    blocks = [
        (ages[start : start + 70], ["1"] * len(ages[start : start + 70]))
        for start in range(0, 1_000, 70)
    ]
    made = counted(*((age, pay, ["cook"] * len(age)) for age, pay in blocks))
    assert made.records == 1_000 and made.retained == 63
    assert made.means["job", "age"].sums[0] == sum(range(0, 1_000, 16))


def test_groups_of_many_values_are_as_fine_as_a_thousandth() -> None:
    by = np.random.default_rng(2).normal(size=20_000)
    made = sums_by_value(by, np.ones(20_000))
    assert made.ends is not None and len(made.ends) <= raw_pairs.MAX_STEPS
    assert made.counts.max() <= math.ceil(20_000 / raw_pairs.MAX_STEPS) + 1
    within = np.cumsum(made.counts) / 20_000
    exact = np.searchsorted(np.sort(by), made.ends, side="right") / 20_000
    assert within.tolist() == exact.tolist()
