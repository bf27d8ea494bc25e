"""Several markers of missing values: the page says which one samples write, and each is kept where somebody asks for it."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from django.test import Client
from django.urls import reverse

from synth_engine.domain import Domain
from synthweb.datasets import draft as drafts
from tests.cast import Cast
from tests.web.desk import Desk, line, ready

pytestmark = pytest.mark.usefixtures("places")

Browser = Callable[..., Client]
SEVERAL = {
    "name": "sector",
    "kind": "categorical",
    "values": ["Farm", "Mine"],
    "other": True,
    "missing": ["?", "NA"],
}
ONE = {"name": "works", "kind": "boolean", "true": "yes", "false": "no", "missing": ["?"]}


@pytest.fixture
def desk(browser: Browser, cast: Cast) -> Desk:
    return Desk(browser(cast.steward), ready(cast, [SEVERAL, ONE]))


def test_the_page_says_which_marker_samples_write(desk: Desk) -> None:
    assert "data-one-marker" in line(desk.page("?column=0"), 0)
    assert "data-one-marker" not in line(desk.page("?column=1"), 1)


def test_only_a_column_with_several_markers_can_keep_them(desk: Desk) -> None:
    page = desk.page("?edit=0-1")
    assert 'name="0-separate_markers"' in line(page, 0)
    assert 'name="1-separate_markers"' not in line(page, 1)


def test_separate_markers_are_a_fact_of_the_description(desk: Desk) -> None:
    desk.press("confirm:0", edit="0", _0_separate_markers="on")
    shown = line(desk.page("?column=0"), 0)
    assert "data-one-marker" not in shown
    assert drafts.count_sharing_columns(desk.draft, total=2) == 3
    desk.press("confirm:1")
    desk.press("finish", max_records="1")
    version = desk.dataset.domain_versions.get()
    domain = Domain.from_json(version.document)
    assert domain.names == ("sector", "sector (marker)", "works")
    # The same description, taken into a draft again, has the box ticked.
    column = drafts.typed_from(domain.attribute("sector").to_json())
    assert column["fields"]["separate_markers"] == "on"


def test_a_box_that_is_left_ticked_without_several_markers_says_nothing(desk: Desk) -> None:
    desk.press("confirm:0", edit="0", _0_separate_markers="on", _0_missing="?")
    assert "(marker)" not in desk.page("?column=0")
    assert desk.draft["columns"]["sector"]["confirmed"]


def test_the_draft_of_a_description_names_it(desk: Desk) -> None:
    desk.press("confirm:0", edit="0", _0_separate_markers="on")
    desk.press("confirm:1")
    answer = desk.client.get(reverse("datasets:draft-file", args=[desk.dataset.code]))
    assert answer.json()["attributes"][0]["separate_markers"] is True
