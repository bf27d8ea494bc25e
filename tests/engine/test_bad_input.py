"""Extreme and wrong input, for every mechanism, from the command line: refused in one line that names column,
rule and repair, with nothing written, or handled, with a receipt that verifies."""

from __future__ import annotations

import csv
import json
import re
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from synth_engine import cli, mechanisms

ROOT = Path(__file__).parents[2]
PLACES = {
    "on-the-map",
    "adaptive",
    "adaptive-basic",
    "adaptive-improved",
    "direct-synthesis",
    "privtree",
}
EVERY = [name for name in mechanisms.REGISTRY if name not in PLACES]
"""The others take tables of places alone, and refuse these: test_on_the_map.py, test_adaptive.py,
test_direct.py."""
MARKER = "zebra7"
"""A cell of the table: it must not be repeated by any message."""
COLUMNS = [
    {
        "name": "job",
        "kind": "categorical",
        "values": ["clerk", "smith", MARKER],
        "missing": [""],
    },
    {"name": "age", "kind": "integer", "low": 0, "high": 9},
    {"name": "member", "kind": "boolean", "true": "yes", "false": "no"},
]
ROWS = [["clerk", 3, "yes"], ["smith", 7, "no"], [MARKER, 5, "yes"], ["", 9, "no"]] * 10
UNUSABLE = ["-1", "nan", "inf", "-inf", "1e-400", "1e400", "\uff11", "1" * 400, "0." + "0" * 400 + "1", "",
    " 1", "1_0",
            "0x1", "1,5", "one", "1/0", "\u0661"]  # fmt: skip


