"""Public look-up tables of a database: what a description may say, and what is written beside generated
tables."""

from __future__ import annotations

import json
import sqlite3
import zipfile
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from synth_engine.cli import main
from synth_engine.domain.database import Database, read_database
from synth_engine.errors import DomainError
from tests import databases
from tests.databases import TRIPS

KINDS = ("farm", "flat, old", "house")
HOMES: dict[str, Any] = {
    **databases.HOMES,
    "domain": {
        "attributes": [
            {
                "name": "area",
                "kind": "categorical",
                "values": ["north", "south"],
                "outside": "clamp",
            },
            {"name": "kind", "kind": "categorical", "values": list(KINDS), "missing": ["?"]},
        ]
    },
}
AREAS: dict[str, Any] = {
    "name": "areas",
    "key": "code",
    "references": ["homes.area"],
    "columns": ["code", "label"],
    "rows": [["north", "The north"], ["south", ""], ["east", "The east"]],
}
HOME_KINDS: dict[str, Any] = {
    "name": "kinds of homes",
    "key": "kind",
    "references": ["homes.kind"],
    "file": "kinds.csv",
}


def described(*lookups: dict[str, Any]) -> Any:
    document = databases.document(HOMES, databases.PEOPLE, TRIPS)
    return document | {"lookups": list(lookups)}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A real database of forty homes, and its description with two look-up tables, one of which is a file."""
    folder = tmp_path_factory.mktemp("real")
    (folder / "kinds.csv").write_text('kind,rooms\nfarm,9\n"flat, old",2\nhouse,5\n')
    (folder / "database.json").write_text(json.dumps(described(AREAS, HOME_KINDS)))
    homes = [f"{n},{'north' if n % 3 else 'south'},{[*KINDS, '?'][n % 4]!r}" for n in range(40)]
    text = "home,area,kind\n" + "\n".join(homes).replace("'", '"') + "\n"
    (folder / "homes.csv").write_text(text)
    people = [f"{n},{n % 40},{n % 3}" for n in range(60)]
    (folder / "people.csv").write_text("person,home,age\n" + "\n".join(people) + "\n")
    (folder / "trips.csv").write_text("person,mode\n" + "".join(f"{n},1\n" for n in range(30)))
    return folder


@pytest.fixture(scope="module")
def made(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a release in all forms."""
    out = tmp_path_factory.mktemp("made")
    arguments = [
        str(folder / "database.json"),
        "--epsilon",
        "5",
        "--model",
        str(out / "model.json"),
    ]
    arguments += ["--bundle", str(out / "bundle.zip"), "--out", str(out / "made.zip")]
    assert main(["database", "synthesize", *arguments]) == 0
    for form in ("made.sqlite", "folder"):
        model = str(out / "model.json")
        assert main(["database", "sample", model, "--seed", "1", "--out", str(out / form)]) == 0
    return out


def test_every_reference_to_a_look_up_table_resolves(made: Path) -> None:
    with closing(sqlite3.connect(made / "made.sqlite")) as connection:
        assert connection.execute("PRAGMA foreign_key_check").fetchall() == []
        keys = connection.execute("PRAGMA foreign_key_list(homes)").fetchall()
        assert {key[2:5] for key in keys} == {
            ("areas", "area", "code"),
            ("kinds of homes", "kind", "kind"),
        }
        areas = connection.execute("SELECT * FROM areas").fetchall()
        assert areas == [("north", "The north"), ("south", None), ("east", "The east")]
        rooms = 'SELECT rooms FROM homes JOIN "kinds of homes" USING (kind)'
        assert {row[0] for row in connection.execute(rooms)} <= {"9", "2", "5"}


def test_look_up_tables_are_written_as_they_were_given(made: Path) -> None:
    with zipfile.ZipFile(made / "made.zip") as archive:
        assert archive.read("lookup-1.csv").decode() == (
            "code,label\nnorth,The north\nsouth,\neast,The east\n"
        )
        assert (
            archive.read("lookup-2.csv").decode()
            == 'kind,rooms\nfarm,9\n"flat, old",2\nhouse,5\n'
        )
    read = pd.read_csv(made / "folder" / "lookup-2.csv")
    assert read["rooms"].tolist() == [9, 2, 5]
    assert "FOREIGN KEY" in (made / "folder" / "schema.sql").read_text()


def test_a_bundle_holds_look_up_tables_and_verifies(made: Path) -> None:
    assert main(["verify", str(made / "bundle.zip")]) == 0
    with zipfile.ZipFile(made / "bundle.zip") as archive:
        assert archive.read("lookups/lookup-1.csv").startswith(b"code,label\n")


