"""Moments in steps: what a clock may hold, how it is cut, and the way to codes and back."""

from __future__ import annotations

import datetime
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from synth_engine import codec
from synth_engine.domain import DateTime, Domain, parse_attribute
from synth_engine.errors import DomainError
from synth_engine.kinds import date_time as timestamps
from synth_engine.kinds.date_time import ISO_MOMENT, UNITS

FIXED = ("seconds", "minutes", "hours", "days", "weeks")


def moment(text: str) -> datetime.datetime:
    return datetime.datetime.fromisoformat(text)


def clock(low: str, high: str, **more: Any) -> DateTime:
    return DateTime(name="x", low=moment(low), high=moment(high), **more)


def codes(attribute: DateTime, *texts: str | None) -> list[int]:
    return codec.encode_column(attribute, pa.array(texts, type=pa.string())).tolist()


def drawn(attribute: DateTime, wanted: np.ndarray, seed: int = 1) -> pd.Series:
    alone = Domain(attributes=(attribute,))
    return codec.decode(alone, {"x": wanted}, np.random.default_rng(seed))["x"]


DAY = clock("2024-02-28T00:00", "2024-03-01T23:59:59", unit="hours", step=6)


# --- what it accepts ----------------------------------------------------------------------------------------
def test_a_moment_counts_as_the_step_before_it() -> None:
    assert DAY.points == DAY.size == 12  # 28 and 29 February and 1 March, four steps each
    assert DAY.labels[4] == "2024-02-29 00:00"
    assert codes(
        DAY, "2024-02-28T00:00:00", "2024-02-28T05:59:59", "2024-02-28 06:00", "2024-02-29"
    ) == [0, 0, 1, 4]
    assert codes(DAY, "2024-02-27T23:59:59", "2024-03-02T00:00:00", "2024-03-01T23:59:59") == [
        0,
        11,
        11,
    ]


def test_iso_texts_may_hold_a_fraction_and_a_zone_which_are_passed_over() -> None:
    same = [
        "2024-02-28T07:00:00",
        "2024-02-28 07:00:00.999",
        "2024-02-28T07:00:00Z",
        "2024-02-28 07:00+09:00",
    ]
    assert codes(DAY, *same, " 2024-02-28T07:00:00,5-0130\t") == [1] * 5


def test_what_cannot_be_read_is_missing_or_the_first_step() -> None:
    missing = clock("2024-02-28", "2024-03-01", unit="days", missing=("-",))
    odd = ["", None, "-", "now", "today", "NaT", "2024-02-30", "2024-02-28T24:00", "2024-02-28T10:60",
        "20240228",
           "2024-2-28", "2024-02-28T1:00", "１024-02-28", "2024-02-28Z", "2024-02-28T00:00:00 UTC",
           "1" * 9_000]  # fmt: skip
    assert codes(missing, *odd) == [missing.missing_code] * len(odd)
    assert codes(DAY, *odd) == [0] * len(odd)
    outside = clock("2024-02-28", "2024-03-01", unit="days", missing=("-",), outside="missing")
    assert codes(outside, "2024-02-27", "2024-02-29", "2024-03-02") == [3, 1, 3]


def test_no_hour_is_doubled_or_skipped_where_clocks_change() -> None:
    """Berlin's clocks went from 2 to 3 on 31 March 2024; what is written counts."""
    night = clock("2024-03-31T00:00", "2024-03-31T05:00", unit="hours")
    assert codes(night, *(f"2024-03-31T0{hour}:30" for hour in range(5))) == [0, 1, 2, 3, 4]


