"""Constraints on the describe page: declared, refused with the reason in the form, taken away, and part of a
version."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from django.urls import reverse

from synth_engine.domain import Domain
from synthweb.audit.models import AuditEntry
from synthweb.datasets import services
from synthweb.datasets.models import Dataset, DomainVersion
from tests.cast import Cast
from tests.web.describe_page import DescribePage, ready

pytestmark = pytest.mark.usefixtures("places")

Browser = Callable[..., Client]

COLUMNS: list[dict[str, Any]] = [
    {"name": "zip", "kind": "categorical", "values": ["02139", "01002"], "outside": "clamp"},
    {
        "name": "county",
        "kind": "categorical",
        "values": ["Middlesex", "Hampshire"],
        "other": True,
    },
    {"name": "age", "kind": "integer", "low": 0, "high": 99, "width": 5},
    {"name": "wed", "kind": "integer", "low": 0, "high": 99, "width": 5, "missing": [""]},
]


@pytest.fixture
def dataset(cast: Cast) -> Dataset:
    return ready(cast, COLUMNS)


@pytest.fixture
def describe_page(browser: Browser, cast: Cast, dataset: Dataset) -> DescribePage:
    describe_page = DescribePage(browser(cast.steward), dataset)
    describe_page.press("confirm-open")
    return describe_page


def add(describe_page: DescribePage, kind: str, **typed: str) -> Any:
    return describe_page.press(
        f"rule-add-{kind}", **{f"rule-{kind}-{field}": text for field, text in typed.items()}
    )


def test_constraints_are_declared_shown_and_become_part_of_the_version(
    describe_page: DescribePage, dataset: Dataset
) -> None:
    assert "None so far" in describe_page.page()
    answer = add(describe_page, "order", first="wed", second="age", origin="public-file")
    assert answer.status_code == 302
    assert answer["Location"].endswith("#constraints")
    add(
        describe_page,
        "impossible",
        column1="age",
        values1="..14",
        column2="wed",
        values2="0 to 4, 5..99",
    )
    add(
        describe_page,
        "dependency",
        **{"from": "zip", "to": "county", "table": "02139, Middlesex\n01002, Hampshire"},
    )
    add(describe_page, "missing-iff", column="wed", when="age", values="..14")
    page = describe_page.page()
    for sentence in (
        "wed ≤ age",
        "never: age is up to 14 and wed is 0 to 4 or 5 to 99",
        "zip gives county (2 pairs)",
        "wed is missing exactly where age is up to 14",
    ):
        assert sentence in page
    assert "From a public file" in page
    describe_page.press("finish")
    version = DomainVersion.objects.get()
    domain = Domain.from_json(version.document)
    assert [each.kind for each in domain.constraints] == [
        "order",
        "impossible",
        "dependency",
        "missing-iff",
    ]
    assert domain.constraints[0].provenance == "public-file"
    assert domain.digest == version.digest
    shown = describe_page.client.get(reverse("datasets:domain", args=[dataset.code, 1])).text
    assert "wed is missing exactly where age is up to 14" in shown


def test_what_is_typed_elsewhere_on_the_page_is_kept(describe_page: DescribePage) -> None:
    describe_page.press(
        "rule-add-order",
        **{"rule-order-first": "wed", "rule-order-second": "age", "max_records": "3"},
    )
    assert describe_page.draft["table"]["max_records"] == "3"
    assert len(describe_page.draft["constraints"]) == 1


def test_a_constraint_is_taken_away_by_its_own_button(describe_page: DescribePage) -> None:
    add(describe_page, "order", first="wed", second="age")
    add(
        describe_page,
        "dependency",
        **{"from": "zip", "to": "county", "table": "02139, Middlesex"},
    )
    page = describe_page.page()
    assert "Remove<span" in page
    describe_page.press("rule-drop-0")
    assert [each["kind"] for each in describe_page.draft["constraints"]] == ["dependency"]
    describe_page.press("rule-drop-0")
    assert describe_page.draft["constraints"] == []


@pytest.mark.parametrize(
    ("kind", "typed", "says"),
    [
        ("order", {"first": "wed", "second": "nobody"}, "the table has no such column"),
        ("order", {"first": "zip", "second": "age"}, "an order of a column that is no number"),
        ("impossible", {"column1": "age", "values1": "..12"}, "cuts a bin in two"),
        ("impossible", {"column1": "age", "values1": "x..12"}, "cannot be read"),
        (
            "impossible",
            {"column1": "zip", "values1": "02139", "column2": "zip", "values2": "01002"},
            "a column twice",
        ),
        ("impossible", {}, "names no columns"),
        ("impossible", {"column1": "zip"}, "no list"),
        ("impossible", {"column1": "zip", "values1": "02139, 01002"}, "no record possible"),
        (
            "dependency",
            {"from": "zip", "to": "county", "table": "02139"},
            "line 1 of a dependency",
        ),
        ("dependency", {"from": "zip", "to": "county", "table": ""}, "has no pairs"),
        (
            "dependency",
            {"from": "zip", "to": "county", "table": "02139, Norfolk"},
            "not declared",
        ),
        ("missing-iff", {"column": "zip", "when": "age", "values": "..14"}, "cannot have"),
        (
            "missing-iff",
            {"column": "wed", "when": "county", "values": "Norfolk"},
            "not declared",
        ),
        ("unheard-of", {}, "unknown kind"),
    ],
)
def test_a_bad_one_is_refused_in_the_form_and_what_was_typed_stays(
    describe_page: DescribePage, kind: str, typed: dict[str, str], says: str
) -> None:
    answer = add(describe_page, kind, **typed)
    assert answer.status_code == 422
    assert says in answer.text
    assert "It was not added" in answer.text
    assert describe_page.draft.get("constraints") in (None, [])
    for text in typed.values():
        assert text in answer.text


def test_the_same_one_twice_and_one_against_another_are_refused(
    describe_page: DescribePage,
) -> None:
    add(describe_page, "order", first="wed", second="age")
    assert "there already" in add(describe_page, "order", first="wed", second="age").text
    assert "circle" in add(describe_page, "order", first="age", second="wed", strict="on").text
    assert len(describe_page.draft["constraints"]) == 1


def test_a_public_list_can_be_uploaded(describe_page: DescribePage) -> None:
    fields = describe_page.inputs() | {
        "rule-dependency-from": "zip",
        "rule-dependency-to": "county",
    }
    file = SimpleUploadedFile(
        "zips.csv", "\ufeffzip;county\n02139;Middlesex\n01002;(other)\n".encode()
    )
    answer = describe_page.client.post(
        describe_page.address,
        fields | {"do": "rule-add-dependency", "rule-dependency-file": file},
    )
    assert answer.status_code == 302, answer.text[answer.text.index('id="constraints"') :][:900]
    (kept,) = describe_page.draft["constraints"]
    assert kept["table"] == [["02139", "Middlesex"], ["01002", "(other)"]]
    for content, says in (
        (b"\xff\xfe\x00", "is not CSV in UTF-8"),
        (b'"' + b"a" * 140_000 + b'",b', "no CSV of two short texts a line"),
        (b'"' + b"a" * 20_000 + b'",b', "no CSV of two short texts a line"),
    ):
        broken = SimpleUploadedFile("zips.csv", content)
        answer = describe_page.client.post(
            describe_page.address,
            fields | {"do": "rule-add-dependency", "rule-dependency-file": broken},
        )
        assert answer.status_code == 422
        assert says in answer.text


@pytest.mark.parametrize("end", ["\r", "\r\n", "\n"])
def test_lines_of_a_public_list_end_as_they_like(describe_page: DescribePage, end: str) -> None:
    file = SimpleUploadedFile("zips.csv", f"02139,Middlesex{end}01002,Hampshire{end}".encode())
    fields = describe_page.inputs() | {
        "rule-dependency-from": "zip",
        "rule-dependency-to": "county",
    }
    describe_page.client.post(
        describe_page.address,
        fields | {"do": "rule-add-dependency", "rule-dependency-file": file},
    )
    (kept,) = describe_page.draft["constraints"]
    assert kept["table"] == [["02139", "Middlesex"], ["01002", "Hampshire"]]


def test_a_description_that_no_longer_fits_is_refused_at_the_end(
    describe_page: DescribePage,
) -> None:
    add(
        describe_page,
        "impossible",
        column1="age",
        values1="..14",
        column2="zip",
        values2="02139",
    )
    describe_page.press("confirm:2", edit="2", _2_width="10")
    answer = describe_page.press("finish")
    assert answer.status_code == 422
    assert "cuts a bin in two" in answer.text
    assert not DomainVersion.objects.exists()


def test_documents_carry_constraints_in_and_out(
    describe_page: DescribePage, dataset: Dataset, cast: Cast
) -> None:
    add(describe_page, "order", first="wed", second="age")
    out = describe_page.client.get(reverse("datasets:draft-file", args=[dataset.code])).json()
    assert [each["kind"] for each in out["constraints"]] == ["order"]
    describe_page.press("rule-drop-0")
    elsewhere = {"name": "elsewhere", "kind": "integer", "low": 0, "high": 9}
    more = {"kind": "order", "first": "elsewhere", "second": "age"}
    document = out | {
        "attributes": [*out["attributes"], elsewhere],
        "constraints": [*out["constraints"], more],
    }
    brought = services.import_document(actor=cast.steward, dataset=dataset, document=document)
    assert (
        "Constraints about columns that are not in this table were not taken."
        in brought.remarks
    )
    assert [each["second"] for each in describe_page.draft["constraints"]] == ["age"]
    other = out | {
        "constraints": [{"kind": "order", "first": "wed", "second": "age", "strict": True}]
    }
    brought = services.import_document(actor=cast.steward, dataset=dataset, document=other)
    assert any("are kept" in remark for remark in brought.remarks)
    assert describe_page.draft["constraints"][0]["strict"] is False
    services.import_document(actor=cast.steward, dataset=dataset, document=other, replaces=True)
    assert describe_page.draft["constraints"][0]["strict"] is True


def test_a_whole_document_declares_constraints(cast: Cast, dataset: Dataset) -> None:
    rule = {"kind": "order", "first": "wed", "second": "age"}
    document = {
        "attributes": [item for item in COLUMNS if item["name"] in ("wed", "age")],
        "constraints": [rule],
    }
    version = services.declare_domain(actor=cast.steward, dataset=dataset, document=document)
    assert version.document["constraints"] == [
        rule | {"strict": False, "provenance": "declared"}
    ]
    dataset.refresh_from_db()
    assert dataset.draft["constraints"] == version.document["constraints"]
    assert AuditEntry.objects.filter(action="domain.confirmed").count() == 1


def test_a_public_list_of_pairs_that_exist_is_declared(
    describe_page: DescribePage, dataset: Dataset
) -> None:
    file = SimpleUploadedFile("pairs.csv", b"zip,county\n02139,Middlesex\n01002,Hampshire\n")
    fields = describe_page.inputs() | {
        "do": "rule-add-existing-pairs",
        "rule-existing-pairs-first": "zip",
        "rule-existing-pairs-second": "county",
        "rule-existing-pairs-origin": "public-file",
    }
    answer = describe_page.client.post(
        describe_page.address, fields | {"rule-existing-pairs-file": file}
    )
    assert answer.status_code == 302
    dataset.refresh_from_db()
    (kept,) = dataset.draft["constraints"]
    assert kept["kind"] == "existing-pairs"
    assert kept["table"] == [["02139", "Middlesex"], ["01002", "Hampshire"]]
    typed = {"first": "zip", "second": "zip", "table": "02139,02139"}
    refused = add(describe_page, "existing-pairs", **typed)
    assert refused.status_code == 422
    dataset.refresh_from_db()
    assert len(dataset.draft["constraints"]) == 1


# --- values to press ----------------------------------------------------------------------------------------
def chips(describe_page: DescribePage, kind: str, field: str, **typed: str) -> list[str]:
    """The values that the page offers to press once a column is named."""
    named = {f"rule-{kind}-{key}": text for key, text in typed.items()}
    page = describe_page.client.get(
        reverse("datasets:rule-values", args=[describe_page.dataset.code]),
        {"kind": kind, "field": field, **named},
        headers={"HX-Request": "true"},
    )
    assert page.status_code == 200
    return [chip.text for chip in page.context["chips"]]


def test_the_values_of_a_named_column_are_there_to_press(describe_page: DescribePage) -> None:
    county = chips(describe_page, "impossible", "values2", column2="county")
    assert county == ["Middlesex", "Hampshire", "(other)"]
    assert chips(describe_page, "missing-iff", "values", when="wed")[-1] == "(missing)"
    assert chips(describe_page, "impossible", "values1", column1="nothing") == []
    assert chips(describe_page, "order", "first", first="age") == []


def test_values_that_are_pressed_are_named_with_those_that_are_typed(
    describe_page: DescribePage, dataset: Dataset
) -> None:
    answer = describe_page.press(
        "rule-add-impossible",
        **{
            "rule-impossible-column1": "county",
            "rule-impossible-values1-pressed": ["Middlesex", "(other)"],
            "rule-impossible-column2": "wed",
            "rule-impossible-values2-pressed": ["(missing)"],
            "rule-impossible-values2": "0..14",
        },
    )
    assert answer.status_code == 302
    dataset.refresh_from_db()
    (constraint,) = dataset.draft["constraints"]
    assert constraint["columns"] == {
        "county": ["Middlesex", "(other)"],
        "wed": [None, {"from": 0, "to": 14}],
    }


def test_what_is_pressed_stays_where_a_combination_is_refused(
    describe_page: DescribePage,
) -> None:
    answer = describe_page.press(
        "rule-add-impossible",
        **{
            "rule-impossible-column1": "county",
            "rule-impossible-values1-pressed": ["Hampshire"],
            "rule-impossible-column2": "nothing",
            "rule-impossible-values2": "a",
        },
    )
    assert answer.status_code == 422
    shown = answer.context["rule"]["chips"]["values1"]
    assert [chip.text for chip in shown if chip.pressed] == ["Hampshire"]


def test_of_columns_that_are_learned_only_missing_and_other_are_there_to_press(
    browser: Browser, cast: Cast
) -> None:
    """Whatever a run finds of them is not known when the rule is made."""
    learned: list[dict[str, Any]] = [
        {"name": "pay", "kind": "scale", "of": "integer", "missing": [""]},
        {"name": "year", "kind": "integer", "low": 0, "high": 999, "width": 1},
    ]
    page = DescribePage(browser(cast.steward), ready(cast, learned))
    page.press("confirm-open")
    assert chips(page, "impossible", "values1", column1="pay") == ["(missing)"]
    assert chips(page, "impossible", "values1", column1="year") == []
