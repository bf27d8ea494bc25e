"""Confirming takes a statement of where the facts are written; how many equal a suggestion is counted, and
seen by few."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from django.test import Client
from django.urls import reverse

from synthweb.audit import labels
from synthweb.audit import services as audit
from synthweb.audit.models import AuditEntry
from synthweb.datasets import preview_store, services
from synthweb.datasets.basis import FOUND
from synthweb.datasets.models import DomainBasis, Preview
from synthweb.ledger import services as ledger
from synthweb.releases import services as releases
from synthweb.releases.models import Release
from synthweb.runs import worker
from tests.cast import Cast
from tests.web import scene
from tests.web.addresses import fill, routes
from tests.web.describe_page import DescribePage, line, ready
from tests.web.rest import Caller

Open = Callable[..., Client]
LAW = "The Act of 1996, section 4."
NUMBERS = (
    "facts_as_suggested",
    "equal_facts",
    "Which of them equal one",
    "equal a suggestion",
    "equal a suggestion that was read from your data",
)

pytestmark = pytest.mark.django_db


@pytest.fixture
def describe_page(cast: Cast, browser: Open) -> DescribePage:
    return DescribePage(browser(cast.steward), ready(cast))


def test_one_press_of_confirm_confirms_nothing_and_asks_where_it_is_written(
    describe_page: DescribePage,
) -> None:
    answer = describe_page.press("confirm:1", in_place=True, because="", **{"1-because": "  "})
    assert describe_page.draft.get("columns") == {}
    assert 'name="1-because"' in answer.text
    assert (
        "5 of 5</strong> facts equal a suggestion that was read from your data" in answer.text
    )
    assert "Declared public" not in line(describe_page.page(), 1)


def test_without_a_script_the_page_comes_back_with_the_question(
    describe_page: DescribePage,
) -> None:
    answer = describe_page.press("confirm:1", **{"1-because": ""})
    assert 'name="1-because"' in line(describe_page.client.get(answer.url).text, 1)
    left = describe_page.press("leave:1")
    assert 'name="1-because"' not in line(describe_page.client.get(left.url).text, 1)


def test_an_open_editor_keeps_what_was_typed_while_it_asks(describe_page: DescribePage) -> None:
    answer = describe_page.press(
        "confirm:1", edit="1", in_place=True, _1_low="16", **{"1-because": ""}
    )
    assert 'value="16"' in answer.text
    assert "Confirm only what is known without this table" in answer.text
    assert describe_page.draft["columns"]["age"]["fields"] == {"low": "16"}
    assert not describe_page.draft["columns"]["age"]["confirmed"]


def test_a_statement_stays_with_a_column_that_is_not_sound_yet(
    describe_page: DescribePage,
) -> None:
    answer = describe_page.press(
        "confirm:1", edit="1", in_place=True, _1_low="seventeen", **{"1-because": LAW}
    )
    assert f'value="{LAW}"' in answer.text


def test_the_statements_are_kept_with_the_description_and_with_the_deed(
    describe_page: DescribePage, cast: Cast, browser: Open
) -> None:
    describe_page.press("confirm:1", **{"1-because": LAW})
    describe_page.press("confirm-open", because="The codebook, page 3.")
    describe_page.press("finish")
    basis = DomainBasis.objects.get()
    assert {tuple(each["columns"]): each["because"] for each in basis.statements} == {
        ("age",): LAW,
        ("sector",): "The codebook.",
        ("works", "id"): "The codebook, page 3.",
    }
    assert basis.suggestions_shown
    deeds = AuditEntry.objects.filter(action="columns.confirmed").order_by("sequence")
    assert [deed.detail["because"] for deed in deeds] == [
        [LAW],
        ["The codebook, page 3."],
        ["The codebook."],  # of the list that was read, on a page of its own
    ]
    page = (
        browser(cast.auditor)
        .get(reverse("datasets:domain", args=[describe_page.dataset.code, 1]))
        .text
    )
    assert LAW in page
    assert "Suggestions read from the data were shown" in page


def test_how_many_facts_equal_a_suggestion_is_counted_even_after_it_expired(
    describe_page: DescribePage, cast: Cast
) -> None:
    describe_page.press("confirm-open")
    Preview.objects.filter(kind=Preview.Kind.TABLE).delete()
    describe_page.press("finish")
    basis = DomainBasis.objects.get()
    assert basis.facts_as_suggested == basis.facts > 10


def test_facts_that_somebody_typed_do_not_count_as_suggested(
    describe_page: DescribePage,
) -> None:
    describe_page.press("confirm:1", edit="1", _1_low="0", _1_high="120")
    describe_page.press("confirm-open")
    describe_page.press("finish")
    basis = DomainBasis.objects.get()
    assert basis.facts_as_suggested == basis.facts - 2


def test_a_count_that_nobody_can_make_is_unknown_and_said_so(
    describe_page: DescribePage, cast: Cast, browser: Open
) -> None:
    describe_page.page()
    Preview.objects.filter(kind=Preview.Kind.TABLE).delete()
    services.declare_domain(
        actor=cast.steward,
        dataset=describe_page.dataset,
        document=_document(describe_page),
        because=LAW,
    )
    assert DomainBasis.objects.get().facts_as_suggested is None
    page = (
        browser(cast.custodian)
        .get(reverse("datasets:domain", args=[describe_page.dataset.code, 1]))
        .text
    )
    assert "The suggestions had expired" in page


def _document(describe_page: DescribePage) -> dict[str, object]:
    return {
        "schema": "synth_engine/domain/1",
        "attributes": [
            {
                "name": "age",
                "kind": "integer",
                "low": 0,
                "high": 99,
                "width": 10,
                "provenance": "declared",
            }
        ],
    }


def test_steward_and_custodian_see_the_count_and_the_auditor_does_not(
    describe_page: DescribePage, cast: Cast, browser: Open
) -> None:
    describe_page.press("confirm-open")
    describe_page.press("finish")
    basis = DomainBasis.objects.get()
    said = (
        f"<strong>{basis.facts_as_suggested} of {basis.facts}</strong> facts equal a suggestion"
    )
    address = reverse("datasets:domain", args=[describe_page.dataset.code, 1])
    request = ledger.request_budget(
        steward=cast.steward,
        dataset=describe_page.dataset,
        terms=ledger.Terms(rule="basic", amount=scene.Amount(epsilon=10**9)),
        reason="To publish.",
    )
    for person in (cast.steward, cast.custodian):
        assert said in browser(person).get(address).text
        assert said in browser(person).get(reverse("ledger:request", args=[request.code])).text
    assert "equal a suggestion" not in browser(cast.auditor).get(address).text
    assert (
        "equal a suggestion"
        not in browser(cast.auditor).get(reverse("ledger:request", args=[request.code])).text
    )
    assert "facts_as_suggested" not in str(
        list(AuditEntry.objects.values_list("detail", flat=True))
    )


def test_rest_takes_a_description_with_a_statement_alone_and_gives_the_count_to_few(
    cast: Cast,
) -> None:
    dataset = scene.read(scene.upload(steward=cast.steward, organisation=cast.organisation))
    steward = Caller(cast.steward, "read", "spend")
    refused = steward.client.put(
        f"/api/v1/datasets/{dataset.code}/domain/",
        scene.DOMAIN,
        content_type="application/json",
    )
    assert refused.status_code == 400
    assert refused.json()["errors"][0]["pointer"] == "/because"
    answer = steward.send(
        f"/datasets/{dataset.code}/domain/", scene.DOMAIN, method="put"
    ).json()
    assert answer["basis"]["statements"] == [
        {"columns": ["region", "age", "works"], "because": "The codebook."}
    ]
    assert answer["basis"]["facts_as_suggested"] is not None
    assert answer["basis"]["suggestions_shown"] is False  # nobody has opened them
    seen = Caller(cast.auditor, "read").get(f"/datasets/{dataset.code}/domain/").json()["basis"]
    assert (seen["facts"], seen["facts_as_suggested"]) == (None, None)


def test_the_receipt_says_that_suggestions_were_shown_and_nothing_more(
    cast: Cast, browser: Open
) -> None:
    dataset = scene.read(scene.upload(steward=cast.steward, organisation=cast.organisation))
    browser(cast.steward).get(reverse("datasets:describe", args=[dataset.code]))
    services.declare_domain(
        actor=cast.steward,
        dataset=dataset,
        document=scene.DOMAIN,
        because=LAW,
        lists_because=LAW,
    )
    ledger.grant(
        custodian=cast.custodian,
        request=scene.ask(steward=cast.steward, dataset=dataset),
        reason="Agreed.",
    )
    worker.synthesize(code=scene.submit(steward=cast.steward, dataset=dataset).code)
    receipt = Release.objects.get().receipt
    assert receipt["suggestions_shown"] is True
    assert LAW not in str(receipt)
    page = (
        browser(cast.auditor)
        .get(reverse("releases:verification", args=[Release.objects.get().code]))
        .text
    )
    assert (
        "Suggestions read from the data were shown before the description was confirmed" in page
    )


def test_no_page_and_no_answer_of_rest_gives_an_analyst_the_count(
    cast: Cast, browser: Open
) -> None:
    played = scene.play(
        steward=cast.steward, custodian=cast.custodian, organisation=cast.organisation
    )
    assert DomainBasis.objects.exclude(facts_as_suggested=None).exists()
    releases.share(actor=cast.steward, release=played.release, analyst=cast.analyst)
    client, met = browser(cast.analyst), 0
    for route in routes():
        if route.startswith("admin/"):
            continue
        answer = client.get(fill(route, scene=played, cast=cast))
        if answer.status_code != 200 or answer["Content-Type"].startswith(
            "application/vnd.oai"
        ):
            continue
        content = b"".join(answer.streaming_content) if answer.streaming else answer.content
        met += 1
        if "docs" not in route and "reference" not in route and "schema" not in route:
            assert not [word for word in NUMBERS if word.encode() in content], route
            assert b"statements" not in content, route
    assert met > 20


def test_statements_of_an_odd_kind_do_no_harm(describe_page: DescribePage) -> None:
    describe_page.press(
        "confirm:1", **{"1-because": "<script>alert(1)</script>\x00" + "x" * 5_000}
    )
    kept = describe_page.draft["columns"]["age"]["because"]
    assert len(kept) == 500
    describe_page.press("confirm-open")
    describe_page.press("finish")
    assert (
        "<script>alert"
        not in describe_page.client.get(
            reverse("datasets:domain", args=[describe_page.dataset.code, 1])
        ).text
    )


def test_a_damaged_store_of_suggestions_costs_no_confirmation(
    describe_page: DescribePage, monkeypatch: pytest.MonkeyPatch
) -> None:
    preview = Preview.objects.get(kind=Preview.Kind.TABLE)
    describe_page.page()
    preview_store._path(preview.store_name).write_bytes(b"damaged")
    fields = {"do": "confirm:1", "1-name": "age", "1-because": LAW, "total": "4"}
    fields |= {"1-kind": "integer", "1-low": "0", "1-high": "9", "1-outside": "clamp"}
    describe_page.client.post(describe_page.address, fields, headers={"HX-Request": "true"})
    assert describe_page.draft["columns"]["age"]["confirmed"]
    assert describe_page.draft["columns"]["age"]["as_suggested"] is None


def test_one_press_confirms_all_open_columns_and_the_description(
    describe_page: DescribePage,
) -> None:
    answer = describe_page.press("accept", **{"because-open": "The codebook."})
    assert answer.status_code == 302
    basis = DomainBasis.objects.get()
    assert {each["because"]: each["columns"] for each in basis.statements} == {
        "The codebook.": ["age", "works", "id"],
        FOUND: ["sector"],  # read from the table: its values are found, and not published
    }
    assert basis.suggestions_shown


def test_without_a_statement_that_press_confirms_nothing_and_says_so_at_the_field(
    describe_page: DescribePage,
) -> None:
    answer = describe_page.press("accept", **{"because-open": " "})
    assert answer.status_code == 422
    assert "Say first where these facts are written" in answer.text
    assert 'aria-invalid="true"' in answer.text
    assert not DomainBasis.objects.exists()


def test_steward_and_custodian_alone_see_which_facts_equal_a_suggestion(
    describe_page: DescribePage, cast: Cast, browser: Open
) -> None:
    describe_page.press("confirm:1", edit="1", _1_low="0")
    describe_page.press("confirm-open")
    describe_page.press("finish")
    basis = DomainBasis.objects.get()
    assert "high" in basis.equal_facts["age"]
    assert "low" not in basis.equal_facts["age"]
    address = reverse("datasets:domain", args=[describe_page.dataset.code, 1])
    shown = "Which of them equal one"
    assert shown in browser(cast.steward).get(address).text
    assert shown in browser(cast.custodian).get(address).text
    assert shown not in browser(cast.auditor).get(address).text


def test_a_description_after_a_look_at_a_comparison_says_so(
    describe_page: DescribePage, cast: Cast, browser: Open
) -> None:
    describe_page.press("confirm-open")
    describe_page.press("finish")
    audit.record(
        actor=cast.steward,
        action=labels.REPORT,
        target=("dataset", describe_page.dataset.code),
        organisation=cast.organisation,
        detail={},
    )
    describe_page.press("confirm:1", edit="1", _1_low="0")
    describe_page.press("finish")
    marks = DomainBasis.objects.order_by("version__number")
    assert [basis.after_looking for basis in marks] == [False, True]
    pages = [
        browser(cast.auditor)
        .get(reverse("datasets:domain", args=[describe_page.dataset.code, number]))
        .text
        for number in (1, 2)
    ]
    assert ["data-after-looking" in page for page in pages] == [False, True]
