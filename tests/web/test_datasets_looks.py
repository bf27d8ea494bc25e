"""The histogram of real values opens once a range is stated, and a range that is changed afterwards is marked
for custodians and in receipts."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from synthweb.datasets import preview_store, services
from synthweb.datasets.models import Dataset, DomainBasis, Preview
from tests.cast import Cast
from tests.web import scene
from tests.web.describe_page import DescribePage, line

Open = Callable[..., Client]
AGES = {"texts": [str(age) for age in range(20, 60)], "counts": [5] * 40}
SUGGESTIONS: list[dict[str, Any]] = [
    {"name": "age", "kind": "scale", "of": "integer", "low": 0, "high": 120, "missing": None, "why": "Ages."},
    {"name": "pay", "kind": "scale", "of": "integer", "missing": None, "why": "Amounts."},
]  # fmt: skip
HISTOGRAM = "real-histogram"

pytestmark = pytest.mark.django_db


@pytest.fixture
def dataset(cast: Cast) -> Dataset:
    stored = services.store_stream(
        steward=cast.steward,
        organisation=cast.organisation,
        name="Ages",
        file_kind="csv",
        chunks=[b"age,pay\n1,2\n"],
    )
    payload = {
        "columns": ["age", "pay"],
        "suggestions": [each | {"provenance": "suggested"} for each in SUGGESTIONS],
        "preview": [],
        "rows": 200,
        "notes": [],
        "cells": {"age": AGES, "pay": AGES},
    }
    preview_store.put(stored, Preview.Kind.TABLE, "", payload)
    services.mark_ready(dataset=stored)
    return stored


@pytest.fixture
def page(cast: Cast, browser: Open, dataset: Dataset) -> DescribePage:
    return DescribePage(browser(cast.steward), dataset)


def test_no_histogram_is_drawn_before_a_range_is_stated(page: DescribePage) -> None:
    for index in ("0", "1"):
        shown = page.page(f"?column={index}")
        assert HISTOGRAM not in shown
        assert 'data-histogram="shut"' in shown
        assert f'value="look:{index}"' not in shown
    assert HISTOGRAM not in page.press("look:0", in_place=True).text
    assert "looked" not in page.draft
    # Nor by what is only typed, of which nothing is kept.
    typed = page.inputs("?edit=1") | {"1-widest_low": "0", "1-widest_high": "90"}
    address = reverse("datasets:evidence", args=[page.dataset.code]) + "?line=1"
    assert HISTOGRAM not in page.client.post(address, typed).text


def test_a_range_that_is_public_by_a_name_says_so(page: DescribePage) -> None:
    assert "Public by its name" in line(page.page("?column=0"), 0)
    assert "Read from your data" in line(page.page("?column=1"), 1)


def test_it_opens_after_a_range_was_taken_typed_or_learned(page: DescribePage) -> None:
    page.press("confirm:0", **{"0-because": ""})  # public by its name
    assert page.draft["columns"]["age"]["because"].startswith("Public by the name")
    assert HISTOGRAM not in page.page("?column=0")
    assert HISTOGRAM in page.press("look:0", in_place=True).text
    assert HISTOGRAM in page.page("?column=0")
    page.press("learn:1")
    assert HISTOGRAM in page.press("look:1", in_place=True).text
    assert page.draft["looked"] == {"age": {"low": 0, "high": 120}, "pay": {}}


def test_a_range_that_is_changed_after_the_look_is_marked_to_its_custodian_and_in_receipts(
    page: DescribePage, cast: Cast, browser: Open
) -> None:
    page.press("confirm:0", **{"0-because": ""})
    page.press("learn:1")
    page.press("look:0")
    page.press("look:1")
    page.press("finish")
    assert DomainBasis.objects.get().ranges_after_looking == []
    page.press("confirm:0", edit="0", _0_widest_low="20", _0_widest_high="60")
    # Forgetting what was typed forgets no look.
    page.press("discard:1")
    page.press("confirm:1", edit="1", _1_widest_low="20", _1_widest_high="60")
    page.press("finish")
    basis = DomainBasis.objects.latest("pk")
    assert basis.ranges_after_looking == ["age", "pay"]
    address = reverse("datasets:domain", args=[page.dataset.code, 2])
    assert "data-ranges-after-looking" in browser(cast.auditor).get(address).text
    asked = scene.ask(steward=cast.steward, dataset=page.dataset)
    request = reverse("ledger:request", args=[asked.code])
    assert "data-ranges-after-looking" in browser(cast.custodian).get(request).text
