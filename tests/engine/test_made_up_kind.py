"""A kind of column that nobody thought of is read, released, compared and suggested by what its class says
alone."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jsonschema
import numpy as np
import pyarrow as pa
import pytest

from synth_engine import cli, codec, dictionaries
from synth_engine.domain import Domain, parse_attribute
from synth_engine.errors import DomainError
from synth_engine.evaluation import column_check, scale_text
from synth_engine.formats import Marks
from synth_engine.kinds import KINDS, attribute_schemas
from synth_engine.kinds.attribute import Attribute
from synth_engine.steward import relations, suggest
from synth_engine.steward.summary import Column
from tests import made_up_kind
from tests.made_up_kind import ROWS, Month, raw_numbers, strings

COLUMN: dict[str, Any] = {"kind": "month", "low": "2022-06", "high": "2023-11"}
DOMAIN: dict[str, Any] = {
    "attributes": [
        {"name": "begun", **COLUMN},
        {"name": "ended", **COLUMN, "high": "2024-05"},
        {"name": "group", "kind": "categorical", "values": ["a", "b"], "outside": "clamp"},
    ]
}


@pytest.fixture(autouse=True, scope="module")
def kind() -> Iterator[None]:
    with made_up_kind.known_to_engine():
        yield
    assert "month" not in KINDS


def described(**facts: Any) -> Attribute:
    return parse_attribute({"name": "begun", **COLUMN, **facts})


def test_a_description_survives_json_and_the_schema_has_the_kind() -> None:
    attribute = described(every=2, missing=["?"], outside="missing", ordered=False)
    assert parse_attribute(json.loads(json.dumps(attribute.to_json()))) == attribute
    (schema,) = (
        each for each in attribute_schemas() if each["properties"]["kind"] == {"const": "month"}
    )
    jsonschema.validate(attribute.to_json(), schema)


def test_cells_are_encoded_and_drawn() -> None:
    attribute = described(missing=[""], outside="missing")
    cells = pa.array(["2022-06", "2023-11", "06/2022", "1999-01", None], pa.string())
    assert codec.encode_column(attribute, cells).tolist() == [0, 17, 18, 18, 18]
    codes = np.arange(attribute.size)
    drawn = attribute.write(attribute.sample(codes, np.random.default_rng(1)))
    assert codec.encode_column(attribute, drawn.to_numpy()).tolist() == codes.tolist()


def test_its_values_and_their_differences_are_written_as_the_class_says() -> None:
    attribute = described()
    assert scale_text.text_of(attribute, 24_287) == "2023-12"
    assert scale_text.span_text(attribute, 3) == "3 months"
    assert scale_text.is_moment(attribute)
    assert attribute.value_step == 1
    assert not scale_text.is_learnable(attribute)


def test_a_kind_whose_differences_have_no_unit_is_refused() -> None:
    with pytest.raises(TypeError, match="span_units"):
        type("Quarter", (Attribute,), {"kind": "quarter", "is_comparable": True})


# --- check and suggestions ----------------------------------------------------------------------------------
def test_cells_are_held_against_a_description() -> None:
    attribute = described(missing=["?"], outside="missing")
    cells = ["2022-07", "2024-01", "06/2022", "?"]
    assert column_check.readings(attribute, cells, marks=Marks()) == [
        "2022-07",
        "2024-01 is outside, counts as missing",
        "cannot be read, counts as missing",
        "missing",
    ]
    check = column_check.check_column(attribute, cells, [50, 20, 30, 1], marks=Marks())
    unread, outside = check.reasons
    assert check.light == "unfit" and "cannot be read as months" in unread
    # No other way of writing is proposed: none is known of this kind.
    assert "times like" not in unread and "format" not in unread
    assert "20 of 100 cells are outside" in outside
    assert check.histogram is not None and not raw_numbers(" ".join(strings(check.histogram)))


def test_it_is_suggested_and_rules_between_such_columns_are_found() -> None:
    lines = [line.split(",") for line in made_up_kind.table().split()[1:]]
    columns = dict(
        zip(("begun", "ended", "group"), map(list, zip(*lines, strict=True)), strict=True)
    )
    drafts = [suggested(cells) | {"name": name} for name, cells in columns.items()]
    assert [each["kind"] for each in drafts] == ["month", "month", "categorical"]
    assert (drafts[0]["low"], drafts[0]["high"]) == ("2022-06", "2023-11")
    rules = relations.held_rules(
        {name: pa.array(cells, pa.string()) for name, cells in columns.items()},
        drafts,
        Marks(),
    )
    (order,) = rules["begun"]
    assert order.facts == {"first": "begun", "second": "ended"}
    domain = Domain.from_json(
        {**DOMAIN, "constraints": [{"kind": "order", **dict(order.facts)}]}
    )
    assert len(domain.constraints) == 1


def suggested(cells: list[str], **codebook: Any) -> dict[str, Any]:
    column = Column(Marks())
    column.add(pa.array(cells, pa.string()))
    return suggest.attribute("column", column, codebook=codebook)


def test_a_code_of_a_codebook_that_is_a_month_stays_a_value() -> None:
    draft = suggested(made_up_kind.months(3), missing=["2022-08", "9999"])
    assert draft["kind"] == "month" and draft["missing"] == ["9999"]
    assert isinstance(parse_attribute(draft), Month)


def test_a_table_schema_has_it_both_ways() -> None:
    schema = dictionaries.to_schema(Domain(attributes=(described(),)))
    assert schema["fields"][0]["type"] == "yearmonth"
    (again,) = dictionaries.read(schema, kind="table-schema").attributes
    assert (again.kind, again.details()) == ("month", described().details())


# --- a release and its comparison ---------------------------------------------------------------------------
@pytest.fixture(scope="module")
def folder(kind: None, tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("months")
    (made / "real.csv").write_text(made_up_kind.table())
    (made / "domain.json").write_text(json.dumps(DOMAIN))
    run(
        "synthesize", made / "real.csv", "--domain", made / "domain.json",
        "--mechanism", "independent", "--epsilon", "8", "--delta", "0", "--seed", "s",
        "--out", made / "made.csv", "--model", made / "model.json",
    )  # fmt: skip
    for ending in ("json", "html"):
        run(
            "compare", made / "real.csv", made / "made.csv", "--domain", made / "domain.json",
            "--model", made / "model.json", "--out", made / f"report.{ending}",
        )  # fmt: skip
    return made


def run(*arguments: object) -> None:
    assert cli.main([str(argument) for argument in arguments]) == 0


def test_a_synthetic_table_has_months(folder: Path) -> None:
    lines = (folder / "made.csv").read_text().split()
    assert lines[0] == "begun,ended,group"
    cells = [line.split(",")[0] for line in lines[1:]]
    assert len(cells) > ROWS / 2
    assert {*cells} <= {*KINDS["month"](name="x", low="2022-06", high="2023-11").value_labels}


def test_a_report_has_months_and_no_numbers_of_them(folder: Path) -> None:
    report = json.loads((folder / "report.json").read_text())
    assert not raw_numbers(" ".join(strings(report)))
    by_name = {entry["name"]: entry for entry in report["values"]}
    for name in ("begun", "ended"):
        entry = by_name[name]
        assert entry["unit"] == "months"
        assert re.fullmatch(r"202[234]-[01][0-9]", entry["measures"]["median"]["real"])
        assert entry["texts"]["standard_deviation"]["real"].endswith(" months")
        assert all(re.fullmatch(r"202[234]-[01][0-9]", top["value"]) for top in entry["top"])


def test_a_page_shows_months_and_no_numbers_of_them(folder: Path) -> None:
    page = (folder / "report.html").read_text()
    seen = re.sub(r"<(script|style)\b.*?</\1>", " ", page, flags=re.DOTALL)
    assert "2023-10" in seen and not raw_numbers(seen)
    (drawn,) = re.findall(
        r'<script type="application/json" id="figures"[^>]*>(.*?)</script>', page
    )
    assert not raw_numbers(" ".join(strings(json.loads(drawn))))


def test_what_is_no_month_is_refused_with_the_name_of_the_column() -> None:
    with pytest.raises(DomainError, match="begun"):
        described(low="June")
