"""Synthetic cities: keys resolve, public totals are met exactly, a new release changes its table alone, and
no real row is in them."""

from __future__ import annotations

import copy
import gzip
import json
import sqlite3
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import jsonschema
import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest
import yaml

from synth_engine import pipeline
from synth_engine.cli import main
from synth_engine.domain import Domain
from synth_engine.errors import InputError, SpecError
from synth_engine.extras.cities import building, city, geography, receipt, rounding
from synth_engine.extras.cities.schema import SCHEMA
from synth_engine.privacy import receipt as receipts
from synth_engine.spec import Spec

ROOT = Path(__file__).parents[3]
POPULATION = 601
TOWNS = ("North", "South", "East")
CANARY = "canary-7391"
Document = dict[str, Any]


def described(rows: int, columns: dict[str, dict[str, float]]) -> Document:
    """A description that was written by hand; columns of whole numbers are those whose values are all
    digits."""
    attributes: list[Document] = []
    for name, shares in columns.items():
        values = list(shares)
        if all(value.isdigit() for value in values):
            whole = sorted(map(int, values))
            kind: Document = {
                "kind": "integer",
                "low": whole[0],
                "high": whole[-1],
                "missing": None,
            }
        else:
            kind = {"kind": "categorical", "values": values, "outside": "clamp"}
        attributes.append({"name": name, "provenance": "declared", **kind})
    return {
        "schema": "synth_engine/description/1",
        "mechanism": "written by hand",
        "model_sha256": "",
        "rows": rows,
        "domain": {"attributes": attributes},
        "columns": [
            {"column": name, "given": [], "shares": shares} for name, shares in columns.items()
        ],
    }


def areas() -> pd.DataFrame:
    """Twelve areas in a row from south to north, four of each town."""
    return pd.DataFrame(
        {
            "area": [f"A{index:02d}" for index in range(12)],
            "town": np.repeat(TOWNS, 4),
            "latitude": 41.5 + 0.05 * np.arange(12),
            "longitude": -71.4,
            "jobs": [0, 5, 10, 20, 1, 1, 1, 1, 40, 0, 0, 2],
        }
    )


def release(folder: Path, name: str, table: pd.DataFrame, *, seed: str = "1") -> None:
    """A release of a table of categories, with its model and its receipt."""
    table.to_csv(folder / f"{name}.csv", index=False)
    attributes = [
        {
            "name": column,
            "kind": "categorical",
            "values": sorted(set(table[column]) - {CANARY}),
            "outside": "clamp",
            "provenance": "declared",
        }
        for column in table
    ]
    made = pipeline.synthesize(
        folder / f"{name}.csv",
        domain=Domain.from_json({"attributes": attributes}),
        spec=Spec(mechanism="independent", epsilon=Fraction(4), seed=seed),
    )
    model = made.model.to_json()
    document = made.plan.receipt(
        made.answers, post_processing={"model_sha256": receipts.digest(model)}
    )
    (folder / f"{name}.model.json").write_text(json.dumps(model))
    (folder / f"{name}.receipt.json").write_text(json.dumps(document))


