"""DOMAIN.json in and out of the describe page: nothing is confirmed by it, nothing typed is lost, nothing
real leaves."""

from __future__ import annotations

import datetime
import json
from collections.abc import Callable
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from synth_engine.domain import Domain
from synth_engine.errors import DomainError
from synthweb.audit.models import AuditEntry
from synthweb.datasets import draft, selectors, services
from synthweb.datasets.draft_to_attribute import attribute_of
from synthweb.datasets.models import Dataset, DomainVersion, Preview
from synthweb.datasets.services import terms
from tests.cast import Cast
from tests.web import scene
from tests.web.describe_page import DescribePage, line, ready

pytestmark = pytest.mark.usefixtures("places")

AGE = {
    "name": "age",
    "kind": "integer",
    "low": 0,
    "high": 120,
    "width": 5,
    "provenance": "public-file",
}
WORKS = {"name": "works", "kind": "boolean", "true": "yes", "false": "no"}
HEIGHT = {"name": "height", "kind": "number", "low": 0, "high": 3}


def bring(describe_page: DescribePage, document: Any, *, edit: str = "", **typed: Any) -> str:
    """Choose a file and press the button, with everything else that the page's form holds."""
    text = document if isinstance(document, bytes) else json.dumps(document).encode()
    address = reverse("datasets:import", args=[describe_page.dataset.code])
    fields = describe_page.inputs(f"?edit={edit}" if edit else "")
    fields |= {
        key[1:].replace("_", "-", 1) if key.startswith("_") else key: value
        for key, value in typed.items()
    }
    sent = fields | {"do": "save", "document": SimpleUploadedFile("d.json", text)}
    return str(describe_page.client.post(address, sent, follow=True).text)


def draft_file(describe_page: DescribePage) -> Any:
    return describe_page.client.get(
        reverse("datasets:draft-file", args=[describe_page.dataset.code])
    )


# --- in -----------------------------------------------------------------------------------------------------
def test_a_document_fills_the_draft_and_confirms_nothing(describe_page: DescribePage) -> None:
    document = {"attributes": [AGE, WORKS | {"provenance": "suggested"}, HEIGHT]}
    page = bring(describe_page, document | {"unit": {"max_records": 2, "column": "id"}})
    assert "Nothing of it is confirmed yet" in page
    assert "0 to 120" in line(page, 1)
    assert "From a public file, imported and not confirmed" in line(page, 1)
    assert (
        "Column “height”: not in this table, not taken; take the name from the header" in page
    )
    assert "Column “works”: holds facts that are only suggested by data" in page
    assert "3 columns: sector, works, id" in " ".join(page.split())
    assert "Describe below what is not described, or leave it out." in page
    assert list(describe_page.draft["columns"]) == ["age"]
    assert describe_page.draft["columns"]["age"]["confirmed"] is False
    assert describe_page.draft["table"]["unit_column"] == "id"
    assert not AuditEntry.objects.filter(action="columns.confirmed").exists()
    answer = describe_page.press("finish")
    assert answer.status_code == 422
    assert "4 columns not confirmed yet" in answer.text


def test_what_was_brought_is_confirmed_as_the_file_says_and_not_as_the_data_suggest(
    describe_page: DescribePage,
) -> None:
    bring(describe_page, {"attributes": [AGE | {"outside": "clamp"}]})
    describe_page.press("confirm:1")
    kept = describe_page.draft["columns"]["age"]
    assert (
        kept["confirmed"],
        kept["origin"],
        kept["fields"]["low"],
        kept["fields"]["width"],
    ) == (
        True,
        "public-file",
        "0",
        "5",
    )
    declared = {name: describe_page.draft["columns"].get(name) for name in ("age",)}
    assert "17" not in json.dumps(declared)


def test_the_short_form_is_taken_as_codes_without_an_order(describe_page: DescribePage) -> None:
    bring(describe_page, {"age": 85})
    describe_page.press("confirm:1")
    for index in (0, 2, 3):
        describe_page.press(f"drop:{index}")
    describe_page.press("finish")
    [age] = Domain.from_json(DomainVersion.objects.get().document).modelled
    assert (age.size, age.ordered) == (85, False)
    assert "codes without an order" in describe_page.page("?edit=1")


