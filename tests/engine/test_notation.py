"""Notations of numbers are read cell by cell: what stands in one cell changes the reading of no other."""

from __future__ import annotations

import itertools

import pyarrow as pa
import pytest

from synth_engine.formats import notation

SIGNS = ("", "+", "-", "(", ")", " ", "\t", "\u00a0", "\u202f", "$", "\u2212")
TEXTS = tuple(
    dict.fromkeys(
        f"{before}{body}{behind}"
        for before in map("".join, itertools.product(SIGNS, repeat=2))
        for body in ("5", "x")
        for behind in map("".join, itertools.product(SIGNS, repeat=2))
    )
)


def read(texts: list[str]) -> list[str]:
    read_texts: list[str] = notation.unified(pa.array(texts, type=pa.string())).to_pylist()
    return read_texts


@pytest.fixture(scope="module")
def alone() -> list[str]:
    """Each text as it is read in a column of its own."""
    return [read([text])[0] for text in TEXTS]


@pytest.mark.parametrize("beside", ["(7)", "7-", "- 7", "+ 7", "\u0667", "word"])
def test_a_cell_is_read_as_if_it_stood_alone(beside: str, alone: list[str]) -> None:
    assert read([*TEXTS, beside])[:-1] == alone
    assert read([beside, *TEXTS])[1:] == alone


def test_texts_without_a_digit_stay_as_they_are(alone: list[str]) -> None:
    for text, one in zip(TEXTS, alone, strict=True):
        if "x" in text:
            assert one == text


@pytest.mark.parametrize(
    "text, plain",
    [
        ("(5)", "-5"),
        ("5-", "-5"),
        ("- 5", "-5"),
        ("+\u00a05", "+5"),
        ("$(5)", "-$5"),
        ("\u22125", "-5"),
    ],
)
def test_signs_stand_before_the_number(text: str, plain: str) -> None:
    assert read([text]) == [plain]
