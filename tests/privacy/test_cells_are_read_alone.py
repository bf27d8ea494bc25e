"""The code of a cell is a function of that cell: whatever stands in the other records of its block, and
however a column is cut into blocks. See docs/proofs/reading.md, "Cells"."""

from __future__ import annotations

import datetime
import itertools
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from synth_engine import codec
from synth_engine.domain import (
    Attribute,
    Basket,
    DateTime,
    Domain,
    Integer,
    Scale,
    ScaleBins,
    Weak,
    WeakBasket,
)
from synth_engine.formats import NUMBER_MARKS, Marks
from synth_engine.kinds import date_time as timestamps
from synth_engine.kinds import lattice as lattice_module
from synth_engine.kinds import reading
from synth_engine.kinds.lattice import Lattice
from tests.privacy import hostile
from tests.privacy.planted import plant

Texts = list[str | None]
Encoder = Callable[[Texts], list[Any]]
ATTRIBUTES = (
    *hostile.COLUMNS,
    *hostile.WEAK,
    *hostile.BASKETS,
    *hostile.WEAK_BASKETS,
    *hostile.SCALES,
    *hostile.SCALE_BINS,
    Integer(name="markers", low=-9, high=9, missing=("?", "", "null"), separate_markers=True),
)
ENOUGH = (
    reading.MANY + 100
)  # different texts with which readers that work on many at once begin to do so
CELLS = hostile.TEXTS | st.none()


def text_column(texts: Texts) -> pa.Array:
    return pa.array(texts, type=pa.string())


def encoder_of(attribute: Attribute) -> Encoder:
    """What a column of texts becomes in the room, one entry a record, in a form that can be compared."""
    if isinstance(attribute, Weak):
        return lambda texts: _numbers(attribute, texts)
    if isinstance(attribute, WeakBasket):
        return lambda texts: codec.bags(attribute, text_column(texts)).to_pylist()
    if isinstance(attribute, Scale):
        return lambda texts: _positions(attribute, texts)
    if isinstance(attribute, Basket) or attribute.separate_markers:
        domain = Domain(attributes=(attribute,))
        return lambda texts: _rows(
            codec.encode(domain, {attribute.name: text_column(texts)}).values(), len(texts)
        )
    return lambda texts: codec.encode_column(attribute, text_column(texts)).tolist()


def _numbers(attribute: Weak, texts: Texts) -> list[int]:
    ranking = codec.Ranking(attribute)
    places = ranking.places(text_column(texts))
    return [ranking.ranks[place] for place in places.tolist()]


def _positions(attribute: Scale, texts: Texts) -> list[tuple[int, bool]]:
    placed, missing = codec.positions(attribute, text_column(texts))
    return list(zip(placed.tolist(), missing.tolist(), strict=True))


def _rows(columns: Iterable[np.ndarray], rows: int) -> list[tuple[int, ...]]:
    found = list(zip(*(column.tolist() for column in columns), strict=True))
    return found or [()] * rows


def fillers(attribute: Attribute) -> Texts:
    """Many different texts that most readers take in bulk, so that one more of another form is an exception
    among them."""
    written = getattr(attribute, "format", None)
    is_clock = isinstance(attribute, Scale | ScaleBins) and attribute.of == "datetime"
    if isinstance(attribute, DateTime) or is_clock:
        first = datetime.datetime.fromisoformat("2000-01-01")
        days = [
            datetime.datetime.fromisoformat("9999-12-31"),
            datetime.datetime.fromisoformat("1601-02-03"),
        ]
        days += [first + datetime.timedelta(hours=7 * k) for k in range(ENOUGH)]
        return [day.strftime(written or "%Y-%m-%d %H:%M:%S") for day in days]
    is_day = isinstance(attribute, Scale | ScaleBins) and attribute.of == "date"
    if attribute.kind == "date" or is_day:
        return [
            (pd.Timestamp("2000-01-01") + pd.Timedelta(days=k)).strftime(written or "%Y-%m-%d")
            for k in range(ENOUGH)
        ]
    return [str(k) for k in range(ENOUGH)]


def assert_same(read: list[Any], expected: list[Any], *, after: str | None = None) -> None:
    """Compare two long columns. A plain assert would write a line diff of them, which takes minutes for each
    mutant."""
    if read == expected:
        return
    pairs = itertools.zip_longest(read, expected)
    first = next(place for place, (left, right) in enumerate(pairs) if left != right)
    raise AssertionError(f"entry {first} of {len(read)} differs after {after!r:.40}")


def each_alone(encode: Encoder, texts: Texts) -> list[Any]:
    return [encode([text])[0] for text in texts]


@pytest.mark.parametrize("attribute", ATTRIBUTES, ids=lambda each: f"{each.kind}-{each.name}")
def test_a_cell_has_the_code_that_it_has_alone(attribute: Attribute) -> None:
    """All hostile cells in one block, alone and among many plain ones."""
    encode = encoder_of(attribute)
    texts: Texts = [*hostile.CELLS, None]
    alone = each_alone(encode, texts)
    assert_same(encode(texts), alone)
    plain = fillers(attribute)
    assert_same(encode([*plain, *texts])[len(plain) :], alone)
    assert_same(encode([*texts, *plain])[: len(texts)], alone)


@pytest.mark.parametrize("attribute", ATTRIBUTES, ids=lambda each: f"{each.kind}-{each.name}")
def test_one_hostile_cell_changes_no_plain_one(attribute: Attribute) -> None:
    encode = encoder_of(attribute)
    plain = fillers(attribute)
    in_bulk = attribute.kind in ("integer", "number", "range") or (
        isinstance(attribute, Scale | ScaleBins) and attribute.of in ("integer", "number")
    )
    plain = plain if in_bulk else plain[:20]
    before = encode(plain)
    for text in (*hostile.CELLS, None):
        assert_same(encode([*plain, text])[:-1], before, after=text)