def test_what_is_described_already_stays_unless_the_file_is_to_take_its_place(
    describe_page: DescribePage,
) -> None:
    describe_page.press("confirm:1", edit="1", _1_low="16")
    page = bring(describe_page, {"attributes": [AGE, WORKS]})
    assert "Column “age”: described here already, kept" in page
    assert "16 to 90" in line(page, 1)
    assert describe_page.draft["columns"]["age"]["confirmed"] is True
    assert "Declared public, imported and" in line(page, 2)
    assert "1 column was taken into the draft" in page
    page = bring(describe_page, {"attributes": [AGE]})
    assert "The file was read as a DOMAIN.json: no column was taken from it" in page
    assert "Not described by the file" not in page
    page = bring(describe_page, {"attributes": [AGE, WORKS]}, **{"both-say": "file"})
    assert "described here already, kept" not in page
    assert "0 to 120" in line(page, 1)
    assert describe_page.draft["columns"]["age"]["confirmed"] is False


@pytest.mark.parametrize(
    "document", [b"nonsense", {"attributes": [AGE]}, {"attributes": [HEIGHT]}]
)
def test_what_was_typed_and_not_saved_is_kept_whatever_the_file_is(
    describe_page: DescribePage, document: Any
) -> None:
    bring(
        describe_page, document, edit="0,1", _1_low="3", _0_values="Shop\nFarm", max_records="7"
    )
    kept = describe_page.draft["columns"]
    assert kept["age"]["fields"] == {"low": "3"}
    assert kept["sector"]["fields"]["values"].split() == ["Shop", "Farm"]
    assert describe_page.draft["table"]["max_records"] == "7"


def test_whom_the_file_protects_gives_way_to_what_was_typed(
    describe_page: DescribePage,
) -> None:
    document = {"attributes": [AGE], "unit": {"max_records": 2}}
    page = bring(describe_page, document, max_records="7")
    assert "was typed here already and is kept" in page
    assert describe_page.draft["table"]["max_records"] == "7"
    bring(describe_page, document, max_records="7", **{"both-say": "file"})
    assert describe_page.draft["table"]["max_records"] == "2"
    page = bring(
        describe_page,
        {"attributes": [AGE], "unit": {"column": "person"}},
        **{"both-say": "file"},
    )
    assert "Column “person”: is to tell people apart and is not in this table" in page
    assert describe_page.draft["table"]["unit_column"] == ""


POINTS = [
    {"name": name, "kind": "number", "low": -90, "high": 90} for name in ("lat", "lon, east")
]
HOME = {"name": "home", "latitude": "lat", "longitude": "lon, east"}


def test_places_are_brought_typed_confirmed_and_taken_away(
    browser: Callable[..., Client], cast: Cast
) -> None:
    describe_page = DescribePage(
        browser(cast.steward), ready(cast, [point | {"why": "."} for point in POINTS])
    )
    bring(describe_page, {"attributes": POINTS, "places": [HOME]})
    assert "home: lat, &quot;lon, east&quot;</textarea>" in describe_page.page()
    describe_page.press("confirm-open")
    wrong = describe_page.press("finish", places="home: lat")
    assert wrong.status_code == 422
    assert "a place is not a name and two columns; write it like" in wrong.text
    describe_page.press("finish", places='home: lat, "lon, east"')
    assert DomainVersion.objects.get().document["places"] == [HOME]
    assert draft_file(describe_page).json()["places"] == [HOME]
    assert (
        "home: lat, lon, east"
        in describe_page.client.get(
            reverse("datasets:domain", args=[describe_page.dataset.code, 1])
        ).text
    )
    page = bring(describe_page, {"attributes": POINTS, "places": [HOME | {"name": "work"}]})
    assert "The places were typed here already and are kept." in page
    describe_page.press("finish", places="")
    assert "places" not in DomainVersion.objects.get(number=2).document


@pytest.mark.slow
def test_whom_an_account_protects_is_not_taken_from_a_file(
    cast: Cast, browser: Callable[..., Client]
) -> None:
    played = scene.play(
        steward=cast.steward, custodian=cast.custodian, organisation=cast.organisation
    )
    document = scene.DOMAIN | {"unit": {"max_records": 9}}
    brought = services.import_document(
        actor=cast.steward, dataset=played.dataset, document=document
    )
    assert any("is settled" in remark for remark in brought.remarks)


def test_a_file_about_another_table_is_refused_by_its_columns(
    describe_page: DescribePage,
) -> None:
    page = bring(
        describe_page, {"attributes": [HEIGHT, {"name": "weight", "kind": "identifier"}]}
    )
    assert (
        "Columns “height”, “weight”: not in this table, and the file describes no other" in page
    )
    assert "nothing was changed" in page
    assert describe_page.draft["columns"] == {}


