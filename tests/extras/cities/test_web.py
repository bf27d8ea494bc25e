"""Synthetic cities in the web: from releases that their maker may draw from, at no cost, with all keys
resolved."""

from __future__ import annotations

import gzip
import io
import json
import sqlite3
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.http import Http404
from django.test import Client
from django.urls import reverse

from synth_engine.errors import SpecError
from synthweb.extras.cities import building, services
from synthweb.extras.cities import selectors as cities
from synthweb.extras.cities.models import CityBuild, CityExport
from synthweb.extras.cities.selectors import CityDocuments
from synthweb.ledger.models import LedgerEntry
from synthweb.releases import services as releases
from synthweb.releases.models import ReleaseGrant
from synthweb.runs import reconcile
from synthweb.runs.errors import NotOpen, NotReady
from tests.cast import Cast
from tests.web.rest import Caller
from tests.web.scene import Scene

pytestmark = pytest.mark.django_db(transaction=True)
SPECIFICATION = """
schema: synth_engine/city/1
name: A small town
population: 300
areas: {file: areas.csv.gz, key: area, latitude: latitude, longitude: longitude, published: a public list}
sources:
  persons: {model: persons.model.json, receipt: persons.receipt.json}
  shops: {description: shops.description.json}
tables:
  persons:
    source: persons
    key: person_id
    rows: 300
    joins:
      - {column: area, to: areas, by: weight, weight: {column: people}}
  shops:
    source: shops
    key: shop_id
    rows: 20
    joins:
      - {column: area, to: areas, by: weight, weight: {column: people}}
"""
AREAS = "area,latitude,longitude,people\n" + "".join(
    f"A{index},{41 + index / 10},-71.4,{10 * index}\n" for index in range(6)
)
SHOPS: dict[str, Any] = {
    "schema": "synth_engine/description/1",
    "mechanism": "written by hand",
    "model_sha256": "",
    "rows": 20,
    "domain": {
        "attributes": [
            {
                "name": "sells",
                "provenance": "declared",
                "kind": "categorical",
                "values": ["bread", "books"],
                "outside": "clamp",
            }
        ]
    },
    "columns": [{"column": "sells", "given": [], "shares": {"bread": 0.6, "books": 0.4}}],
}


def archive(specification: str = SPECIFICATION, **more: bytes) -> bytes:
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as made:
        made.writestr("town/city.yaml", specification)
        made.writestr("town/areas.csv.gz", gzip.compress(AREAS.encode()))
        made.writestr("town/shops.description.json", json.dumps(SHOPS))
        for name, bytes_ in more.items():
            made.writestr(name, bytes_)
    return content.getvalue()


def documents(scene: Scene, specification: str = SPECIFICATION) -> CityDocuments:
    return CityDocuments(
        specification=specification,
        areas=AREAS.encode(),
        descriptions={"shops": SHOPS},
        releases={"persons": scene.release.code},
    )


def generated(scene: Scene, user: Any, before: CityBuild | None = None) -> CityBuild:
    build = services.draft(user=user, documents=documents(scene), before=before)
    services.start(user=user, build=build)
    building.compute(code=build.code)
    build.refresh_from_db()
    assert build.state == "finished", build.failure
    return build


def tables(content: bytes) -> dict[str, pd.DataFrame]:
    with zipfile.ZipFile(io.BytesIO(content)) as made:
        return {
            name.removesuffix(".parquet"): pd.read_parquet(io.BytesIO(made.read(name)))
            for name in made.namelist()
            if name.endswith(".parquet")
        }


