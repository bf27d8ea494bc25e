"""Describing: nothing read from the data counts, or is stored, until the steward says that it is public."""

from __future__ import annotations

import datetime
import json
import re
from collections.abc import Callable
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone

from synth_engine.domain import Domain
from synth_engine.errors import DomainError
from synthweb.audit.models import AuditEntry
from synthweb.datasets import preview_store, selectors, services
from synthweb.datasets.models import Dataset, DomainVersion, Preview
from synthweb.ledger import services as ledger
from synthweb.lib import codes
from tests.cast import Cast
from tests.web import scene
from tests.web.describe_page import SUGGESTIONS, DescribePage, line, ready

pytestmark = pytest.mark.usefixtures("places")

Browser = Callable[..., Client]


@pytest.fixture
def dataset(cast: Cast) -> Dataset:
    return ready(cast)


@pytest.fixture
def describe_page(browser: Browser, cast: Cast, dataset: Dataset) -> DescribePage:
    return DescribePage(browser(cast.steward), dataset)


def openings() -> int:
    return AuditEntry.objects.filter(action="preview.opened").count()


# --- suggestions stay where they are ------------------------------------------------------------------------
def test_the_page_shows_suggestions_as_such_and_stores_none_of_them(
    describe_page: DescribePage,
) -> None:
    page = describe_page.page()
    assert "Real data, not differentially private" in page
    assert "is-suggested" in line(page, 0)
    assert "Read from your data" in line(page, 0)
    assert "2 values: Farm, Mine, any other" in line(page, 0)
    assert "17 to 90" in line(page, 1)
    assert re.search(r"<strong>4</strong> of 4 columns still open", page)
    assert describe_page.draft == {}


def test_a_sitting_at_the_page_is_on_record_once_with_the_presses_in_place(
    describe_page: DescribePage, monkeypatch: pytest.MonkeyPatch
) -> None:
    describe_page.page()
    describe_page.page()
    describe_page.press("finish")
    assert openings() == 1
    fields = describe_page.inputs()
    monkeypatch.setattr(
        selectors, "SITTING", datetime.timedelta(0)
    )  # from here on every opening would be written
    before = openings()
    # What is typed is held against real cells, so a press is a look as well.
    describe_page.client.post(
        describe_page.address, fields | {"do": "confirm:1"}, headers={"HX-Request": "true"}
    )
    assert openings() == before + 1


def test_looking_into_the_editor_stores_nothing(describe_page: DescribePage) -> None:
    describe_page.press("edit:1")
    describe_page.press("save", edit="all")
    describe_page.press("keep:1", edit="1")
    assert describe_page.draft.get("columns") == {}


def test_what_is_kept_unconfirmed_holds_only_what_was_typed(
    describe_page: DescribePage,
) -> None:
    describe_page.press("keep:1", edit="1", _1_low="0")
    assert describe_page.draft["columns"]["age"]["fields"] == {"low": "0"}
    assert "90" not in json.dumps(describe_page.draft)
    assert "0 to 90" in line(describe_page.page(), 1)
    assert "Typed, not confirmed" in line(describe_page.page(), 1)


# --- line by line -------------------------------------------------------------------------------------------
def test_confirming_a_line_declares_what_the_page_showed(describe_page: DescribePage) -> None:
    answer = describe_page.press("confirm:1", in_place=True)
    assert "is-confirmed" in answer.text
    assert "Declared public" in answer.text
    assert re.search(
        r'id="open-count"[^>]*hx-swap-oob="true".*<strong>3</strong> of 4',
        answer.text,
        re.DOTALL,
    )
    kept = describe_page.draft["columns"]
    assert list(kept) == ["age"]
    assert kept["age"]["fields"] == {
        "low": "17",
        "high": "90",
        "width": "1",
        "outside": "clamp",
    }
    entry = AuditEntry.objects.get(action="columns.confirmed")
    assert (entry.actor, entry.detail) == (
        "steward",
        {"columns": ["age"], "because": ["The codebook."]},
    )