def test_what_the_page_cannot_show_is_told(describe_page: DescribePage) -> None:
    broken = {"name": "sector", "kind": "categorical", "values": ["a\nb", "c"], "other": True}
    mixed = AGE | {
        "provenance": {"kind": "declared", "bounds": "public-file", "missing": "declared"}
    }
    page = bring(describe_page, {"attributes": [broken, mixed]})
    assert "Column “sector”: holds something that this page cannot show" in page
    assert "Column “age”: its facts come from different places" in page
    assert describe_page.draft["columns"]["age"]["origin"] == "declared"


@pytest.mark.parametrize(
    ("document", "words"),
    [
        (b"\xff\xfe", "not JSON"),
        (b"[1, 2]", "JSON object"),
        (b'{"age": 3, "age": 4}', "names this twice"),
        (b'{"age": NaN}', "not JSON"),
        (b'{"age": ' + b"9" * 5_000 + b"}", "not JSON"),
        ({"age": "x"}, "cannot be used"),
        (
            {"attributes": [{"name": "age", "kind": "integer", "low": 9, "high": 1}]},
            "low is above high",
        ),
        (
            {
                "attributes": [
                    {"name": "age", "kind": "integer", "low": 1, "high": 9, "surprise": 1}
                ]
            },
            "unknown field",
        ),
        (
            b'{"attributes": [{"name": "age", "kind": "categorical", "values": ["\\u0000"], "other": true}]}',
            "cannot be stored",
        ),
        (
            b'{"attributes": [{"name": "age", "kind": "categorical", "values": ["\\ud800"], "other": true}]}',
            "cannot be",
        ),
        (b"[" * 100_000, "nested more than"),
        (b'{"attributes": ' + b"[" * 9 + b"]" * 9 + b"}", "nested more than"),
        (b'{"age": "[[[[[[[[[[[[[["}', "cannot be used"),
        (b'{"a": "' + b"x" * 3_000_000 + b'"}', "at most 2.5 MB"),
    ],
    ids=range(14),
)
def test_an_unsound_document_is_refused_with_the_reason(
    describe_page: DescribePage, document: Any, words: str
) -> None:
    assert words in bring(describe_page, document)
    assert describe_page.draft.get("columns", {}) == {}


@pytest.mark.parametrize(
    "basket",
    [
        {"kind": "basket", "items": ["bread", "milk"]},
        {
            "kind": "weak-basket",
            "values": {"set": "integers", "low": 0, "high": 99},
            "separator": ";",
            "wide": True,
        },
    ],
)
def test_columns_of_baskets_come_with_a_file(basket: Any, describe_page: DescribePage) -> None:
    bring(describe_page, {"attributes": [{"name": "sector"} | basket]})
    assert describe_page.draft["columns"]["sector"]["kind"] == basket["kind"]
    described = attribute_of("sector", describe_page.draft["columns"]["sector"]).to_json()
    assert all(described[key] == value for key, value in basket.items() if key != "values")


def test_without_a_preview_and_a_draft_the_table_is_to_be_read_again(
    cast: Cast, describe_page: DescribePage
) -> None:
    Preview.objects.update(expires_at=timezone.now())
    with pytest.raises(DomainError, match="not known any more"):
        services.import_document(
            actor=cast.steward, dataset=describe_page.dataset, document={"age": 5}
        )


# --- out ----------------------------------------------------------------------------------------------------
def test_the_draft_goes_out_without_a_suggestion_and_comes_back_as_it_was(
    describe_page: DescribePage, cast: Cast, monkeypatch: pytest.MonkeyPatch
) -> None:
    describe_page.press("confirm:1", edit="1", _1_low="16", _1_origin="public-file")
    describe_page.press("keep:2", edit="2", _2_true="ja")  # a part, over a suggestion
    describe_page.press(
        "keep:0", edit="0", _0_kind="integer", _0_low="1", _0_high="9", _0_outside="clamp"
    )
    describe_page.press("save", max_records="3")
    monkeypatch.setattr(
        selectors, "SITTING", datetime.timedelta(0)
    )  # from here on every opening would be written
    before = AuditEntry.objects.filter(action="preview.opened").count()
    answer = draft_file(describe_page)
    assert AuditEntry.objects.filter(action="preview.opened").count() == before
    assert (
        answer["Content-Disposition"]
        == f'attachment; filename="domain-{describe_page.dataset.code}-draft.json"'
    )
    document = answer.json()
    assert [(found["name"], found["provenance"]) for found in document["attributes"]] == [
        ("sector", "suggested"),
        ("age", "public-file"),
    ]
    assert document["unit"]["max_records"] == 3
    assert "Farm" not in answer.text
    with pytest.raises(DomainError, match="'sector'"):
        Domain.from_json(document).require_confirmed()
    other = DescribePage(describe_page.client, ready(cast))
    bring(other, document)
    assert list(other.draft["columns"]) == ["age"]
    assert other.draft["columns"]["age"]["origin"] == "public-file"
    assert "16 to 90" in line(other.page(), 1)


