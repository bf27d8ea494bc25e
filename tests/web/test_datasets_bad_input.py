"""What cannot be described is said at the input that it is about, in the words of its label, all at once."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace

import pytest
from django.template.loader import render_to_string
from django.test import Client

from synthweb.datasets import services
from synthweb.datasets.draft import Column
from synthweb.datasets.evidence import Cells
from synthweb.datasets.field_errors import placed_errors
from synthweb.datasets.grid import ColumnLine
from synthweb.datasets.models import DomainVersion
from synthweb.runs.models import SynthesisRun
from tests.cast import Cast
from tests.web.describe_page import DescribePage, ready

pytestmark = pytest.mark.django_db
LARGE = "1" + "0" * 300
BAD = [
    (
        {"of": "integer", "widest_low": "9", "widest_high": "1"},
        {"widest_low": "“Lowest” is not below “Highest”"},
    ),
    (
        {"of": "date", "widest_low": "2024-01-02", "widest_high": "2023-01-01"},
        {"widest_low": "“Lowest” is not below “Highest”"},
    ),
    (
        {"of": "integer", "widest_low": "0", "widest_high": "10", "step": "3"},
        {"step": "The step does not divide"},
    ),
    (
        {"of": "integer", "widest_low": "0", "widest_high": LARGE},
        {"widest_high": "“Highest” is not a whole number of at most 18 digits"},
    ),
    (
        {"of": "number", "widest_low": "0", "widest_high": LARGE},
        {"widest_high": "A bound is too large"},
    ),
    (
        {"of": "number", "widest_low": "0", "widest_high": "1e300"},
        {"widest_high": "A bound is too large"},
    ),
    ({"of": "date", "day_format": "%m/%Y"}, {"day_format": "does not tell every day apart"}),
    (
        {"of": "integer", "widest_low": "0", "widest_high": "1000", "missing": "999"},
        {"missing": "A missing marker lies between “Lowest” and “Highest”"},
    ),
    (
        {"of": "integer", "widest_low": "a", "widest_high": "b", "step": "c"},
        {
            "widest_low": "“Lowest” is not a whole number",
            "widest_high": "“Highest” is not a whole number",
            "step": "“Smallest step” is not a whole number",
        },
    ),
]


BAD_OF_KIND = [
    ("integer", {"low": "9", "high": "1"}, "low"),
    ("integer", {"low": "0", "high": "9", "edges": "0, 5, 3, 9"}, "edges"),
    ("integer", {"low": "0", "high": "9", "width": "0"}, "width"),
    ("number", {"low": "0", "high": "1e300"}, "high"),
    ("number", {"low": "1", "high": "2", "after": "3 kg"}, "after"),
    ("date", {"low": "2024-01-02", "high": "2023-01-01"}, "low"),
    ("date", {"low": "20240101", "high": "2024-12-31"}, "low"),
    ("date", {"low": "2024-01-01", "high": "2024-12-31", "format": "%m/%Y"}, "format"),
    (
        "date",
        {"low": "2024-01-01", "high": "2024-12-31", "missing": "2024-05-05"},
        "missing",
    ),
    ("datetime", {"low": "2024-01-01 00:00", "high": "2023-01-01 00:00"}, "low"),
    ("time", {"low": "20:00", "high": "08:00"}, "low"),
    ("categorical", {"values": "a, b, a"}, "values"),
    ("categorical", {"values": "a, b", "missing": "b"}, "missing"),
    ("range", {"of": "integer", "widest_low": "9", "widest_high": "1"}, "widest_low"),
    (
        "range",
        {"of": "integer", "widest_low": "1", "widest_high": "9", "most_bins": "1"},
        "most_bins",
    ),
    ("scale", {"of": "integer", "widest_high": "9"}, "widest_low"),
    ("identifier", {"regenerate": "random", "pattern": "abc"}, "pattern"),
    ("text", {"max_length": "5"}, "lower"),
    ("weak", {"set": ""}, "set"),
    ("weak", {"set": "dates", "set_low": "2024-01-02", "set_high": "2023-01-01"}, "set"),
    ("derived", {"function": "difference", "sources": "age"}, "sources"),
    (
        "derived",
        {"function": "nearest", "sources": "age, sex", "located": "41.5, x"},
        "located",
    ),
    (
        "derived",
        {"function": "nearest", "sources": "age, sex", "located": "91, 0, Pole"},
        "located",
    ),
    ("derived", {"function": "nearest", "sources": "age, sex"}, "located"),
]


@pytest.fixture
def describe_page(cast: Cast, browser: Callable[..., Client]) -> DescribePage:
    return DescribePage(browser(cast.steward), ready(cast))


@pytest.mark.parametrize(("fields", "told"), BAD)
def test_what_cannot_be_is_said_at_its_input(
    describe_page: DescribePage, fields: dict[str, str], told: dict[str, str]
) -> None:
    typed = {f"_1_{key}": text for key, text in fields.items()}
    describe_page.press("kind:1", edit="1", **{"_1_kind": "scale", **typed})
    answer = describe_page.press(
        "confirm:1", edit="1", in_place=True, **{"_1_kind": "scale", **typed}
    )
    errors = dict(
        re.findall(r'id="1-(\w+)-error" role="alert"[^>]*>\s*([^<]+?)\s*<', answer.text)
    )
    assert set(errors) == set(told)
    assert all(words in errors[key] for key, words in told.items())
    assert not describe_page.draft["columns"]["age"]["confirmed"]
    assert not DomainVersion.objects.exists()
    assert not SynthesisRun.objects.exists()


@pytest.mark.parametrize(("kind", "fields", "key"), BAD_OF_KIND)
def test_what_is_wrong_in_each_kind_is_said_at_the_input_it_is_typed_in(
    kind: str, fields: dict[str, str], key: str
) -> None:
    errors = placed_errors("age", {"kind": kind, "fields": fields})
    assert [error.key for error in errors] == [key]
    assert errors[0].repair


def test_a_column_of_which_no_cell_can_be_read_says_so_at_its_format(cast: Cast) -> None:
    cells = Cells(texts=["9 Feb", "10 March"], counts=[3, 4])
    column: Column = {
        "kind": "date",
        "fields": {"low": "2024-01-01", "high": "2024-12-31"},
        "confirmed": False,
    }
    line = ColumnLine(
        index=0, name="day", suggested=None, typed=column, cells=cells, current=True
    )
    errors = {each.key: each.error for each in line.inputs if each.error}
    assert set(errors) == {"format"}
    assert "cannot be read" in errors["format"]
    readable = replace(line, cells=Cells(texts=["9 Feb", "2024-03-04"], counts=[3, 4]))
    assert not any(each.error for each in readable.inputs)


def test_a_column_confirmed_although_its_cells_do_not_fit_has_a_mark_of_its_own() -> None:
    cells = Cells(texts=["3", "90", "95"], counts=[5, 3, 2])
    column: Column = {"kind": "integer", "fields": {"low": "0", "high": "9"}}
    line = ColumnLine(index=0, name="age", suggested=None, typed=column, cells=cells)
    assert line.light == "unfit"
    confirmed = replace(line, typed={**column, "confirmed": True})
    assert confirmed.light == "kept"
    shown = render_to_string("datasets/_line.html", {"line": confirmed, "here": "/"})
    assert 'data-light="kept"' in shown
    assert confirmed.light_label in shown.partition("column-values")[2].lower()
    fitting = replace(confirmed, cells=Cells(texts=["3"], counts=[5]))
    assert fitting.light == "fits"


def test_all_that_is_wrong_in_all_columns_is_listed_when_the_description_is_confirmed(
    describe_page: DescribePage,
) -> None:
    wrong = {"_0_kind": "integer", "_0_low": "x", "_0_high": "y"}
    describe_page.press("kind:0", edit="0", **wrong)
    describe_page.press("confirm:0", edit="0", **wrong)
    describe_page.press("confirm:1", edit="1", _1_low="z", _1_high="many")
    page = describe_page.press("finish").text
    listed = page.partition("Not complete yet")[2].partition("</section>")[0]
    assert listed.count("is not a whole number") == 4


def test_a_computed_column_of_one_that_is_left_out_is_refused(
    describe_page: DescribePage, cast: Cast
) -> None:
    describe_page.press("confirm-open")
    draft = describe_page.draft
    draft["columns"]["works"] |= {
        "kind": "derived",
        "fields": {"function": "sum", "sources": "age, id"},
        "origin": "declared",
    }
    services.save_draft(actor=cast.steward, dataset=describe_page.dataset, draft=draft)
    answer = describe_page.press("finish")
    assert answer.status_code == 422
    listed = answer.text.partition("Not complete yet")[2].partition("</section>")[0]
    assert "works" in listed
    assert re.search(r'id="2-sources-error" role="alert"[^>]*>[^<]*does not have', answer.text)
    assert not DomainVersion.objects.exists()
