"""Canaries: values planted in cells are searched for in everything that leaves, by every way out.

`CANARY` is in no declaration, so no output may show it; `SINGER` is a declared category and may be drawn."""

from __future__ import annotations

import json
import logging
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from synth_engine import cli, pipeline
from synth_engine.domain import Domain
from synth_engine.errors import SynthError
from synth_engine.spec import Spec

CANARY = "zanzibar-7f3a"
CANARY_NUMBER = "8675309417"
SINGER = "declared-singer"
DOMAIN: dict[str, Any] = {
    "unit": {"max_records": 2, "column": "who"},
    "attributes": [
        {
            "name": "job",
            "kind": "categorical",
            "values": [SINGER, "clerk"],
            "other": True,
            "missing": ["?"],
        },
        {"name": "pay", "kind": "integer", "low": 0, "high": 99},
        {"name": "rate", "kind": "number", "low": 0, "high": 1},
        {
            "name": "born",
            "kind": "date",
            "low": "2020-01-01",
            "high": "2020-12-31",
            "step_days": 30,
        },
        {"name": "member", "kind": "boolean"},
        {"name": "note", "kind": "identifier"},
    ],
}
HEADER = "who,job,pay,rate,born,member,note,extra"
ROW = ",".join([CANARY, CANARY, CANARY_NUMBER, CANARY_NUMBER, CANARY, CANARY, CANARY, CANARY])
SOUND = f"u1,{SINGER},5,0.5,2020-02-02,true,n,e"
CHORUS = [
    SOUND.replace("u1", f"u{i}") for i in range(300)
]  # of 300 units, so that none of it is truncated

BROKEN = {
    "ragged": f"{ROW}\n{CANARY},{CANARY}\n",
    "too long": f"{ROW},{CANARY}\n",
    "unclosed quote": f'{SOUND}\n"{CANARY},{ROW}\n',
    "text after a quote": f'"{CANARY}"{CANARY},{ROW}\n',
    "NUL": f"{ROW}\n{CANARY}\0{ROW}\n",
    "not UTF-8": f"{ROW}\n{CANARY}é{ROW}\n",
}
RECORDS_OF_A_RUN = {"NUL", "not UTF-8"}  # a run refuses no record for what its cells hold


def found(text: str) -> bool:
    return CANARY in text or CANARY_NUMBER in text


@pytest.fixture
def place(tmp_path: Path) -> Path:
    (tmp_path / "domain.json").write_text(json.dumps(DOMAIN))
    rows = "\n".join([HEADER, *[ROW] * 3, *CHORUS, f"{CANARY},?,{CANARY},{CANARY},,,,"])
    (tmp_path / "table.csv").write_text(rows + "\n")
    return tmp_path


def arguments(place: Path) -> list[str]:
    outputs = ["--out", "out.csv", "--receipt", "receipt.json", "--model", "model.json"]
    call = [
        "synthesize",
        "table.csv",
        "--domain",
        "domain.json",
        "--mechanism",
        "independent",
        "--epsilon",
        "3",
        *outputs,
    ]
    return [str(place / item) if item.endswith((".csv", ".json")) else item for item in call]


def test_no_output_of_a_run_shows_a_cell_that_was_not_declared(
    place: Path, capsys: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    assert cli.main(arguments(place)) == 0
    assert not found("".join(capsys.readouterr()) + caplog.text)
    for name in ("out.csv", "receipt.json", "model.json"):
        text = (place / name).read_text()
        assert not found(text), name
    assert SINGER in (place / "out.csv").read_text()  # the search would find something


def test_no_stored_answer_or_representation_shows_a_cell(place: Path) -> None:
    public = Domain.from_json(DOMAIN)
    release = pipeline.synthesize(
        place / "table.csv",
        domain=public,
        spec=Spec(mechanism="independent", epsilon=Fraction(3)),
    )
    release.answers.save(place / "answers.npz")
    assert not found((place / "answers.npz").read_bytes().decode("latin-1"))
    assert not found(
        repr(release) + repr(release.answers) + repr(release.model) + repr(release.plan)
    )


@pytest.mark.parametrize(("why", "content"), BROKEN.items(), ids=BROKEN.keys())
def test_no_refusal_shows_a_cell(
    place: Path,
    capsys: pytest.CaptureFixture[str],
    caplog: pytest.LogCaptureFixture,
    why: str,
    content: str,
) -> None:
    caplog.set_level(logging.DEBUG)
    (place / "table.csv").write_bytes(f"{HEADER}\n{content}".encode("latin-1"))
    is_record = why in RECORDS_OF_A_RUN
    assert cli.main(arguments(place)) == (0 if is_record else 2)
    ways_in = [lambda: pipeline.ingest(place / "table.csv")]
    if not is_record:
        table = place / "table.csv"
        ways_in.append(lambda: pipeline.compare(table, table, domain=Domain.from_json(DOMAIN)))
    for way_in in ways_in:
        with pytest.raises(SynthError) as refusal:
            way_in()
        assert not found(
            f"{refusal.value!r} {refusal.value} {getattr(refusal.value, 'as_dict', dict)()}"
        )
    assert not found("".join(capsys.readouterr()) + caplog.text)
    assert (place / "out.csv").exists() == is_record
    if is_record:
        assert not found((place / "out.csv").read_text())


def test_a_report_shows_cells_only_side_by_side_and_numbers_among_their_values(
    place: Path,
) -> None:
    """The steward's report is not private, yet texts that nobody declared are in no table of it. Numbers are
    quantiles and spikes of the comparison of values and means within groups, and in nothing else."""
    report = pipeline.compare(
        place / "table.csv", place / "table.csv", domain=Domain.from_json(DOMAIN)
    )
    shown, values = report.pop("side_by_side"), json.dumps(report.pop("values"))
    means = json.dumps(report.pop("conditional_means"))
    assert found(json.dumps(shown["real"]))
    assert not found(json.dumps(report))
    assert CANARY not in values + means and CANARY_NUMBER in values


def test_a_reading_shows_cells_to_the_steward_alone(place: Path) -> None:
    """The canary of this test: the search does find what is there."""
    reading = pipeline.ingest(place / "table.csv")
    assert found(json.dumps(reading["preview"]))
