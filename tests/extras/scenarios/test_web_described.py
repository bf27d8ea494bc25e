"""Test data from a description, without data: by page and by REST, of a dataset or brought; nothing of a
table is read or charged."""

from __future__ import annotations

import copy
import io
import json
import zipfile
from collections.abc import Callable
from typing import Any

import pandas as pd
import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from django.urls import reverse
from pytest_django import Settings

from synth_engine.extras.scenarios import engine as scenarios
from synthweb.audit.models import AuditEntry
from synthweb.datasets import preview_store, vault
from synthweb.datasets.models import Dataset, DomainVersion
from synthweb.extras.scenarios import altered
from synthweb.ledger.models import LedgerEntry
from synthweb.releases.slots import Slot
from tests.cast import Cast
from tests.extras.scenarios.test_web import archive_of, form_of, table_of, typed
from tests.web import scene
from tests.web.rest import PROBLEM

Open = Callable[..., Client]
pytestmark = pytest.mark.django_db

WORD = "cnry4f1b9c72e8"
TABLE = scene.TABLE + f"{WORD},41,yes\n" + f"north,30,{WORD}\n" * 20
DUPLICATES = {
    "schema": "synth_engine/scenario/1",
    "steps": [
        {"kind": "near-duplicates", "copies": 5},
        {"kind": "missing-marker", "column": "age", "rate": 0.1, "markers": ["n/a"]},
    ],
}
PAGE = "/releases/test-data/"
REST = "/api/v1/test-data/"


@pytest.fixture
def dataset(cast: Cast) -> Dataset:
    """Described, with a word in its table that no description has, and budget that nobody has spent."""
    return scene.funded(cast, table=TABLE)


@pytest.fixture
def unread(dataset: Dataset, monkeypatch: pytest.MonkeyPatch) -> Dataset:
    """The same, and whoever opens a file of the vault or a preview fails."""

    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("a file of the vault was opened")

    monkeypatch.setattr(vault, "open_table", refuse)
    monkeypatch.setattr(preview_store, "read", refuse)
    return dataset


def post(client: Client, **body: Any) -> Any:
    asked = {"scenario": DUPLICATES, "rows": 200, "seed": "seven"} | body
    return client.post(REST, asked, content_type="application/json")


def press(client: Client, page: Any, do: str, **changed: Any) -> Any:
    """A button of the editor, with what the page carries."""
    return client.post(
        PAGE, form_of(page) | dict(page.context["carried"]) | {"do": do} | changed
    )


def test_a_dataset_gives_its_description_and_nothing_else(
    unread: Dataset, cast: Cast, browser: Open
) -> None:
    entries = LedgerEntry.objects.count()
    client = browser(cast.steward)
    archive = archive_of(post(client, dataset=unread.code))
    table, changes = table_of(archive), table_of(archive, "changes.csv")
    assert len(table) == 205
    assert set(table["region"]) <= {"north", "south", "(other)"}
    assert (changes["kind"] == "missing-marker").sum() > 0
    for name in archive.namelist():
        assert WORD.encode() not in archive.read(name)
    # Every value is equally likely, whatever the table has: there two of three regions are north.
    whole = table_of(archive_of(post(client, dataset=unread.code, rows=6000)))
    shares = whole["region"].value_counts(normalize=True)
    assert len(shares) == 3
    assert shares.to_dict() == pytest.approx(dict.fromkeys(shares.index, 1 / 3), abs=0.05)
    record = json.loads(archive.read("record.json"))
    version = DomainVersion.objects.get(dataset=unread)
    assert record["description_sha256"] == version.digest
    assert record["statement"] == scenarios.DESCRIBED_STATEMENT
    assert "from a description, without data" in archive.read("STATEMENT.txt").decode()
    assert LedgerEntry.objects.count() == entries
    entry = AuditEntry.objects.filter(action="testdata.made").first()
    assert entry is not None
    assert (entry.object_kind, entry.object_code) == ("dataset", unread.code)
    assert entry.detail["description"] == version.digest


