"""Lists that were read from a table: one press confirms all columns and publishes none of them."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from synth_engine.domain import Domain
from synthweb.datasets import services
from synthweb.datasets.learned import ANY_TEXT
from synthweb.datasets.models import DomainBasis, DomainVersion
from synthweb.datasets.read_lists import values_read
from synthweb.datasets.services.describing import Incomplete
from synthweb.ledger import services as ledger
from synthweb.releases.models import Release
from synthweb.runs import worker
from tests.cast import Cast
from tests.web import scene
from tests.web.describe_page import SUGGESTIONS, DescribePage, ready
from tests.web.rest import Caller, assert_problem

pytestmark = pytest.mark.usefixtures("places")

Open = Callable[..., Client]
SECTOR = SUGGESTIONS[0]
REGISTER = "The register of trades."


@pytest.fixture
def describe_page(browser: Open, cast: Cast) -> DescribePage:
    return DescribePage(browser(cast.steward), ready(cast))


def finish(describe_page: DescribePage) -> Any:
    """All open columns are confirmed with a statement, and the description where no list is left to be
    decided about."""
    answer = describe_page.press_alone("confirm-open", because="The codebook.")
    to_lists = answer.url == describe_page.lists_address
    return answer if to_lists else describe_page.press_alone("finish")


def discharges() -> str:
    """Stays in hospitals: some hundred patients, some of them often."""
    draw = random.Random(11)
    lines = ["Patient MRN,NPI,Hospital,Ward,Sex,Days"]
    for _ in range(2_000):
        patient = int(700 * draw.random() ** 3)
        lines.append(
            f"MRN-{102_000 + 13 * patient},{1_003_000_000 + 7_919 * draw.randrange(40)},"
            f"Hospital {patient % 4},Ward "
            f"{'ABCDE'[draw.randrange(5)]},{'FM'[patient % 2]},{draw.randrange(1, 30)}"
        )
    return "\n".join(lines) + "\n"


def test_two_presses_publish_no_number_of_a_patient(browser: Open, cast: Cast) -> None:
    table = discharges()
    dataset = scene.read(
        scene.upload(steward=cast.steward, organisation=cast.organisation, table=table)
    )
    describe_page = DescribePage(browser(cast.steward), dataset)
    answer = finish(describe_page)
    assert answer.url == describe_page.lists_address
    assert not DomainVersion.objects.exists()
    assert describe_page.answer_lists("lists-finish").status_code == 302
    domain = Domain.from_json(DomainVersion.objects.get().document)
    kinds = {each.name: each.kind for each in domain.attributes}
    assert kinds == {
        "Patient MRN": "identifier",
        "NPI": "identifier",
        "Hospital": "weak",
        "Ward": "weak",
        "Sex": "categorical",
        "Days": "scale",
    }
    ledger.grant(
        custodian=cast.custodian,
        request=scene.ask(steward=cast.steward, dataset=dataset),
        reason="Agreed.",
    )
    worker.synthesize(code=scene.submit(steward=cast.steward, dataset=dataset).code)
    release = Release.objects.get()
    here = [
        reverse(name, args=[dataset.code, 1])
        for name in ("datasets:domain", "datasets:domain-file", "datasets:table-schema-file")
    ]
    there = [
        reverse(f"releases:{name}", args=[release.code])
        for name in ("dictionary-csv", "dictionary-json")
    ]
    texts = [describe_page.client.get(address).text for address in (*here, *there)]
    texts.append(
        Caller(cast.steward, "read").get(f"/datasets/{dataset.code}/domain/").content.decode()
    )
    texts.append(json.dumps(release.receipt))
    named = {cell for line in table.splitlines()[1:] for cell in line.split(",")[:2]}
    for text in texts:
        assert text
        assert not [cell for cell in named if cell in text]
    assert "Ward A" not in texts[0] + texts[1]


# --- the page -----------------------------------------------------------------------------------------------
def test_the_page_shows_each_list_in_full_and_finds_by_default(
    describe_page: DescribePage,
) -> None:
    assert finish(describe_page).url == describe_page.lists_address
    page = describe_page.client.get(describe_page.lists_address).text
    assert page.count("data-list=") == 1
    assert all(f'<li class="cell">{value}</li>' in page for value in SECTOR["values"])
    assert set(describe_page.draft["columns"]) == {"age", "works", "id"}
    describe_page.answer_lists("lists")
    column = describe_page.draft["columns"]["sector"]
    assert (column["kind"], column["confirmed"]) == ("weak", True)
    assert ANY_TEXT.items() <= column["fields"].items()
    assert "Farm" not in str(describe_page.draft)
    assert (
        describe_page.client.get(describe_page.lists_address).url == describe_page.address
    )  # nothing is left to decide


def test_the_page_says_how_many_values_no_release_finds(browser: Open, cast: Cast) -> None:
    values = ["Bäcker", "Farmer", "Driver of a heavy vehicle"]
    column = {"name": "job", "kind": "categorical", "values": values, "why": "."}
    describe_page = DescribePage(browser(cast.steward), ready(cast, [column]))
    finish(describe_page)
    assert 'data-lost="2"' in describe_page.client.get(describe_page.lists_address).text


def test_a_list_is_published_with_a_statement_of_its_own_alone(
    describe_page: DescribePage,
) -> None:
    finish(describe_page)
    answer = describe_page.answer_lists("lists-finish", _0_list="public")
    assert answer.status_code == 422
    assert 'aria-invalid="true"' in answer.text
    assert 'value="public"' in answer.text
    assert not DomainVersion.objects.exists()
    assert "sector" not in describe_page.draft["columns"]
    assert describe_page.answer_lists("lists-finish", public=REGISTER).status_code == 302
    version = DomainVersion.objects.get()
    assert version.document["attributes"][0]["values"] == SECTOR["values"]
    assert {"columns": ["sector"], "because": REGISTER} in DomainBasis.objects.get().statements


def test_every_way_to_confirm_several_columns_leads_to_the_page(
    describe_page: DescribePage,
) -> None:
    for verb in ("confirm-open", "confirm-selected"):
        answer = describe_page.press_alone(verb, select=["0", "1"])
        assert answer.url == describe_page.lists_address
        assert "sector" not in describe_page.draft["columns"]
    describe_page.press_alone("confirm:0", **{"0-because": REGISTER})
    assert describe_page.draft["columns"]["sector"]["confirmed"] is True


def test_a_browser_that_hides_what_was_suggested_confirms_no_list(
    describe_page: DescribePage,
) -> None:
    fields = describe_page.inputs("?edit=0")
    del fields["0-suggested"]
    describe_page.client.post(
        describe_page.address, fields | {"do": "confirm-open", "because": "The codebook."}
    )
    assert describe_page.draft["columns"]["sector"]["confirmed"] is False
    assert not DomainVersion.objects.exists()


def test_a_saved_draft_with_a_list_that_was_read_is_not_confirmed(
    describe_page: DescribePage, cast: Cast
) -> None:
    describe_page.press("confirm-open")
    draft = describe_page.draft
    draft["columns"]["sector"]["vouched"] = False
    services.save_draft(actor=cast.steward, dataset=describe_page.dataset, draft=draft)
    with pytest.raises(Incomplete) as caught:
        services.confirm_domain(actor=cast.steward, dataset=describe_page.dataset)
    assert [error.column for error in caught.value.errors] == ["sector"]


@pytest.mark.parametrize(
    "values",
    [["F", "M"], ["männlich", "weiblich"], ["oui", "non"]],
)
def test_a_public_form_of_two_values_is_confirmed_with_all(
    browser: Open, cast: Cast, values: list[str]
) -> None:
    column = {"name": "sex", "kind": "categorical", "values": values, "why": "."}
    describe_page = DescribePage(browser(cast.steward), ready(cast, [column]))
    assert finish(describe_page).url == reverse(
        "pages:dataset", args=[describe_page.dataset.code]
    )
    assert DomainVersion.objects.get().document["attributes"][0]["values"] == values


def test_a_list_that_says_more_than_was_read_was_written_down(
    describe_page: DescribePage,
) -> None:
    finish(describe_page)
    describe_page.press_alone("keep:0", edit="0", _0_values="Farm\nMine\nMill")
    assert finish(describe_page).url == reverse(
        "pages:dataset", args=[describe_page.dataset.code]
    )
    assert DomainVersion.objects.get().document["attributes"][0]["values"] == [
        "Farm",
        "Mine",
        "Mill",
    ]


@pytest.mark.parametrize(
    ("kind", "fields", "read"),
    [
        ("categorical", {"values": "Farm"}, ["Farm"]),
        ("categorical", {"values": "Mine\nFarm"}, ["Mine", "Farm"]),
        ("weak", {"set": "list", "set_values": "Farm\nMine"}, ["Farm", "Mine"]),
        ("categorical", {"values": "Farm\nMill"}, []),
        ("text", {"min_length": "1"}, []),
    ],
)
def test_a_list_was_read_whatever_kind_takes_it(
    kind: str, fields: dict[str, str], read: list[str]
) -> None:
    suggested: Any = {"kind": "categorical", "fields": {"values": "Farm\nMine"}}
    assert values_read({"kind": kind, "fields": fields}, suggested) == read
    assert values_read({"kind": kind, "fields": fields}, None) == []


# --- the column that identifies people ----------------------------------------------------------------------
def test_the_column_that_identifies_people_is_left_out(browser: Open, cast: Cast) -> None:
    describe_page = DescribePage(browser(cast.steward), ready(cast))
    describe_page.press(
        "accept", unit_column="age", max_records="3", **{"because-open": "The codebook."}
    )
    document = DomainVersion.objects.get().document
    assert document["unit"] == {"max_records": 3, "column": "age"}
    assert {each["name"]: each["kind"] for each in document["attributes"]}[
        "age"
    ] == "identifier"
    assert '"kind": "identifier"' in describe_page.inputs("?edit=1").get(
        "1-suggested", '"kind": "identifier"'
    )


def test_a_description_of_that_column_is_refused_with_a_repair(
    browser: Open, cast: Cast
) -> None:
    describe_page = DescribePage(browser(cast.steward), ready(cast))
    describe_page.press("confirm-open")
    answer = describe_page.press("finish", unit_column="age", max_records="3")
    assert answer.status_code == 422
    assert not DomainVersion.objects.exists()
    describe_page.press("drop:1")
    assert describe_page.press("finish", unit_column="age", max_records="3").status_code == 302


# --- REST ---------------------------------------------------------------------------------------------------
def test_rest_takes_a_list_that_was_read_with_a_statement_of_its_own(cast: Cast) -> None:
    dataset = scene.read(scene.upload(steward=cast.steward, organisation=cast.organisation))
    steward = Caller(cast.steward, "read", "spend")
    address = f"/api/v1/datasets/{dataset.code}/domain/?because=The+codebook."
    refused = steward.client.put(address, scene.DOMAIN, content_type="application/json")
    assert_problem(refused, status=422)
    assert "region" in refused.text
    assert not DomainVersion.objects.exists()
    answer = steward.client.put(
        f"{address}&lists_because=A+map.", scene.DOMAIN, content_type="application/json"
    ).json()
    assert answer["basis"]["statements"] == [
        {"columns": ["region"], "because": "A map."},
        {"columns": ["age", "works"], "because": "The codebook."},
    ]
