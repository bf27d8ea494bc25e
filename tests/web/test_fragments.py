"""Every address that is opened by hand is a whole page, also one that a page asks for in the background."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from django.conf import settings
from django.test import Client
from django.urls import reverse

from tests.cast import Cast
from tests.web import scene
from tests.web.addresses import fill, routes

Open = Callable[..., Client]
ASKED = re.compile(r"""hx-get=["']\{%\s*url\s+'([\w:-]+)'""")

pytestmark = pytest.mark.django_db


def asked_in_the_background() -> set[str]:
    """Names of the routes that a template asks for by htmx."""
    texts = (path.read_text() for path in Path(settings.BASE_DIR, "templates").rglob("*.html"))
    return {name for text in texts for name in ASKED.findall(text)}


def is_whole(text: str) -> bool:
    return (
        text.lstrip().lower().startswith("<!doctype html")
        and "<title>" in text
        and "<h1" in text
    )


@pytest.mark.same_on_every_database  # asks what the table of test_authorisation_matrix.py asks
def test_every_page_of_the_urlconf_is_whole_when_it_is_opened_by_hand(
    cast: Cast, browser: Open
) -> None:
    played = scene.play(
        steward=cast.steward, custodian=cast.custodian, organisation=cast.organisation
    )
    people = (cast.steward, cast.custodian, cast.auditor, played.reader)
    clients = [browser(person) for person in people]
    seen: set[str] = set()
    for route, name in routes().items():
        if route.startswith(("admin/", "api/v1/")) or name.endswith("logout"):
            continue
        for client in clients:
            answer = client.get(fill(route, scene=played, cast=cast), follow=True)
            if answer.status_code == 200 and answer["Content-Type"].startswith("text/html"):
                assert is_whole(answer.text), route
                seen.add(name)
    assert asked_in_the_background() <= seen
    assert len(seen) > 50


def test_the_runs_of_a_dataset_are_a_page_and_a_part_of_one(cast: Cast, browser: Open) -> None:
    dataset = scene.funded(cast)
    scene.submit(steward=cast.steward, dataset=dataset)
    client, address = browser(cast.steward), reverse("pages:dataset-runs", args=[dataset.code])
    page = client.get(address)
    assert f"<h1>Runs of {dataset.name}</h1>" in page.text
    assert "First release" in page.text
    assert "HX-Request" in page["Vary"]
    part = client.get(
        re.search(rf'{address}\?state=[^"]+', page.text)[0], headers={"HX-Request": "true"}
    )  # type: ignore[index]
    assert part.text.strip().startswith('<section id="runs"')
    stale = client.get(f"{address}?state=before", headers={"HX-Request": "true"})
    assert stale["HX-Refresh"] == "true"


def test_a_part_is_still_a_part_when_a_page_asks_for_it(cast: Cast, browser: Open) -> None:
    played = scene.play(
        steward=cast.steward, custodian=cast.custodian, organisation=cast.organisation
    )
    client = browser(cast.auditor)
    for name, arguments in (
        ("ledger:chain", [played.account.code]),
        ("ledger:audit-chain", []),
    ):
        address = reverse(name, args=arguments)
        assert "<html" in client.get(address).text
        assert "<html" not in client.get(address, headers={"HX-Request": "true"}).text
