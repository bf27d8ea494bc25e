"""A sample in the declared form of its file: what is written, and that the product's own reader reads the
same codes."""

from __future__ import annotations

import csv
import io
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from synth_engine import codec, domain, readers
from synth_engine.codec.declared_form import DeclaredFormWriter
from synth_engine.domain import Domain, FileForm
from synth_engine.errors import DomainError
from synth_engine.formats import kind_of

BANK: dict[str, Any] = {
    "file": {"delimiter": ";", "thousands": ",", "line_end": "crlf", "encoding": "cp1252"},
    "attributes": [
        {
            "name": "balance",
            "kind": "integer",
            "low": 0,
            "high": 9_999_999,
            "width": 500_000,
            "missing": ["N/A", ""],
            "written": {"grouped": True},
        },
        {
            "name": "opened",
            "kind": "date",
            "low": "2021-01-01",
            "high": "2021-12-31",
            "format": "%m/%d/%y",
            "written": {"unpadded": True},
        },
        {
            "name": "postcode",
            "kind": "integer",
            "low": 0,
            "high": 99_999,
            "width": 1_000,
            "written": {"width": 5},
        },
        {
            "name": "rate",
            "kind": "number",
            "low": -5,
            "high": 5,
            "edges": [-5, -1, 0, 1, 5],
            "written": {"decimals": 2, "after": " %"},
        },
        {
            "name": "branch",
            "kind": "categorical",
            "values": ["Café; Nord", 'the "old" one', "=SUM(A1)"],
            "missing": ["?"],
        },
    ],
}
FRAME = pd.DataFrame(
    {
        "balance": pd.array([2_385_000, 12, None], dtype="Int64"),
        "opened": pd.to_datetime(["2021-02-09", "2021-11-30", "2021-10-05"]),
        "postcode": [1234, 99_999, 0],
        "rate": [0.5, -4.25, 3.0],
        "branch": ["Café; Nord", 'the "old" one', None],
    }
)


def written(described: Domain, frame: pd.DataFrame) -> bytes:
    writer = DeclaredFormWriter(described)
    return writer.header() + writer.block(frame)


def read_again(content: bytes, described: Domain, folder: Path) -> dict[str, np.ndarray]:
    """The codes that the product's own reader finds in a file, in the dialect of the declared form."""
    path = folder / "sample.csv"
    path.write_bytes(content)
    form = (described.file or FileForm()).dialect(described.table_columns)
    columns: dict[str, list[str]] = {name: [] for name in described.columns}
    for block in readers.blocks(
        path,
        kind=kind_of(path.name),
        dialect=form,
        options=readers.ReadOptions(wanted=list(columns), mode="total"),
    ):
        for name, texts in columns.items():
            attribute = described.attribute(name)
            cells = block[name]
            if attribute.holds_numbers:
                cells = form.marks.plain(cells, apart_from=attribute.missing or ())
            texts.extend(cells.to_pylist())
    return {
        name: codec.encode_column(described.attribute(name), texts)
        for name, texts in columns.items()
    }


def test_a_dirty_file_is_written_as_it_came_in() -> None:
    text = written(Domain.from_json(BANK), FRAME).decode("cp1252")
    assert text == (
        "balance;opened;postcode;rate;branch\r\n"
        '2,385,000;2/9/21;01234;0.50 %;"Café; Nord"\r\n'
        '12;11/30/21;99999;-4.25 %;"the ""old"" one"\r\n'
        "N/A;10/5/21;00000;3.00 %;?\r\n"
    )


def test_the_clean_form_is_what_a_description_without_one_means() -> None:
    plain = Domain.from_json(
        {"attributes": [{"name": "a", "kind": "integer", "low": 0, "high": 9999}]}
    )
    assert plain.file is None
    assert written(plain, pd.DataFrame({"a": [1234]})) == b"a\n1234\n"
    assert "file" not in plain.to_json()
    assert all("written" not in one for one in plain.to_json()["attributes"])  # type: ignore[attr-defined]