def test_a_mistake_keeps_what_was_typed_and_says_what_to_mend(
    describe_page: DescribePage,
) -> None:
    answer = describe_page.press("confirm:1", edit="1", in_place=True, _1_low="seventeen")
    assert 'value="seventeen"' in answer.text
    assert (
        "“Lowest” is not a whole number of at most 18 digits; write digits only" in answer.text
    )
    assert "still open" in answer.text
    page = describe_page.page("?edit=1")
    assert 'value="seventeen"' in line(page, 1)
    assert "is not a whole number" in line(describe_page.page(), 1)
    describe_page.press("confirm:1", edit="1", _1_low="16")
    assert "16 to 90" in line(describe_page.page(), 1)
    assert "is-confirmed" in line(describe_page.page(), 1)


def test_the_kind_can_be_changed_and_shows_its_own_fields(describe_page: DescribePage) -> None:
    answer = describe_page.press("kind:1", edit="1", in_place=True, _1_kind="categorical")
    assert 'name="1-values"' in answer.text
    assert 'name="1-low"' not in answer.text
    answer = describe_page.press(
        "confirm:1",
        edit="1",
        in_place=True,
        _1_kind="categorical",
        _1_values="young\nold",
        _1_outside="other",
    )
    assert "2 values: young, old, any other" in answer.text


def test_a_confirmed_line_that_is_changed_is_open_again(describe_page: DescribePage) -> None:
    describe_page.press("confirm:1")
    describe_page.press("keep:1", edit="1")  # looked at, not changed
    assert describe_page.draft["columns"]["age"]["confirmed"] is True
    describe_page.press("keep:1", edit="1", _1_high="99")
    assert describe_page.draft["columns"]["age"]["confirmed"] is False


def test_what_was_typed_can_be_forgotten(describe_page: DescribePage) -> None:
    describe_page.press("confirm:1", edit="1", _1_low="0")
    describe_page.press("discard:1", edit="1")
    assert describe_page.draft["columns"] == {}
    assert "17 to 90" in line(describe_page.page(), 1)


def test_a_column_can_be_left_out(describe_page: DescribePage) -> None:
    describe_page.press("drop:1", edit="1")
    assert describe_page.draft["columns"]["age"]["kind"] == "identifier"
    assert "not in the release" in line(describe_page.page(), 1)


def test_the_origin_is_recorded(describe_page: DescribePage) -> None:
    describe_page.press("confirm:1", edit="1", _1_origin="public-file")
    assert "From a public file" in line(describe_page.page(), 1)


def test_without_script_a_press_comes_back_to_its_line_with_the_same_editors_open(
    describe_page: DescribePage,
) -> None:
    answer = describe_page.press("edit:2", edit="1", _1_low="0")
    assert answer.status_code == 302
    assert answer.url == f"{describe_page.address}?edit=1-2#line-2"
    assert describe_page.draft["columns"]["age"]["fields"] == {"low": "0"}


# --- together -----------------------------------------------------------------------------------------------
def test_confirming_all_takes_the_explicit_statement(describe_page: DescribePage) -> None:
    answer = describe_page.press("confirm-open", because=" ")
    # An identifier states nothing, and yes and no are public whatever a table holds.
    assert sorted(describe_page.draft["columns"]) == ["id", "works"]
    assert answer.status_code == 422
    assert "Say first where these facts are written" in answer.text
    describe_page.press("confirm-open")
    assert sorted(describe_page.draft["columns"]) == ["age", "id", "sector", "works"]
    assert "All 4 columns confirmed" in describe_page.page()


def test_only_the_selected_are_confirmed_or_left_out(describe_page: DescribePage) -> None:
    describe_page.press("confirm-selected", select=["0", "2"])
    assert set(describe_page.draft["columns"]) == {"sector", "works"}
    describe_page.press("drop-selected", select=["1"])
    assert describe_page.draft["columns"]["age"]["kind"] == "identifier"


def test_confirming_all_leaves_what_is_unsound_open(browser: Browser, cast: Cast) -> None:
    both = [
        *SUGGESTIONS[1:2],
        {"name": "odd", "kind": "integer", "low": 9, "high": 1, "why": ""},
    ]
    describe_page = DescribePage(browser(cast.steward), ready(cast, both))
    describe_page.press("confirm-open")
    assert describe_page.draft["columns"]["age"]["confirmed"] is True
    assert describe_page.draft["columns"]["odd"]["confirmed"] is False
    assert "Low is above high" in line(describe_page.page(), 1)


