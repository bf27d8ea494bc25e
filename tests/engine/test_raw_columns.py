"""Counts of uncoded cells: exact while they are few, bounded when they are many, and read as leniently as
people write."""

from __future__ import annotations

import datetime

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from synth_engine.codec import Fit, RawColumn, RawCounter, count_generated, value_counts
from synth_engine.codec.value_counts import NumberCounter, NumberCounts, TextCounter
from synth_engine.domain import Attribute, Categorical, Date, DateTime, Domain, Integer, Number
from synth_engine.formats import Marks

AMOUNT = Integer(name="amount", low=0, high=100, missing=("", "?"))
DAY = Date(name="day", low=datetime.date(2020, 1, 1), high=datetime.date(2020, 12, 31))


def counted(
    attribute: Attribute,
    *blocks: list[str | None],
    marks: Marks | None = None,
    times: list[int] | None = None,
) -> RawColumn:
    counter = RawCounter(attribute, marks=marks)
    for block in blocks:
        counter.add(
            pa.array(block, type=pa.string()), times=None if times is None else np.array(times)
        )
    return counter.finish()


def numbers(raw: RawColumn) -> list[float]:
    assert raw.numbers is not None
    return np.repeat(raw.numbers.values, raw.numbers.counts).tolist()


def counts_of(values: np.ndarray, *, block: int) -> NumberCounts:
    counter = NumberCounter()
    for start in range(0, len(values), block):
        piece = values[start : start + block]
        counter.add(piece, np.ones(len(piece), dtype=np.int64))
    return counter.finish()


def test_values_are_neither_moved_to_a_bound_nor_put_in_a_bin() -> None:
    raw = counted(AMOUNT, ["7", "-3", "250", "", None, "?"], ["7", "x"])
    assert numbers(raw) == [-3, 7, 7, 250]
    assert raw.fit == Fit(cells=5, outside=2, unreadable=1)
    assert (raw.records, raw.missing, raw.unread, raw.private) == (8, 3, 1, False)


def test_rows_that_stand_for_several_records_count_as_often() -> None:
    raw = counted(AMOUNT, ["7", "8", "9"], times=[2, 0, 3])
    assert numbers(raw) == [7, 7, 9, 9, 9] and raw.records == 5


@pytest.mark.parametrize(
    ("cells", "values", "way"),
    [
        (["2,385,000", "5"], [5, 2_385_000], "a comma between thousands"),
        (["2.385.000", "5"], [5, 2_385_000], "a point between thousands and a decimal comma"),
        (["12,5", "1,234"], [1.234, 12.5], "a decimal comma"),
        (["1 200"], [1_200], "a space between thousands"),
        (["$ 12", "(5)", "12 km", "50%"], [-5, 12, 12, 50], "numbers with decimals"),
        (["12.5"], [12.5], "numbers with decimals"),
    ],
)
def test_numbers_are_read_in_the_way_that_reads_most_of_them(
    cells: list[str | None], values: list[float], way: str
) -> None:
    raw = counted(AMOUNT, cells)
    assert numbers(raw) == values and raw.unread == 0
    assert raw.notations[0].startswith(way) and len(raw.notations) == 1


def test_declared_marks_of_the_file_are_what_is_declared() -> None:
    raw = counted(AMOUNT, ["2,385", "?"], marks=Marks(thousands=","))
    assert raw.fit == Fit(cells=1, outside=1) and numbers(raw) == [2_385]


def test_days_in_a_format_that_is_not_declared_are_read_and_the_format_is_named() -> None:
    raw = counted(DAY, ["2/9/21", "2020-03-01", "12/31/20", "never"])
    assert numbers(raw) == [
        datetime.date(2020, 3, 1).toordinal(),
        datetime.date(2020, 12, 31).toordinal(),
        datetime.date(2021, 2, 9).toordinal(),
    ]
    assert raw.notations == ("the format %m/%d/%y",) and raw.unread == 1


def test_two_marks_that_read_other_numbers_are_both_named() -> None:
    raw = counted(AMOUNT, ["1,234", "5,678"])
    assert raw.notations == ("a comma between thousands", "a decimal comma")