def test_a_step_that_does_not_divide_the_range_ends_before_high() -> None:
    ragged = clock("2024-01-01T00:00", "2024-01-01T10:00", unit="minutes", step=45)
    assert ragged.points == 14
    assert ragged.labels[-1] == "2024-01-01 09:45"
    assert codes(ragged, "2024-01-01T10:00") == [13]
    wide = clock("2024-01-01T00:00", "2024-01-01T10:00", unit="minutes", step=45, width=4)
    assert wide.labels == (
        "2024-01-01 00:00 to 2024-01-01 02:15",
        "2024-01-01 03:00 to 2024-01-01 05:15",
        "2024-01-01 06:00 to 2024-01-01 08:15",
        "2024-01-01 09:00 to 2024-01-01 09:45",
    )


def test_months_end_where_the_month_does() -> None:
    monthly = clock("2024-01-31T12:00", "2025-01-31T11:59", unit="months")
    assert monthly.points == 12
    assert [str(monthly.point(k).date()) for k in (1, 2, 11)] == [
        "2024-02-29",
        "2024-03-31",
        "2024-12-31",
    ]
    yearly = clock("2020-02-29", "2024-02-29", unit="months", step=12)
    assert yearly.labels == (
        "2020-02-29",
        "2021-02-28",
        "2022-02-28",
        "2023-02-28",
        "2024-02-29",
    )
    assert codes(yearly, "2021-02-27", "2021-02-28", "2024-02-28", "2024-02-29") == [0, 1, 3, 4]


def test_more_than_a_hundred_steps_are_cut_into_32_bins_unless_a_width_is_said() -> None:
    assert clock("2024-01-01T00:00", "2024-01-05T03:59", unit="hours").size == 100
    assert clock("2024-01-01T00:00", "2024-01-05T04:00", unit="hours").size == 32
    assert clock("2024-01-01T00:00", "2024-01-05T04:00", unit="hours", width=24).size == 5


@pytest.mark.parametrize(
    ("given", "rule"),
    [
        ({"low": "2024-01-02", "high": "2024-01-01"}, "low is after high"),
        ({"low": "0999-12-31"}, "before the year 1000"),
        ({"step": 0}, "step is less than one"),
        ({"width": 0}, "width is less than one"),
        ({"unit": "fortnights"}, "unknown unit"),
        ({"unit": "seconds", "width": 1, "high": "2024-12-31"}, "more than 10,000 codes"),
        ({"low": "2024-01-01T00:00+01:00"}, "time zone"),
        ({"low": "2024-01-01T00:00:00.5"}, "fraction"),
        ({"format": "%Y-%m-%d"}, "does not tell every step apart"),
        ({"format": "%Y-%m-%d %I:%M"}, "does not tell every step apart"),
        ({"format": "%Y-%m-%dT%H:%M:%S%z"}, "does not tell every step apart"),
        ({"format": "%d.%m.%y %H", "high": "2124-06-01"}, "does not tell every step apart"),
        ({"missing": ["2024-01-01T01:00"]}, "missing marker lies between"),
        ({"low": "yesterday"}, "low is not a moment"),
        ({"high": "2024-02-30"}, "high is not a moment"),
        ({"low": None}, "low is not given"),
    ],
)
def test_a_contradictory_clock_is_refused_by_name(given: dict[str, Any], rule: str) -> None:
    document = {
        "name": "x",
        "kind": "datetime",
        "low": "2024-01-01",
        "high": "2024-01-09",
    } | given
    with pytest.raises(DomainError, match=rule) as refusal:
        parse_attribute(document)
    assert refusal.value.column == "x"
    assert refusal.value.repair


def test_a_day_alone_is_its_beginning_or_its_last_second() -> None:
    read = parse_attribute(
        {"name": "x", "kind": "datetime", "low": "2024-01-01", "high": "2024-12-31"}
    )
    assert isinstance(read, DateTime)
    assert (read.low, read.high) == (
        moment("2024-01-01T00:00:00"),
        moment("2024-12-31T23:59:59"),
    )
    assert parse_attribute(read.to_json()) == read


