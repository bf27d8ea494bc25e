"""Texts that are written nowhere: one press describes them by a public set in which each release finds the
frequent ones."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from django.test import Client

from synth_engine.domain import Weak
from synthweb.datasets import basis, learned
from synthweb.datasets.draft import Column
from synthweb.datasets.draft_to_attribute import attribute_of
from tests.cast import Cast
from tests.web.describe_page import DescribePage, line, ready

pytestmark = pytest.mark.usefixtures("places")

Browser = Callable[..., Client]
SEEN = [
    {"name": "town", "kind": "categorical", "values": ["Bath", "Ely"], "missing": ["?", "NA"]},
    {
        "name": "remark",
        "kind": "text",
        "min_length": 1,
        "max_length": 90,
        "signs": ["lower"],
        "missing": None,
    },
]


@pytest.fixture
def describe_page(browser: Browser, cast: Cast) -> DescribePage:
    return DescribePage(browser(cast.steward), ready(cast, SEEN))


@pytest.mark.parametrize("index", [0, 1])
def test_texts_of_nowhere_are_found_by_each_release(
    describe_page: DescribePage, index: int
) -> None:
    assert f'value="learn:{index}"' in line(describe_page.page(f"?edit={index}"), index)
    describe_page.press(f"learn:{index}")
    column = describe_page.draft["columns"][SEEN[index]["name"]]
    assert column["confirmed"]
    assert column["because"] == basis.FOUND
    attribute = attribute_of("town", column)
    assert isinstance(attribute, Weak)
    assert "A short text 1" in attribute.values
    # Nothing of the suggestion, which was read from the table, is left.
    assert "Bath" not in str(column)
    assert "Ely" not in str(column)


def test_markers_that_are_texts_of_the_set_are_found_as_values() -> None:
    column: Column = {
        "kind": "categorical",
        "fields": {"values": "a\nb", "missing": "NA, ?", "missing_empty": "on"},
    }
    attribute = attribute_of("town", learned.as_found(column))
    assert attribute.missing == ("", "?")
    assert isinstance(attribute, Weak)
    assert "NA" in attribute.values


def test_the_share_of_a_release_falls_with_each_further_column(
    describe_page: DescribePage,
) -> None:
    assert "about 10 % of each release" in line(describe_page.page("?edit=0"), 0)
    describe_page.press("learn:0")
    assert "about 7.5 % of each release" in line(describe_page.page("?edit=1"), 1)