# --- the description ----------------------------------------------------------------------------------------
def test_an_incomplete_description_is_refused_with_everything_that_is_open(
    describe_page: DescribePage,
) -> None:
    describe_page.press("confirm:1")
    answer = describe_page.press("finish", max_records="many")
    assert answer.status_code == 422
    assert "3 columns not confirmed yet: sector, works, id" in answer.text
    assert "records per person is not a whole number" in answer.text
    assert 'name="max_records" inputmode="numeric" value="many"' in answer.text
    assert not DomainVersion.objects.exists()


def test_a_complete_description_becomes_an_immutable_version(
    describe_page: DescribePage, cast: Cast
) -> None:
    describe_page.press("confirm-open")
    answer = describe_page.press("finish")
    assert answer.url == reverse("pages:dataset", args=[describe_page.dataset.code])
    version = DomainVersion.objects.get()
    domain = Domain.from_json(version.document)
    domain.require_confirmed()
    assert (version.number, version.digest, version.confirmed_by) == (
        1,
        domain.digest,
        cast.steward,
    )
    assert domain.names == ("sector", "age", "works")
    assert [attribute.name for attribute in domain.attributes] == [
        "sector",
        "age",
        "works",
        "id",
    ]
    assert domain.facts == {"declared": 10}
    assert AuditEntry.objects.get(action="domain.confirmed").detail == {
        "version": 1,
        "digest": version.digest,
    }


def test_the_same_description_again_is_the_same_version_and_another_one_the_next(
    describe_page: DescribePage,
) -> None:
    describe_page.press("confirm-open")
    describe_page.press("finish")
    describe_page.press("finish")
    assert DomainVersion.objects.count() == 1
    describe_page.press("confirm:1", edit="1", _1_high="99")
    describe_page.press("finish")
    assert [version.number for version in DomainVersion.objects.order_by("number")] == [1, 2]


def test_a_line_that_was_tried_and_mended_elsewhere_still_wants_to_be_confirmed(
    describe_page: DescribePage, cast: Cast
) -> None:
    describe_page.press("confirm-open")
    describe_page.press("confirm:1", edit="1", _1_low="x")
    mended = describe_page.draft
    assert mended["columns"]["age"]["tried"] is True
    mended["columns"]["age"]["fields"]["low"] = "1"
    services.save_draft(actor=cast.steward, dataset=describe_page.dataset, draft=mended)
    with pytest.raises(services.Incomplete) as caught:
        services.confirm_domain(actor=cast.steward, dataset=describe_page.dataset)
    assert [(error.column, error.rule) for error in caught.value.errors] == [
        ("age", "not confirmed yet")
    ]


def test_unit_relation_and_number_of_rows_are_taken_as_said(
    describe_page: DescribePage,
) -> None:
    describe_page.press("confirm-open")
    terms = {
        "max_records": "3",
        "unit_column": "id",
        "relation": "replace-one",
        "rows_public": "on",
        "rows": "1000",
    }
    describe_page.press("finish", **terms)
    domain = Domain.from_json(DomainVersion.objects.get().document)
    assert (domain.unit.max_records, domain.unit.column) == (3, "id")
    assert (domain.relation.value, domain.rows) == ("replace-one", 1000)


def test_a_public_number_of_rows_needs_replace_one(describe_page: DescribePage) -> None:
    describe_page.press("confirm-open")
    answer = describe_page.press("finish", rows_public="on", rows="1000")
    assert answer.status_code == 422
    assert "contradicts the add-remove relation" in answer.text


@pytest.mark.slow
def test_whom_an_account_protects_cannot_change_any_more(cast: Cast, browser: Browser) -> None:
    played = scene.play(
        steward=cast.steward, custodian=cast.custodian, organisation=cast.organisation
    )
    document = scene.DOMAIN
    for change in ({"relation": "replace-one"}, {"unit": {"max_records": 2, "column": None}}):
        with pytest.raises(DomainError, match="cannot change any more"):
            services.declare_domain(
                actor=cast.steward, dataset=played.dataset, document=document | change
            )
    wider = json.loads(json.dumps(document))
    wider["attributes"][1]["high"] = 109
    assert (
        services.declare_domain(
            actor=cast.steward, dataset=played.dataset, document=wider
        ).number
        == 2
    )
    page = (
        browser(cast.steward).get(reverse("datasets:describe", args=[played.dataset.code])).text
    )
    assert "Fixed when the budget was granted" in page
    assert 'type="radio" name="relation"' not in page


