"""Questions about columns and about the form of a file: shown on the describe page, answered with one
click."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import replace
from html import unescape
from pathlib import Path
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from synth_engine import pipeline
from synth_engine.formats import Dialect
from synthweb.datasets import preview_store, selectors, services
from synthweb.datasets.models import Dataset, Preview
from synthweb.runs.models import TableJob
from tests.cast import Cast
from tests.web.describe_page import SUGGESTIONS, DescribePage, line, ready

pytestmark = pytest.mark.usefixtures("places")

Browser = Callable[..., Client]
FILE = "day,price,age,note\n" + "".join(
    f'{i % 12 + 1}/{i % 7 + 1}/21,"{i + 1},{i:03}",{i % 60},note {i}\n' for i in range(200)
).replace("59,note 59", "999,note 59")


@pytest.fixture
def dataset(cast: Cast, tmp_path: Path) -> Dataset:
    """A dataset that was read, with a question about a column, one about the file, and one suggestion with an
    alternative."""
    path = tmp_path / "table.csv"
    path.write_text(FILE)
    guessed = pipeline.detect(path)
    assert guessed is not None
    form = replace(guessed, asked=())
    payload = pipeline.ingest(path, kind="csv", dialect=form)
    dataset = services.store_stream(
        steward=cast.steward,
        organisation=cast.organisation,
        name="Sales",
        file_kind="csv",
        chunks=[FILE.encode()],
    )
    preview_store.put(dataset, Preview.Kind.TABLE, "", payload)
    services.mark_ready(dataset=dataset)
    Dataset.objects.filter(pk=dataset.pk).update(dialect=form.to_json())
    dataset.refresh_from_db()
    return dataset


@pytest.fixture
def describe_page(browser: Browser, cast: Cast, dataset: Dataset) -> DescribePage:
    return DescribePage(browser(cast.steward), dataset)


def buttons(html: str) -> dict[str, str]:
    """Value → label of the buttons that take another reading."""
    found = re.findall(r'value="(choose-[^"]*)"[^>]*>(.*?)</button>', html, re.DOTALL)
    return {value: unescape(label).strip() for value, label in found}


def kind(html: str) -> str:
    match = re.search(r'data-kind="([^"]*)"', html)
    assert match
    return match[1]


# --- questions about a column -------------------------------------------------------------------------------
def test_a_question_is_shown_at_its_column_with_cells_as_its_answers(
    describe_page: DescribePage,
) -> None:
    shown = line(describe_page.page(), 0)
    assert 'data-question="0"' in shown
    assert set(buttons(shown)) == {"choose-day-first:0", "choose-month-first:0"}
    labels = buttons(shown).values()
    assert len(set(labels)) == 2
    assert not any("%" in label for label in labels)
    assert 'data-question="2"' not in line(describe_page.page(), 2)


def test_one_click_answers_it_and_the_facts_stay_out_of_the_database(
    describe_page: DescribePage,
) -> None:
    for in_place in (True, False):
        answer = describe_page.press("choose-month-first:0", in_place=in_place)
        shown = answer.text if in_place else line(describe_page.page("?column=0"), 0)
        assert kind(shown) == "scale"
        assert "dates, bounds learned within the budget" in shown
        assert set(buttons(shown)) == {"choose-day-first:0", "choose-:0"}
    assert describe_page.draft["answers"] == {"day": "month-first"}
    assert describe_page.draft["columns"] == {}
    assert "2021" not in json.dumps(describe_page.draft)


def test_questions_come_one_at_a_time_and_the_others_wait(describe_page: DescribePage) -> None:
    page = describe_page.page()
    assert "column-detail" in line(page, 0)
    assert all("column-detail" not in line(page, index) for index in (1, 2, 3))
    assert page.count("data-asked") == 2
    answer = describe_page.press("choose-month-first:0")
    assert "#" not in answer.url
    after = describe_page.client.get(answer.url).text
    assert "column-detail" in line(after, 1)
    assert "column-detail" not in line(after, 0)


def test_an_answer_can_be_changed_and_taken_back_in_place(describe_page: DescribePage) -> None:
    fields = describe_page.inputs()
    for verb, expected in (
        ("month-first", "scale"),
        ("day-first", "scale"),
        ("", "weak"),
    ):
        answer = describe_page.client.post(
            describe_page.address,
            fields | {"do": f"choose-{verb}:0"},
            headers={"HX-Request": "true"},
        )
        assert kind(answer.text) == expected
        fields["0-suggested"] = unescape(
            re.search(r'name="0-suggested" value="([^"]*)"', answer.text)[1]  # type: ignore[index]
        )
    assert describe_page.draft["answers"] == {}
    assert 'data-question="0"' in line(describe_page.page(), 0)


def test_a_confirmed_answer_is_declared_with_its_format_and_counts_as_suggested(
    describe_page: DescribePage,
) -> None:
    describe_page.press("choose-month-first:0")
    describe_page.press("confirm:0")
    column = describe_page.draft["columns"]["day"]
    assert (column["kind"], column["fields"]["day_format"]) == ("scale", "%m/%d/%y")
    assert column["as_suggested"] == 1 + len(column["fields"])
    assert 'data-question="0"' not in line(describe_page.page(), 0)


def test_confirming_all_leaves_columns_with_a_question_open(
    describe_page: DescribePage,
) -> None:
    describe_page.press("confirm-open")
    confirmed = {
        name for name, column in describe_page.draft["columns"].items() if column["confirmed"]
    }
    assert confirmed == {"age", "note"}
    assert set(describe_page.draft["columns"]) == confirmed
    assert "because of a question: day, price" in describe_page.page()
    describe_page.press("choose-month-first:0")
    describe_page.press("confirm-open")
    assert describe_page.draft["columns"]["day"]["fields"]["day_format"] == "%m/%d/%y"


def test_a_column_with_a_question_can_be_confirmed_by_itself(
    describe_page: DescribePage,
) -> None:
    describe_page.press("confirm:0")
    assert describe_page.draft["columns"]["day"]["confirmed"]


def test_what_else_a_column_could_be_is_offered_in_its_editor(
    describe_page: DescribePage,
) -> None:
    assert buttons(line(describe_page.page(), 2)) == {}
    shown = line(describe_page.page("?edit=2"), 2)
    assert buttons(shown) == {"choose-value:2": "999 is a number like the others"}
    describe_page.press("choose-value:2", edit="2")
    after = line(describe_page.page("?column=2"), 2)
    assert kind(after) == "scale"
    assert set(buttons(after)) == {"choose-:2"}


def test_an_answer_forgets_what_was_typed_for_another_reading(
    describe_page: DescribePage,
) -> None:
    describe_page.press("keep:0", edit="0", _0_kind="integer", _0_low="1", _0_high="9")
    assert describe_page.draft["columns"]["day"]["kind"] == "integer"
    assert 'data-question="0"' not in line(describe_page.page(), 0)
    describe_page.press("choose-day-first:0", edit="0")
    assert describe_page.draft["columns"] == {}
    assert describe_page.draft["answers"] == {"day": "day-first"}


@pytest.mark.parametrize(
    "button", ["choose-never:0", "choose-day-first:99", "choose-day-first:", "choose-:1x"]
)
def test_a_choice_that_was_not_offered_changes_nothing(
    describe_page: DescribePage, button: str
) -> None:
    describe_page.press(button)
    assert not describe_page.draft.get("answers")


@pytest.mark.parametrize(
    "hint",
    [
        1,
        [],
        {},
        {"first": 1},
        {"first": {"kind": "date", "fields": {}}, "choices": 1},
        {"first": {"kind": 1, "fields": {}}, "choices": [1, {"key": {}}]},
    ],
)
def test_a_made_up_hint_breaks_nothing(describe_page: DescribePage, hint: Any) -> None:
    made_up = json.dumps({"kind": "date", "fields": {}, "hint": hint})
    answer = describe_page.press(
        "choose-day-first:0", in_place=True, **{"0-suggested": made_up}
    )
    assert answer.status_code == 200
    assert not describe_page.draft.get("answers")


def test_columns_with_a_question_can_be_listed(describe_page: DescribePage) -> None:
    page = describe_page.page("?show=asked")
    hidden = [number for number in range(4) if re.search(rf'id="line-{number}"\s+hidden', page)]
    assert 0 not in hidden
    assert 2 in hidden


def test_previews_from_before_there_were_hints_are_shown_as_they_were(
    browser: Browser, cast: Cast
) -> None:
    describe_page = DescribePage(browser(cast.steward), ready(cast))
    page = describe_page.page()
    assert "data-question" not in page
    assert "data-form-question" not in page
    assert len(selectors.suggestions_to_count(describe_page.dataset) or {}) == len(SUGGESTIONS)


# --- questions about the file -------------------------------------------------------------------------------
def test_a_question_about_the_file_is_answered_with_one_click(
    describe_page: DescribePage,
) -> None:
    page = describe_page.page()
    forms = [unescape(text) for text in re.findall(r'name="form" value="([^"]*)"', page)]
    assert [json.loads(text)["thousands"] for text in forms] == ["", ","]
    assert "“1,000” is 1000 (comma between thousands" in page
    answer = describe_page.client.post(
        reverse("pages:form-answer", args=[describe_page.dataset.code]), {"form": forms[1]}
    )
    assert answer.status_code == 302
    describe_page.dataset.refresh_from_db()
    dialect = Dialect.from_json(describe_page.dataset.dialect or {})
    assert (dialect.thousands, dialect.marks_confirmed) == (",", True)
    assert TableJob.objects.filter(dataset=describe_page.dataset).exists()


@pytest.mark.parametrize(
    "form",
    [
        "",
        "{}",
        "[]",
        "1",
        '{"encoding": "utf-16"}',
        '{"thousands": "."}',
        '{"units": ["5"]}',
        "[" * 5_000,
    ],
)
def test_anything_else_is_no_answer(describe_page: DescribePage, form: str) -> None:
    before = describe_page.dataset.dialect
    answer = describe_page.client.post(
        reverse("pages:form-answer", args=[describe_page.dataset.code]), {"form": form}
    )
    assert answer.status_code == 302
    describe_page.dataset.refresh_from_db()
    assert describe_page.dataset.dialect == before
    assert not TableJob.objects.filter(dataset=describe_page.dataset).exists()


def test_only_those_who_describe_answer(browser: Browser, cast: Cast, dataset: Dataset) -> None:
    answer = browser(cast.analyst).post(
        reverse("pages:form-answer", args=[dataset.code]), {"form": '{"thousands": ","}'}
    )
    assert answer.status_code in (403, 404)


# --- rules that hold in the data ----------------------------------------------------------------------------
def test_rules_that_hold_in_the_data_are_told_and_taken_by_no_click(
    browser: Browser, cast: Cast
) -> None:
    describe_page = DescribePage(browser(cast.steward), ready(cast))
    assert "data-held-in-data" not in describe_page.page()
    stored = preview_store.latest(describe_page.dataset, Preview.Kind.TABLE, "")
    assert stored is not None
    payload = preview_store.read(stored)
    remark = "age is never above sector. This holds in the data."
    hint = {"certainty": "sure", "question": "", "choices": [], "remarks": [remark]}
    preview_store.put(
        describe_page.dataset, Preview.Kind.TABLE, "", {**payload, "hints": {"age": hint}}
    )
    page = describe_page.page()
    listed = re.search(r'data-held-in-data="1".*?</details>', page, re.DOTALL)
    assert listed
    assert remark in listed[0]
    assert remark in line(describe_page.page("?edit=1"), 1)
    describe_page.press("confirm-open")
    assert "constraints" not in describe_page.draft