def test_an_empty_draft_is_no_file(describe_page: DescribePage) -> None:
    answer = draft_file(describe_page)
    assert answer.status_code == 302
    assert "no column is described yet; confirm one" in describe_page.page()


def test_every_version_is_offered_on_the_page(describe_page: DescribePage) -> None:
    describe_page.press("confirm-open")
    describe_page.press("finish")
    describe_page.press("confirm:1", edit="1", _1_high="99")
    describe_page.press("finish")
    page = describe_page.page()
    for number in (1, 2):
        address = reverse("datasets:domain-file", args=[describe_page.dataset.code, number])
        assert address in page
        document = describe_page.client.get(address).json()
        assert (
            Domain.from_json(document).digest == DomainVersion.objects.get(number=number).digest
        )
    assert Dataset.objects.get().draft["columns"]["age"]["confirmed"] is True


# --- dictionaries and schemas -------------------------------------------------------------------------------
def test_a_data_dictionary_is_recognised_and_told_what_it_leaves_open(
    describe_page: DescribePage,
) -> None:
    page = bring(
        describe_page,
        {
            "age": {"description": "Years", "values": {"N": "N/A", "min": 0, "max": 99}},
            "sector": {"description": "Where"},
            "height": {"values": {"min": 0, "max": 3}},
            "works": {"values": {"min": 1}},
        },
    )
    assert "The file was read as a data dictionary: 2 columns were taken" in page
    assert "0 to 99, each value" in line(page, 1)
    assert "From a public file, imported and not confirmed" in line(page, 1)
    assert "found with budget among" in line(page, 0)
    assert "Column “sector”: the dictionary does not say which values it has" in page
    assert "Column “height”: not in this table, not taken" in page
    assert "Column “works”: its range has only one end; add the other one here." in page
    assert describe_page.draft["columns"]["age"]["fields"]["missing"] == "N"


def test_a_table_schema_is_recognised_and_one_comes_out_again(
    describe_page: DescribePage,
) -> None:
    schema = {
        "fields": [
            {"name": "sector", "constraints": {"enum": ["Farm", "Mine"]}},
            {"name": "age", "type": "integer"},
            {"name": "works", "type": "boolean", "trueValues": ["yes"], "falseValues": ["no"]},
        ],
        "missingValues": ["-"],
    }
    page = bring(describe_page, schema)
    assert "The file was read as a Table Schema: 2 columns were taken" in page
    assert "Column “age”: has a type but no minimum and maximum" in page
    describe_page.press("confirm-open")
    describe_page.press("finish")
    address = reverse("datasets:table-schema-file", args=[describe_page.dataset.code, 1])
    answer = describe_page.client.get(address)
    assert "attachment" in answer["Content-Disposition"]
    fields = {field["name"]: field for field in answer.json()["fields"]}
    assert (fields["sector"]["constraints"]["enum"], fields["sector"]["missingValues"]) == (
        ["Farm", "Mine"],
        ["-"],
    )
    assert fields["age"]["constraints"] == {"required": True, "minimum": 17, "maximum": 90}
    assert "id" not in fields
    assert address in describe_page.page()


def test_a_document_of_no_kind_changes_nothing(describe_page: DescribePage) -> None:
    page = bring(describe_page, {"title": "Minutes of a meeting"})
    assert (
        "nothing was changed. no description of a kind that is known; bring a DOMAIN.json"
        in page
    )
    assert describe_page.draft["columns"] == {}


def test_a_place_whose_cells_are_learned_is_typed_with_a_third_word() -> None:
    places = [HOME | {"learned": True}, HOME | {"name": "work"}]
    domain = Domain.from_json({"attributes": POINTS, "places": places})
    typed = draft.table_of(domain)
    assert typed["places"] == 'home: lat, "lon, east", learned\nwork: lat, "lon, east"'
    assert terms.table_terms(typed, names=domain.names)["places"] == domain.places
    with pytest.raises(DomainError):
        terms.table_terms(typed | {"places": "home: lat, lon, guessed"}, names=domain.names)