def test_the_draft_follows_a_declared_document_and_keeps_what_is_not_confirmed(
    cast: Cast, dataset: Dataset
) -> None:
    names = [attribute["name"] for attribute in scene.DOMAIN["attributes"]]
    unfinished = {"kind": "integer", "fields": {"low": "1"}, "place": 0}
    services.save_draft(
        actor=cast.steward, dataset=dataset, draft={"columns": {names[0]: unfinished}}
    )
    services.declare_domain(actor=cast.steward, dataset=dataset, document=scene.DOMAIN)
    dataset.refresh_from_db()
    kept = dataset.draft["columns"]
    assert kept[names[0]] == unfinished
    assert [name for name in names if kept[name].get("confirmed")] == names[1:]


def test_suggested_facts_cannot_be_declared_by_a_document(cast: Cast, dataset: Dataset) -> None:
    document = json.loads(json.dumps(scene.DOMAIN))
    document["attributes"][0]["provenance"] = "suggested"
    with pytest.raises(DomainError, match="suggested"):
        services.declare_domain(actor=cast.steward, dataset=dataset, document=document)


def test_save_draft_keeps_whatever_was_typed(cast: Cast, dataset: Dataset) -> None:
    typed = {
        "columns": {"age": {"kind": "integer", "fields": {"low": "x"}, "confirmed": False}},
        "table": {"rows": "y"},
    }
    services.save_draft(actor=cast.steward, dataset=dataset, draft=typed)
    dataset.refresh_from_db()
    assert dataset.draft["columns"]["age"]["fields"] == {"low": "x"}
    assert dataset.draft["table"]["rows"] == "y"
    with pytest.raises(services.Incomplete):
        services.confirm_domain(actor=cast.steward, dataset=dataset)


# --- the page around it -------------------------------------------------------------------------------------
def test_when_the_preview_has_expired_what_was_typed_stays_and_the_table_can_be_read_again(
    describe_page: DescribePage,
) -> None:
    describe_page.press("confirm:1")
    Preview.objects.update(expires_at=timezone.now())
    page = describe_page.page()
    assert "The preview has expired" in page
    assert reverse("pages:read-again", args=[describe_page.dataset.code]) in page
    assert "17 to 90" in page
    assert not re.search(r"\bFarm\b", page)  # the token of a form may hold the four letters
    assert "Real data" not in page
    assert "read the table again" in describe_page.press("finish").text


def test_a_description_that_was_complete_can_be_confirmed_after_the_preview_has_expired(
    describe_page: DescribePage,
) -> None:
    describe_page.press("confirm-open")
    Preview.objects.update(expires_at=timezone.now())
    assert describe_page.press("finish").status_code == 302
    assert DomainVersion.objects.exists()


def test_a_table_that_is_not_ready_leads_to_its_status(
    browser: Browser, cast: Cast, dataset: Dataset
) -> None:
    Dataset.objects.update(status="uploaded")
    answer = browser(cast.steward).get(reverse("datasets:describe", args=[dataset.code]))
    assert answer.url == reverse("pages:upload-status", args=[dataset.code])  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("who", "code"),
    [("custodian", 403), ("auditor", 403), ("analyst", 404), ("stranger", 404), ("staff", 403)],
)
def test_only_stewards_of_the_organisation_describe(
    browser: Browser, cast: Cast, dataset: Dataset, who: str, code: int
) -> None:
    client = browser(cast.by_name()[who])
    for address in ("datasets:describe", "datasets:import"):
        assert (
            client.post(
                reverse(address, args=[dataset.code]), {"do": "confirm:0", "0-name": "x"}
            ).status_code
            == code
        )
    assert client.get(reverse("datasets:describe", args=[dataset.code])).status_code == code
    dataset.refresh_from_db()
    assert dataset.draft == {}
    assert openings() == 0


