"""Two tabs on Describe: what the second one saves never overwrites in silence, and overwrites nothing that it
did not touch."""

from __future__ import annotations

import re
from typing import Any

import pytest

from synthweb.datasets import draft as drafts
from synthweb.lib.saved_meanwhile import digest
from tests.web.describe_page import DescribePage, FormReader

pytestmark = pytest.mark.django_db


def post(
    describe_page: DescribePage,
    fields: dict[str, Any],
    *,
    in_place: bool = False,
    **changes: Any,
) -> Any:
    """A press in a tab whose inputs were read earlier. changes: `_0_low` is the input `0-low`."""
    typed = {
        name.lstrip("_").replace("_", "-", 1) if name[0] == "_" else name: value
        for name, value in changes.items()
    }
    headers = {"HX-Request": "true"} if in_place else {}
    return describe_page.client.post(describe_page.address, fields | typed, headers=headers)


def table_of(describe_page: DescribePage) -> dict[str, str]:
    describe_page.dataset.refresh_from_db()
    return dict(describe_page.dataset.draft.get("table") or {})


def column(describe_page: DescribePage, name: str) -> dict[str, Any]:
    describe_page.dataset.refresh_from_db()
    return dict(drafts.columns(describe_page.dataset.draft).get(name) or {})


def test_rows_a_person_saved_in_two_tabs_are_told_and_either_can_be_taken(
    describe_page: DescribePage,
) -> None:
    tab = describe_page.inputs()
    post(describe_page, tab, do="save", max_records="3")
    refused = post(describe_page, tab, do="save", max_records="7")
    assert refused.status_code == 409 and table_of(describe_page)["max_records"] == "3"
    assert re.findall(r'data-difference="(\w+)"', refused.text) == ["max_records"]
    assert re.search(r'name="max_records"[^>]*value="7"', refused.text)
    # “Take mine” sends that page again; “take theirs” opens the page anew.
    taken = post(describe_page, tab | carried(refused.text), do="save", max_records="7")
    assert taken.status_code == 302 and table_of(describe_page)["max_records"] == "7"
    assert re.search(r'name="max_records"[^>]*value="7"', describe_page.page())


def carried(page: str) -> dict[str, str]:
    """What a page carries besides what is typed."""
    reader = FormReader()
    reader.feed(page)
    ends = ("-version", "-shown")
    return {name: value for name, value in reader.found.items() if name.endswith(ends)}


def test_a_tab_overwrites_nothing_that_it_did_not_touch(describe_page: DescribePage) -> None:
    tab = describe_page.inputs()
    post(describe_page, tab, do="save", max_records="3")
    saved = post(describe_page, tab, do="save", relation="replace-one")
    assert saved.status_code == 302
    table = table_of(describe_page)
    assert (table["max_records"], table["relation"]) == ("3", "replace-one")


def test_a_save_says_that_it_saved(describe_page: DescribePage) -> None:
    answer = describe_page.client.post(
        describe_page.address, describe_page.inputs() | {"do": "save"}, follow=True
    )
    assert "alert-success" in answer.text


@pytest.mark.parametrize("in_place", [False, True])
def test_a_column_edited_in_two_tabs_keeps_the_first_and_shows_the_second(
    describe_page: DescribePage, *, in_place: bool
) -> None:
    tab = describe_page.inputs("?edit=1")
    first = post(describe_page, tab, do="confirm:1", _1_low="10", _1_because="A law.")
    assert first.status_code == 302 and column(describe_page, "age")["fields"]["low"] == "10"
    second = post(
        describe_page, tab, in_place=in_place, do="confirm:1", _1_low="12", _1_because="A book."
    )
    assert second.status_code == (200 if in_place else 409)
    assert column(describe_page, "age")["fields"]["low"] == "10"
    assert 'data-saved-meanwhile="1"' in second.text
    assert re.search(r'name="1-low"[^>]*value="12"', second.text)
    # The same button of the page that said so.
    version = str(re.search(r'name="1-version" value="([^"]*)"', second.text)[1])  # type: ignore[index]
    post(
        describe_page,
        tab | {"1-version": version},
        do="confirm:1",
        _1_low="12",
        _1_because="A book.",
    )
    assert column(describe_page, "age")["fields"]["low"] == "12"


def test_a_line_is_not_confirmed_that_reads_otherwise_than_the_page_showed(
    describe_page: DescribePage,
) -> None:
    tab = describe_page.inputs()
    post(describe_page, describe_page.inputs("?edit=1"), do="save", _1_low="10")
    post(describe_page, tab, do="confirm:1", _1_because="A law.")
    assert (
        column(describe_page, "age")["fields"]["low"] == "10"
        and not column(describe_page, "age")["confirmed"]
    )


def test_presses_on_other_lines_of_the_same_page_are_no_conflict(
    describe_page: DescribePage,
) -> None:
    tab = describe_page.inputs()
    for index, name in ((0, "sector"), (1, "age"), (2, "works")):
        typed: dict[str, Any] = {f"_{index}_because": "A law."}
        answer = post(describe_page, tab, do=f"confirm:{index}", **typed)
        assert answer.status_code == 302 and column(describe_page, name)["confirmed"]
    # The same press twice is no conflict either.
    assert post(describe_page, tab, do="confirm:1", _1_because="A law.").status_code == 302


def test_a_rule_is_not_taken_away_from_a_list_that_changed(describe_page: DescribePage) -> None:
    describe_page.dataset.draft = {"constraints": [{"kind": "a"}, {"kind": "b"}]}
    describe_page.dataset.save(update_fields=["draft"])
    shown = digest([{"kind": "a"}, {"kind": "b"}])
    describe_page.dataset.draft = {"constraints": [{"kind": "b"}]}
    describe_page.dataset.save(update_fields=["draft"])
    answer = describe_page.client.post(
        describe_page.address, {"do": "rule-drop-0", "rules-version": shown}
    )
    assert answer.status_code == 302
    describe_page.dataset.refresh_from_db()
    assert describe_page.dataset.draft["constraints"] == [{"kind": "b"}]
