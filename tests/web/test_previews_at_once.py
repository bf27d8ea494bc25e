"""Previews: fewer at once than there are threads; one too many is told when to come back, and nothing is
lost."""

from __future__ import annotations

from collections.abc import Callable
from http import HTTPStatus
from pathlib import Path

import pytest
from django.test import Client
from pytest_django import Settings

from synthweb import settings as shipped
from synthweb.lib.previews import PreviewSlot, TooManyPreviews
from synthweb.server import configuration
from tests.cast import Cast
from tests.web.html import html_of
from tests.web.rest import Caller, assert_problem
from tests.web.scene import Scene

Browser = Callable[..., Client]


@pytest.fixture(autouse=True)
def _own_slots(settings: Settings, tmp_path: Path) -> None:
    """Of no other test that runs on this machine."""
    settings.SPOOL_DIR = tmp_path
    settings.PREVIEWS_AT_ONCE_PER_PERSON = 1


def addresses(played: Scene) -> dict[str, str]:
    """What makes a preview → its address."""
    dataset, release = played.dataset.code, played.release.code
    return {
        "the description beside the first rows": f"/datasets/{dataset}/describe/",
        "a new release": f"/datasets/{dataset}/releases/new/",
        "a comparison": f"/releases/{release}/compare/",
    }


def test_one_too_many_of_a_person_comes_back_later(
    cast: Cast, played: Scene, browser: Browser
) -> None:
    client = browser(cast.steward)
    for what, address in addresses(played).items():
        with PreviewSlot(cast.steward.pk):
            refused = client.get(address)
            # The rest of the site, and other people, go on.
            assert client.get("/datasets/").status_code == HTTPStatus.OK
            assert browser(cast.custodian).get("/ledger/").status_code == HTTPStatus.OK
        assert refused.status_code == HTTPStatus.TOO_MANY_REQUESTS, what
        assert refused["Retry-After"] == "5"
        assert "Nothing was done" in html_of(refused)
        assert address in html_of(refused)
        assert client.get(address).status_code != HTTPStatus.TOO_MANY_REQUESTS, what


def test_one_too_many_of_all_is_refused_to_everybody(settings: Settings) -> None:
    settings.PREVIEWS_AT_ONCE = 2
    with PreviewSlot(1), PreviewSlot(2):
        with pytest.raises(TooManyPreviews, match="2 previews are being made already"):
            PreviewSlot(3)
        with pytest.raises(TooManyPreviews, match="for you already"):
            PreviewSlot(1)
    PreviewSlot(3).close()


def test_a_forecast_is_refused_by_its_status(
    cast: Cast, played: Scene, browser: Browser
) -> None:
    address = f"/datasets/{played.dataset.code}/releases/new/estimate/"
    with PreviewSlot(cast.steward.pk):
        refused = browser(cast.steward).post(address, {}, headers={"HX-Request": "true"})
    assert refused.status_code == HTTPStatus.TOO_MANY_REQUESTS


def test_a_program_is_told_by_a_problem_document(cast: Cast, played: Scene) -> None:
    address = f"/releases/{played.release.code}/paid/price/"
    body = {"figures": [{"kind": "distance", "columns": ["age"]}], "epsilon": "0.1"}
    caller = Caller(cast.steward, "spend")
    with PreviewSlot(cast.steward.pk):
        refused = caller.send(address, body)
    problem = assert_problem(refused, status=HTTPStatus.TOO_MANY_REQUESTS)
    assert problem["type"] == "urn:synthweb:too-many-previews"
    assert refused["Retry-After"] == "5"
    assert caller.send(address, body).status_code == HTTPStatus.OK


def test_by_default_threads_are_left_for_other_pages() -> None:
    """As the application has it: the settings of the tests have no limit."""
    assert configuration.workers * configuration.threads > shipped.PREVIEWS_AT_ONCE