def test_names_and_values_from_the_table_are_shown_as_text(
    browser: Browser, cast: Cast
) -> None:
    nasty = "<script>alert(1)</script>\"'"
    suggestion = {
        "name": nasty,
        "kind": "categorical",
        "values": [nasty, "b"],
        "other": True,
        "why": nasty,
    }
    describe_page = DescribePage(browser(cast.steward), ready(cast, [suggestion]))
    assert "<script>alert" not in describe_page.page("?edit=all")
    assert "<script>alert" not in describe_page.press("confirm:0", in_place=True).text
    describe_page.press("finish")
    version = DomainVersion.objects.get()
    assert Domain.from_json(version.document).attributes[0].name == nasty
    assert (
        "<script>alert"
        not in describe_page.client.get(
            reverse("datasets:domain", args=[describe_page.dataset.code, 1])
        ).text
    )


@pytest.mark.parametrize(
    "posted",
    [
        {"do": "confirm:999999", "0-name": "sector"},
        {"do": "confirm:0"},
        {"do": "confirm:x", "0-name": "sector"},
        {"do": "confirm:0", "0-name": "sector", "0-suggested": "not json"},
        {"do": "confirm:0", "0-name": "sector", "0-suggested": '{"kind": "no", "fields": {}}'},
        {
            "do": "confirm:0",
            "0-name": "sector",
            "0-suggested": '{"kind": ["x"], "fields": {"values": 3}}',
        },
        {
            "do": "confirm:0",
            "0-name": "a\x00b",
            "0-kind": "categorical",
            "0-values": "a\x00\n\ud800",
        },
        {"do": "unheard-of"},
        {"total": "-5", "do": "save"},
        {"relation": "x", "max_records": "9" * 500, "do": "finish"},
    ],
)
def test_a_made_up_post_breaks_nothing(
    describe_page: DescribePage, posted: dict[str, str]
) -> None:
    clean = {
        key: text.encode("utf-8", "surrogatepass").decode("utf-8", "replace")
        for key, text in posted.items()
    }
    for headers in ({}, {"HX-Request": "true"}):
        assert describe_page.client.post(
            describe_page.address, clean, headers=headers
        ).status_code in (
            200,
            302,
            422,
        )
    assert describe_page.page()
    assert not [
        column
        for column in describe_page.draft.get("columns", {}).values()
        if column["confirmed"]
    ]


def test_a_hundred_columns_take_few_queries_and_no_editors(
    browser: Browser, cast: Cast
) -> None:
    values = [f"value {number}" for number in range(100)]
    many = [
        {
            "name": f"column {number}",
            "kind": "categorical",
            "values": values,
            "other": True,
            "why": ".",
        }
        for number in range(100)
    ]
    describe_page = DescribePage(browser(cast.steward), ready(cast, many))
    with CaptureQueriesContext(
        connection,
    ) as few:
        page = describe_page.page()
    assert len(few) < 30
    assert 'class="editor"' not in page
    assert len(page) < 600_000
    with CaptureQueriesContext(connection) as some:
        describe_page.press_alone("confirm-open")
    assert len(some) < 60
    with CaptureQueriesContext(connection) as others:
        describe_page.answer_lists("lists", public="The codebook.")
    assert len(others) < 60
    assert len(describe_page.draft["columns"]) == 100
    assert len(json.dumps(describe_page.draft)) < 400_000


def test_the_page_can_be_searched_without_script(describe_page: DescribePage) -> None:
    describe_page.press("confirm:1")
    for query, shown in {
        "?q=WOR": {2},
        "?q=r": {0, 2},
        "?kind=integer": {1},
        "?show=open": {0, 2, 3},
        "?show=confirmed": {1},
        "?show=wrong": set(),
        "?kind=boolean&show=confirmed": set(),
        "?kind=nonsense&show=nonsense": {0, 1, 2, 3},
    }.items():
        page = describe_page.page(query)
        hidden = {
            int(index)
            for index in re.findall(r'<li class="column" id="line-(\d+)" hidden>', page)
        }
        assert {0, 1, 2, 3} - hidden == shown, query
        assert (f"{len(shown)} of 4 columns shown" in page) == (len(shown) < 4)


