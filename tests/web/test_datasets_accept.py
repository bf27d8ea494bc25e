"""One button takes the columns that are clear; questions come one at a time, in the language of the page; and
the page of a hundred columns is short."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from html.parser import HTMLParser
from typing import Any

import pytest
from django.test import Client
from django.utils import translation

from synth_engine.formats import Marks
from synth_engine.steward import suggest
from synth_engine.steward.summary import Column
from synthweb.datasets import basis, preview_store, services
from synthweb.datasets.models import Dataset, DomainBasis, DomainVersion, Preview
from synthweb.lib.language import translated, translated_sentences
from tests.cast import Cast
from tests.web.describe_page import DescribePage, ready

Open = Callable[..., Client]
CLEAR: list[dict[str, Any]] = [
    {"name": "age", "kind": "scale", "of": "integer", "low": 0, "high": 120, "missing": None, "why": "."},
    {"name": "pay", "kind": "scale", "of": "integer", "missing": None, "why": "."},
    {"name": "works", "kind": "boolean", "true": "yes", "false": "no", "missing": None, "why": "."},
    {"name": "sector", "kind": "categorical", "values": ["Farm", "Mine"], "other": True, "missing": None,
     "why": "."},
    {"name": "id", "kind": "identifier", "why": "."},
]  # fmt: skip
MOST_CONTROLS = 150


@pytest.fixture
def page(cast: Cast, browser: Open) -> DescribePage:
    return DescribePage(browser(cast.steward), ready(cast, CLEAR))


@pytest.mark.django_db
def test_one_press_without_a_word_confirms_a_table_that_is_clear(page: DescribePage) -> None:
    shown = page.page()
    assert 'value="accept"' in shown
    assert "because-open" not in shown  # nothing is stated that is not public anyway
    answer = page.press_alone("accept")
    assert answer.status_code == 302
    kinds = {
        each["name"]: each["kind"]
        for each in DomainVersion.objects.get().document["attributes"]
    }
    assert kinds == {
        "age": "scale",
        "pay": "scale",
        "works": "boolean",
        "sector": "weak",
        "id": "identifier",
    }
    stated = {
        name: each["because"]
        for each in DomainBasis.objects.get().statements
        for name in each["columns"]
    }
    assert stated["pay"] == basis.LEARNED
    assert stated["sector"] == basis.FOUND
    assert stated["works"] == basis.PUBLIC_LIST
    assert stated["age"].startswith(basis.PUBLIC_RANGE)


@pytest.mark.django_db
def test_a_list_that_no_release_finds_is_shown_first(cast: Cast, browser: Open) -> None:
    values = ["Agriculture and forestry", "Mining and quarrying"]
    page = DescribePage(
        browser(cast.steward), ready(cast, [*CLEAR[:2], CLEAR[3] | {"values": values}])
    )
    assert page.press_alone("accept").url == page.lists_address
    confirmed = {name for name, column in page.draft["columns"].items() if column["confirmed"]}
    assert confirmed == {"age", "pay"}
    assert not DomainVersion.objects.exists()


@pytest.mark.django_db
def test_questions_stay_when_the_clear_columns_are_accepted(cast: Cast, browser: Open) -> None:
    dataset = wide(cast, 6, questions=2)
    page = DescribePage(browser(cast.steward), dataset)
    page.press_alone("accept")
    assert len(page.draft["columns"]) == 4
    assert not DomainVersion.objects.exists()
    for index in (0, 1):
        page.press_alone(f"choose-leave-out:{index}")
    page.press_alone("accept")
    described = DomainVersion.objects.get().document["attributes"]
    assert Counter(each["kind"] for each in described) == {"scale": 4, "identifier": 2}


@pytest.mark.django_db
def test_what_an_earlier_reader_drafted_stays_when_a_later_one_reads_the_table(
    cast: Cast, page: DescribePage
) -> None:
    payload = {"reader": 7, "columns": ["age"], "preview": [], "rows": 2, "notes": []}
    first = [CLEAR[0] | {"provenance": "suggested"}]
    preview_store.put(page.dataset, Preview.Kind.TABLE, "", payload | {"suggestions": first})
    page.press_alone("accept")
    described = DomainVersion.objects.get()
    assert described.basis.reader == 7
    later = [{"name": "age", "kind": "identifier", "why": ".", "provenance": "suggested"}]
    preview_store.put(
        page.dataset, Preview.Kind.TABLE, "", payload | {"reader": 8, "suggestions": later}
    )
    page.press_alone("finish")
    assert DomainVersion.objects.get() == described
    assert page.draft["columns"]["age"]["kind"] == "scale"


@pytest.mark.django_db
def test_a_hundred_columns_have_few_controls(cast: Cast, browser: Open) -> None:
    counter = Controls()
    counter.feed(DescribePage(browser(cast.steward), wide(cast, 100, questions=9)).page())
    assert 100 < counter.seen <= MOST_CONTROLS


@pytest.mark.parametrize(
    ("name", "times"),
    [
        ("day", {f"{month}/{day}/21": 1 for month in range(1, 13) for day in range(1, 13)}),
        ("code", {"250.0": 40, "250.00": 40, "401.9": 40}),
        ("grade", {**{str(number): 30 for number in range(1, 13)}, "K": 30}),
        ("seen", {**{f"2021-01-{day:02}": 3 for day in range(1, 29)}, "2021-01-02 10:00": 9}),
        ("country", {"NA": 30, "IT": 30, "FR": 30}),
    ],
)
def test_what_a_draft_asks_is_german_on_german_pages(name: str, times: dict[str, int]) -> None:
    column = Column(Marks())
    column.times = Counter(times)
    drafted = suggest.suggestion(name, column)
    with translation.override("de"):
        assert (
            not drafted.hint.question
            or translated(drafted.hint.question) != drafted.hint.question
        )
        for choice in drafted.hint.choices:
            assert translated(choice.label) != choice.label, choice.label
        for sentence in drafted.attribute["why"].split(". "):
            german = translated_sentences(sentence.removesuffix(".") + ".")
            assert german != sentence, sentence


def wide(cast: Cast, columns: int, *, questions: int) -> Dataset:
    """A dataset of so many columns, the first of them with a question."""
    names = [f"column {index}" for index in range(columns)]
    asked = {
        "certainty": "open",
        "question": "Which is it?",
        "choices": [
            {
                "key": "leave-out",
                "label": "Leave the column out",
                "facts": {"kind": "identifier"},
            },
            {"key": "number", "label": "A number", "facts": {"kind": "scale", "of": "integer"}},
        ],
        "remarks": [],
    }
    facts = {
        "kind": "scale",
        "of": "integer",
        "missing": None,
        "why": ".",
        "provenance": "suggested",
    }
    payload = {
        "columns": names,
        "suggestions": [{"name": name, **facts} for name in names],
        "hints": dict.fromkeys(names[:questions], asked),
        "preview": [],
        "rows": 2,
        "notes": [],
        "cells": {name: {"texts": ["1", "2"], "counts": [5, 5]} for name in names},
    }
    dataset = services.store_stream(
        steward=cast.steward,
        organisation=cast.organisation,
        name="Wide",
        file_kind="csv",
        chunks=[b"a,b\n1,2\n"],
    )
    preview_store.put(dataset, Preview.Kind.TABLE, "", payload)
    services.mark_ready(dataset=dataset)
    return dataset


class Controls(HTMLParser):
    """Counts what may be pressed or filled in of the main part of a page, besides what is folded away."""

    def __init__(self) -> None:
        super().__init__()
        self.seen = 0
        self._main = False
        self._folds: list[bool] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        self._main = self._main or tag == "main"
        if tag == "details":
            self._folds.append("open" not in given)
        control = tag in ("select", "textarea", "button") or (
            tag == "input" and given.get("type") != "hidden"
        )
        self.seen += self._main and control and not any(self._folds)

    def handle_endtag(self, tag: str) -> None:
        if tag == "details":
            self._folds.pop()
        self._main = self._main and tag != "main"