def test_two_formats_that_read_as_many_cells_are_both_named() -> None:
    assert counted(DAY, ["2/9/21"]).notations == ("the format %m/%d/%y", "the format %d/%m/%y")


def test_a_moment_counts_as_the_declared_step_before_it() -> None:
    first, then, last = map(
        datetime.datetime.fromisoformat, ("2020-01-01", "2020-01-01T10:00:00", "2020-01-02")
    )
    hours = DateTime(name="t", low=first, high=last)
    raw = counted(hours, ["2020-01-01T10:30:00"])
    assert numbers(raw) == [hours.comparable(pd.Series([then]))[0]]


def test_codes_written_in_digits_are_recognised() -> None:
    raw = counted(AMOUNT, ["00501", "10001", "10002"])
    assert (raw.digits, raw.leading_zeros) == (5, 1)
    assert counted(AMOUNT, ["10001", "7"]).digits is None


def test_values_of_a_model_are_counted_like_cells_and_are_private() -> None:
    domain = Domain(
        attributes=(
            AMOUNT,
            Number(name="height", low=0.0, high=2.0),
            DAY,
            Categorical(name="job", values=("cook", "smith"), other=True),
        )
    )
    frame = pd.DataFrame(
        {
            "amount": pd.array([3, None, 5], dtype="Int64"),
            "height": pd.array([0.5, 0.5, 1.5], dtype="Float64"),
            "day": pd.to_datetime(["2020-03-01", "", "2020-03-02"]),
            "job": pd.Series(["cook", "cook", None], dtype="str"),
        }
    )
    raw = count_generated(domain, [frame, frame]).columns
    assert all(each.private and each.records == 6 for each in raw.values())
    assert numbers(raw["amount"]) == [3, 3, 5, 5] and raw["amount"].missing == 2
    assert numbers(raw["day"])[0] == datetime.date(2020, 3, 1).toordinal()
    assert raw["job"].texts is not None and raw["job"].texts.distinct == 1


def test_moments_are_exact_and_do_not_depend_on_blocks() -> None:
    values = np.random.default_rng(1).lognormal(10, 3, 20_000)
    for block in (1_000, 20_000):
        made = counts_of(values, block=block)
        assert made.mean == pytest.approx(values.mean(), rel=1e-12)
        assert made.standard_deviation == pytest.approx(values.std(), rel=1e-12)
        assert made.quantile(0.5) == np.quantile(values, 0.5, method="inverted_cdf")
    assert made.exact and made.total == 20_000


def test_a_sketch_stays_within_its_bound_and_in_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(value_counts, "MAX_VALUES", 4_096)
    monkeypatch.setattr(value_counts, "RETAINED_VALUES", 1_024)
    rng = np.random.default_rng(2)
    values = np.concatenate([rng.normal(size=60_000), np.zeros(40_000)])
    rng.shuffle(values)
    made = counts_of(values, block=5_000)
    assert not made.exact and len(made.values) <= 4_096 and made.total == len(values)
    bound = 8 * len(values) / (3 * 4_096**2) + 1 / 1_024
    exact = counts_of(values, block=len(values) + 1)
    at = np.linspace(-3, 3, 1_001)
    truth = np.searchsorted(np.sort(values), at, side="right") / len(values)
    assert np.abs(made.below(at, inclusive=True) - truth).max() <= bound
    assert made.mean == pytest.approx(exact.mean)


def test_very_many_texts_are_estimated_from_a_sample_of_hashes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(value_counts, "MAX_HASHES", 4_096)
    monkeypatch.setattr(value_counts, "RETAINED_HASHES", 1_024)
    sides = []
    for first in (0, 10_000):
        counter = TextCounter()
        for start in range(first, first + 20_000, 2_000):
            texts = [f"t{number}" for number in range(start, start + 2_000)]
            counter.add(texts, np.ones(len(texts), dtype=np.int64))
        sides.append(counter.finish())
    real, synthetic = sides
    assert not real.exact and len(real.hashes) <= 4_096
    # Five standard errors of 1/√1024; the hashes are fixed, so nothing here is random.
    assert real.distinct == pytest.approx(20_000, rel=0.16)
    assert synthetic.invented(real) == pytest.approx(0.5, abs=0.08)