def test_an_analyst_makes_a_city_by_the_pages_and_it_grows(
    cast: Cast, played: Scene, browser: Callable[..., Client], tmp_path: Path
) -> None:
    spent = LedgerEntry.objects.count()
    client = browser(played.reader)
    upload = SimpleUploadedFile("town.zip", archive(), content_type="application/zip")
    made = client.post(reverse("cities:index"), {"archive": upload})
    build = CityBuild.objects.get()
    page = reverse("cities:city", args=[build.code])
    assert made.url == page and build.state == "draft"
    draft = client.get(page)
    assert "A small town" in draft.text and played.release.code in draft.text
    typed = {"specification": build.specification, "source-persons": ""}
    lacking = client.post(page, typed | {"generate": "yes"})
    assert lacking.status_code == 422 and "has no release" in lacking.text
    typed |= {"source-persons": played.release.code}
    client.post(page, typed | {"generate": "yes"})
    build.refresh_from_db()
    assert build.state == "waiting" and "Generate and connect" in client.get(page).text
    building.compute(code=build.code)
    build.refresh_from_db()
    assert build.state == "finished", build.failure

    def file(kind: str) -> bytes:
        answer = client.get(reverse("cities:file", args=[build.code, kind]))
        assert answer.status_code == 200
        return bytes(answer.content)

    made_tables = tables(file("zip"))
    assert len(made_tables["persons"]) == 300 and len(made_tables["shops"]) == 20
    for name in ("persons", "shops"):
        assert set(made_tables[name]["area"]) <= set(made_tables["areas"]["area"])
    assert b"CREATE TABLE" in file("sql")
    database = tmp_path / "city.sqlite"
    database.write_bytes(file("sqlite"))
    with sqlite3.connect(database) as opened:
        assert opened.execute("PRAGMA foreign_key_check").fetchall() == []
        assert opened.execute("SELECT count(*) FROM persons").fetchone() == (300,)
    receipt = json.loads(file("json"))
    (persons, shops) = receipt["sources"]
    assert persons["receipt"] == played.release.receipt["digest"] and shops["receipt"] is None
    assert receipt["sums"][0]["epsilon"] == "1"
    assert LedgerEntry.objects.count() == spent, "a city costs nothing"

    client.post(reverse("cities:grow", args=[build.code]))
    grown = CityBuild.objects.exclude(pk=build.pk).get()
    assert grown.before == build and grown.seed == build.seed and grown.state == "draft"
    again = typed | {"specification": build.specification.replace("rows: 20", "rows: 25")}
    client.post(reverse("cities:city", args=[grown.code]), again | {"generate": "yes"})
    building.compute(code=grown.code)
    grown.refresh_from_db()
    assert grown.changes["unchanged"] == ["areas", "persons"] or grown.changes["unchanged"] == [
        "persons"
    ]
    assert grown.changes["changed"] == ["shops"]
    refused = client.post(reverse("cities:delete", args=[build.code]), follow=True)
    assert "nother city grew from this one" in refused.text
    client.post(reverse("cities:delete", args=[grown.code]))
    assert CityBuild.objects.count() == 1


def test_nobody_makes_a_city_of_releases_that_are_not_shared_with_them(
    cast: Cast, played: Scene
) -> None:
    build = services.draft(user=cast.analyst, documents=documents(played))
    with pytest.raises(Http404):
        services.start(user=cast.analyst, build=build)
    mine = generated(played, played.reader)
    for other in (cast.analyst, cast.steward, cast.stranger):
        with pytest.raises(Http404):
            cities.city_of(other, mine.code)
    # Taken back, the release is in no further download, and a waiting city is not generated.
    waiting = services.draft(user=played.reader, documents=documents(played))
    services.start(user=played.reader, build=waiting)
    grant = ReleaseGrant.objects.get(release=played.release, analyst=played.reader)
    releases.revoke(actor=cast.steward, grant=grant)
    with pytest.raises(NotReady, match="not shared with you any more"):
        cities.require_sources(played.reader, mine)
    building.compute(code=waiting.code)
    waiting.refresh_from_db()
    assert waiting.state == "failed" and waiting.failure["code"] == "not-shared"


@pytest.mark.parametrize(
    ("change", "rule"),
    [
        (("population: 300", "population: 300000"), "up to 100,000 persons"),
        (("rows: 20", "rows: 2000000"), "rows are made here"),
        (("key: shop_id", "key: shop_id\n    loop: 1"), "unknown field"),
        (("weight: {column: people}", "weight: {column: nobody}"), "nobody"),
        (("population: 300", "population: &a 300"), None),
        (("rows: 20", "rows: *a"), "alias"),
    ],
)
def test_specifications_that_cannot_be_are_refused_by_name(
    played: Scene, change: tuple[str, str], rule: str | None
) -> None:
    text = SPECIFICATION.replace(*change)
    if rule is None:
        assert cities.specification_of(text).population == 300
        return
    with pytest.raises(SpecError, match=rule):
        build = services.draft(
            user=played.reader, documents=documents(played, specification=text)
        )
        services.start(user=played.reader, build=build)


def test_archives_are_read_in_memory_and_refused_by_name() -> None:
    read = cities.read_archive(archive(**{"../../etc/passwd": b"x"}))
    assert read.areas.decode() == AREAS and read.descriptions == {"shops": SHOPS}
    for content, rule in (
        (b"no zip", "no zip archive"),
        (archive(**{"other.yaml": b"x"}), "2 specifications"),
        (archive(**{f"f{index}": b"" for index in range(40)}), "too many files"),
        (archive(SPECIFICATION.replace("areas.csv.gz", "towns.csv")), "areas is not in"),
        (archive(SPECIFICATION.replace("shops.desc", "gone.desc")), "'shops': the file"),
    ):
        with pytest.raises(SpecError, match=rule):
            cities.read_archive(content)


def test_a_city_is_generated_once_and_the_reconciler_knows_it(played: Scene) -> None:
    build = generated(played, played.reader)
    before = bytes(build.archive or b"")
    building.compute(code=build.code)
    build.refresh_from_db()
    assert bytes(build.archive or b"") == before
    assert reconcile.SUBJECTS[CityBuild.TASK] is CityBuild
    with pytest.raises(NotOpen):
        services.start(user=played.reader, build=build)