@pytest.fixture(scope="module")
def sources(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with areas, releases and descriptions."""
    folder = tmp_path_factory.mktemp("city")
    areas().to_csv(folder / "areas.csv", index=False)
    rng = np.random.default_rng(7)
    codes = areas()["area"].to_numpy()
    people = pd.DataFrame(
        {
            "role": rng.choice(["head", "partner", "other"], 2_000, p=[0.5, 0.3, 0.2]),
            "work": rng.choice(["yes", "no"], 2_000, p=[0.7, 0.3]),
            "sex": rng.choice(["female", "male"], 2_000),
        }
    )
    people.loc[17, "role"] = CANARY
    release(folder, "people", people)
    commutes = pd.DataFrame({"home": rng.choice(codes, 3_000), "to": rng.choice(codes, 3_000)})
    release(folder, "commutes", commutes)
    by_hand = {
        "households": {
            "kind": {"pair": 0.5, "single": 0.5},
            "adults": {"1": 0.4, "2": 0.4, "3": 0.2},
            "children": {"0": 0.6, "1": 0.3, "2": 0.1},
        },
        "children": {
            "age": dict.fromkeys(map(str, range(10)), 0.1),
            "sex": {"female": 0.5, "male": 0.5},
        },
        "services": {"service": {"food": 0.7, "rent": 0.3}, "sex": {"female": 1.0}},
    }
    for name, columns in by_hand.items():
        document = described(1_000, columns)
        (folder / f"{name}.json").write_text(json.dumps(document))
    return folder


def specification() -> Document:
    by_home = {"source": "commutes", "column": "home"}
    return {
        "schema": "synth_engine/city/1",
        "name": "A city of tests",
        "population": POPULATION,
        "areas": {
            "file": "areas.csv",
            "key": "area",
            "latitude": "latitude",
            "longitude": "longitude",
            "published": "made up by a test",
        },
        "sources": {
            "people": {"model": "people.model.json", "receipt": "people.receipt.json"},
            "commutes": {"model": "commutes.model.json", "receipt": "commutes.receipt.json"},
            "households": {"description": "households.json"},
            "children": {"description": "children.json"},
            "services": {"description": "services.json"},
        },
        "tables": {
            "commutes": {
                "key": "commute_id",
                "flow": {
                    "source": "commutes",
                    "from": {
                        "column": "person_id",
                        "to": "persons",
                        "origin": {"column": "home"},
                        "where": {"column": "work", "in": ["yes"]},
                    },
                    "into": {
                        "column": "job_id",
                        "to": "jobs",
                        "destination": {"column": "to"},
                    },
                    "kilometres": "kilometres",
                },
            },
            "persons": {
                "source": "people",
                "key": "person_id",
                "joins": [
                    {
                        "column": "household_id",
                        "to": "households",
                        "by": "size",
                        "size": "adults",
                        "positions": {
                            "column": "role",
                            "by": "kind",
                            "of": {"pair": [["head"], ["partner"], ["other"]]},
                        },
                    }
                ],
            },
            "households": {
                "source": "households",
                "key": "household_id",
                "population": ["adults", "children"],
                "joins": [{"column": "area", "to": "areas", "by": "weight", "weight": by_home}],
                "totals": [
                    {
                        "by": "town",
                        "of": "population",
                        "counts": {"North": 301, "South": 200, "East": 100},
                    }
                ],
            },
            "jobs": {
                "key": "job_id",
                "rows": {"share": 0.5, "of": "persons"},
                "joins": [
                    {
                        "column": "area",
                        "to": "areas",
                        "by": "weight",
                        "weight": {"column": "jobs"},
                    }
                ],
                "totals": [
                    {
                        "by": "town",
                        "scaled": True,
                        "counts": {"North": 10, "South": 30, "East": 60},
                    }
                ],
            },
            "schools": {
                "key": "school_id",
                "rows": 3,
                "joins": [{"column": "area", "to": "areas", "by": "weight", "weight": by_home}],
            },
            "children": {
                "source": "children",
                "key": "child_id",
                "joins": [
                    {
                        "column": "household_id",
                        "to": "households",
                        "by": "size",
                        "size": "children",
                        "alike": "age",
                    },
                    {
                        "column": "school_id",
                        "to": "schools",
                        "by": "nearest",
                        "where": {"column": "age", "from": 5},
                    },
                ],
            },
            "services": {
                "source": "services",
                "key": "service_id",
                "rows": 40,
                "joins": [
                    {"column": "person_id", "to": "persons", "by": "match", "on": ["sex"]}
                ],
                "totals": [{"by": "service", "counts": {"food": 15, "rent": 25}}],
            },
        },
        "simulation": {
            "households": "households",
            "persons": [
                {"table": "persons", "sex": "sex"},
                {"table": "children", "age": "age", "sex": "sex", "school": "school_id"},
            ],
            "commutes": "commutes",
        },
    }


def written(sources: Path, document: Document, name: str = "city") -> Path:
    path = sources / f"{name}.yaml"
    # Copied by JSON, so that nothing is written as an alias of something else.
    path.write_text(yaml.safe_dump(json.loads(json.dumps(document)), sort_keys=False))
    return path


def built(sources: Path, document: Document, *, seed: str = "1") -> building.BuiltCity:
    return building.build(city.load(written(sources, document)), seed=seed)


@pytest.fixture(scope="module")
def whole(sources: Path) -> building.BuiltCity:
    return built(sources, specification())


def test_keys_resolve(whole: building.BuiltCity) -> None:
    for table in whole.layouts:
        frame = whole.frames[table.name]
        assert table.columns.names == list(frame.columns)
        assert not frame[table.key].duplicated().any()
        for reference in table.references:
            keys = set(whole.frames[reference.table][reference.key])
            assert set(frame[reference.column].dropna()) <= keys
    assert not whole.frames["commutes"]["person_id"].duplicated().any()
    assert not whole.frames["commutes"]["job_id"].duplicated().any()


def test_totals_are_met_exactly(whole: building.BuiltCity) -> None:
    frames = whole.frames
    persons, children = frames["persons"], frames["children"]
    assert len(persons) + len(children) == POPULATION
    towns = dict(zip(frames["areas"]["area"], frames["areas"]["town"], strict=True))
    homes = frames["households"].set_index("household_id")["area"]
    lives = pd.concat([persons["household_id"], children["household_id"]]).map(homes).map(towns)
    assert lives.value_counts().to_dict() == {"North": 301, "South": 200, "East": 100}
    jobs = frames["jobs"]["area"].map(towns).value_counts()
    shares = rounding.shares(np.array([10, 30, 60]), len(frames["jobs"]))
    assert [jobs[town] for town in TOWNS] == shares.tolist()
    assert frames["services"]["service"].value_counts().to_dict() == {"rent": 25, "food": 15}


def test_two_totals_by_own_columns_are_met_together(sources: Path) -> None:
    document = specification()
    totals = [
        {"by": "role", "counts": {"head": 30, "other": 30, "partner": 30}},
        {"by": "sex", "scaled": True, "counts": {"female": 2, "male": 1}},
    ]
    document["tables"]["people"] = {
        "source": "people",
        "key": "id",
        "rows": 90,
        "totals": totals,
        "joins": [
            {"column": "school_id", "to": "schools", "by": "nearest"},
            document["tables"]["schools"]["joins"][0],
        ],
    }
    frame = built(sources, document).frames["people"]
    assert frame["role"].value_counts().to_dict() == {"head": 30, "other": 30, "partner": 30}
    assert frame["sex"].value_counts().to_dict() == {"female": 60, "male": 30}


def test_households_have_their_persons(whole: building.BuiltCity) -> None:
    households = whole.frames["households"].set_index("household_id")
    for name, size in (("persons", "adults"), ("children", "children")):
        members = whole.frames[name]["household_id"].value_counts()
        assert (
            members.reindex(households.index, fill_value=0).tolist()
            == households[size].tolist()
        )
    persons = whole.frames["persons"]
    kinds = persons["household_id"].map(households["kind"])
    first = ~persons["household_id"].duplicated()
    assert set(persons["role"][first & (kinds == "pair")]) == {"head"}


def test_people_work_and_learn_where_the_sources_say(whole: building.BuiltCity) -> None:
    frames = whole.frames
    persons = frames["persons"].set_index("person_id")
    workers = frames["commutes"]["person_id"].map(persons["work"])
    assert set(workers) == {"yes"}
    assert len(frames["commutes"]) == min((persons["work"] == "yes").sum(), len(frames["jobs"]))
    children = frames["children"]
    assert (children["school_id"].isna() == (children["age"] < 5)).all()
    # Each school is the nearest of all to the home.
    homes = whole.areas["children"]
    schools = whole.areas["schools"]
    for home, key in zip(homes, children["school_id"], strict=True):
        if not pd.isna(key):
            distance = abs(schools - home)
            assert distance[int(key) - 1] == distance.min()


def test_the_same_seed_gives_the_same_city(sources: Path, whole: building.BuiltCity) -> None:
    again = built(sources, specification())
    assert again.digests == whole.digests
    assert receipt.build(again) == receipt.build(whole)
    other = built(sources, specification(), seed="2")
    assert all(
        other.digests[name] != whole.digests[name]
        for name in whole.digests
        if name not in ("areas", "schools")
    )


def test_a_new_release_changes_its_table_and_those_that_refer_to_it(
    sources: Path, whole: building.BuiltCity
) -> None:
    people = pd.read_csv(sources / "people.csv").sample(1_500, random_state=1)
    release(sources, "people_2", people)
    document = specification()
    document["sources"]["people"] = {
        "model": "people_2.model.json",
        "receipt": "people_2.receipt.json",
    }
    changes = receipt.changes(receipt.build(whole), receipt.build(built(sources, document)))
    assert set(changes["unchanged"]) >= {"households", "jobs", "schools", "children"}
    assert set(changes["changed"]) <= {"persons", "commutes", "services"}
    assert "persons" in changes["changed"]


def test_no_real_row_is_in_the_city(
    sources: Path, whole: building.BuiltCity, tmp_path: Path
) -> None:
    """The canary is in the table that was released, and in nothing that was made of its model."""
    assert CANARY in (sources / "people.csv").read_text()
    out = tmp_path / "out"
    assert main(["city", "build", str(sources / "city.yaml"), "--out", str(out)]) == 0
    matsim = tmp_path / "matsim"
    export = ["city", "export", str(sources / "city.yaml"), "--form", "matsim"]
    assert main([*export, "--out", str(matsim)]) == 0
    for path in (*out.iterdir(), *matsim.iterdir()):
        content = path.read_bytes()
        if path.suffix == ".gz":
            content = gzip.decompress(content)
        if path.suffix == ".parquet":
            content = pq.read_table(path).to_pandas().to_csv().encode()
        assert CANARY.encode() not in content
    # A city can be made where no real table is left at all.
    table = (sources / "people.csv").read_bytes()
    (sources / "people.csv").unlink()
    try:
        assert built(sources, specification()).digests == whole.digests
    finally:
        (sources / "people.csv").write_bytes(table)


def test_the_receipt_names_the_receipts_of_its_sources(
    sources: Path, whole: building.BuiltCity
) -> None:
    document = receipt.build(whole)
    given = {
        name: json.loads((sources / f"{name}.receipt.json").read_text())
        for name in ("people", "commutes")
    }
    named = {one["source"]: one for one in document["sources"]}
    for name, one in given.items():
        assert named[name]["receipt"] == one["digest"]
        assert named[name]["guarantee"]["sentence"] == one["guarantee"]["sentence"]
    assert named["households"]["receipt"] is None
    assert document["sums"][0]["epsilon"] == "8"
    body = {key: value for key, value in document.items() if key != "digest"}
    assert document["digest"] == receipts.digest(body)
    tables = {one["table"]: one for one in document["tables"]}
    assert tables["households"]["receipts_of_sources"] == {
        "households": None,
        "commutes": given["commutes"]["digest"],
    }


def test_files(sources: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = str(written(sources, specification()))
    build = ["city", "build", path, "--seed", "1"]
    assert main([*build, "--out", str(tmp_path / "folder")]) == 0
    stored = tmp_path / "folder" / "city.receipt.json"
    exports = ["--matsim", str(tmp_path / "m"), "--populationsim", str(tmp_path / "p")]
    assert main([*build, "--out", str(tmp_path / "d.db"), *exports]) == 0
    for folder in ("m", "p"):
        written_again = (tmp_path / folder / "city.receipt.json").read_bytes()
        assert written_again == stored.read_bytes()
    assert main([*build, "--out", str(tmp_path / "e.db"), *exports]) == 2
    assert not (tmp_path / "e.db").exists()
    assert main([*build, "--out", str(tmp_path / "c.zip"), "--before", str(stored)]) == 0
    assert "unchanged: " in capsys.readouterr().out
    assert (
        main(
            [*build, "--out", str(tmp_path / "c.sqlite"), "--receipt", str(tmp_path / "r.json")]
        )
        == 0
    )
    assert json.loads((tmp_path / "r.json").read_text()) == json.loads(stored.read_text())
    with sqlite3.connect(tmp_path / "c.sqlite") as connection:
        assert connection.execute("PRAGMA foreign_key_check").fetchall() == []
        (persons,) = connection.execute("SELECT count(*) FROM persons").fetchone()
    assert persons == pq.read_table(tmp_path / "folder" / "persons.parquet").num_rows
    sql = (tmp_path / "folder" / "schema.sql").read_text()
    assert 'FOREIGN KEY ("household_id") REFERENCES "households" ("household_id")' in sql
    assert main([*build, "--out", str(tmp_path / "folder")]) == 2


def test_verify(sources: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = str(written(sources, specification()))
    out = tmp_path / "folder"
    assert main(["city", "build", path, "--seed", "1", "--out", str(out)]) == 0
    given = [str(sources / f"{name}.receipt.json") for name in ("people", "commutes")]
    assert main(["city", "verify", str(out), *given]) == 0
    text = capsys.readouterr().out
    assert "8 tables are those of the receipt" in text
    assert text.count("verified: epsilon = 4 differential privacy") == 2
    assert main(["city", "verify", str(out)]) == 0
    assert capsys.readouterr().out.count("was not given") == 2
    other = sources / "people_2.receipt.json"
    release(sources, "people_2", pd.read_csv(sources / "people.csv"))
    assert main(["city", "verify", str(out), str(other)]) == 1
    assert "is not made of the release" in capsys.readouterr().err
    jobs = pq.read_table(out / "jobs.parquet")
    pq.write_table(jobs.slice(1), out / "jobs.parquet")
    assert main(["city", "verify", str(out)]) == 1
    assert "the file of table 'jobs' is not that of the receipt" in capsys.readouterr().err
    document = json.loads((out / "city.receipt.json").read_text())
    document["population"] += 1
    (out / "city.receipt.json").write_text(json.dumps(document))
    assert main(["city", "verify", str(out)]) == 1
    assert "was changed" in capsys.readouterr().err


def test_matsim(sources: Path, tmp_path: Path, whole: building.BuiltCity) -> None:
    path = str(written(sources, specification()))
    out = tmp_path / "m"
    assert (
        main(["city", "export", path, "--form", "matsim", "--seed", "1", "--out", str(out)])
        == 0
    )

    def parsed(name: str) -> ElementTree.Element:
        return ElementTree.fromstring(gzip.decompress((out / f"{name}.xml.gz").read_bytes()))

    facilities = {one.get("id") for one in parsed("facilities")}
    persons = parsed("population").findall("person")
    assert len(persons) == POPULATION
    activities = [one for person in persons for one in person.iter("activity")]
    assert {one.get("facility") for one in activities} == facilities
    working = [p for p in persons if any(a.get("type") == "work" for a in p.iter("activity"))]
    assert len(working) == len(whole.frames["commutes"])
    for person in persons:
        steps = [each.tag for each in person.find("plan") or []]
        assert steps in (["activity"], ["activity", "leg"] * 2 + ["activity"])
    space = "{http://www.matsim.org/files/dtd}"
    members = [one.get("refId") for one in parsed("households").iter(f"{space}personId")]
    assert sorted(map(str, members)) == sorted(str(person.get("id")) for person in persons)


def test_populationsim(sources: Path, tmp_path: Path, whole: building.BuiltCity) -> None:
    path = str(written(sources, specification()))
    out = tmp_path / "p"
    arguments = ["city", "export", path, "--form", "populationsim", "--seed", "1"]
    assert main([*arguments, "--out", str(out)]) == 0
    households = pd.read_csv(out / "synthetic_households.csv")
    persons = pd.read_csv(out / "synthetic_persons.csv")
    assert len(households) == len(whole.frames["households"])
    assert households["NP"].sum() == len(persons) == POPULATION
    sizes = persons.groupby("household_id")["per_num"].max()
    assert sizes.to_dict() == households.set_index("household_id")["NP"].to_dict()
    crosswalk = pd.read_csv(out / "geo_cross_walk.csv")
    assert set(households["area"]) <= set(crosswalk["area"])


def _loop(document: Document) -> None:
    document["tables"]["households"]["joins"].append(
        {"column": "reference_id", "to": "services", "by": "match", "on": ["kind"]}
    )


def _loop_of_rows(document: Document) -> None:
    document["tables"]["households"].pop("population")
    document["tables"]["households"].pop("totals")
    document["tables"]["households"]["rows"] = {"share": 0.5, "of": "jobs"}


def _missing_model(document: Document) -> None:
    document["sources"]["people"]["model"] = "nowhere.json"


def _other_model(document: Document) -> None:
    document["sources"]["people"]["receipt"] = "commutes.receipt.json"


def _total_of_another_size(document: Document) -> None:
    document["tables"]["households"]["totals"][0]["counts"]["East"] = 101


def _total_of_no_area(document: Document) -> None:
    document["tables"]["jobs"]["totals"][0]["counts"]["West"] = 1


def _total_of_no_record(document: Document) -> None:
    document["tables"]["services"]["totals"] = [{"by": "sex", "counts": {"male": 40}}]


def _unknown_source(document: Document) -> None:
    document["tables"]["persons"]["source"] = "persons"


def _unknown_column(document: Document) -> None:
    document["tables"]["persons"]["joins"][0]["size"] = "grown_ups"


def _unknown_table(document: Document) -> None:
    document["tables"]["children"]["joins"][1]["to"] = "kindergartens"


def _unknown_field(document: Document) -> None:
    document["tables"]["children"]["rowz"] = 4


def _number_for_text(document: Document) -> None:
    document["tables"]["commutes"]["flow"]["from"]["where"]["in"] = [True]


def _two_ways(document: Document) -> None:
    document["tables"]["persons"]["rows"] = 10


def _unknown_position(document: Document) -> None:
    document["tables"]["persons"]["joins"][0]["positions"]["of"]["pair"][0] = ["boss"]


def _weight_of_texts(document: Document) -> None:
    document["tables"]["jobs"]["joins"][0]["weight"] = {"column": "town"}


@pytest.mark.parametrize(
    ("change", "rule", "repair"),
    [
        (
            _loop,
            "the keys run in a loop: persons → households → services → persons",
            "leave out a join",
        ),
        (_loop_of_rows, "the keys run in a loop: ", "leave out a join"),
        (
            _missing_model,
            "source 'people': the file of its model is not there",
            "make the release",
        ),
        (_other_model, "source 'people': its receipt is of another model", "give the model"),
        (_total_of_another_size, "they add up to 602, and there are 601", "scaled: true"),
        (_total_of_no_area, "no area has the value 'West'", "write it as the areas do"),
        (_total_of_no_record, "too few rows with these values", "leave out the totals"),
        (_unknown_source, "there is no source 'persons'", "list it under sources"),
        (_unknown_column, "has no column 'grown_ups'", "use one of kind, adults, children"),
        (_unknown_table, "refers to 'kindergartens'", "describe that table"),
        (_unknown_field, "tables/children: unknown field 'rowz'", "known are source, key"),
        (
            _number_for_text,
            "tables/commutes/flow/from/where/in/0: it is not a text",
            "write it so",
        ),
        (_two_ways, "its number of rows is given in no way, or in several", "give one of rows"),
        (
            _unknown_position,
            "the column 'role' of 'persons' has no value 'boss'",
            "write it as",
        ),
        (_weight_of_texts, "is not of whole numbers", "name a column of counts"),
    ],
)
def test_a_wrong_city_is_refused_by_name_before_anything_is_written(
    sources: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    change: Callable[[Document], None],
    rule: str,
    repair: str,
) -> None:
    document = copy.deepcopy(specification())
    change(document)
    path = written(sources, document, name="wrong")
    assert main(["city", "build", str(path), "--out", str(tmp_path / "out")]) == 2
    message = capsys.readouterr().err
    assert rule in message
    assert repair in message
    assert message.count("\n") == 1
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        ("a: 1\na: 2\n", "line 2: a name is given twice"),
        ("a: &x [1]\nb: *x\n", "an alias"),
        ("a: !!python/object:os.system {}\n", "is not YAML"),
        ("a: [1\n", "is not YAML"),
        ("? [a]\n: 1\n", "a name is not a text"),
        ("[]\n", "it is not a mapping"),
        ("\x00", "is not YAML"),
    ],
)
def test_yaml_is_read_strictly(tmp_path: Path, text: str, rule: str) -> None:
    path = tmp_path / "c.yaml"
    path.write_text(text)
    with pytest.raises(SpecError, match=rule):
        city.load(path)


def test_names_are_texts_however_they_look(tmp_path: Path) -> None:
    from synth_engine.extras.cities import document

    path = tmp_path / "c.yaml"
    path.write_text("no: 1\n44007: 2\n")
    assert document.read(path, schema={"type": "object"}) == {"no": 1, "44007": 2}


def test_published_schema_is_that_of_the_code() -> None:
    published = json.loads((ROOT / "docs" / "city.schema.json").read_text())
    assert published == SCHEMA
    jsonschema.Draft202012Validator.check_schema(published)
    example = yaml.safe_load((ROOT / "examples" / "city" / "city.yaml").read_text())
    jsonschema.validate(example, published)


def test_rounding_meets_both_totals_and_stays_near() -> None:
    rng = np.random.default_rng(3)
    rows, columns = np.divmod(np.arange(40 * 30), 30)
    row_totals = rng.integers(0, 30, 40)
    column_totals = rng.multinomial(row_totals.sum(), np.full(30, 1 / 30))
    table = rounding.RakedTable(
        rows=rows, columns=columns, row_totals=row_totals, column_totals=column_totals
    )
    expected = table.rake(rng.exponential(size=rows.size))
    met = table.rounded(expected, rng=rng)
    assert met is not None
    at_row, at_column, numbers = met
    assert np.bincount(at_row, weights=numbers, minlength=40).tolist() == row_totals.tolist()
    assert (
        np.bincount(at_column, weights=numbers, minlength=30).tolist() == column_totals.tolist()
    )
    # Controlled rounding: each number is one of the two whole ones around the expected one.
    assert numbers.size == expected.size
    assert (np.abs(numbers - expected) < 1 + 1e-6).all()


def test_flows_that_the_model_does_not_have_still_meet_the_totals() -> None:
    rng = np.random.default_rng(4)
    table = rounding.RakedTable(
        rows=np.array([0, 1]),
        columns=np.array([0, 0]),
        row_totals=np.array([3, 2, 4]),
        column_totals=np.array([2, 7]),
    )
    met = table.rounded(table.rake(np.ones(2)), rng=rng)
    assert met is not None
    at_row, at_column, numbers = met
    assert np.bincount(at_row, weights=numbers, minlength=3).tolist() == [3, 2, 4]
    assert np.bincount(at_column, weights=numbers, minlength=2).tolist() == [2, 7]
    # With a largest number for each cell they cannot be met.
    assert table.rounded(table.rake(np.ones(2)), most=np.array([9, 9]), rng=rng) is None


def test_members_of_a_household_do_not_all_work_in_one_place(whole: building.BuiltCity) -> None:
    commutes, persons = whole.frames["commutes"], whole.frames["persons"]
    household = commutes["person_id"].map(persons.set_index("person_id")["household_id"])
    area = commutes["job_id"].map(whole.frames["jobs"].set_index("job_id")["area"])
    together = area.groupby(household).agg(["size", "nunique"])
    two = together[together["size"] == 2]
    assert len(two) > 20
    assert (two["nunique"] == 2).mean() > 0.5


def test_projection_agrees_with_published_points() -> None:
    """Points of UTM that pyproj 3.7 (PROJ 9.5) gives."""
    for latitude, longitude, from_meridian, east, north in PROJECTED:
        table = pd.DataFrame({"k": ["1"], "lat": [latitude], "lon": [longitude]})
        of = geography.AreaTable(
            areas=city.specification.Areas(
                file="", key="k", latitude="lat", longitude="lon", published="x"
            ),
            table=table,
            sha256="",
        )
        x, y, epsg = of.projected()
        assert epsg == from_meridian
        assert abs(x[0] - east) < 0.01
        assert abs(y[0] - north) < 0.01


PROJECTED = (
    (41.824, -71.4128, 32619, 299621.303, 4633049.818),
    (-33.8688, 151.2093, 32756, 334368.634, 6250948.345),
    (52.52, 13.405, 32633, 391779.259, 5820072.159),
)


def test_another_receipt_is_no_receipt_of_a_city(
    sources: Path, whole: building.BuiltCity
) -> None:
    other = json.loads((sources / "people.receipt.json").read_text())
    with pytest.raises(InputError, match="no receipt of a city"):
        receipt.changes(other, receipt.build(whole))