class Case:
    """A folder with a table and its description."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.table(ROWS)
        self.describe(COLUMNS)

    def table(
        self,
        rows: Sequence[Sequence[object]],
        *,
        names: Sequence[str] = ("job", "age", "member"),
    ) -> Case:
        with (self.folder / "data.csv").open("w", newline="") as file:
            csv.writer(file).writerows([names, *rows])
        return self

    def describe(self, columns: Sequence[Mapping[str, Any]], **more: object) -> Case:
        (self.folder / "domain.json").write_text(json.dumps({"attributes": columns, **more}))
        return self

    def arguments(
        self, mechanism: str, *, data: str = "data.csv", **given: object
    ) -> list[str]:
        options = {"epsilon": "1", "delta": "1e-9", **given}
        made = [f"--{name}={value}" for name, value in options.items() if name != "param"]
        made += [f"--param={one}" for one in options.get("param", ())]  # type: ignore[attr-defined]
        if mechanisms.takes_records(mechanism):  # otherwise a note says what is assumed
            made.append("--param=records=40")
        places = [
            "--domain",
            "domain.json",
            "--out",
            "out.csv",
            "--receipt",
            "receipt.json",
            "--model",
            "model.json",
        ]
        paths = [
            str(self.folder / one) if one.endswith((".json", ".csv")) else one for one in places
        ]
        return [
            "synthesize",
            str(self.folder / data),
            *paths,
            "--overwrite",
            "--mechanism",
            mechanism,
            *made,
        ]

    @property
    def written(self) -> list[str]:
        return [
            name
            for name in ("out.csv", "receipt.json", "model.json")
            if (self.folder / name).exists()
        ]


@pytest.fixture
def case(tmp_path: Path) -> Case:
    return Case(tmp_path)


def run(arguments: Sequence[str]) -> int:
    try:
        return cli.main(arguments)
    except SystemExit as stop:  # argparse
        return int(stop.code or 0)


def refused(
    case: Case,
    capsys: pytest.CaptureFixture[str],
    mechanism: str,
    *,
    naming: str,
    values: Sequence[str] = (),
    **given: Any,
) -> None:
    """One line that names what is wrong and what to do, no cell of the table, nothing written."""
    assert run(case.arguments(mechanism, **given)) == 2
    out, said = capsys.readouterr()
    assert out == ""
    assert said.startswith("error: ")
    assert said.count("\n") == 1
    assert re.search(naming, said), said
    assert not any(value in said for value in (MARKER, *values)), said
    assert len(said) < 400
    assert case.written == []


def handled(
    case: Case, capsys: pytest.CaptureFixture[str], mechanism: str, **given: Any
) -> list[list[str]]:
    """A table with the right columns, and a receipt that verifies. Returns the rows."""
    assert run(case.arguments(mechanism, **given)) == 0, capsys.readouterr().err
    assert run(["verify", str(case.folder / "receipt.json")]) == 0
    assert "epsilon = " in capsys.readouterr().out
    with (case.folder / "out.csv").open(newline="") as file:
        header, *rows = list(csv.reader(file))
    described = json.loads((case.folder / "domain.json").read_text())["attributes"]
    assert header == [column["name"] for column in described]
    assert all(len(row) == len(header) for row in rows)
    return rows


every_mechanism = pytest.mark.parametrize("mechanism", EVERY)


@every_mechanism
@pytest.mark.parametrize("field", ["epsilon", "delta"])
def test_losses_that_are_no_losses_are_refused(
    case: Case, capsys: pytest.CaptureFixture[str], mechanism: str, field: str
) -> None:
    for text in ["0", *UNUSABLE] if field == "epsilon" else [*UNUSABLE, "1", "0.5"]:
        repeated = [text] if len(text) > 4 else []
        refused(
            case, capsys, mechanism, naming=rf"{field}.*; ", values=repeated, **{field: text}
        )


@every_mechanism
def test_rows_that_are_no_number_are_refused(
    case: Case, capsys: pytest.CaptureFixture[str], mechanism: str
) -> None:
    for text in [*UNUSABLE, "1.5", "1e3", str(10**10)]:
        refused(case, capsys, mechanism, naming="rows.*; ", rows=text)


@pytest.mark.parametrize("delta", ["0", "1e-9"])
@every_mechanism
def test_extreme_losses_are_refused_or_give_a_table(
    case: Case, capsys: pytest.CaptureFixture[str], mechanism: str, delta: str
) -> None:
    for epsilon in ("1e-18", "1e-5", "1001", "1e9"):
        refused(case, capsys, mechanism, naming="epsilon.*; ", epsilon=epsilon, delta=delta)
    for epsilon in ("0.0001", "1000"):
        handled(case, capsys, mechanism, epsilon=epsilon, delta=delta, rows=7)
    handled(case, capsys, mechanism, delta="1e-18", rows=7)


def test_more_parents_than_other_columns_are_refused(
    case: Case, capsys: pytest.CaptureFixture[str]
) -> None:
    refused(
        case,
        capsys,
        "bayesian-network",
        naming="degree is 3.*only 2 others; give",
        param=["degree=3"],
    )
    for text in ("-1", "6", "1" * 400, "\uff12", "nan", "1.5", "", "1e0"):
        refused(
            case, capsys, "bayesian-network", naming="'degree'.*; ", param=[f"degree={text}"]
        )
    assert len(handled(case, capsys, "bayesian-network", param=["degree=2"], rows=9)) == 9


@every_mechanism
def test_parameters_that_do_not_exist_or_come_twice_are_refused(
    case: Case, capsys: pytest.CaptureFixture[str], mechanism: str
) -> None:
    for given in (
        ["parents=2"],
        ["degree=1", "degree=1"],
        ["degree"],
        ["=1"],
        ["\uff44egree=1"],
    ):
        refused(case, capsys, mechanism, naming="parameter.*; ", param=given)


@every_mechanism
def test_an_empty_file_is_refused_and_a_table_without_records_is_one(
    case: Case, capsys: pytest.CaptureFixture[str], mechanism: str
) -> None:
    """Whether a table has any record is not public: a run that failed for none would say so."""
    for content in (b"", b"\n", b"\xef\xbb\xbf"):
        (case.folder / "data.csv").write_bytes(content)
        refused(case, capsys, mechanism, naming="; ")
    for content in (b"job,age,member\n", b"job,age,member"):
        (case.folder / "data.csv").write_bytes(content)
        assert len(handled(case, capsys, mechanism, rows=30)) == 30


@every_mechanism
@pytest.mark.parametrize("delta", ["0", "1e-9"])
def test_one_record_or_one_column_or_one_value_is_enough(
    case: Case, capsys: pytest.CaptureFixture[str], mechanism: str, delta: str
) -> None:
    case.table(ROWS[:1])
    assert len(handled(case, capsys, mechanism, delta=delta, rows=30)) == 30
    case.table([["clerk", 4, "no"]] * 50)
    handled(case, capsys, mechanism, delta=delta)
    case.table(ROWS).describe(COLUMNS[1:2])
    assert len(handled(case, capsys, mechanism, delta=delta, rows=30)) == 30


@every_mechanism
def test_columns_that_are_constant_by_declaration_are_drawn_as_they_are(
    case: Case, capsys: pytest.CaptureFixture[str], mechanism: str
) -> None:
    fixed = [
        {"name": "job", "kind": "categorical", "values": ["clerk"], "outside": "clamp"},
        {"name": "age", "kind": "integer", "low": 4, "high": 4},
        COLUMNS[2],
    ]
    case.describe(fixed)
    rows = handled(case, capsys, mechanism, rows=20)
    assert {(row[0], row[1]) for row in rows} == {("clerk", "4")}
    case.describe(fixed[:2])
    assert handled(case, capsys, mechanism, rows=3) == [["clerk", "4"]] * 3


@every_mechanism
def test_ten_thousand_categories_are_handled_and_more_are_refused(
    case: Case, capsys: pytest.CaptureFixture[str], mechanism: str
) -> None:
    names = [f"name{i}" for i in range(10_001)]
    case.table([[name, 1, "yes"] for name in names])
    many = {"name": "job", "kind": "categorical", "outside": "clamp"}
    case.describe([{**many, "values": names[:10_000]}, *COLUMNS[1:]])
    rows = handled(case, capsys, mechanism, rows=200)
    assert {row[0] for row in rows} <= set(names)
    for path in ("out.csv", "receipt.json", "model.json"):
        (case.folder / path).unlink()
    case.describe([{**many, "values": names}, *COLUMNS[1:]])
    refused(
        case, capsys, mechanism, naming="column 'job'.*10,000 codes; ", values=names[9_000:]
    )


def nested(case: Case, *, inside: str) -> None:
    count = len(ROWS)
    columns: dict[str, Any] = {
        "job": pa.array([str(row[0]) for row in ROWS]), "age": pa.array([row[1] for row in ROWS]),
        "member": pa.array([row[2] for row in ROWS]), "notes": pa.array(["x"] * count),
    }  # fmt: skip
    columns[inside] = (
        pa.array([[MARKER]] * count) if inside == "age" else pa.array([{"a": MARKER}] * count)
    )
    pq.write_table(pa.table(columns), case.folder / "data.parquet")


@every_mechanism
def test_a_parquet_file_with_nested_columns_is_refused_by_column(
    case: Case, capsys: pytest.CaptureFixture[str], mechanism: str
) -> None:
    for column in ("age", "job", "notes"):
        nested(case, inside=column)
        refused(case, capsys, mechanism, naming=f"column '{column}'.*; ", data="data.parquet")


@every_mechanism
def test_a_description_of_another_table_is_refused_by_the_column_that_is_lacking(
    case: Case, capsys: pytest.CaptureFixture[str], mechanism: str
) -> None:
    case.describe([*COLUMNS, {"name": "height", "kind": "number", "low": 0.0, "high": 3.0}])
    refused(case, capsys, mechanism, naming="column 'height'.*; ")
    case.describe([{**COLUMNS[0], "name": "Job"}])
    refused(case, capsys, mechanism, naming="column 'Job'.*; ")


@pytest.mark.parametrize(
    ("content", "naming"),
    [
        (b"", "; "), (b"[]", "; "), (b"{", "; "), (b"\xff\xfe", "; "), (b'{"attributes": []}', "column.*; "),
        (b'{"age": 10, "age": 10}', "; "), (b'{"age": NaN}', "; "), (b'{"age": 1e9}', "'age'.*; "),
        (b'{"age": 0}', "'age'.*; "), (b'{"age": true}', "'age'.*; "), (b"[" * 10_000, "; "),
        (b'{"attributes": [{"name": "age", "kind": "identifier"}]}', "column.*; "),
        (b'{"attributes": [{"name": "age", "kind": "integer", "low": 9, "high": 0}]}', "'age'.*; "),
        ((b'{"attributes": [{"name": "age", "kind": "integer", "low": 0, "high": 9, "provenance": '
        b'"suggested"}]}'), "'age'.*; "),
        (b'{"attributes": [{"name": "age", "kind": "integer", "low": 0, "high": 1' + b"0" * 400 + b"}]}",
            "'age'.*; "),
    ],
)  # fmt: skip
def test_what_is_no_description_is_refused(
    case: Case, capsys: pytest.CaptureFixture[str], content: bytes, naming: str
) -> None:
    (case.folder / "domain.json").write_bytes(content)
    for mechanism in EVERY:
        refused(case, capsys, mechanism, naming=naming)


def test_the_program_itself_ends_with_two_and_one_line(case: Case) -> None:
    """One real process, with text that a shell hands over as it is."""
    command = [
        sys.executable,
        "-m",
        "synth_engine",
        *case.arguments("independent", epsilon="\uff11"),
    ]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)
    assert "epsilon" in done.stderr
    assert "Traceback" not in done.stderr
