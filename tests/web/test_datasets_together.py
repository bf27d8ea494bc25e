"""Several columns at once: what is asked for is set where it fits, told where not, and never confirmed by
that."""

from __future__ import annotations

import json
from typing import Any

import pytest

from synthweb.datasets import draft, draft_to_attribute, screens
from synthweb.datasets.bulk_edit import BulkChange, change, named, remark_lines
from tests.web.describe_page import DescribePage, line

pytestmark = pytest.mark.usefixtures("places")


def column(kind: str, **fields: str) -> draft.Column:
    return {"kind": kind, "origin": "declared", "fields": fields}


# --- one column ---------------------------------------------------------------------------------------------
def test_missing_markers_are_set_for_every_kind_that_has_them() -> None:
    wanted = {"none": None, "empty": ("",), "typed": ("?", "a, b"), "both": ("", "?", "a, b")}
    for missing, expected in wanted.items():
        for start in (
            column("integer", low="0", high="9", missing="NA"),
            column("categorical", values="a", outside="other"),
        ):
            found = change(start, BulkChange(missing=missing, markers='?, "a, b"'))
            assert draft_to_attribute.attribute_of("x", found.column).missing == expected
            assert found.remarks == []


def test_a_rule_that_needs_missing_values_gives_way_when_there_are_none() -> None:
    start = column("boolean", true="y", false="n", missing="?", outside="missing")
    found = change(start, BulkChange(missing="none"))
    assert draft_to_attribute.attribute_of("x", found.column).outside == "clamp"
    assert "nothing can be missing now" in found.remarks[0][0]


@pytest.mark.parametrize(
    ("start", "asked", "rule"),
    [
        (
            column("identifier"),
            BulkChange(missing="empty"),
            "an identifier has no missing values",
        ),
        (column("identifier"), BulkChange(outside="missing"), "is nothing for its kind"),
        (
            column("integer", low="0", high="9"),
            BulkChange(outside="other"),
            "is nothing for its kind",
        ),
        (
            column("integer", low="0", high="9"),
            BulkChange(outside="missing"),
            "declares no missing values",
        ),
        (column("categorical", values="a"), BulkChange(bins="3"), "has no bins"),
        (
            column("integer", low="0", high="9"),
            BulkChange(missing="typed", markers=" , "),
            "no marker is typed",
        ),
        (column(""), BulkChange(bins="3"), "kind is not chosen"),
    ],
)
def test_what_does_not_fit_is_told_with_a_repair_and_changes_nothing(
    start: draft.Column, asked: BulkChange, rule: str
) -> None:
    found = change(start, asked)
    [(told, repair)] = found.remarks
    assert rule in told
    assert repair
    assert {key: text for key, text in found.column["fields"].items() if text} == start[
        "fields"
    ]


def test_bins_replace_what_cut_the_column_before() -> None:
    start = column("integer", low="0", high="99", edges="0, 5, 99")
    assert (
        draft_to_attribute.attribute_of("x", change(start, BulkChange(bins="4")).column).size
        == 4
    )
    dates = column("date", low="2024-01-01", high="2024-12-31", step_days="1")
    assert (
        draft_to_attribute.attribute_of("x", change(dates, BulkChange(bins="12")).column).size
        == 12
    )


def test_another_kind_keeps_what_means_the_same() -> None:
    start = column("integer", low="0", high="9", missing="?", outside="missing")
    found = change(start, BulkChange(kind="categorical")).column
    assert {key: text for key, text in found["fields"].items() if text} == {
        "missing": "?",
        "outside": "missing",
    }
    assert change(start, BulkChange(kind="identifier")).column["fields"] == {
        "regenerate": "",
        "pattern": "",
    }


def test_remarks_name_their_columns_once_a_rule() -> None:
    many = [(f"c{number}", "a rule", "mend it") for number in range(10)]
    assert remark_lines([*many, ("z", "another", "do")]) == [
        "Columns “c0”, “c1”, “c2”, “c3”, “c4”, “c5”, “c6”, “c7” and 2 more: a rule; mend it.",
        "Column “z”: another; do.",
    ]
    assert named(["a"]) == "Column “a”"


# --- on the page --------------------------------------------------------------------------------------------
def set_for(describe_page: DescribePage, *select: str, query: str = "", **asked: str) -> str:
    fields = describe_page.inputs() | {f"all-{key}": text for key, text in asked.items()}
    sent = fields | {"do": "set-selected", "select": select}
    return str(describe_page.client.post(describe_page.address + query, sent, follow=True).text)