@settings(max_examples=150)
@given(attribute=st.sampled_from(ATTRIBUTES), block=st.lists(CELLS, max_size=8), one_more=CELLS)
def test_one_more_cell_changes_no_other(
    attribute: Attribute, block: Texts, one_more: str | None
) -> None:
    encode = encoder_of(attribute)
    before = encode(block) if block else []
    assert encode([*block, one_more])[:-1] == before


@settings(max_examples=100)
@given(
    attribute=st.sampled_from(ATTRIBUTES),
    block=st.lists(CELLS, min_size=1, max_size=12),
    data=st.data(),
)
def test_any_cut_into_blocks_gives_the_same(
    attribute: Attribute, block: Texts, data: st.DataObject
) -> None:
    encode = encoder_of(attribute)
    cuts = sorted(data.draw(st.sets(st.integers(1, len(block)), max_size=4)))
    pieces = [
        block[start:end]
        for start, end in zip([0, *cuts], [*cuts, len(block)], strict=True)
        if start < end
    ]
    assert [code for piece in pieces for code in encode(piece)] == encode(block)


@pytest.mark.parametrize("marks", NUMBER_MARKS, ids=repr)
def test_a_number_is_written_in_the_usual_way_alone_as_beside_others(marks: Marks) -> None:
    texts: Texts = [*hostile.CELLS, None]
    alone = [marks.plain(text_column([text])).to_pylist()[0] for text in texts]
    assert_same(marks.plain(text_column(texts)).to_pylist(), alone)


# --- mutants: defects that these tests must notice ----------------------------------------------------------
def one_resolution_a_block(attribute: DateTime, texts: list[str]) -> np.ndarray:
    """A block of moments read by a library that infers one resolution for all of them."""
    read = pd.to_datetime(
        pd.Series(texts, dtype="str"), format=attribute.format, errors="coerce"
    )
    whole = read.to_numpy().astype("datetime64[s]")
    seconds = (whole - np.datetime64(attribute.low, "s")).astype(np.float64)
    return np.where(np.isnat(whole), np.nan, seconds)


def a_slow_text_makes_all_slow(
    texts: list[str], kind: pa.DataType, read: Callable[[str], float | None], *, plainly: str
) -> np.ndarray:
    """Numbers that are cast together, with another meaning of "0x1F" where all of a block can be cast."""
    try:
        found: np.ndarray = (
            pa.array(texts, type=pa.string()).cast(kind).to_numpy().astype(float)
        )
    except pa.ArrowException:
        return reading.read_each(read, texts)
    return found


def noticed(attribute: Attribute) -> bool:
    try:
        test_one_hostile_cell_changes_no_plain_one(attribute)
        test_a_cell_has_the_code_that_it_has_alone(attribute)
    except AssertionError:
        return True
    return False


def test_one_resolution_a_block_would_be_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(timestamps, "seconds_since", one_resolution_a_block)
    fractions = [
        each for each in hostile.COLUMNS if isinstance(each, DateTime) and "%f" in each.format
    ]
    assert len(fractions) >= 10
    assert any(noticed(attribute) for attribute in fractions)


def test_numbers_read_by_what_stands_beside_them_would_be_noticed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(reading, "_cast", a_slow_text_makes_all_slow)
    assert any(noticed(each) for each in hostile.COLUMNS if each.kind in ("integer", "number"))


# --- positions on a lattice ---------------------------------------------------------------------------------
WHOLE = tuple(each for each in hostile.SCALES if each.of == "integer")


@settings(max_examples=60)
@given(
    attribute=st.sampled_from(WHOLE),
    values=st.lists(
        st.integers(-30, 120) | st.integers(-(2**65), 2**65) | st.integers(-(10**18), 10**18),
        min_size=1,
        max_size=30,
    ),
)
def test_whole_numbers_have_the_nearest_position_in_bulk_and_alone(
    attribute: Scale, values: list[int]
) -> None:
    lattice = attribute.lattice
    low, high, step = int(lattice.low), int(lattice.high), int(lattice.step)  # type: ignore[arg-type]
    expected = [
        (2 * (min(max(value, low), high) - low) + step) // (2 * step) for value in values
    ]
    texts = list(map(str, values))
    alone, its_sides = lattice.positions(texts, attribute)
    many = [*texts, *(str(low + k) for k in range(ENOUGH))]
    bulk, sides = lattice.positions(many, attribute)
    assert alone.tolist() == bulk[: len(texts)].tolist() == expected
    beyond = [(value > high) - (value < low) for value in values]
    assert its_sides.tolist() == sides[: len(texts)].tolist() == beyond


def test_positions_from_the_least_value_of_a_block_would_be_noticed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    plant(
        monkeypatch,
        Lattice._of_whole,
        "np.array(low, dtype=np.int64)",
        "np.array(max(low, cast.min()), dtype=np.int64)",
    )
    assert any(noticed(each) for each in WHOLE)


def test_another_rounding_in_bulk_would_be_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Down to the step below, as whole numbers are divided, instead of to the nearest one."""
    plant(
        monkeypatch,
        lattice_module._nearest,
        "quotient + ((steps % np.uint64(step)) * np.uint64(2) >= np.uint64(step))",
        "quotient",
    )
    assert any(noticed(each) for each in WHOLE)


def test_decimals_and_days_from_the_least_value_of_a_block_would_be_noticed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    plant(
        monkeypatch,
        Lattice._of_floats,
        "low, values), low, high) - low) / step",
        "low, values), low, high) - max(low, np.nanmin(np.append(values, high)))) / step",
    )
    for of in ("number", "date"):
        assert any(noticed(each) for each in hostile.SCALES if each.of == of)
