"""Samples as workbooks: cells of numbers, dates and texts, read again by the product's own reader."""

from __future__ import annotations

import io
import re
import zipfile
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from synth_engine import codec, readers
from synth_engine.domain import Domain
from synth_engine.errors import InputError
from synth_engine.formats import Dialect, kind_of

DOMAIN = Domain.from_json(
    {
        "attributes": [
            {"name": "a<b", "kind": "integer", "low": -9, "high": 10**15, "width": 10**12,
                "missing": ["N/A"]},
            {"name": "height", "kind": "number", "low": 0, "high": 3},
            {"name": "born", "kind": "date", "low": "1890-01-01", "high": "2020-12-31", "step_days": 30,
                "missing": [""]},
            {"name": "seen", "kind": "datetime", "low": "2020-01-01", "high": "2020-12-31", "step": 1,
                "unit": "minutes", "width": 1440},
            {"name": "zip", "kind": "integer", "low": 0, "high": 99_999, "width": 1_000,
                "written": {"width": 5}},
            {"name": "code", "kind": "categorical", "values": ["007", "=1+1", "-2", "@x", "a & <b>", " x "],
                "missing": ["?"]},
        ]
    }
)  # fmt: skip


def workbook(frame: pd.DataFrame, described: Domain = DOMAIN) -> bytes:
    file = io.BytesIO()
    codec.write_workbook(described, [frame], file)
    return file.getvalue()


def sheet(content: bytes) -> str:
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        assert archive.testzip() is None
        return archive.read("xl/worksheets/sheet1.xml").decode()


def test_a_sample_as_a_workbook_is_read_again_as_the_same_codes(tmp_path: Path) -> None:
    rng = np.random.default_rng(11)
    codes = {name: rng.integers(0, size, 500) for name, size in DOMAIN.sizes.items()}
    path = tmp_path / "sample.xlsx"
    path.write_bytes(workbook(codec.decode(DOMAIN, codes, rng)))
    texts: dict[str, list[str]] = {name: [] for name in DOMAIN.columns}
    for block in readers.blocks(
        path,
        kind=kind_of(path.name),
        dialect=Dialect(),
        options=readers.ReadOptions(wanted=list(texts), mode="total"),
    ):
        for name, cells in texts.items():
            cells.extend(block[name].to_pylist())
    wrong = [
        name
        for name in codes
        if not np.array_equal(
            codec.encode_column(DOMAIN.attribute(name), texts[name]), codes[name]
        )
    ]
    assert wrong == []


def test_numbers_are_numbers_and_no_text_is_a_formula() -> None:
    frame = pd.DataFrame(
        {
            "a<b": pd.array([5, None], dtype="Int64"),
            "height": [1.5, 2.0],
            "born": pd.to_datetime(pd.Series(["2000-01-01", None])),
            "seen": pd.to_datetime(["2020-01-01 12:00", "2020-01-02 00:00"]),
            "zip": [1234, 99_999],
            "code": ["=1+1", "007"],
        }
    )
    text = sheet(workbook(frame))
    assert "<f>" not in text
    first, second = re.findall("<row>(.*?)</row>", text)[1:]
    assert first.startswith('<c><v>5</v></c><c><v>1.5</v></c><c s="1"><v>36526</v></c>')
    assert '<c s="2"><v>43831.5</v></c>' in first
    assert ">01234</t>" in first
    assert first.endswith(
        '<c t="inlineStr" s="3"><is><t xml:space="preserve">=1+1</t></is></c>'
    )
    assert ">N/A</t>" in second
    assert "<c/>" in second
    assert ">007</t>" in second


def test_a_workbook_has_the_same_bytes_again() -> None:
    rng = np.random.default_rng(2)
    codes = {name: rng.integers(0, size, 50) for name, size in DOMAIN.sizes.items()}
    frame = codec.decode(DOMAIN, codes, rng)
    assert workbook(frame) == workbook(frame)


def test_signs_that_xml_cannot_hold_are_escaped() -> None:
    described = Domain.from_json(
        {"attributes": [{"name": "a", "kind": "categorical", "values": ["x"], "other": True}]}
    )
    text = sheet(workbook(pd.DataFrame({"a": ["\x00_x0041_\r"]}), described))
    assert ">_x0000__x005F_x0041__x000D_</t>" in text


def test_what_no_sheet_holds_is_refused() -> None:
    codec.require_rows(1_048_575, columns=16_384)
    for rows, columns in ((1_048_576, 1), (1, 16_385)):
        with pytest.raises(InputError):
            codec.require_rows(rows, columns=columns)
    described = Domain.from_json(
        {"attributes": [{"name": "a", "kind": "categorical", "values": ["x"], "other": True}]}
    )
    with pytest.raises(InputError):
        workbook(pd.DataFrame({"a": ["y" * 32_768]}), described)