def test_a_press_keeps_what_is_searched_for(describe_page: DescribePage) -> None:
    answer = describe_page.client.post(
        describe_page.address + "?q=wor&kind=boolean&show=open",
        describe_page.inputs() | {"do": "edit:2"},
    )
    assert answer.url == f"{describe_page.address}?q=wor&kind=boolean&show=open&edit=2#line-2"


# --- the list, and a version for reading --------------------------------------------------------------------
def test_the_list_says_what_is_next(browser: Browser, cast: Cast, dataset: Dataset) -> None:
    client = browser(cast.steward)
    page = client.get(reverse("datasets:index")).text
    assert "not confirmed yet" in page
    assert reverse("datasets:describe", args=[dataset.code]) in page
    Dataset.objects.update(
        status="refused", refusal={"rule": "x", "repair": "y", "line": 1, "column": None}
    )
    assert "See what to mend" in client.get(reverse("datasets:index")).text
    assert (
        "No dataset matches these words"
        in client.get(reverse("datasets:index"), {"q": "elephants"}).text
    )
    assert (
        dataset.name
        in client.get(reverse("datasets:index"), {"q": "peo", "status": "refused"}).text
    )


def test_the_list_shows_the_datasets_of_one_organisation(
    browser: Browser, cast: Cast, dataset: Dataset
) -> None:
    assert dataset.code in browser(cast.auditor).get(reverse("datasets:index")).text
    assert dataset.code not in browser(cast.stranger).get(reverse("datasets:index")).text
    assert browser(cast.analyst).get(reverse("datasets:index")).status_code == 403


def test_a_long_list_pages_with_few_queries(
    browser: Browser, cast: Cast, dataset: Dataset
) -> None:
    for number in range(30):
        dataset.pk, dataset.code, dataset.vault_name = None, codes.new(), f"{number:064}"
        dataset.save(force_insert=True)
    client = browser(cast.custodian)
    with CaptureQueriesContext(connection) as few:
        first = client.get(reverse("datasets:index")).text
    assert len(few) < 20
    assert "1 to 25 of 31" in first
    assert "26 to 31 of 31" in client.get(reverse("datasets:index"), {"page": 2}).text


def test_a_version_is_read_by_all_of_the_organisation_and_as_a_file(
    browser: Browser, cast: Cast, describe_page: DescribePage
) -> None:
    describe_page.press("confirm-open")
    describe_page.press("finish")
    arguments = [describe_page.dataset.code, 1]
    for who in (cast.steward, cast.custodian, cast.auditor):
        page = browser(who).get(reverse("datasets:domain", args=arguments))
        assert "Farm, Mine" in page.text
    document = browser(cast.auditor).get(reverse("datasets:domain-file", args=arguments))
    assert Domain.from_json(document.json()).digest == DomainVersion.objects.get().digest
    assert document["Content-Disposition"].startswith("attachment")
    for who in (cast.analyst, cast.stranger):
        assert browser(who).get(reverse("datasets:domain", args=arguments)).status_code == 404
    assert (
        browser(cast.auditor)
        .get(reverse("datasets:domain", args=[describe_page.dataset.code, 2]))
        .status_code
        == 404
    )


# --- the columns of the table -------------------------------------------------------------------------------
def known(dataset: Dataset) -> Dataset:
    """What the worker notes beside the preview."""
    preview_store.put(
        dataset, Preview.Kind.COLUMNS, "", {"columns": [item["name"] for item in SUGGESTIONS]}
    )
    return dataset


@pytest.mark.parametrize(
    ("change", "column"),
    [
        ({"attributes": [{"name": "sectr", "kind": "identifier"}]}, "sectr"),
        ({"unit": {"column": "person"}}, "person"),
    ],
    ids=["attribute", "unit column"],
)
def test_a_declared_column_that_the_table_lacks_is_refused_at_once(
    cast: Cast, dataset: Dataset, change: dict[str, Any], column: str
) -> None:
    Preview.objects.update(expires_at=timezone.now())  # names of columns outlive the preview
    known(dataset)
    age = {"name": "age", "kind": "integer", "low": 0, "high": 9}
    document: dict[str, Any] = {"attributes": [age, *change.get("attributes", [])]} | {
        key: value for key, value in change.items() if key != "attributes"
    }
    with pytest.raises(DomainError) as caught:
        services.declare_domain(actor=cast.steward, dataset=dataset, document=document)
    assert (caught.value.column, caught.value.rule) == (column, "the table has no such column")
    assert caught.value.repair
    assert not DomainVersion.objects.exists()
    accepted = {"attributes": [age], "unit": {"column": "id"}}
    assert (
        services.declare_domain(actor=cast.steward, dataset=dataset, document=accepted).number
        == 1
    )


