"""Lines of CSV are those of Python's writer, whatever is in the cells."""

from __future__ import annotations

import csv
import io

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from synth_engine import codec

CELLS = st.text(alphabet=st.sampled_from("ab1 é€\"',;\r\n\t\x00-"), max_size=4)


def by_the_writer(rows: list[list[str]]) -> str:
    lines = io.StringIO(newline="")
    csv.writer(lines, lineterminator="\n").writerows(rows)
    return lines.getvalue()


@given(
    st.integers(1, 3).flatmap(
        lambda width: st.lists(st.lists(CELLS, min_size=width, max_size=width), max_size=5)
    )
)
def test_lines_are_those_of_the_writer(rows: list[list[str]]) -> None:
    assert codec.csv_lines(pd.DataFrame(rows, dtype="str")) == by_the_writer(rows)


@pytest.mark.parametrize("rows", [[[""], ["a"]], [["", ""]], [["a,b", "c"]], [["a", "b"]]])
def test_lone_empty_cells_and_delimiters(rows: list[list[str]]) -> None:
    assert codec.csv_lines(pd.DataFrame(rows, dtype="str")) == by_the_writer(rows)
