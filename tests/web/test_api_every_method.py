"""Every address of the REST interface with every method of HTTP, as every role: no error of the server, no
page of HTML."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.urls import reverse

from synthweb.datasets import vault
from synthweb.datasets.models import Dataset
from tests.cast import Cast
from tests.nightly import by_day
from tests.web.addresses import rest_routes
from tests.web.html import html_of
from tests.web.rest import PROBLEM, Caller, assert_problem
from tests.web.scene import Scene

METHODS = ("GET", "HEAD", "OPTIONS", "TRACE", "POST", "PUT", "PATCH", "DELETE", "PROPFIND")
SCOPES = ("read", "spend", "share", "webhooks", "grant", "people")
TABLE = b"region,age\nnorth,1\nsouth,2\n"


def _addresses(played: Scene) -> Iterator[str]:
    """Each address below /api/v1/, with codes that exist and with codes that do not."""
    codes = {
        "datasets": played.fresh.code,
        "releases": played.release.code,
        "samples": played.sample.code,
        "runs": played.waiting.code,
        "budget-requests": played.request.code,
        "accounts": played.account.code,
        "references": played.reference.code,
    }
    for route, pattern in rest_routes().items():
        if pattern.name == "not-found":
            continue
        kind = route.partition("/")[0]
        for code in (codes.get(kind, "0"), "0"):
            named = (
                route.replace("<slug:code>", code)
                .replace("<int:number>", "1")
                .replace("<str:username>", "nobody")
            )
            yield re.sub("<[^>]+>", "0", named)


@pytest.mark.slow
@pytest.mark.parametrize(
    "role", by_day(("steward", "analyst"), ("steward", "custodian", "analyst", "auditor"))
)
def test_no_method_is_a_server_error_or_a_page(cast: Cast, played: Scene, role: str) -> None:
    calls = Caller(cast.by_name()[role], *SCOPES).client
    calls.raise_request_exception = False
    wrong = []
    for address in sorted(set(_addresses(played))):
        for method in METHODS:
            answer = calls.generic(
                method, f"/api/v1/{address}", b"", content_type="application/json"
            )
            kind = answer.get("Content-Type", "")
            # The guides and the report that is saved are documents of HTML.
            document = address.startswith("docs/") or address.endswith("/report.html")
            page = kind.startswith("text/html") and not document
            if answer.status_code >= 500 or page:
                wrong.append((method, address, answer.status_code, kind))
    assert not wrong


def test_options_of_the_file_of_a_dataset_says_which_methods_there_are(
    cast: Cast, played: Scene
) -> None:
    answer = Caller(cast.analyst, "read").client.options("/api/v1/datasets/0/file/")
    assert answer.status_code == 200
    assert answer["Allow"] == "PUT, OPTIONS"
    assert set(answer.json()) == {"name", "description"}


@pytest.fixture
def _full(monkeypatch: pytest.MonkeyPatch) -> None:
    """A vault on a device that has no room: the kernel's own /dev/full refuses every byte."""

    def open_full(_path: object, _flags: int, _mode: int = 0) -> int:
        return os.open("/dev/full", os.O_WRONLY)

    monkeypatch.setattr(vault, "os", SimpleNamespace(**{**vars(os), "open": open_full}))


@pytest.mark.usefixtures("_full")
def test_an_upload_into_a_full_vault_is_a_problem_document_and_leaves_nothing(
    cast: Cast,
) -> None:
    before = Dataset.objects.count()
    answer = Caller(cast.steward, "spend").upload("name=full", TABLE)
    body = assert_problem(answer, status=507)
    assert body["type"] == "urn:synthweb:storage"
    assert Dataset.objects.count() == before


@pytest.mark.usefixtures("_full")
def test_the_form_says_that_a_table_cannot_be_stored(
    cast: Cast, browser: Callable[..., object]
) -> None:
    form = {"name": "full", "table": SimpleUploadedFile("t.csv", TABLE)}
    answer = browser(cast.steward).post(reverse("pages:upload"), form)  # type: ignore[attr-defined]
    assert answer.status_code in (200, 422)
    assert "cannot store the table now" in html_of(answer)


def test_the_document_has_the_answers_that_schemas_of_lists_hide(
    cast: Cast, played: Scene
) -> None:
    paths = Caller(cast.steward, "read").get("/schema/?format=json").json()["paths"]
    network = paths["/api/v1/releases/{code}/network/"]["get"]
    assert (
        network["responses"]["200"]["content"]["application/json"]["schema"]["type"] == "array"
    )
    assert [parameter["name"] for parameter in network.get("parameters", [])] == ["code"]
    assert "409" in paths["/api/v1/datasets/{code}/"]["delete"]["responses"]
    assert "422" in paths["/api/v1/datasets/{code}/domain/draft/"]["get"]["responses"]
    assert "507" in paths["/api/v1/datasets/"]["post"]["responses"]
    assert "507" in paths["/api/v1/datasets/{code}/file/"]["put"]["responses"]


def test_deleting_a_dataset_with_an_open_run_is_the_documented_problem(
    cast: Cast, played: Scene
) -> None:
    dataset = played.waiting.dataset
    answer = Caller(cast.steward, "spend").client.delete(f"/api/v1/datasets/{dataset.code}/")
    assert_problem(answer, status=409)
    assert answer["Content-Type"] == PROBLEM


def test_line_breaks_in_names_are_refused_with_the_field(cast: Cast, played: Scene) -> None:
    calls = Caller(cast.steward, *SCOPES)
    name = {"name": "x\r\nSet-Cookie: a=b"}
    for address in (f"/releases/{played.release.code}/", f"/datasets/{played.fresh.code}/"):
        body = assert_problem(calls.send(address, name, method="patch"), status=422)
        assert body["errors"][0]["pointer"] == "/name"
    answer = calls.upload("name=x%0D%0Ay", TABLE)
    assert assert_problem(answer, status=422)["errors"][0]["pointer"] == "/name"
    assert not list(Path(vault.settings.VAULT_DIR).glob(f"*{vault.PART}"))
