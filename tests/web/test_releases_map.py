"""Commutes of a release on maps: from its model for whoever draws samples, beside the real table for stewards
alone."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from synthweb.audit.models import AuditEntry
from synthweb.releases import services
from synthweb.releases.models import Release
from synthweb.runs import worker
from tests.cast import Cast
from tests.web import scene
from tests.web.html import html_of

Open = Callable[..., Client]

HOMES = {"north": [41.9, -71.5], "south": [41.2, -71.5], "isle": [41.17, -71.58]}
WORKS = {"port": [41.8, -71.4], "<hill>": [41.5, -71.3]}
TABLE = "home,work\n" + "".join(
    f"{[*HOMES][i % 3]},{'port' if i % 2 else '<hill>'}\n" for i in range(600)
)  # every pair has a hundred records
DOMAIN: dict[str, Any] = {
    "schema": "synth_engine/domain/1",
    "relation": "replace-one",
    "attributes": [
        {
            "name": "home",
            "kind": "categorical",
            "values": [*HOMES],
            "outside": "clamp",
            "missing": None,
        },
        {
            "name": "work",
            "kind": "categorical",
            "values": [*WORKS],
            "outside": "clamp",
            "missing": None,
        },
    ],
    "totals": {"column": "work", "counts": {"port": 300, "<hill>": 300}},
    "points": [{"column": "home", "at": HOMES}, {"column": "work", "at": WORKS}],
}


@pytest.fixture
def release(cast: Cast) -> Release:
    return scene.released(
        cast, mechanism="on-the-map", epsilon="2", name="Commutes", table=TABLE, document=DOMAIN
    )


def address(name: str, release: Release, *more: str) -> str:
    return reverse(f"releases:{name}", args=[release.code, *more])


def compared(release: Release, client: Client) -> None:
    client.post(reverse("runs:report", args=[release.code]))
    worker.table_job(code=release.dataset.table_jobs.filter(kind="report").latest("pk").code)


def lines(client: Client, url: str) -> list[dict[str, str]]:
    answer = client.get(url)
    assert answer.status_code == 200 and answer["Content-Type"].startswith("text/csv")
    return list(csv.DictReader(io.StringIO(b"".join(answer.streaming_content).decode())))


@pytest.mark.django_db
def test_an_analyst_sees_maps_of_a_shared_release_and_nothing_real(
    release: Release, cast: Cast, browser: Open
) -> None:
    client = browser(cast.analyst)
    assert client.get(address("map", release)).status_code == 404
    services.share(actor=cast.steward, release=release, analyst=cast.analyst)
    page = client.get(
        address("map", release), {"near": "ISLE", "within": "30", "unit": "miles"}
    )
    text = html_of(page)
    # The map is a card of Look: open here, and a line that opens it there.
    assert '<section class="tab-card" id="card" aria-label="Map">' in text
    look = html_of(client.get(address("release", release)))
    assert f'href="{address("map", release)}#card"' in look
    assert "How far those go who start within 30 miles of isle" in text
    assert "Real data" not in text and "costs no privacy budget" in text
    assert (
        "<hill>" not in text and client.get(address("compare-map", release)).status_code == 403
    )
    assert not AuditEntry.objects.filter(action="report.opened").exists()


@pytest.mark.django_db
def test_towns_that_have_names_are_shown_with_them_and_found_by_either(
    cast: Cast, browser: Open
) -> None:
    towns = {"north": "44001", "south": "44002", "isle": "44002"}
    homes = {"column": "home", "at": HOMES, "names": {"isle": "Block <Island>"}}
    parts = [
        {
            "name": "town",
            "column": column,
            "of": of,
            "names": {"44001": "Warren town", "44002": "New Shoreham"},
        }
        for column, of in (("home", towns), ("work", {"port": "44001", "<hill>": "44002"}))
    ]
    document = DOMAIN | {"points": [homes, DOMAIN["points"][1]], "partitions": parts}
    release = scene.released(
        cast, mechanism="on-the-map", epsilon="2", name="Named", table=TABLE, document=document
    )
    client = browser(cast.steward)
    page = client.get(
        address("map", release), {"by": "declared:town", "near": "new shoreham"}
    ).text
    assert "44001 · Warren town" in page and "km of 44002 · New Shoreham" in page
    assert "Block <Island>" not in page
    for near in ("ISLE", "block <island>", "isle · Block <Island>"):
        found = client.get(address("map", release), {"by": "each", "near": near}).text
        assert "of isle · Block &lt;Island&gt;" in found, near
    rows = lines(client, address("map-csv", release, "commutes-matrix") + "?by=declared:town")
    assert {row["home"] for row in rows} == {"44001 · Warren town", "44002 · New Shoreham"}


@pytest.mark.django_db
def test_its_tables_are_whole_files_of_plain_numbers(
    release: Release, cast: Cast, browser: Open
) -> None:
    client = browser(cast.steward)
    found = lines(client, address("map-csv", release, "commutes-matrix"))
    assert sum(int(row["Synthetic records"]) for row in found) == 600
    assert {(row["home"], row["work"]) for row in found} <= {
        (home, work) for home in HOMES for work in WORKS
    }
    averages = lines(client, address("map-csv", release, "commutes-averages") + "?unit=miles")
    assert {row["work"]: int(row["Synthetic records"]) for row in averages} == {
        "port": 300,
        "<hill>": 300,
    }
    assert "Synthetic average, miles" in averages[0]
    assert client.get(address("map-csv", release, "commutes-errors")).status_code == 404


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("name", "value", "words"),
    [
        ("near", "Atlantis", "No public point has this name"),
        ("within", "-3", "greater than or equal to 0.1"),
        ("within", "nan", "Enter a number"),
        ("short", "far", "Enter a number"),
        ("unit", "leagues", "Select a valid choice"),
        ("by", "guess", "Select a valid choice"),
    ],
)
def test_what_cannot_be_is_said_and_kept_and_the_usual_is_shown(
    name: str, value: str, words: str, release: Release, cast: Cast, browser: Open
) -> None:
    text = html_of(browser(cast.steward).get(address("map", release), {name: value}))
    assert words in text and "How far all records go" in text
    assert f'value="{value}"' in text or name in ("unit", "by")


@pytest.mark.django_db
def test_a_steward_sees_them_beside_the_real_table_and_each_look_is_audited(
    release: Release, cast: Cast, browser: Open
) -> None:
    client = browser(cast.steward)
    assert client.get(address("compare-map", release)).status_code == 302, (
        "there is no comparison yet"
    )
    compared(release, client)
    before = AuditEntry.objects.filter(action="report.opened").count()
    text = html_of(
        client.get(address("compare-map", release), {"near": "north", "within": "5"})
    )
    assert AuditEntry.objects.filter(action="report.opened").count() == before + 1
    assert (
        "Real data, not differentially private" in text
        and "Error of the average commute" in text
    )
    assert "The largest gap is" in text and "200 real" in text
    found = lines(client, address("compare-map-csv", release, "commutes-matrix"))
    assert AuditEntry.objects.filter(action="report.opened").count() == before + 2
    assert {row["Real records"] for row in found} == {"100"}
    assert address("compare-map", release) in html_of(client.get(address("compare", release)))


@pytest.mark.django_db
def test_the_export_of_a_comparison_has_the_numbers_of_commutes_and_not_the_table_itself(
    release: Release, cast: Cast, browser: Open
) -> None:
    client = browser(cast.steward)
    compared(release, client)
    (entry,) = client.get(address("compare-json", release)).json()["commutes"]
    assert "cells" not in entry and entry["records"] == {"real": 600, "synthetic": 600}
    assert [row["band"] for row in entry["errors_km"]] == [
        "1–5",
        "6–20",
        "21–100",
        "over 100",
        "all",
    ]


@pytest.mark.django_db
def test_a_release_without_two_ends_has_no_such_tab(cast: Cast, browser: Open) -> None:
    plain = {**DOMAIN, "points": DOMAIN["points"][:1]}
    made = scene.released(
        cast, mechanism="on-the-map", epsilon="2", name="Plain", table=TABLE, document=plain
    )
    client = browser(cast.steward)
    assert address("map", made) not in html_of(
        client.get(reverse("releases:release", args=[made.code]))
    )
    assert "No origins and destinations" in html_of(client.get(address("map", made)))