def test_a_brought_description_gives_the_same_bytes_again(cast: Cast, browser: Open) -> None:
    client = browser(cast.steward)
    first, second = (
        b"".join(post(client, description=scene.DOMAIN).streaming_content) for _ in range(2)
    )
    assert first == second
    other = b"".join(post(client, description=scene.DOMAIN, seed="eight").streaming_content)
    names = [zipfile.ZipFile(io.BytesIO(each)) for each in (first, other)]
    assert names[0].read("table.csv") != names[1].read("table.csv")
    entry = AuditEntry.objects.filter(action="testdata.made").latest("pk")
    assert entry.object_code == ""
    assert not Dataset.objects.exists()


def test_a_description_with_shares_gives_tables_of_these_shares(
    cast: Cast, browser: Open
) -> None:
    document = {
        "schema": "synth_engine/description/1",
        "mechanism": "independent",
        "model_sha256": "0" * 64,
        "rows": 100,
        "domain": {
            "attributes": [
                {"name": "job", "kind": "categorical", "values": ["a", "b"], "outside": "clamp"}
            ]
        },
        "columns": [{"column": "job", "shares": {"a": 0.9, "b": 0.1}}],
    }
    scenario = {**DUPLICATES, "steps": [{"kind": "near-duplicates", "copies": 1}]}
    answer = post(browser(cast.steward), description=document, scenario=scenario, rows=5000)
    jobs: pd.Series = table_of(archive_of(answer))["job"]
    assert (jobs == "a").mean() == pytest.approx(0.9, abs=0.05)


def test_the_page_makes_the_same_archive_as_rest(
    unread: Dataset, cast: Cast, browser: Open
) -> None:
    client = browser(cast.steward)
    page = client.get(PAGE)
    assert [each.code for each in page.context["described"]] == [unread.code]
    page = client.get(PAGE, {"dataset": unread.code})
    assert page.status_code == 200
    assert page.context["carried"] == {"dataset": unread.code}
    page = press(client, page, "show", column="region")
    page = press(client, page, "apply", **typed(page, {"north": "20", "south": "80"}))
    now = {bar.text: bar.now.value for bar in page.context["bars"].bars}
    assert now["north"] == pytest.approx(0.2, abs=1e-4)
    made = archive_of(press(client, page, "make", rows="500", seed="seven"))
    assert (table_of(made)["region"] == "north").sum() == 100
    scenario = json.loads(made.read("scenario.json"))
    again = archive_of(post(client, dataset=unread.code, scenario=scenario, rows=500))
    assert again.read("table.csv") == made.read("table.csv")


def test_a_description_is_brought_to_the_page_and_travels_with_it(
    cast: Cast, browser: Open
) -> None:
    client = browser(cast.steward)
    document = json.dumps(scene.DOMAIN, indent=1)
    upload = SimpleUploadedFile("domain.json", document.encode())
    page = client.post(PAGE, {"do": "describe", "document": upload})
    assert page.status_code == 200
    assert page.context["carried"] == {"description": document}
    assert page.context["state"].rows == "10000"
    page = press(client, page, "show", kind="shift")
    page = press(client, page, "add", **{"step-column": "age", "step-by": "0.5"})
    archive = archive_of(press(client, page, "make", rows="50"))
    assert len(table_of(archive)) == 50
    assert not Dataset.objects.exists()


def wrong(**changed: Any) -> dict[str, Any]:
    """The description of the scene with its first column changed."""
    document = copy.deepcopy(scene.DOMAIN)
    column = document["attributes"][0] | changed
    document["attributes"][0] = {
        name: value for name, value in column.items() if value is not None
    }
    return document


WRONG = [
    ({}, None, "no column to model"),
    ({"schema": "synth_engine/model/1"}, None, "unknown schema"),
    (wrong(values=[]), "region", "values"),
    (wrong(provenance="suggested"), "region", "only suggested by the data"),
    (wrong(kind="no such"), "region", "kind"),
    (
        wrong(kind="weak", values={"set": "known", "name": "countries"}, rho=0.9, other=None),
        "region",
        "still has to be learned",
    ),
]


