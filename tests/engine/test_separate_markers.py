"""Markers of missing values that are separate: read, measured as a column, and written in every format."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from synth_engine import codec, mechanisms, pipeline, readers, tables
from synth_engine.domain import Domain
from synth_engine.errors import DomainError
from synth_engine.spec import Spec

INCOME: dict[str, Any] = {
    "name": "income",
    "kind": "integer",
    "low": 0,
    "high": 9_999,
    "width": 1_000,
    "missing": ["NA", "-", ""],
    "separate_markers": True,
}
PLACE: dict[str, Any] = {
    "name": "place",
    "kind": "categorical",
    "values": ["north", "south"],
    "missing": ["?", "k.A."],
    "separate_markers": True,
}
DOCUMENT: dict[str, Any] = {"attributes": [INCOME, PLACE], "file": {"delimiter": ";"}}
DOMAIN = Domain.from_json(DOCUMENT)
MARKERS = "income (marker)"
TEXTS = ["17", "NA", "-", "", None, "none", "9000"]
CODES = [0, 1, 2, 3, 3, 0, 0]
ROWS = 4_000
SHARES = {"NA": 0.3, "-": 0.1, "": 0.1}


def encoded(domain: Domain, **columns: list[str | None]) -> dict[str, list[int]]:
    cells = {name: pa.array(texts, type=pa.string()) for name, texts in columns.items()}
    return {name: codes.tolist() for name, codes in codec.encode(domain, cells).items()}


def table(path: Path) -> Path:
    rng = np.random.default_rng(3)
    income = rng.choice([*SHARES, "500", "2500"], ROWS, p=[*SHARES.values(), 0.25, 0.25])
    place = rng.choice(["north", "south", "?", "k.A."], ROWS)
    lines = [f"{a};{b}" for a, b in zip(income, place, strict=True)]
    path.write_text("income;place\n" + "\n".join(lines) + "\n")
    return path


# --- what is described --------------------------------------------------------------------------------------
def test_a_description_with_separate_markers_is_read_as_it_is_written() -> None:
    assert Domain.from_json(DOMAIN.to_json()) == DOMAIN
    assert DOMAIN.names == ("income", MARKERS, "place", "place (marker)")
    assert [column.name for column in DOMAIN.table_columns] == ["income", "place"]


def test_a_description_without_them_says_nothing_of_them() -> None:
    plain = {key: value for key, value in INCOME.items() if key != "separate_markers"}
    domain = Domain.from_json({"attributes": [plain]})
    assert "separate_markers" not in str(domain.to_json())
    assert domain.names == ("income",)


@pytest.mark.parametrize("missing", [None, [""]])
def test_fewer_than_two_markers_are_not_separate(missing: list[str] | None) -> None:
    with pytest.raises(DomainError) as refused:
        Domain.from_json({"attributes": [INCOME | {"missing": missing}]})
    assert refused.value.field == "separate_markers"


def test_a_public_set_has_its_markers_as_values() -> None:
    public = {"set": "list", "values": ["a", "b"]}
    column = {"name": "town", "kind": "weak", "values": public, "missing": ["", "?"]}
    with pytest.raises(DomainError, match="not known"):
        Domain.from_json({"attributes": [column | {"separate_markers": True}]})


def test_the_name_of_the_column_of_markers_is_free() -> None:
    other = {"name": MARKERS, "kind": "boolean", "true": "1", "false": "0"}
    with pytest.raises(DomainError, match="have this name"):
        Domain.from_json({"attributes": [INCOME, other]})
    with pytest.raises(DomainError, match="long name"):
        Domain.from_json({"attributes": [INCOME | {"name": "a" * 195}]})


# --- what is read, and written ------------------------------------------------------------------------------
def test_each_marker_has_a_code_and_everything_else_is_a_value() -> None:
    codes = encoded(DOMAIN, income=TEXTS, place=["north"] * len(TEXTS))
    assert codes[MARKERS] == CODES
    assert codes["place (marker)"] == [0] * len(TEXTS)


def test_a_null_is_the_first_marker_where_an_empty_cell_is_none() -> None:
    assert encoded(DOMAIN, income=["1"], place=[None])["place (marker)"] == [1]


def test_markers_are_read_of_columns_that_are_learned() -> None:
    learned = {"name": "income", "kind": "scale", "of": "integer"}
    domain = Domain.from_json({"attributes": [INCOME_OF_A_SCALE | learned]})
    cells = {"income": pa.array(TEXTS, type=pa.string())}
    assert codec.encode(domain, cells, leave_out=["income"])[MARKERS].tolist() == CODES


INCOME_OF_A_SCALE = {"missing": ["NA", "-", ""], "separate_markers": True}


def frame_of(income: list[int | None], markers: list[int]) -> pd.DataFrame:
    return pd.DataFrame(
        {
            "income": pd.array(income, dtype="Int64"),
            "place": pd.Series(["north"] * len(income), dtype="str"),
            MARKERS: markers,
            "place (marker)": [0] * len(income),
        }
    )


def test_every_text_format_writes_the_marker_of_each_cell(tmp_path: Path) -> None:
    frame = frame_of([17, None, None, None], [0, 2, 3, 1])
    texts = codec.as_text(DOMAIN, frame)
    assert texts["income"].tolist() == ["17", "-", "", "NA"]
    assert list(texts) == ["income", "place"]
    lines = codec.DeclaredFormWriter(DOMAIN).block(frame).decode().splitlines()
    assert lines == ["17;north", "-;north", ";north", "NA;north"]
    path = tmp_path / "sample.xlsx"
    with path.open("wb") as file:
        codec.write_workbook(DOMAIN, [frame], file)
    options = readers.ReadOptions(wanted=["income"], mode="total")
    (block,) = readers.blocks(path, kind="xlsx", options=options)
    assert block["income"].to_pylist() == ["17", "-", "", "NA"]


def test_codes_come_back_from_texts() -> None:
    rng = np.random.default_rng(1)
    markers = rng.integers(0, 4, 500)
    income = np.where(markers > 0, 10, rng.integers(0, 10, 500))
    codes = {
        "income": income,
        MARKERS: markers,
        "place": np.zeros(500, dtype=int),
        "place (marker)": np.zeros(500, dtype=int),
    }
    frame = codec.with_markers(DOMAIN, codec.decode(DOMAIN, codes, rng), codes)
    texts = codec.as_text(DOMAIN, frame)
    again = encoded(DOMAIN, **{name: texts[name].tolist() for name in texts})
    assert again == {name: column.tolist() for name, column in codes.items()}


def test_a_missing_value_without_a_marker_takes_that_of_another_row() -> None:
    frame = frame_of([None, 5, None, 7], [0, 2, 0, 2])
    assert codec.as_text(DOMAIN, frame)["income"].tolist() == ["-", "5", "-", "7"]
    alone = frame_of([None], [0])
    assert codec.as_text(DOMAIN, alone)["income"].tolist() == ["NA"]


def test_a_value_with_a_marker_stays_a_value() -> None:
    assert codec.as_text(DOMAIN, frame_of([5], [2]))["income"].tolist() == ["5"]


# --- a release ----------------------------------------------------------------------------------------------
@pytest.mark.parametrize("kind", ["integer", "scale"])
@pytest.mark.parametrize("mechanism", ["independent", "auto"])
def test_samples_have_each_marker_as_often_as_the_table(
    mechanism: str, kind: str, tmp_path: Path
) -> None:
    learned = {"name": "income", "kind": "scale", "of": "integer", **INCOME_OF_A_SCALE}
    domain = Domain.from_json(
        {**DOCUMENT, "attributes": [INCOME if kind == "integer" else learned, PLACE]}
    )
    path = table(tmp_path / "table.csv")
    spec = Spec(mechanism=mechanism, epsilon=Fraction(50), seed="markers")
    release = pipeline.synthesize(path, domain=domain, spec=spec)
    out = tmp_path / "sample.csv"
    tables.write(release.model, ROWS, seed="markers", path=out, declared=True)
    cells = [line.split(";")[0] for line in out.read_text().splitlines()[1:]]
    counts = Counter(cells)
    for marker, share in SHARES.items():
        # Two draws of 4,000 rows: .06 is more than five standard deviations of their difference.
        assert abs(counts[marker] / ROWS - share) < 0.06, (marker, counts[marker])
    drawn = mechanisms.draw_table(release.model, 100, "s")
    assert list(drawn) == ["income", "place"]


def test_markers_are_compared_as_they_are_written(tmp_path: Path) -> None:
    path = table(tmp_path / "table.csv")
    spec = Spec(mechanism="independent", epsilon=Fraction(50), seed="markers")
    release = pipeline.synthesize(path, domain=DOMAIN, spec=spec)
    report: Any = pipeline.report(path, model=release.model, rows=ROWS, seed="markers")
    entry = next(each for each in report["missing_markers"] if each["name"] == "income")
    assert entry["labels"] == ["NA", "-", "(empty)", "a value"]
    assert entry["difference"] < 0.1
    real = entry["shares"]["real"]
    assert real[:3] == pytest.approx(list(SHARES.values()), abs=0.06)