def test_a_zone_is_plain_text_of_a_declared_format() -> None:
    utc = clock(
        "2024-01-01T00:00",
        "2024-01-01T23:00",
        unit="hours",
        format="%d.%m.%Y %H:%MZ",
        missing=("",),
    )
    assert codes(
        utc, "01.01.2024 03:00Z", "01.01.2024 03:00", "2024-01-01T03:00Z", "now", ""
    ) == [3, 24, 24, 24, 24]
    texts = codec.as_text(
        Domain(attributes=(utc,)), pd.DataFrame({"x": drawn(utc, np.array([3, 24]))})
    )
    assert texts["x"].tolist() == ["01.01.2024 03:00Z", ""]


# --- there and back -----------------------------------------------------------------------------------------
@settings(max_examples=60)
@given(
    low=st.datetimes(datetime.datetime(1000, 1, 1), datetime.datetime(2200, 1, 1)),  # noqa: DTZ001  # no zone
    length=st.timedeltas(datetime.timedelta(0), datetime.timedelta(days=4_000)),
    step=st.integers(1, 400),
    unit=st.sampled_from(UNITS),
    spelling=st.sampled_from([ISO_MOMENT, "%d/%m/%Y %H:%M:%S", "%Y%m%d%H%M%S"]),
    seed=st.integers(0, 2**32),
)
def test_encoding_a_drawn_moment_gives_its_code_and_it_stands_on_a_step(
    low: datetime.datetime,
    length: datetime.timedelta,
    step: int,
    unit: Any,
    spelling: str,
    seed: int,
) -> None:
    low = low.replace(microsecond=0)
    high = low + datetime.timedelta(seconds=int(length.total_seconds()))
    attribute = DateTime(
        name="x", low=low, high=high, step=step, unit=unit, format=spelling, missing=("?",)
    )
    every = np.tile(np.arange(attribute.size), 3)
    values = drawn(attribute, every, seed)
    written = codec.as_text(Domain(attributes=(attribute,)), pd.DataFrame({"x": values}))
    assert codec.encode_column(attribute, written["x"].to_numpy()).tolist() == every.tolist()
    if unit in FIXED:
        gaps = (
            (values.dropna() - low).dt.total_seconds() % attribute.offset(1)
            if attribute.points > 1
            else [0.0]
        )
        assert set(gaps) == {0.0}


@settings(max_examples=200)
@given(
    text=st.one_of(
        st.text(max_size=30),
        st.datetimes().map(str),
        st.datetimes().map(lambda found: found.isoformat()),
        st.from_regex(
            r"[0-9]{4}-[0-9]{2}-[0-9]{2}([T ][0-9]{2}:[0-9]{2}(:[0-9]{2})?)?Z?", fullmatch=True
        ),
    )
)
def test_a_column_is_read_as_each_text_alone(text: str) -> None:
    """The column's own reader and the one that checks a description agree."""
    ever = clock("1000-01-01", "9999-12-31", unit="days", step=3_650)
    alone = ever.parse(text)
    [found] = timestamps.seconds_since(ever, [text])
    if alone is None:
        assert np.isnan(found)
    else:
        assert found == (alone.replace(microsecond=0) - ever.low).total_seconds()


def test_moments_are_drawn_evenly_over_the_steps_of_their_bin() -> None:
    quarter = clock("2024-01-01T00:00", "2024-12-31T23:59", unit="minutes", step=15, width=96)
    values = drawn(quarter, np.full(96_000, 59))  # 29 February
    counts = values.dt.strftime("%Y-%m-%d %H:%M").value_counts()
    assert len(counts) == 96
    assert {text[:10] for text in counts.index} == {"2024-02-29"}
    assert 800 < counts.min() <= counts.max() < 1_200


def test_months_are_drawn_on_their_own_lattice() -> None:
    monthly = clock("2020-01-31", "2039-12-31", unit="months")
    assert monthly.size == 32
    values = drawn(monthly, np.repeat(np.arange(32), 200))
    assert set(values.dt.date) == {
        monthly.point(place).date() for place in range(monthly.points)
    }
