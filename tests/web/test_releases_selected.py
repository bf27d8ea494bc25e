"""Samples of chosen rows, on their page and by REST: whoever may draw may choose, from the model alone."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from django.test import Client
from pytest_django import Settings

from synth_engine import verifier
from synth_engine.errors import VerificationError
from synthweb.releases import chain, citation, services
from synthweb.releases.models import Release, Sample
from tests.cast import Cast
from tests.web import scene
from tests.web.html import html_of
from tests.web.rest import Caller

pytestmark = pytest.mark.django_db(transaction=True)
Open = Callable[..., Client]

WHERE = {"column": "age", "values": [{"from": 20, "to": 39}]}
QUOTAS = {"column": "region", "rows": {"north": 12, "south": 8}}


@pytest.fixture(autouse=True)
def _own_slots(settings: Settings, tmp_path: Path) -> None:
    settings.SPOOL_DIR = str(tmp_path)


@pytest.fixture
def release(cast: Cast) -> Release:
    made = scene.released(
        cast, mechanism="independent", epsilon="4", name="Three columns", table=scene.TABLE
    )
    services.share(actor=cast.steward, release=made, analyst=cast.analyst)
    return made


def rows_of(content: bytes) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(content.decode())))


def test_rest_draws_chosen_rows_and_every_record_of_them_says_which(
    cast: Cast, release: Release
) -> None:
    calls = Caller(cast.analyst, "read")
    asked = {"selection": {"where": [WHERE], "quotas": QUOTAS}}
    made = calls.send(f"/releases/{release.code}/samples/", asked)
    assert made.status_code == 201
    assert made.json()["rows"] == 20 and made.json()["selection"] == asked["selection"]
    table = calls.get(f"/samples/{made.json()['code']}/table.csv")
    content = b"".join(table.streaming_content)
    rows = rows_of(content)
    assert sorted(row["region"] for row in rows) == ["north"] * 12 + ["south"] * 8
    assert all(20 <= int(row["age"]) <= 39 for row in rows)
    again = calls.get(f"/samples/{made.json()['code']}/table.csv")
    assert b"".join(again.streaming_content) == content

    sample = Sample.objects.get()
    receipt = chain.receipt_of_sample(sample)
    assert receipt["sample"] is not None
    assert receipt["sample"]["selection"] == asked["selection"]
    assert verifier.verify(receipt).sentences
    words = "age is 20 to 39; 12 of north, 8 of south by region"
    assert words in citation.of_sample(sample).plain

    receipt["sample"]["selection"] = {"which": "all"}
    with pytest.raises(VerificationError, match="selection"):
        verifier.verify(receipt | {"seal": None})  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("body", "words"),
    [
        (
            {"rows": 5, "selection": {"where": [{"column": "nowhere", "values": ["a"]}]}},
            "nowhere",
        ),
        (
            {"rows": 5, "selection": {"where": [{"column": "region", "values": ["x"]}]}},
            "region",
        ),
        ({"rows": 9, "selection": {"quotas": QUOTAS}}, "20 rows in all"),
        ({"rows": 5, "selection": {"where": []}}, "says nothing"),
        ({"rows": 5, "selection": "north"}, "selection is an object"),
        ({"selection": {"where": [WHERE]}}, "number of rows is not given"),
        (
            {"rows": 10_000_000, "selection": {"where": [{"column": "age", "values": ["7"]}]}},
            "few records where age is 7",
        ),
    ],
)
def test_rest_says_what_is_wrong_with_a_selection(
    cast: Cast, release: Release, body: dict[str, Any], words: str
) -> None:
    answer = Caller(cast.analyst, "read").send(f"/releases/{release.code}/samples/", body)
    assert answer.status_code == 422, answer.content
    assert words in answer.content.decode()
    assert not Sample.objects.exists()


def test_a_body_without_rows_is_refused(cast: Cast, release: Release) -> None:
    address = f"/releases/{release.code}/samples/"
    assert Caller(cast.analyst, "read").send(address, {"seed": "s"}).status_code in (400, 422)


def test_the_page_draws_chosen_rows_and_keeps_what_was_typed(
    cast: Cast, release: Release, browser: Open
) -> None:
    client, address = browser(cast.analyst), f"/releases/{release.code}/samples/"
    page = html_of(client.get(address))
    assert "Only some rows" in page
    typed = {
        "rows": "30",
        "column_1": "age",
        "values_1": "20..39; 50",
        "column_2": "region",
        "values_2": "east",
    }
    refused = html_of(client.post(address, typed))
    assert "column &#x27;region&#x27;: value 1 is not among those" in refused
    assert 'value="20..39; 50"' in refused and not Sample.objects.exists()
    sent = client.post(address, typed | {"values_2": "north; south"})
    sample = Sample.objects.get()
    assert sent.headers["Location"].endswith(f"/samples/{sample.code}/")
    shown = html_of(client.get(sent.headers["Location"]))
    assert "Only rows where age is 20 to 39 or 50; region is north or south." in shown
    assert "chosen rows" in html_of(client.get(address))
    table = client.get(f"{sent.headers['Location']}table.csv")
    rows = rows_of(b"".join(table.streaming_content))  # type: ignore[attr-defined]
    ages = {int(row["age"]) for row in rows}
    assert len(rows) == 30 and all(age == 50 or 20 <= age <= 39 for age in ages)


def test_quotas_on_the_page_say_how_many_rows(
    cast: Cast, release: Release, browser: Open
) -> None:
    client, address = browser(cast.analyst), f"/releases/{release.code}/samples/"
    typed = {"rows": "300", "quota_column": "region", "quota_rows": "north 3"}
    assert "a value, a colon, and a number" in html_of(client.post(address, typed))
    twice = typed | {"quota_rows": "north: 3\nnorth: 4"}
    assert "Name each value once." in html_of(client.post(address, twice))
    # What would have no effect is not passed over in silence.
    without = typed | {"quota_column": "", "quota_rows": "north: 3"}
    assert "Choose the column of the rows" in html_of(client.post(address, without))
    without = {"rows": "300", "values_2": "north"}
    assert "Choose the column of the values." in html_of(client.post(address, without))
    assert not Sample.objects.exists()
    client.post(address, typed | {"quota_rows": "north: 3\nsouth: 2\n"})
    sample = Sample.objects.get()
    assert sample.rows == 5
    assert sample.selection == {
        "quotas": {"column": "region", "rows": {"north": 3, "south": 2}}
    }
    table = client.get(f"{address}{sample.code}/table.parquet")
    assert re.match(b"PAR1", b"".join(table.streaming_content))  # type: ignore[attr-defined]
