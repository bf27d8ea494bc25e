"""Texts to codes and back: nothing fails on a value, and decoding undoes encoding."""

from __future__ import annotations

import datetime

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from synth_engine import codec
from synth_engine.domain import (
    Attribute,
    Boolean,
    Categorical,
    Date,
    Domain,
    Identifier,
    Integer,
    Number,
)
from synth_engine.errors import DomainError

JOB = Categorical(name="job", values=("clerk", "smith"), other=True, missing=("?", ""))
AGE = Integer(name="age", low=17, high=90, missing=("?",))
WEIGHT = Integer(name="weight", low=-50, high=1_000)
GAIN = Integer(
    name="gain",
    low=0,
    high=100_000,
    edges=(0, 1, 1_000, 100_000),
    outside="missing",
    missing=("NA",),
)
HEIGHT = Number(name="height", low=1.0, high=2.5)
RATE = Number(
    name="rate", low=0, high=10, edges=(0, 1e-9, 0.1, 0.30000001, 10), missing=("none",)
)
MEMBER = Boolean(name="member", true="yes", false="no")
BORN = Date(
    name="born", low=datetime.date(2020, 1, 1), high=datetime.date(2021, 3, 1), step_days=7,
    format="%d/%m/%Y", missing=("",)
)  # fmt: skip
EVERY = Domain(
    attributes=(JOB, AGE, WEIGHT, GAIN, HEIGHT, RATE, MEMBER, BORN, Identifier(name="key"))
)


def codes(attribute: Attribute, *texts: str | None) -> list[int]:
    return codec.encode_column(attribute, pa.array(texts, type=pa.string())).tolist()


def test_listed_texts_have_their_place_and_the_rest_goes_to_other() -> None:
    assert codes(JOB, "clerk", "smith", "Clerk", " clerk", "(other)", "?", "", None) == [
        0,
        1,
        2,
        2,
        2,
        3,
        3,
        3,
    ]


def test_a_text_outside_goes_to_missing_or_to_the_first_value_as_declared() -> None:
    with_missing = Categorical(name="x", values=("a", "b"), missing=("?",))
    clamped = Categorical(name="x", values=("a", "b"), outside="clamp")
    assert codes(with_missing, "a", "z", "?") == [0, 2, 2]
    assert codes(clamped, "b", "z", None) == [1, 0, 0]


def test_whole_numbers_are_clamped_or_missing_as_declared() -> None:
    assert codes(AGE, "17", "90", "91", "-5", " 18 ", "018", "+18", "18.0", "9" * 400) == [
        0,
        73,
        73,
        0,
        1,
        1,
        1,
        1,
        73,
    ]
    assert (
        codes(AGE, "?", "", None, "abc", "1e1", "18.5", "１８", "1_8", "0x12", "9" * 5_000)
        == [74] * 10
    )
    assert codes(GAIN, "0", "1", "999", "1000", "100000") == [0, 1, 1, 2, 2]
    assert codes(GAIN, "-1", "100001", "NA", "zero") == [3] * 4


@pytest.mark.parametrize("attribute", [WEIGHT, HEIGHT], ids=["whole", "decimal"])
def test_how_a_number_is_read_does_not_depend_on_the_records_around_it(
    attribute: Attribute,
) -> None:
    """Many plain numbers are read at once: that must give what each gives by itself."""
    many = [str(number) for number in range(1_100)]
    odd = [
        "1e-0000000000",
        "2e-0000000001",
        "20e-00000000001",
        "0" * 1_500 + "2",
        "-0",
        "1.",
        "1.e0",
        "1e-9999999999",
    ]
    for text in [
        *odd,
        "1e9999999999",
        "0x1",
        "+2",
        " 2",
        "2_0",
        "1e",
        "٢",
        "1e-400",
        "nan",
        "0" * 5_000,
        "1" * 999,
    ]:
        assert codes(attribute, *many, text)[-1:] == codes(attribute, text), text[:20]


def test_a_number_that_cannot_be_read_where_none_is_missing_takes_the_lowest_code() -> None:
    assert codes(WEIGHT, "heavy", "") == [0, 0]
    assert codes(HEIGHT, "nan", "inf", "-inf", "tall") == [0, 0, 0, 0]


def test_numbers_fall_into_bins_that_hold_their_lower_edge_and_the_last_both() -> None:
    assert codes(RATE, "0", "1e-9", "0.1", "0.30000001", "10", "1e400", "-1", ".5", "5.") == [
        0,
        1,
        2,
        3,
        3,
        3,
        0,
        3,
        3,
    ]
    assert codes(RATE, "none", "nan", "1,5", "1 000") == [4] * 4


def test_booleans_are_texts() -> None:
    assert codes(MEMBER, "yes", "no", "Yes", "1", "") == [1, 0, 0, 0, 0]