def test_a_description_with_a_form_is_the_same_from_its_json() -> None:
    described = Domain.from_json(BANK)
    again = Domain.from_json(described.to_json())
    assert again == described
    assert again.digest == described.digest
    clean = Domain.from_json({"attributes": BANK["attributes"][4:]})
    formed = Domain.from_json({"attributes": BANK["attributes"][4:], "file": {}})
    assert clean.digest != formed.digest  # what is declared is in the hash that receipts bind


def test_every_cell_in_quotation_marks_or_texts_alone() -> None:
    document = BANK | {"file": BANK["file"] | {"quoting": "all"}}
    first = written(Domain.from_json(document), FRAME).decode("cp1252").splitlines()[1]
    assert first == '"2,385,000";"2/9/21";"01234";"0.50 %";"Café; Nord"'
    document = BANK | {"file": BANK["file"] | {"quoting": "texts"}}
    last = written(Domain.from_json(document), FRAME).decode("cp1252").splitlines()[3]
    assert last == '"N/A";"10/5/21";00000;3.00 %;"?"'


@pytest.mark.parametrize(
    ("change", "column"),
    [
        ({"file": {"thousands": ","}, "attributes": [{"written": {"unpadded": True}}]}, "a"),
        ({"file": {}, "attributes": [{"written": {"grouped": True}}]}, "a"),
        (
            {
                "file": {"thousands": ","},
                "attributes": [{"written": {"grouped": True, "width": 5}}],
            },
            "a",
        ),
        ({"attributes": [{"written": {"before": "7"}}]}, "a"),
        ({"attributes": [{"written": {"grupped": True}}]}, "a"),
        ({"attributes": [{"written": []}]}, "a"),
        (
            {"attributes": [{"kind": "categorical", "values": ["x"], "written": {"width": 3}}]},
            "a",
        ),
        ({"file": {"encoding": "latin-1"}, "attributes": [{"name": "€"}]}, "€"),
        ({"file": {"quote": ""}, "attributes": [{"missing": [","]}]}, "a"),
        (
            {
                "attributes": [
                    {
                        "kind": "date",
                        "low": "2021-01-01",
                        "high": "2021-12-31",
                        "written": {"unpadded": True},
                    }
                ]
            },
            "a",
        ),
        ({"file": {"delimiter": "and"}}, None),
        ({"file": {"decimal": ",", "thousands": ","}}, None),
        ({"file": {"delimiter": ",", "decimal": ",", "quote": ""}}, None),
        ({"file": {"provenance": "suggested"}}, None),
        ({"file": {"separator": ";"}}, None),
        ({"file": 3}, None),
    ],
)
def test_a_form_that_cannot_be_is_refused_at_its_column(
    change: dict[str, Any], column: str | None
) -> None:
    usual = {"name": "a", "kind": "integer", "low": 0, "high": 9}
    stated = (change.get("attributes") or [{}])[0]
    if stated.get("kind"):
        usual = {"name": "a"}
    with pytest.raises(DomainError) as refused:
        Domain.from_json(change | {"attributes": [usual | stated]})
    assert refused.value.column == column
    assert refused.value.repair


def test_a_sample_read_by_the_products_reader_has_the_codes_it_was_drawn_with(
    tmp_path: Path,
) -> None:
    described = Domain.from_json(BANK)
    rng = np.random.default_rng(3)
    codes = {name: rng.integers(0, size, 2_000) for name, size in described.sizes.items()}
    content = written(described, codec.decode(described, codes, rng))
    again = read_again(content, described, tmp_path)
    wrong = [name for name in codes if not np.array_equal(again[name], codes[name])]
    assert wrong == []


forms = st.builds(
    FileForm,
    encoding=st.sampled_from(["utf-8", "utf-16", "cp1252", "gb18030"]),
    delimiter=st.sampled_from([",", ";", "\t", "|"]),
    quote=st.sampled_from(['"', "'"]),
    quoting=st.sampled_from(["needed", "texts", "all"]),
    line_end=st.sampled_from(["lf", "crlf"]),
    header=st.booleans(),
    decimal=st.just("."),
    thousands=st.sampled_from([",", " ", "'"]),
)
cell_forms = st.fixed_dictionaries(
    {},
    optional={
        "grouped": st.booleans(),
        "decimals": st.integers(0, 4),
        "before": st.sampled_from(["", "$", "EUR "]),
        "after": st.sampled_from(["", "%", " kg"]),
    },
)