def test_parquet_holds_look_up_tables(made: Path, tmp_path: Path) -> None:
    arguments = [str(made / "model.json"), "--format", "parquet", "--out", str(tmp_path / "p")]
    assert main(["database", "sample", *arguments]) == 0
    label = pd.read_parquet(tmp_path / "p" / "lookup-1.parquet")["label"]
    assert label.isna().tolist() == [False, True, False]


def test_a_look_up_table_changes_neither_what_is_measured_nor_the_receipt(folder: Path) -> None:
    with_lookups = read_database(folder / "database.json")
    without = Database.from_json(databases.document(HOMES, databases.PEOPLE, TRIPS))
    assert with_lookups.digest == without.digest
    assert Database.from_json(with_lookups.to_json()) == with_lookups
    assert "lookups" not in without.to_json()


def refusals() -> Iterator[tuple[str, list[dict[str, Any]], str]]:
    yield "no list", [{**AREAS, "references": ["people.age"]}], "is no list of categories"
    yield "no such table", [{**AREAS, "references": ["farms.area"]}], "there is no table"
    yield "no such column", [{**AREAS, "references": ["homes.size"]}], "is not described"
    yield "no column", [{**AREAS, "references": ["homes"]}], "names no column"
    yield "no reference", [{**AREAS, "references": []}], "no column refers"
    yield "reference twice", [{**AREAS, "references": ["homes.area"] * 2}], "refers to it twice"
    yield "two lists", [AREAS, {**AREAS, "name": "b"}], "refers to another look-up table"
    yield "name of a table", [{**AREAS, "name": "homes"}], "have the name"
    yield "no key", [{**AREAS, "key": "number"}], "none of its columns"
    yield "key twice", [{**AREAS, "rows": [["a", ""], ["a", ""]]}], "occurs in two rows"
    yield "empty key", [{**AREAS, "rows": [["", ""]]}], "a key is empty"
    yield "short row", [{**AREAS, "rows": [["north"]]}], "row 1 has 1 cells"
    yield "numbers", [{**AREAS, "rows": [[1, 2]]}], "no list of texts"
    yield "no row", [{**AREAS, "rows": []}], "has no row"
    yield "no name", [{**AREAS, "name": ""}], "no usable name"
    yield "column twice", [{**AREAS, "columns": ["code", "code"]}], "the name of another one"
    yield "missing key", [{**AREAS, "rows": [["north", ""]]}], "1 of 2 declared values"
    yield "rows and a file", [{**AREAS, "file": "a.csv"}], "rows and a file"
    yield "a file alone", [HOME_KINDS], "does not come with the description"
    yield "too many", [{**AREAS, "name": f"n{n}"} for n in range(21)], "at most 20 look-up"


@pytest.mark.parametrize(
    ("lookups", "rule"),
    [pytest.param(given, rule, id=name) for name, given, rule in refusals()],
)
def test_a_look_up_table_is_refused_by_name_with_a_repair(
    lookups: list[dict[str, Any]], rule: str
) -> None:
    with pytest.raises(DomainError, match=rule) as refused:
        Database.from_json(described(*lookups))
    assert refused.value.repair


def test_values_beyond_the_declared_ones_would_be_no_key() -> None:
    homes = json.loads(json.dumps(HOMES))
    homes["domain"]["attributes"][0] |= {"other": True, "outside": "other"}
    document = databases.document(homes, databases.PEOPLE, TRIPS) | {"lookups": [AREAS]}
    with pytest.raises(DomainError, match="1 of 3 declared values"):
        Database.from_json(document)


def test_a_table_has_no_file_of_the_name_of_one_of_a_look_up_table() -> None:
    document = databases.document({**HOMES, "file": "lookup-1.csv"}, databases.PEOPLE, TRIPS)
    Database.from_json(document)
    with pytest.raises(DomainError, match="rename its file"):
        Database.from_json(document | {"lookups": [AREAS]})


@pytest.mark.parametrize(
    ("content", "rule"),
    [
        (None, "cannot be read"),
        (b"\xff\xfe", "cannot be read"),
        (b"", "no CSV"),
        (b'a,"b', "no CSV"),
    ],
)
def test_a_file_that_is_no_csv_is_refused(
    tmp_path: Path, content: bytes | None, rule: str
) -> None:
    if content is not None:
        (tmp_path / "kinds.csv").write_bytes(content)
    path = databases.save(tmp_path, described(HOME_KINDS), {})
    with pytest.raises(DomainError, match=rule):
        read_database(path)