def test_an_import_after_the_preview_knows_the_columns_of_the_table(
    cast: Cast, dataset: Dataset
) -> None:
    Preview.objects.update(expires_at=timezone.now())
    known(dataset)
    attributes = [
        {"name": name, "kind": "integer", "low": 0, "high": 9} for name in ("age", "height")
    ]
    brought = services.import_document(
        actor=cast.steward, dataset=dataset, document={"attributes": attributes}
    )
    assert brought.remarks == [
        "Column “height”: not in this table, not taken; take the name from the header of the table."
    ]
    with pytest.raises(services.Incomplete) as caught:
        services.confirm_domain(actor=cast.steward, dataset=dataset)
    assert [error.column for error in caught.value.errors] == ["sector", "age", "works", "id"]


def test_the_names_of_the_columns_are_not_in_the_database_until_somebody_declares_them(
    dataset: Dataset,
) -> None:
    known(dataset)
    with connection.cursor() as cursor:
        cursor.execute("SELECT * FROM datasets_preview")
        assert "sector" not in str(cursor.fetchall())
    assert not AuditEntry.objects.filter(action="preview.opened").exists()


def test_a_refused_table_cannot_be_described(cast: Cast, dataset: Dataset) -> None:
    services.mark_refused(
        dataset=dataset, refusal={"rule": "a NUL byte", "repair": "", "column": None, "line": 2}
    )
    with pytest.raises(DomainError, match="refused"):
        services.declare_domain(actor=cast.steward, dataset=dataset, document={"age": 5})


def test_whom_the_description_protects_stays_while_a_custodian_decides(cast: Cast) -> None:
    made = scene.read(scene.upload(steward=cast.steward, organisation=cast.organisation))
    many = scene.DOMAIN | {"unit": {"max_records": 50, "column": None}}
    services.declare_domain(actor=cast.steward, dataset=made, document=many)
    request = scene.ask(steward=cast.steward, dataset=made)
    with pytest.raises(DomainError, match="request for budget waits"):
        services.declare_domain(actor=cast.steward, dataset=made, document=scene.DOMAIN)
    narrower = many | {"attributes": many["attributes"][:2]}
    assert (
        services.declare_domain(actor=cast.steward, dataset=made, document=narrower).number == 2
    )
    ledger.refuse(custodian=cast.custodian, request=request, reason="One record is enough.")
    assert (
        services.declare_domain(actor=cast.steward, dataset=made, document=scene.DOMAIN).number
        == 3
    )


# --- what a line says about itself --------------------------------------------------------------------------
def test_a_suggestion_says_why_until_something_is_said(describe_page: DescribePage) -> None:
    assert "Whole numbers." in line(describe_page.page(), 1)
    describe_page.press("confirm:1")
    assert "Whole numbers." not in line(describe_page.page(), 1)


def test_very_many_codes_say_how_many_records_they_need(describe_page: DescribePage) -> None:
    assert "noise outweighs" not in describe_page.page()
    describe_page.press("drop:3")
    answer = describe_page.press(
        "keep:1", edit="1", in_place=True, _1_low="0", _1_high="999", _1_width="1", _1_bins=""
    )
    assert (
        "1\u202f000 codes: at ε = 1, shared by 3 columns, noise outweighs them below about 3\u202f000"
        in answer.text
    )
    assert "below about 3\u202f000 records. Fewer values or wider bins keep more." in line(
        describe_page.page(), 1
    )
    name = next(
        name
        for name, column in describe_page.draft["columns"].items()
        if column.get("place") == 1
    )
    services.keep(
        actor=describe_page.dataset.steward,
        dataset=describe_page.dataset,
        changes=services.DraftChanges(table={"places": f"home: {name}, other"}),
    )
    assert "1\u202f000 codes of a coordinate: methods for places" in line(
        describe_page.page(), 1
    )
