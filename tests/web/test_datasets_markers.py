"""Several markers of missing values: the page says which one samples write, and each is kept where somebody
asks for it."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from django.test import Client
from django.urls import reverse

from synth_engine.domain import Domain
from synthweb.datasets import draft as drafts
from tests.cast import Cast
from tests.web.describe_page import DescribePage, line, ready

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
def describe_page(browser: Browser, cast: Cast) -> DescribePage:
    return DescribePage(browser(cast.steward), ready(cast, [SEVERAL, ONE]))


def test_the_page_says_which_marker_samples_write(describe_page: DescribePage) -> None:
    assert "data-one-marker" in line(describe_page.page("?column=0"), 0)
    assert "data-one-marker" not in line(describe_page.page("?column=1"), 1)


def test_only_a_column_with_several_markers_can_keep_them(describe_page: DescribePage) -> None:
    page = describe_page.page("?edit=0-1")
    assert 'name="0-separate_markers"' in line(page, 0)
    assert 'name="1-separate_markers"' not in line(page, 1)


def test_separate_markers_are_a_fact_of_the_description(describe_page: DescribePage) -> None:
    describe_page.press("confirm:0", edit="0", _0_separate_markers="on")
    shown = line(describe_page.page("?column=0"), 0)
    assert "data-one-marker" not in shown
    assert drafts.count_sharing_columns(describe_page.draft, total=2) == 3
    describe_page.press("confirm:1")
    describe_page.press("finish", max_records="1")
    version = describe_page.dataset.domain_versions.get()
    domain = Domain.from_json(version.document)
    assert domain.names == ("sector", "sector (marker)", "works")
    # The same description, taken into a draft again, has the box ticked.
    column = drafts.typed_from(domain.attribute("sector").to_json())
    assert column["fields"]["separate_markers"] == "on"


def test_a_box_that_is_left_ticked_without_several_markers_says_nothing(
    describe_page: DescribePage,
) -> None:
    describe_page.press("confirm:0", edit="0", _0_separate_markers="on", _0_missing="?")
    assert "(marker)" not in describe_page.page("?column=0")
    assert describe_page.draft["columns"]["sector"]["confirmed"]


def test_the_draft_of_a_description_names_it(describe_page: DescribePage) -> None:
    describe_page.press("confirm:0", edit="0", _0_separate_markers="on")
    describe_page.press("confirm:1")
    answer = describe_page.client.get(
        reverse("datasets:draft-file", args=[describe_page.dataset.code])
    )
    assert answer.json()["attributes"][0]["separate_markers"] is True
