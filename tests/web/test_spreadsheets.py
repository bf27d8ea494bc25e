"""Every CSV that leaves the application has a form in which no cell is one that a spreadsheet would run as a
formula."""

from __future__ import annotations

import csv
import io
import json
import zipfile
from typing import Any

import pytest
from django.test import Client

from synthweb.releases.models import RepairedTable
from synthweb.releases.table_writers import FORMULA, NUMBER
from tests.cast import Cast
from tests.web import addresses, doorbell, scene
from tests.web.test_authorisation_matrix import rows

pytestmark = pytest.mark.django_db
EVIL = "=1+north"
ASKED = "?for=spreadsheets&for_spreadsheets=true"


def _dangerous(text: str) -> list[str]:
    return [
        cell
        for line in csv.reader(io.StringIO(text))
        for cell in line
        if cell.startswith(FORMULA) and not NUMBER.fullmatch(cell)
    ]


def _text(answer: Any) -> str:
    content = b"".join(answer.streaming_content) if answer.streaming else answer.content
    return str(content.decode())


def _routes() -> list[str]:
    """The addresses of all CSV files."""
    return [
        route
        for route in addresses.routes()
        if not route.startswith(addresses.ADMIN)
        and (route.endswith(".csv") or "<export_kind:kind>" in route)
    ]


@pytest.mark.slow
def test_no_csv_runs_a_formula(cast: Cast, monkeypatch: pytest.MonkeyPatch) -> None:
    document = json.loads(json.dumps(scene.DOMAIN).replace('"north"', json.dumps(EVIL)))
    monkeypatch.setattr(scene, "DOMAIN", document)
    table = scene.TABLE.replace("north", EVIL)
    monkeypatch.setattr(scene, "TABLE", table)
    monkeypatch.setattr(
        scene.upload, "__kwdefaults__", {**scene.upload.__kwdefaults__, "table": table}
    )
    with doorbell.queue_at(doorbell.IN_MEMORY):
        played = scene.play(
            steward=cast.steward, custodian=cast.custodian, organisation=cast.organisation
        )
        addresses.make_all(played, cast)
        content = io.BytesIO()
        with zipfile.ZipFile(content, "w") as packed:
            packed.writestr("table.csv", f'"=region,"\n{EVIL}\n"+a\n\n@b"\n')
            packed.writestr("table.parquet", "PAR1")
        RepairedTable.objects.update(content=content.getvalue())
        users = {**cast.by_name(), "reader": played.reader}
        seen, wrong, raw = [], {}, 0
        for route in _routes():
            expected = dict(
                zip(
                    (
                        "nobody",
                        "stranger",
                        "analyst",
                        "reader",
                        "steward",
                        "custodian",
                        "auditor",
                    ),
                    rows()["GET", route],
                    strict=False,
                )
            )
            person = next(name for name, status in expected.items() if status in (200, 404))
            if expected[person] != 200:
                person = next((name for name in expected if expected[name] == 200), "steward")
            client = Client()
            if person in users:
                client.force_login(users[person])
            address = addresses.fill(route, scene=played, cast=cast)
            answer = client.get(address + ASKED, headers={"Accept": "*/*"})
            if answer.status_code != 200:
                continue
            seen.append(route)
            if found := _dangerous(_text(answer)):
                wrong[route] = found[:3]
            raw += bool(_dangerous(_text(client.get(address, headers={"Accept": "*/*"}))))
    assert not wrong
    # Of these there is a table that was dangerous before it was asked for so.
    assert raw >= 5
    assert {"public/<slug:token>/table.csv", "api/v1/samples/<slug:code>/table.csv"} <= set(
        seen
    )


def test_the_public_page_offers_it(cast: Cast, played: scene.Scene) -> None:
    addresses.make_all(played, cast)
    page = Client().get(f"/public/{addresses.PUBLIC_TOKEN}/").text
    assert f'href="/public/{addresses.PUBLIC_TOKEN}/table.csv?for=spreadsheets"' in page