def test_what_is_set_for_several_is_kept_unconfirmed_and_they_stay_selected(
    describe_page: DescribePage,
) -> None:
    page = set_for(
        describe_page, "0", "1", "3", missing="both", markers="NA", origin="public-file"
    )
    assert "3 of 3 selected columns changed" in page
    assert "Column “id”: an identifier has no missing values" in page
    for index in (0, 1):
        assert "empty cell, NA" in line(page, index)
        assert "Typed, not confirmed" in line(page, index)
    assert [
        index
        for index in range(4)
        if f'value="{index}" aria-label' in page and " checked" in line(page, index)
    ] == [
        0,
        1,
        3,
    ]
    assert not any(kept["confirmed"] for kept in describe_page.draft["columns"].values())
    describe_page.press("confirm-selected", select=["1"])
    assert describe_page.draft["columns"]["age"]["origin"] == "public-file"
    assert describe_page.draft["columns"]["age"]["fields"]["missing"] == "NA"


def test_only_what_was_set_is_stored_and_nothing_of_the_suggestions(
    describe_page: DescribePage,
) -> None:
    set_for(describe_page, "0", "1", bins="8", missing="empty")
    stored = json.dumps(describe_page.draft)
    assert not any(told in stored for told in ("17", "90", "Farm"))
    assert describe_page.draft["columns"]["age"]["fields"] == {
        "bins": "8",
        "width": "",
        "missing_empty": "on",
    }
    page = describe_page.page()
    assert "17 to 90, 8 bins" in line(page, 1)


def test_a_confirmed_column_in_which_something_changes_is_open_again_and_another_stays(
    describe_page: DescribePage,
) -> None:
    describe_page.press("confirm:1")
    describe_page.press("confirm:2")
    page = set_for(describe_page, "1", "2", bins="8")
    assert "Column “works”: its kind has no bins" in page
    assert "1 of 2 selected columns changed" in page
    assert describe_page.draft["columns"]["age"]["confirmed"] is False
    assert describe_page.draft["columns"]["works"]["confirmed"] is True
    assert "17 to 90, 8 bins" in line(page, 1)


@pytest.mark.parametrize(
    ("select", "asked", "words"),
    [
        ((), {"kind": "integer"}, "No column is selected"),
        (("1",), {}, "Nothing was chosen to be set"),
        (
            ("1",),
            {"kind": "sparse", "outside": "no", "missing": "x", "origin": "suggested"},
            "Nothing was chosen",
        ),
        (("99", "x"), {"kind": "integer"}, "No column is selected"),
    ],
)
def test_nothing_selected_or_nothing_asked_is_told(
    describe_page: DescribePage, select: tuple[str, ...], asked: dict[str, str], words: str
) -> None:
    assert words in set_for(describe_page, *select, **asked)
    assert describe_page.draft.get("columns", {}) == {}


def test_what_is_typed_in_an_open_line_is_kept_and_set_over(
    describe_page: DescribePage,
) -> None:
    fields: dict[str, Any] = describe_page.inputs("?edit=1") | {"1-low": "5"}
    describe_page.client.post(
        describe_page.address, fields | {"do": "set-selected", "select": ["1"], "all-bins": "4"}
    )
    assert describe_page.draft["columns"]["age"]["fields"] == {
        "low": "5",
        "bins": "4",
        "width": "",
    }


def test_the_search_stays_and_wrong_bins_are_named_on_confirming(
    describe_page: DescribePage,
) -> None:
    page = set_for(describe_page, "1", query="?kind=integer", bins="many")
    assert "1 of 4 columns shown" in page
    answer = describe_page.press("confirm:1", in_place=True)
    assert "“Number of bins” is not a whole number" in answer.text


@pytest.mark.parametrize("indices", [[], [3], [0, 1, 2, 7, 9, 10], list(range(500))])
def test_selected_lines_are_written_shortly_and_read_again(indices: list[int]) -> None:
    text = screens.ranges(indices)
    assert screens.numbers(text) == set(indices)
    assert len(text) < 20


@pytest.mark.parametrize("text", ["x", "1-x", "-", "5-1", "9999999", "１", "0-999999"])
def test_made_up_lines_are_none(text: str) -> None:
    assert len(screens.numbers(text)) <= screens.MAX_LINES + 1


def test_a_refused_group_action_keeps_its_panel_open_with_what_was_typed(
    describe_page: DescribePage,
) -> None:
    answer = describe_page.press(
        "set-selected", **{"all-markers": "NA, ?", "because": "The codebook, page 3."}
    )
    assert answer.status_code == 422
    panel = answer.text.partition('id="together"')[2].partition("</details>")[0]
    assert panel.partition(">")[0].strip() == "open"
    assert "No column is selected." in panel
    assert 'value="NA, ?"' in panel
    assert 'value="The codebook, page 3."' in panel
    answer = describe_page.press("set-selected", select=["0"], **{"all-markers": "NA, ?"})
    assert "Nothing was chosen to be set" in answer.text
    assert 'value="NA, ?"' in answer.text
    assert not describe_page.draft.get("columns")