def test_days_are_read_in_their_format_and_clamped() -> None:
    assert codes(
        BORN, "01/01/2020", "08/01/2020", "31/12/2019", "01/03/2021", "02/03/2021"
    ) == [0, 1, 0, 60, 60]
    assert codes(BORN, "31/02/2020", "2020-01-08", "", "tomorrow", "1" * 50_000) == [61] * 5
    iso = Date(name="day", low=datetime.date(2020, 1, 1), high=datetime.date(2020, 12, 31))
    assert codes(iso, "2020-01-02", "2020-01-02 23:59:00", "2020-01-02T10:00:00Z") == [1, 1, 1]
    assert codes(iso, "20200102", "2020-W01-4", "2020-1-2") == [0, 0, 0]


def test_columns_may_come_in_pieces_dictionaries_or_numpy() -> None:
    pieces = pa.chunked_array([["clerk", "x"], ["?"], [None, "smith"]], type=pa.string())
    assert codec.encode_column(JOB, pieces).tolist() == [0, 2, 3, 3, 1]
    assert codec.encode_column(JOB, pieces.dictionary_encode()).tolist() == [0, 2, 3, 3, 1]
    assert codec.encode_column(JOB, np.array(["clerk", None], dtype=object)).tolist() == [0, 3]
    assert codec.encode_column(JOB, pa.chunked_array([], type=pa.string())).tolist() == []


def test_a_column_that_is_not_there_is_named() -> None:
    with pytest.raises(DomainError, match="'age'"):
        codec.encode(EVERY, {"job": pa.array(["x"])})


@settings(max_examples=40)
@given(seed=st.integers(0, 2**32), rows=st.integers(0, 300))
def test_encoding_a_decoded_table_gives_the_codes_again(seed: int, rows: int) -> None:
    rng = np.random.default_rng(seed)
    drawn = {name: rng.integers(0, size, rows) for name, size in EVERY.sizes.items()}
    written = codec.as_text(EVERY, codec.decode(EVERY, drawn, rng))
    again = codec.encode(EVERY, {name: written[name].to_numpy() for name in written})
    assert {name: column.tolist() for name, column in again.items()} == {
        n: c.tolist() for n, c in drawn.items()
    }


@settings(max_examples=40)
@given(
    low=st.floats(-1e15, 1e15, allow_nan=False),
    width=st.floats(1e-12, 1e15, allow_nan=False),
    seed=st.integers(0, 2**32),
)
def test_numbers_of_any_magnitude_stay_in_their_bins(
    low: float, width: float, seed: int
) -> None:
    try:
        attribute = Number(name="x", low=low, high=low + width)
    except DomainError:
        return  # bounds too close for 32 bins, or beyond 2^53
    alone, rng = Domain(attributes=(attribute,)), np.random.default_rng(seed)
    every = np.tile(np.arange(attribute.size), 5)
    written = codec.as_text(alone, codec.decode(alone, {"x": every}, rng))
    assert codec.encode(alone, {"x": written["x"].to_numpy()})["x"].tolist() == every.tolist()


@settings(max_examples=40)
@given(texts=st.lists(st.text() | st.none(), max_size=30))
def test_any_text_has_a_code_in_every_column(texts: list[str | None]) -> None:
    for attribute in EVERY.modelled:
        column = codec.encode_column(attribute, np.array(texts, dtype=object))
        assert len(column) == len(texts)
        assert all(code < attribute.size for code in column)


def test_numbers_are_spread_over_their_bin_with_sensible_decimals() -> None:
    rng, rows = np.random.default_rng(1), 20_000
    frame = codec.decode(EVERY, {name: np.zeros(rows, dtype=int) for name in EVERY.names}, rng)
    heights = frame["height"]
    assert 1.0 <= heights.min() < 1.002
    assert 1.044 < heights.max() < 1.046875
    assert abs(heights.mean() - 1.0234375) < 0.001
    assert heights.map(lambda value: len(str(value))).max() <= 6
    assert sorted(frame["weight"].unique()) == list(range(-50, WEIGHT.cuts[1]))
    assert frame["born"].nunique() == 7


def test_a_table_has_natural_types_and_no_identifiers() -> None:
    rng = np.random.default_rng(1)
    full = {attribute.name: np.array([0, attribute.size - 1]) for attribute in EVERY.modelled}
    frame = codec.decode(EVERY, full, rng)
    assert list(frame.columns) == list(EVERY.names)
    types = ["str", "Int64", "int64", "Int64", "float64", "Float64", "str", "datetime64[s]"]
    assert [str(kind) for kind in frame.dtypes] == types
    assert frame.isna().iloc[1].tolist() == [True, True, False, True, False, True, False, True]
    assert codec.as_text(EVERY, frame)["job"].tolist() == ["clerk", "?"]


def test_the_same_generator_gives_the_same_table() -> None:
    drawn = {name: np.arange(200) % size for name, size in EVERY.sizes.items()}
    first, second = (codec.decode(EVERY, drawn, np.random.default_rng(7)) for _ in range(2))
    pd.testing.assert_frame_equal(first, second)
