"""Constraints from REST to the last row: declared or refused, named on the release, kept in every file,
counted for the steward alone."""

from __future__ import annotations

import csv
import io
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from synthweb.datasets.models import Dataset, DomainVersion
from synthweb.ledger import services as ledger
from synthweb.ledger.models import LedgerEntry
from synthweb.releases import services as releases
from synthweb.releases.models import Release
from synthweb.runs import services as runs
from synthweb.runs import worker
from tests.cast import Cast
from tests.web import scene
from tests.web.rest import Caller, assert_problem
from tests.web.scene import DOMAIN

RULES: list[dict[str, Any]] = [
    {"kind": "missing-iff", "column": "works", "when": "age", "values": [{"to": 9}]},
    {"kind": "impossible", "columns": {"region": ["south"], "works": ["yes"]}},
]


@pytest.fixture
def calls(cast: Cast) -> Caller:
    return Caller(cast.steward, "read", "spend", "share")


@pytest.fixture
def dataset(cast: Cast) -> Dataset:
    return scene.read(scene.upload(steward=cast.steward, organisation=cast.organisation))


def test_what_is_declared_holds_in_every_row_and_is_named(
    calls: Caller, cast: Cast, dataset: Dataset, browser: Any
) -> None:
    address = f"/datasets/{dataset.code}/domain/"
    assert calls.send(address, DOMAIN | {"constraints": RULES}, method="put").status_code == 201
    assert calls.get(address).json()["document"]["constraints"][0]["kind"] == "missing-iff"
    ledger.grant(
        custodian=cast.custodian,
        request=scene.ask(steward=cast.steward, dataset=dataset),
        reason="Agreed.",
    )
    worker.synthesize(code=scene.submit(steward=cast.steward, dataset=dataset).code)
    release = Release.objects.get()
    sample = releases.draw_sample(user=cast.steward, release=release, rows=2_000)
    steward: Client = browser(cast.steward)
    answer = steward.get(reverse("releases:sample-csv", args=[release.code, sample.code]))
    rows = list(csv.DictReader(io.StringIO(b"".join(answer.streaming_content).decode())))
    assert len(rows) == 2_000
    assert all((row["works"] == "") == (int(row["age"]) < 10) for row in rows)
    assert not any(row["region"] == "south" and row["works"] == "yes" for row in rows)
    page = steward.get(reverse("releases:about", args=[release.code])).text
    assert "works is missing exactly where age is up to 9" in page
    assert "never: region is south and works is yes" in page
    worker.table_job(code=runs.request_report(release=release, actor=cast.steward).code)
    compared = steward.get(reverse("releases:compare-all", args=[release.code])).text
    assert "Records that break them" in compared
    assert "The synthetic table keeps all constraints; some real records do not." in compared
    assert browser(cast.analyst).get(
        reverse("releases:compare", args=[release.code])
    ).status_code in (403, 404)


@pytest.mark.parametrize(
    ("rule", "column"),
    [
        ({"kind": "order", "first": "age", "second": "height"}, "height"),
        ({"kind": "impossible", "columns": {"region": ["west"]}}, "region"),
        ({"kind": "missing-iff", "column": "age", "when": "works", "values": ["yes"]}, "age"),
        ({"kind": "impossible", "columns": {"age": [{"to": 15}], "works": ["yes"]}}, "age"),
    ],
)
def test_a_bad_one_is_refused_with_column_rule_and_repair(
    calls: Caller, dataset: Dataset, rule: dict[str, Any], column: str
) -> None:
    answer = calls.send(
        f"/datasets/{dataset.code}/domain/", DOMAIN | {"constraints": [rule]}, method="put"
    )
    assert_problem(answer, status=422)
    (fault,) = answer.json()["errors"]
    assert fault["column"] == column
    assert fault["rule"]
    assert fault["repair"]
    assert not DomainVersion.objects.exists()
    assert not LedgerEntry.objects.exists()