HOUSEHOLDS: dict[str, Any] = SHOPS | {
    "domain": {
        "attributes": [
            {
                "name": "adults",
                "provenance": "declared",
                "kind": "integer",
                "low": 1,
                "high": 2,
                "missing": None,
            }
        ]
    },
    "columns": [{"column": "adults", "given": [], "shares": {"1": 0.5, "2": 0.5}}],
}
SIMULATED = """
schema: synth_engine/city/1
name: A town that is simulated
population: 40
areas: {file: areas.csv, key: area, latitude: latitude, longitude: longitude, published: a public list}
sources:
  persons: {model: persons.model.json, receipt: persons.receipt.json}
  households: {description: households.description.json}
tables:
  households:
    source: households
    key: household_id
    population: [adults]
    joins:
      - {column: area, to: areas, by: weight, weight: {column: people}}
  persons:
    source: persons
    key: person_id
    joins:
      - {column: household_id, to: households, by: size, size: adults}
simulation:
  households: households
  persons: [{table: persons, age: age}]
"""


def test_files_for_simulations_are_written_with_the_city_and_are_its_makers(
    cast: Cast, played: Scene, browser: Callable[..., Client]
) -> None:
    written = CityDocuments(
        specification=SIMULATED,
        areas=AREAS.encode(),
        descriptions={"households": HOUSEHOLDS},
        releases={"persons": played.release.code},
    )
    build = services.draft(user=played.reader, documents=written)
    services.start(user=played.reader, build=build)
    building.compute(code=build.code)
    build.refresh_from_db()
    assert build.state == "finished", build.failure
    assert build.stage == "export-city"
    client, caller = browser(played.reader), Caller(played.reader, "read")
    assert caller.get(f"/cities/{build.code}/").json()["exports"] == ["matsim", "populationsim"]
    page = client.get(reverse("cities:city", args=[build.code])).text
    for form, name, sign in (
        ("matsim", "population.xml.gz", b"<person "),
        ("populationsim", "synthetic_persons.csv", b"\n"),
    ):
        address = reverse("cities:export", args=[build.code, form])
        assert address in page
        answer = client.get(address)
        content = b"".join(answer.streaming_content)
        by_rest = caller.get(f"/cities/{build.code}/{form}.zip")
        assert b"".join(by_rest.streaming_content) == content
        with zipfile.ZipFile(io.BytesIO(content)) as packed:
            receipt = json.loads(packed.read("city.receipt.json"))
            file = packed.read(name)
        assert receipt == build.receipt
        lines = gzip.decompress(file) if name.endswith(".gz") else file
        # PopulationSim's table has a header.
        assert lines.count(sign) == 40 + (form == "populationsim")
        assert browser(cast.analyst).get(address).status_code == 404
    nothing = reverse("cities:export", args=[build.code, "visum"])
    assert client.get(nothing).status_code == 404
    # Taken back, the release is in no further download.
    grant = ReleaseGrant.objects.get(release=played.release, analyst=played.reader)
    releases.revoke(actor=cast.steward, grant=grant)
    assert caller.get(f"/cities/{build.code}/matsim.zip").status_code == 409
    refused = client.get(reverse("cities:export", args=[build.code, "matsim"]), follow=True)
    assert "not shared with you any more" in refused.text
    services.delete(user=played.reader, build=build)
    assert not CityExport.objects.exists()


def test_a_city_without_simulation_has_no_such_files(
    played: Scene, browser: Callable[..., Client]
) -> None:
    build = generated(played, played.reader)
    client, caller = browser(played.reader), Caller(played.reader, "read")
    assert (
        "<code>simulation</code>" in client.get(reverse("cities:city", args=[build.code])).text
    )
    assert caller.get(f"/cities/{build.code}/").json()["exports"] == []
    assert caller.get(f"/cities/{build.code}/matsim.zip").status_code == 404


def test_the_same_by_rest(played: Scene) -> None:
    caller = Caller(played.reader, "read")
    body = {
        "specification": SPECIFICATION,
        "areas": AREAS,
        "descriptions": {"shops": SHOPS},
        "releases": {"persons": played.release.code},
    }
    refused = caller.send("/cities/", body | {"releases": {}})
    assert refused.status_code == 422 and not CityBuild.objects.exists()
    answers = [
        caller.send("/cities/", body, headers={"Idempotency-Key": "town"}) for _ in range(2)
    ]
    assert [each.status_code for each in answers] == [202, 202]
    code = answers[0].json()["code"]
    assert CityBuild.objects.count() == 1
    assert caller.get(f"/cities/{code}/tables.zip").status_code == 404
    building.compute(code=code)
    found = caller.get(f"/cities/{code}/").json()
    assert found["state"] == "finished" and found["receipt"]["population"] == 300
    assert len(tables(caller.get(f"/cities/{code}/tables.zip").content)) >= 2
    assert caller.get(f"/cities/{code}/city.sqlite").content.startswith(b"SQLite format 3")
    assert b"CREATE TABLE" in caller.get(f"/cities/{code}/schema.sql").content
    assert [each["code"] for each in caller.get("/cities/").json()] == [code]
    assert caller.client.delete(f"/api/v1/cities/{code}/").status_code == 204