@pytest.mark.parametrize(("document", "column", "rule"), WRONG)
def test_a_wrong_description_is_refused_by_name(
    cast: Cast, browser: Open, document: dict[str, Any], column: str | None, rule: str
) -> None:
    client = browser(cast.steward)
    answer = post(client, description=document)
    assert (answer.status_code, answer["Content-Type"]) == (422, PROBLEM)
    (fault,) = answer.json()["errors"]
    assert (fault["column"], bool(fault["repair"])) == (column, True)
    assert rule in fault["rule"]
    upload = SimpleUploadedFile("domain.json", json.dumps(document).encode())
    page = client.post(PAGE, {"do": "describe", "document": upload})
    assert page.status_code == 422
    assert fault["rule"] in page.context["problem"]
    assert "state" not in page.context


@pytest.mark.parametrize(
    "file",
    [None, b"", b"\xff{", b"{", b"[1]", b'{"a": NaN}', b"[" * 5000, b" " * 1_000_001],
)
def test_a_file_that_is_no_description_is_refused_on_the_page(
    cast: Cast, browser: Open, file: bytes | None
) -> None:
    data: dict[str, Any] = {"do": "describe"}
    if file is not None:
        data["document"] = SimpleUploadedFile("domain.json", file)
    page = browser(cast.steward).post(PAGE, data)
    assert page.status_code == 422
    assert page.context["problem"]


@pytest.mark.parametrize(
    ("body", "status"),
    [
        ({}, 400),
        ({"dataset": "x", "description": {}}, 400),
        ({"description": None}, 400),
        ({"dataset": "nowhere"}, 404),
        ({"description": scene.DOMAIN, "rows": 10**7}, 400),
        ({"description": scene.DOMAIN, "rows": 0}, 400),
    ],
)
def test_requests_that_cannot_be_met(
    cast: Cast, browser: Open, body: dict[str, Any], status: int
) -> None:
    assert post(browser(cast.steward), **body).status_code == status


def test_a_dataset_without_a_confirmed_description_is_refused(
    cast: Cast, browser: Open
) -> None:
    fresh = scene.upload(steward=cast.steward, organisation=cast.organisation)
    client = browser(cast.steward)
    answer = post(client, dataset=fresh.code)
    assert answer.status_code == 422
    assert "confirmed description" in answer.json()["errors"][0]["rule"]
    page = client.get(PAGE, {"dataset": fresh.code})
    assert page.status_code == 422
    assert page.context["described"] == []


def test_one_too_many_is_refused(cast: Cast, browser: Open, settings: Settings) -> None:
    settings.DRAWINGS_PER_PERSON = 1
    client = browser(cast.steward)
    upload = SimpleUploadedFile("domain.json", json.dumps(scene.DOMAIN).encode())
    with Slot(cast.steward.pk):
        answer = post(client, description=scene.DOMAIN)
        page = client.post(PAGE, {"do": "describe", "document": upload})
    assert answer.json()["type"] == "urn:synthweb:too-many-drawings"
    assert answer.status_code == page.status_code == 429
    assert answer["Retry-After"] == page["Retry-After"]


def test_too_many_cells_are_refused(
    cast: Cast, browser: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(altered, "MOST_CELLS", 100)
    answer = post(browser(cast.steward), description=scene.DOMAIN)
    assert answer.status_code == 422
    assert "more than 100 cells" in answer.json()["errors"][0]["rule"]


def test_others_have_no_access(dataset: Dataset, cast: Cast, browser: Open) -> None:
    stranger = browser(cast.stranger)
    assert post(stranger, dataset=dataset.code).status_code == 404
    assert stranger.get(PAGE, {"dataset": dataset.code}).status_code == 404
    assert stranger.post(PAGE, {"dataset": dataset.code, "do": "make"}).status_code == 404
    assert stranger.get(PAGE).context["described"] == []
    for person in (cast.analyst, cast.custodian, cast.auditor):
        client = browser(person)
        assert post(client, description=scene.DOMAIN).status_code == 403
        assert client.get(PAGE).status_code == 403
    assert not AuditEntry.objects.filter(action="testdata.made").exists()


def test_the_page_of_a_description_leads_to_its_test_data(
    dataset: Dataset, cast: Cast, browser: Open
) -> None:
    address = reverse("datasets:domain", args=[dataset.code, 1])
    link = f'href="{PAGE}?dataset={dataset.code}"'
    assert link in browser(cast.steward).get(address).content.decode()
    assert link not in browser(cast.custodian).get(address).content.decode()
