"""Columns that are functions of others: refused where they cannot be, never read, and computed in every
sample."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest

from synth_engine import codec, mechanisms, pipeline, tables
from synth_engine.domain import Domain
from synth_engine.errors import DomainError
from synth_engine.kinds.derived import Derived
from synth_engine.kinds.nearest_points import NearestPoints
from synth_engine.mechanisms import uniform
from synth_engine.spec import Spec

COLUMNS: list[dict[str, Any]] = [
    {"name": "total", "kind": "derived", "rule": "sum", "of": ["net", "tax"], "written": {"grouped": True}},
    {"name": "net", "kind": "integer", "low": 0, "high": 9_999, "width": 500, "missing": ["N/A"]},
    {"name": "tax", "kind": "integer", "low": 0, "high": 999, "width": 50},
    {"name": "rate", "kind": "number", "low": 0, "high": 1},
    {"name": "rest", "kind": "derived", "rule": "difference", "of": ["total", "rate"], "decimals": 2,
        "marker": "N/A"},
    {"name": "sold", "kind": "date", "low": "2020-01-01", "high": "2021-12-31", "step_days": 30,
        "format": "%d.%m.%Y", "missing": ["?"]},
    {"name": "booked", "kind": "derived", "rule": "copy", "of": ["sold"]},
    {"name": "year", "kind": "derived", "rule": "year", "of": ["booked"]},
    {"name": "month", "kind": "derived", "rule": "month", "of": ["sold"]},
    {"name": "weekday", "kind": "derived", "rule": "weekday", "of": ["sold"]},
    {"name": "block", "kind": "categorical", "values": ["1", "2", "3"], "outside": "clamp"},
    {"name": "town", "kind": "derived", "rule": "lookup", "of": ["block"],
        "table": [["1", "Rome"], ["2", "Paris"]], "marker": "-"},
    {"name": "north", "kind": "number", "low": 41, "high": 42},
    {"name": "east", "kind": "number", "low": -72, "high": -71, "missing": ["N/A"]},
    {"name": "city", "kind": "derived", "rule": "nearest", "of": ["north", "east"],
        "points": [[41.2, -71.5, "South"], [41.8, -71.5, "North"]], "marker": "-"},
    {"name": "island", "kind": "derived", "rule": "lookup", "of": ["city"], "table": [["South", "yes"]],
        "marker": "no"},
    {"name": "key", "kind": "identifier", "regenerate": "sequence"},
]  # fmt: skip
DOCUMENT = {"attributes": COLUMNS, "file": {"thousands": ",", "delimiter": ";"}}
DOMAIN = Domain.from_json(DOCUMENT)


@pytest.fixture(scope="module")
def release(tmp_path_factory: pytest.TempPathFactory) -> pipeline.Release:
    rng = np.random.default_rng(6)
    days = pd.Timestamp("2020-01-01") + pd.to_timedelta(rng.integers(0, 700, 300), unit="D")
    table = pd.DataFrame(
        {
            "net": rng.integers(0, 9_999, 300).astype(str),
            "tax": rng.integers(0, 999, 300),
            "rate": rng.random(300),
            "sold": pd.Series(days).dt.strftime("%d.%m.%Y"),
            "block": rng.choice(["1", "2", "3"], 300),
            "north": 41 + rng.random(300),
            "east": -72 + rng.random(300),
            "key": rng.integers(0, 9, 300),
        }
    )
    table.loc[:20, "east"] = np.nan
    table.loc[:30, "net"], table.loc[20:50, "sold"] = "N/A", "?"
    path = tmp_path_factory.mktemp("derived") / "table.csv"
    table.to_csv(path, index=False)  # without any of the derived columns: they are not read
    # So much that no value of a block is lost in noise.
    spec = Spec(mechanism="independent", epsilon=Fraction(8))
    return pipeline.synthesize(path, domain=DOMAIN, spec=spec)


def test_no_method_sees_a_derived_column(release: pipeline.Release) -> None:
    assert DOMAIN.names == ("net", "tax", "rate", "sold", "block", "north", "east")
    assert DOMAIN.columns == DOMAIN.names
    asked = {name for measured in release.answers.measurements for name in measured.clique}
    assert asked <= set(DOMAIN.names)


def test_every_rule_holds_in_every_row(release: pipeline.Release) -> None:
    sample = mechanisms.draw_table(release.model, 2_000, "seed")
    assert list(sample) == [column["name"] for column in COLUMNS]
    whole = sample[sample["net"].notna()]
    assert (whole["total"] == whole["net"] + whole["tax"]).all()
    assert sample["total"].isna().equals(sample["net"].isna())
    rest = (whole["total"].astype(float) - whole["rate"]).round(2)
    assert np.allclose(whole["rest"].astype(float), rest)
    days = sample[sample["sold"].notna()]
    assert (days["booked"] == days["sold"]).all()
    assert (days["year"] == days["sold"].dt.year).all()
    assert (days["month"] == days["sold"].dt.month).all()
    assert (days["weekday"] == days["sold"].dt.day_of_week + 1).all()
    assert sample["year"].isna().equals(sample["sold"].isna())
    towns = {"1": "Rome", "2": "Paris"}
    assert sample["town"].fillna("").tolist() == [towns.get(b, "") for b in sample["block"]]
    # The middle between two points of a sphere is no circle of latitude.
    lies = sample[sample["east"].notna() & ((sample["north"] - 41.5).abs() > 0.01)]
    assert ((lies["city"] == "North") == (lies["north"] > 41.5)).all()
    assert (lies["island"].fillna("no") == np.where(lies["north"] > 41.5, "no", "yes")).all()
    assert sample["city"].isna().equals(sample["east"].isna())


def test_they_are_written_like_their_sources(release: pipeline.Release, tmp_path: Path) -> None:
    tables.write(release.model, 400, seed="s", path=tmp_path / "a.csv")
    clean = pd.read_csv(tmp_path / "a.csv", dtype=str, keep_default_na=False)
    assert (clean["booked"] == clean["sold"]).all()
    assert set(clean["town"]) == {"Rome", "Paris", "-"}
    lost = clean["net"] == "N/A"
    assert (clean["rest"][lost] == "N/A").all()
    assert (clean["total"][lost] == "").all()
    tables.write(release.model, 400, seed="s", path=tmp_path / "b.csv", declared=True)
    stated = pd.read_csv(tmp_path / "b.csv", dtype=str, keep_default_na=False, sep=";")
    assert (stated["total"].str.replace(",", "") == clean["total"]).all()
    assert stated["total"].str.contains(",").any()
    tables.write(release.model, 400, seed="s", path=tmp_path / "c.parquet")
    schema = pq.read_schema(tmp_path / "c.parquet")
    kinds = [
        str(schema.field(name).type) for name in ("total", "rest", "booked", "year", "town")
    ]
    assert kinds == ["int64", "double", "date32[day]", "int64", "string"]
    tables.write(release.model, 400, seed="s", path=tmp_path / "d.xlsx")


def test_a_description_is_the_same_from_its_json_and_the_digest_covers_the_rule() -> None:
    assert Domain.from_json(DOMAIN.to_json()).digest == DOMAIN.digest
    changed = [c | {"of": ["tax", "net"]} if c["name"] == "total" else c for c in COLUMNS]
    assert Domain.from_json(DOCUMENT | {"attributes": changed}).digest != DOMAIN.digest


@pytest.mark.parametrize(
    "change",
    [
        {"rule": "median"},
        {"rule": None},
        {"of": None},
        {"of": "net"},
        {"of": [1, 2]},
        {"of": ["net"]},
        {"of": ["net", "net"]},
        {"of": ["net", "nothing"]},
        {"of": ["net", "gone"]},
        {"of": ["net", "block"]},
        {"of": ["net", "total"]},
        {"of": ["net", "rest"]},
        {"rule": "difference", "of": ["net", "tax", "rate"]},
        {"rule": "year", "of": ["net"]},
        {"rule": "copy", "of": ["sold"], "decimals": 2, "written": None},
        {"rule": "copy", "of": ["sold"]},
        {"decimals": 16},
        {"table": [["1", "2"]]},
        {"rule": "lookup", "of": ["block"], "written": None},
        {"rule": "lookup", "of": ["block"], "written": None, "table": [["1", "a"], ["1", "b"]]},
        {"rule": "lookup", "of": ["block"], "written": None, "table": [["1"]]},
        {"rule": "lookup", "of": ["block"], "written": None, "table": ["1"]},
        {"points": [[41.2, -71.5, "South"]]},
        {"rule": "nearest", "of": ["net", "tax"], "written": None},
        *(
            {"rule": "nearest", "of": ["net", "tax"], "written": None, "points": points}
            for points in (
                [],
                "South",
                ["South"],
                [[41.2, -71.5]],
                [[41.2, -71.5, 3]],
                [[91, -71.5, "South"]],
                [[41.2, -181, "South"]],
                [[True, -71.5, "South"]],
                [[float("nan"), -71.5, "South"]],
                [["41.2", -71.5, "South"]],
                [[41.2, -71.5, "South"], [41.2, -71.5, "North"]],
            )
        ),
        {
            "rule": "nearest",
            "of": ["net", "sold"],
            "written": None,
            "points": [[41.2, -71.5, "South"]],
        },
        {"rule": "nearest", "of": ["net"], "written": None, "points": [[41.2, -71.5, "South"]]},
        {"missing": ["?"]},
    ],
)
def test_what_cannot_be_computed_is_refused_at_its_column(change: dict[str, Any]) -> None:
    gone = {"name": "gone", "kind": "identifier"}
    columns = [c | change if c["name"] == "total" else c for c in COLUMNS]
    with pytest.raises(DomainError) as refused:
        Domain.from_json(DOCUMENT | {"attributes": [*columns, gone]})
    assert refused.value.column in ("total", "rest")  # in a circle either of the two
    assert refused.value.repair


def test_the_nearest_point_is_that_of_the_shortest_way_on_the_globe() -> None:
    attribute = Derived(
        name="city",
        rule="nearest",
        of=("a", "b"),
        points=((0, 179.9, "Fiji"), (0, 170, "west"), (80, 0, "north"), (70, 30, "south")),
    )
    # Across the date line, and where degrees of longitude are short.
    latitude, longitude = np.array([0.0, 79.0, np.nan]), np.array([-179.0, 90.0, 0.0])
    assert NearestPoints(attribute.points).texts(latitude, longitude).tolist() == [
        "Fiji",
        "north",
        None,
    ]


def test_a_constraint_on_a_derived_column_is_refused() -> None:
    rule = {"kind": "order", "first": "tax", "second": "total"}
    with pytest.raises(DomainError) as refused:
        Domain.from_json(DOCUMENT | {"constraints": [rule]})
    assert refused.value.column == "total"


def test_a_table_without_derived_columns_is_as_it_was() -> None:
    plain = Domain.from_json({"attributes": [COLUMNS[2]]})
    frame = pd.DataFrame({"tax": [1]})
    assert codec.with_derived(plain, frame) is frame


# --- formulas -----------------------------------------------------------------------------------------------
FORMULAS: list[dict[str, Any]] = [
    {"name": "age", "kind": "integer", "low": 0, "high": 90, "missing": ["-"]},
    {"name": "pay", "kind": "number", "low": 1, "high": 900},
    {"name": "hour", "kind": "integer", "low": 0, "high": 23},
    {"name": "minute", "kind": "integer", "low": 0, "high": 59},
    {"name": "approved", "kind": "boolean", "true": "1", "false": "0"},
    {"name": "origin", "kind": "categorical", "values": ["JFK", "LGA"], "outside": "clamp"},
    {"name": "dest", "kind": "categorical", "values": ["BOS", "ORD"], "outside": "clamp"},
    {"name": "agesq", "kind": "derived", "rule": "power", "of": ["age"], "constant": 2},
    {"name": "logage", "kind": "derived", "rule": "log", "of": ["age"], "decimals": 6, "marker": "none"},
    {"name": "weekly", "kind": "derived", "rule": "ratio", "of": ["pay"], "constant": 52, "decimals": 2},
    {"name": "hourly", "kind": "derived", "rule": "ratio", "of": ["pay", "hour"], "decimals": 3},
    {"name": "both", "kind": "derived", "rule": "product", "of": ["hour", "minute", "age"]},
    {"name": "clock", "kind": "derived", "rule": "clock", "of": ["hour", "minute"]},
    {"name": "rejected", "kind": "derived", "rule": "complement", "of": ["approved"]},
    {"name": "miles", "kind": "derived", "rule": "lookup", "of": ["origin", "dest"],
     "table": [["JFK", "BOS", "187"], ["LGA", "ORD", "733"]], "marker": "?"},
]  # fmt: skip


def test_formulas_hold_in_every_row_and_what_has_no_value_is_missing(tmp_path: Path) -> None:
    domain = Domain.from_json({"attributes": FORMULAS})
    assert Domain.from_json(domain.to_json()).digest == domain.digest
    model = uniform.model(domain, rows=500)
    frame = mechanisms.draw_table(model, 500, "s")
    age = frame["age"].astype("Float64")
    assert (frame["agesq"] == age**2).dropna().all()
    assert frame["agesq"].isna().equals(frame["age"].isna())
    none = (frame["age"].isna() | (frame["age"] == 0).fillna(False)).astype(bool)
    assert frame["logage"].isna().equals(none) and none.sum() > frame["age"].isna().sum()
    logs = np.log(age[~none].to_numpy(dtype=np.float64))
    assert np.allclose(frame["logage"][~none].to_numpy(dtype=np.float64), logs, atol=1e-6)
    assert np.allclose(frame["weekly"].astype(float), frame["pay"] / 52, atol=0.005 + 1e-9)
    assert frame["hourly"].isna().equals(frame["hour"] == 0)
    assert (frame["both"] == frame["hour"] * frame["minute"] * frame["age"]).dropna().all()
    assert (frame["clock"] == 100 * frame["hour"] + frame["minute"]).all()
    assert (frame["rejected"] == 1 - frame["approved"].astype(int)).all()
    listed = {("JFK", "BOS"): "187", ("LGA", "ORD"): "733"}
    pairs = zip(frame["origin"], frame["dest"], strict=True)
    tables.write(model, 500, seed="s", path=tmp_path / "a.csv")
    read = pd.read_csv(tmp_path / "a.csv", dtype=str, keep_default_na=False)
    assert read["miles"].tolist() == [listed.get(pair, "?") for pair in pairs]
    assert (read["logage"][none] == "none").all()


def test_whole_numbers_that_no_double_holds_are_missing() -> None:
    columns = [
        {"name": "a", "kind": "integer", "low": 10**15, "high": 10**15 + 9},
        {"name": "b", "kind": "derived", "rule": "power", "of": ["a"], "constant": 3},
    ]
    domain = Domain.from_json({"attributes": columns})
    assert mechanisms.draw_table(uniform.model(domain, rows=5), 5, "s")["b"].isna().all()


@pytest.mark.parametrize(
    ("column", "field"),
    [
        ({"rule": "power", "of": ["age"]}, "constant"),
        ({"rule": "sum", "of": ["age", "hour"], "constant": 2}, "constant"),
        ({"rule": "ratio", "of": ["age", "hour"], "constant": 0}, "constant"),
        ({"rule": "log", "of": ["age"], "constant": 1}, "constant"),
        ({"rule": "power", "of": ["age"], "constant": 10**400}, "constant"),
        ({"rule": "power", "of": ["age"], "constant": float("nan")}, "constant"),
        ({"rule": "product", "of": ["age"]}, "of"),
        ({"rule": "clock", "of": ["age"]}, "of"),
        ({"rule": "product", "of": ["age", "origin"]}, "of"),
        ({"rule": "lookup", "of": ["origin", "dest"], "table": [["JFK", "187"]]}, "table"),
    ],
)
def test_a_formula_that_cannot_be_computed_is_refused(
    column: dict[str, Any], field: str
) -> None:
    document = {"attributes": [*FORMULAS, {"name": "x", "kind": "derived", **column}]}
    with pytest.raises(DomainError) as refused:
        Domain.from_json(document)
    assert (refused.value.column, refused.value.field) == ("x", field)
    assert refused.value.repair
