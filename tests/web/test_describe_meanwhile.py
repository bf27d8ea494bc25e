"""Two tabs on Describe: what the second one saves never overwrites in silence, and overwrites nothing that it did not touch."""

from __future__ import annotations

import re
from typing import Any

import pytest

from synthweb.datasets import draft as drafts
from synthweb.lib.saved_meanwhile import digest
from tests.web.desk import Desk, FormReader

pytestmark = pytest.mark.django_db


def post(desk: Desk, fields: dict[str, Any], *, in_place: bool = False, **changes: Any) -> Any:
    """A press in a tab whose inputs were read earlier. changes: `_0_low` is the input `0-low`."""
    typed = {
        name.lstrip("_").replace("_", "-", 1) if name[0] == "_" else name: value
        for name, value in changes.items()
    }
    headers = {"HX-Request": "true"} if in_place else {}
    return desk.client.post(desk.address, fields | typed, headers=headers)


def table_of(desk: Desk) -> dict[str, str]:
    desk.dataset.refresh_from_db()
    return dict(desk.dataset.draft.get("table") or {})


def column(desk: Desk, name: str) -> dict[str, Any]:
    desk.dataset.refresh_from_db()
    return dict(drafts.columns(desk.dataset.draft).get(name) or {})


def test_rows_a_person_saved_in_two_tabs_are_told_and_either_can_be_taken(desk: Desk) -> None:
    tab = desk.inputs()
    post(desk, tab, do="save", max_records="3")
    refused = post(desk, tab, do="save", max_records="7")
    assert refused.status_code == 409 and table_of(desk)["max_records"] == "3"
    assert re.findall(r'data-difference="(\w+)"', refused.text) == ["max_records"]
    assert re.search(r'name="max_records"[^>]*value="7"', refused.text)
    # “Take mine” sends that page again; “take theirs” opens the page anew.
    taken = post(desk, tab | carried(refused.text), do="save", max_records="7")
    assert taken.status_code == 302 and table_of(desk)["max_records"] == "7"
    assert re.search(r'name="max_records"[^>]*value="7"', desk.page())


def carried(page: str) -> dict[str, str]:
    """What a page carries besides what is typed."""
    reader = FormReader()
    reader.feed(page)
    ends = ("-version", "-shown")
    return {name: value for name, value in reader.found.items() if name.endswith(ends)}


def test_a_tab_overwrites_nothing_that_it_did_not_touch(desk: Desk) -> None:
    tab = desk.inputs()
    post(desk, tab, do="save", max_records="3")
    saved = post(desk, tab, do="save", relation="replace-one")
    assert saved.status_code == 302
    table = table_of(desk)
    assert (table["max_records"], table["relation"]) == ("3", "replace-one")


def test_a_save_says_that_it_saved(desk: Desk) -> None:
    answer = desk.client.post(desk.address, desk.inputs() | {"do": "save"}, follow=True)
    assert "alert-success" in answer.text


@pytest.mark.parametrize("in_place", [False, True])
def test_a_column_edited_in_two_tabs_keeps_the_first_and_shows_the_second(
    desk: Desk, *, in_place: bool
) -> None:
    tab = desk.inputs("?edit=1")
    first = post(desk, tab, do="confirm:1", _1_low="10", _1_because="A law.")
    assert first.status_code == 302 and column(desk, "age")["fields"]["low"] == "10"
    second = post(
        desk, tab, in_place=in_place, do="confirm:1", _1_low="12", _1_because="A book."
    )
    assert second.status_code == (200 if in_place else 409)
    assert column(desk, "age")["fields"]["low"] == "10"
    assert 'data-saved-meanwhile="1"' in second.text
    assert re.search(r'name="1-low"[^>]*value="12"', second.text)
    # The same button of the page that said so.
    version = str(re.search(r'name="1-version" value="([^"]*)"', second.text)[1])  # type: ignore[index]
    post(desk, tab | {"1-version": version}, do="confirm:1", _1_low="12", _1_because="A book.")
    assert column(desk, "age")["fields"]["low"] == "12"


def test_a_line_is_not_confirmed_that_reads_otherwise_than_the_page_showed(desk: Desk) -> None:
    tab = desk.inputs()
    post(desk, desk.inputs("?edit=1"), do="save", _1_low="10")
    post(desk, tab, do="confirm:1", _1_because="A law.")
    assert column(desk, "age")["fields"]["low"] == "10" and not column(desk, "age")["confirmed"]


def test_presses_on_other_lines_of_the_same_page_are_no_conflict(desk: Desk) -> None:
    tab = desk.inputs()
    for index, name in ((0, "sector"), (1, "age"), (2, "works")):
        typed: dict[str, Any] = {f"_{index}_because": "A law."}
        answer = post(desk, tab, do=f"confirm:{index}", **typed)
        assert answer.status_code == 302 and column(desk, name)["confirmed"]
    # The same press twice is no conflict either.
    assert post(desk, tab, do="confirm:1", _1_because="A law.").status_code == 302


def test_a_rule_is_not_taken_away_from_a_list_that_changed(desk: Desk) -> None:
    desk.dataset.draft = {"constraints": [{"kind": "a"}, {"kind": "b"}]}
    desk.dataset.save(update_fields=["draft"])
    shown = digest([{"kind": "a"}, {"kind": "b"}])
    desk.dataset.draft = {"constraints": [{"kind": "b"}]}
    desk.dataset.save(update_fields=["draft"])
    answer = desk.client.post(desk.address, {"do": "rule-drop-0", "rules-version": shown})
    assert answer.status_code == 302
    desk.dataset.refresh_from_db()
    assert desk.dataset.draft["constraints"] == [{"kind": "b"}]
