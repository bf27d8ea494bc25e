"""What the marks of numbers make of a cell is a function of that cell: signs between thousands, and units
that are left out around numbers. See docs/proofs/reading.md, "Cells"."""

from __future__ import annotations

from collections.abc import Callable

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from synth_engine.formats import NUMBER_MARKS, Marks

UNITS = ((), ("$",), ("%", "kg", "k"), ("€", "US$", "m²"))
MARKS = [
    Marks(decimal=each.decimal, thousands=each.thousands, units=units)
    for each in NUMBER_MARKS
    for units in UNITS
]
CELLS = (
    "", " ", "0", "5", "-5", "+5", "$5", "$ 5", "5$", "$5$", "-$5", "$-5", "$-$5", "5 kg", "5kg", "5 k", "kg",
    "kg5kg",
    "1,096", "1.096", "1 096", "1\u00a0096", "1'096", "1.096,50", "1,096.50", "$1,096.50", "1,09", "1e5",
    "1e5 kg", "1e5kg",
    "5 kg\n", "\n5", "5\u0000", "5 m²", "m²", "US$5", "S$5", "$$5", "()", "[5]", ".5", ",5", "5.", "$.", "-",
    "0x1F", "nan", "\ufffd",
)  # fmt: skip
Convert = Callable[[Marks, list[str | None]], list[str | None]]


def convert(marks: Marks, texts: list[str | None]) -> list[str | None]:
    plain: list[str | None] = marks.plain(
        pa.array(texts, type=pa.string()), apart_from=["$5", "5."]
    ).to_pylist()
    return plain


def differs_by_company(
    marks: Marks, texts: list[str | None], *, converted_by: Convert = convert
) -> bool:
    """Whether some cell becomes another one beside others than alone."""
    alone = [converted_by(marks, [text])[0] for text in texts]
    halves = converted_by(marks, texts[::2]), converted_by(marks, texts[1::2])
    return (
        converted_by(marks, texts) != alone
        or converted_by(marks, texts[::-1]) != alone[::-1]
        or halves != (alone[::2], alone[1::2])
    )


@pytest.mark.parametrize("marks", MARKS, ids=str)
def test_a_cell_is_what_it_is_alone(marks: Marks) -> None:
    assert not differs_by_company(marks, [*CELLS, None])


@given(
    st.sampled_from(MARKS),
    st.lists(
        st.none() | st.text("0123456789.,' $%kgm²-+e\u00a0", max_size=12),
        min_size=1,
        max_size=8,
    ),
)
@settings(deadline=None, max_examples=60)
def test_any_cell_is_what_it_is_alone(marks: Marks, texts: list[str | None]) -> None:
    assert not differs_by_company(marks, texts)


def test_different_texts_of_a_dictionary_are_converted_alike() -> None:
    for marks in MARKS:
        texts = pa.array([*CELLS, *CELLS], type=pa.string())
        encoded = marks.plain(texts.dictionary_encode(), apart_from=["$5", "5."])
        assert encoded.cast(pa.string()).to_pylist() == convert(marks, texts.to_pylist())


def units_if_all_have_them(marks: Marks, texts: list[str | None]) -> list[str | None]:
    """A unit that is left out only where every cell of the block has it."""
    shared = tuple(unit for unit in marks.units if all(unit in (text or "") for text in texts))
    return convert(Marks(decimal=marks.decimal, thousands=marks.thousands, units=shared), texts)


def thousands_if_some_are_sure(marks: Marks, texts: list[str | None]) -> list[str | None]:
    """A sign between thousands that counts only where some cell of the block can be read in no other way."""
    sure = any((text or "").count(marks.thousands or "x") > 1 for text in texts)
    kept = marks.thousands if sure else ""
    return convert(Marks(decimal=marks.decimal, thousands=kept, units=marks.units), texts)


def test_marks_that_are_judged_by_a_block_would_be_noticed() -> None:
    kilograms = Marks(units=("kg",))
    assert differs_by_company(
        kilograms, ["5kg", "6", "7kg"], converted_by=units_if_all_have_them
    )
    commas = Marks(thousands=",")
    texts: list[str | None] = ["1,096", "1,096,300"]
    assert differs_by_company(commas, texts, converted_by=thousands_if_some_are_sure)