@settings(deadline=None, max_examples=60)
@given(
    form=forms,
    comma=st.booleans(),
    numbers=cell_forms,
    unpadded=st.booleans(),
    style=st.sampled_from(["%m/%d/%y", "%d.%m.%Y", "%Y-%m-%d", "%d %b %Y", "%Y%m%d"]),
    seed=st.integers(0, 2**32),
)
def test_every_form_is_read_again_as_the_same_codes(
    tmp_path_factory: pytest.TempPathFactory,
    form: FileForm,
    comma: bool,
    numbers: dict[str, Any],
    unpadded: bool,
    style: str,
    seed: int,
) -> None:
    if comma:
        form = replace(form, decimal=",", thousands=".")
    # Other formats are refused: ISO dates have two digits, and without signs between them
    # days and months of one digit cannot be told apart.
    unpadded = unpadded and style not in ("%Y%m%d", "%Y-%m-%d")
    described = Domain.from_json(
        {
            "file": form.to_json(),
            "attributes": [
                {
                    "name": "whole",
                    "kind": "integer",
                    "low": -2_000_000,
                    "high": 2_000_000,
                    "width": 70_001,
                    "missing": ["N/A", "-"],
                    "written": {k: v for k, v in numbers.items() if k != "decimals"},
                },
                {
                    "name": "measure",
                    "kind": "number",
                    "low": -5_000.5,
                    "high": 9_999.75,
                    "edges": [-5_000.5, -3.25, 0, 0.1, 1_000, 9_999.75],
                    "missing": [""],
                    "written": numbers,
                },
                {
                    "name": "day",
                    "kind": "date",
                    "low": "1999-12-28",
                    "high": "2021-12-31",
                    "format": style,
                    "missing": ["?"],
                    "written": {"unpadded": unpadded},
                },
                {
                    "name": "word",
                    "kind": "categorical",
                    "values": ["a", "b c", 'q"q', "s;c,t|t", "it's", "1,234"],
                    "missing": ["none"],
                },
            ],
        }
    )
    rng = np.random.default_rng(seed)
    codes = {name: rng.integers(0, size, 40) for name, size in described.sizes.items()}
    content = written(described, codec.decode(described, codes, rng))
    again = read_again(content, described, tmp_path_factory.mktemp("form"))
    wrong = [name for name in codes if not np.array_equal(again[name], codes[name])]
    assert wrong == []


def test_a_number_of_another_writing_stays() -> None:
    described = domain.Domain.from_json(BANK)
    attribute = described.attribute("balance")
    assert attribute.written.write_number("1e+16", described.file.marks) == "1e+16"


def test_signs_that_the_encoding_lacks_end_no_download() -> None:
    described = Domain.from_json(
        {
            "file": {"encoding": "latin-1"},
            "attributes": [
                {"name": "a", "kind": "categorical", "values": ["x"], "missing": ["?"]}
            ],
        }
    )
    assert written(described, pd.DataFrame({"a": ["€"]})) == b"a\n?\n"


def test_what_is_written_is_csv_as_python_reads_it() -> None:
    text = written(Domain.from_json(BANK), FRAME).decode("cp1252")
    rows = list(csv.reader(io.StringIO(text, newline=""), delimiter=";", strict=True))
    assert [len(row) for row in rows] == [5] * 4


def test_marks_between_thousands_need_the_form_of_a_file_to_be_written() -> None:
    column = {
        "name": "a",
        "kind": "integer",
        "low": 0,
        "high": 9999,
        "written": {"grouped": True},
    }
    frame = pd.DataFrame({"a": [1234]})
    assert written(Domain.from_json({"attributes": [column]}), frame) == b"a\n1234\n"
    formed = {"attributes": [column], "file": {"thousands": "'"}}
    assert written(Domain.from_json(formed), frame) == b"a\n1'234\n"
