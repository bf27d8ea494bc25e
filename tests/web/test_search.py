"""The search over everything: each person finds what they may see, and nothing else."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from django.test import Client

from synthweb.pages import docs
from synthweb.pages.search_results import matches
from synthweb.releases import services
from tests.cast import Cast
from tests.web import scene
from tests.web.html import html_of

pytestmark = pytest.mark.django_db(transaction=True)
Open = Callable[..., Client]


def titles(groups: list, kind: str) -> list[str]:
    return [match.title for group in groups if group.title == kind for match in group.matches]


def test_each_person_finds_what_they_may_see(cast: Cast) -> None:
    release = scene.released(
        cast, mechanism="independent", epsilon="1", name="Winter survey", table=scene.TABLE
    )
    for one in (cast.steward, cast.custodian, cast.auditor):
        assert titles(matches(one, "commutes"), "Datasets") == ["Commutes"]
        assert titles(matches(one, "WINTER sur"), "Releases") == ["Winter survey"]
        assert titles(matches(one, "winter"), "Runs") == ["Winter survey"]
        assert titles(matches(one, "commutes"), "Budget accounts") == ["Commutes"]
    for one in (cast.analyst, cast.stranger):
        for words in ("commutes", "winter", release.code, release.dataset.code):
            kinds = {group.title for group in matches(one, words)}
            assert kinds <= {"Pages", "Documentation"}
    services.share(actor=cast.steward, release=release, analyst=cast.analyst)
    (group,) = matches(cast.analyst, "winter survey")
    assert [match.address for match in group.matches] == [f"/releases/{release.code}/look/"]
    # An auditor does not draw samples: the link leads to the page that they may open.
    (group,) = [one for one in matches(cast.auditor, "winter") if one.title == "Releases"]
    assert [match.address for match in group.matches] == [f"/releases/{release.code}/"]


def test_a_code_finds_its_object(cast: Cast) -> None:
    dataset = scene.funded(cast)
    assert titles(matches(cast.steward, dataset.code), "Datasets") == ["Commutes"]


def test_headings_come_before_texts(cast: Cast) -> None:
    first = titles(matches(cast.analyst, "expected ranges"), "Documentation")[0]
    assert first.startswith("Expected ranges · ")


def test_every_address_of_the_documentation_is_on_its_page() -> None:
    anchors = {}
    for passage in docs.passages():
        html = anchors.setdefault(passage.page.slug, str(docs.render(passage.page).html))
        assert not passage.anchor or f'id="{passage.anchor}"' in html, passage.address


def test_no_words_list_the_pages_that_one_may_open(cast: Cast, browser: Open) -> None:
    for one, client in ((each, browser(each)) for each in (cast.steward, cast.analyst)):
        (group,) = matches(one, "")
        for match in group.matches:
            assert client.get(match.address).status_code == 200
    assert "Upload a table" not in titles(matches(cast.analyst, ""), "Pages")


def test_the_page_escapes_what_was_typed_and_the_part_stands_alone(
    cast: Cast, browser: Open
) -> None:
    client = browser(cast.analyst)
    page = html_of(client.get("/search/", {"q": "<b>nothing at all</b>"}))
    assert "&lt;b&gt;nothing" in page and "<b>nothing" not in page and "<html" in page
    part = html_of(client.get("/search/", {"q": "noise"}, headers={"HX-Request": "true"}))
    assert "data-match" in part and "<html" not in part
    assert client.get("/search/", {"q": "x" * 10_000}).status_code == 200
