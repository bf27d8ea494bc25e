"""Descriptions kept under a name: made from a confirmed one, applied to other tables, refused for other
columns."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from synthweb.audit.models import AuditEntry
from synthweb.datasets.models import DescriptionTemplate
from synthweb.ledger.models import LedgerEntry
from tests.cast import Cast
from tests.web.describe_page import SUGGESTIONS, DescribePage, line, ready
from tests.web.rest import Caller, assert_problem

pytestmark = pytest.mark.usefixtures("places")

Browser = Callable[..., Client]


@pytest.fixture
def client(browser: Browser, cast: Cast) -> Client:
    return browser(cast.steward)


def described(client: Client, cast: Cast) -> DescribePage:
    describe_page = DescribePage(client, ready(cast))
    describe_page.press("confirm-open")
    describe_page.press("finish", max_records="3")
    return describe_page


def keep(describe_page: DescribePage, name: str) -> str:
    address = reverse("datasets:save-template", args=[describe_page.dataset.code, 1])
    return str(describe_page.client.post(address, {"name": name}, follow=True).text)


def apply(describe_page: DescribePage, template: str, **typed: Any) -> str:
    address = reverse("datasets:apply-template", args=[describe_page.dataset.code])
    fields = describe_page.inputs() | {"do": "save", "template": template, **typed}
    return str(describe_page.client.post(address, fields, follow=True).text)


def test_a_template_fills_another_tables_draft_and_confirms_nothing(
    client: Client, cast: Cast
) -> None:
    page = keep(described(client, cast), "  People   of a city ")
    made = DescriptionTemplate.objects.get()
    assert made.name == "People of a city"
    assert "People of a city" in page
    other = DescribePage(
        client, ready(cast, [*SUGGESTIONS, {"name": "more", "kind": "identifier"}])
    )
    assert "People of a city</option>" in other.page()
    page = apply(other, made.code)
    assert (
        "Template “People of a city”: 4 columns were taken into the draft. Nothing of it is confirmed yet."
        in page
    )
    assert "Declared public, imported and not confirmed" in line(page, 1)
    assert "1 column: more" in " ".join(page.split())
    assert "Describe below what is not described, or leave it out." in page
    assert all(not column["confirmed"] for column in other.draft["columns"].values())
    assert other.draft["table"]["max_records"] == "3"
    deeds = AuditEntry.objects.filter(action__startswith="template.").order_by("sequence")
    assert [(entry.action, entry.detail["name"]) for entry in deeds] == [
        ("template.saved", "People of a city"),
        ("template.applied", "People of a city"),
    ]


def test_a_template_for_other_columns_is_refused_whole_in_form_and_rest(
    client: Client, cast: Cast
) -> None:
    keep(described(client, cast), "People")
    made = DescriptionTemplate.objects.get()
    other = DescribePage(
        client,
        ready(cast, [item for item in SUGGESTIONS if item["name"] not in ("age", "works")]),
    )
    page = apply(other, made.code)
    assert (
        "nothing was changed. column &#x27;age&#x27;: the template is for other columns" in page
    )
    assert (
        "and 1 more are not in the table; apply a template whose columns the table has" in page
    )
    calls = Caller(cast.steward, "read", "spend")
    answer = calls.send(
        f"/datasets/{other.dataset.code}/domain/draft/template/", {"template": made.code}
    )
    problem = assert_problem(answer, status=422)
    assert "age" in str(problem)
    assert "for other columns" in str(problem)
    assert other.draft["columns"] == {}
    assert not LedgerEntry.objects.exists()
    assert not AuditEntry.objects.filter(action="template.applied").exists()


def test_what_is_described_already_stays_unless_the_template_replaces_it(
    client: Client, cast: Cast
) -> None:
    describe_page = described(client, cast)
    keep(describe_page, "People")
    made = DescriptionTemplate.objects.get()
    other = DescribePage(client, ready(cast))
    other.press("confirm:1", edit="1", _1_low="3")
    assert "Column “age”: described here already, kept" in apply(other, made.code)
    assert other.draft["columns"]["age"]["fields"]["low"] == "3"
    apply(other, made.code, **{"both-say": "file"})
    assert other.draft["columns"]["age"]["fields"]["low"] == "17"


def test_names_are_one_of_a_kind_and_templates_can_be_deleted(
    client: Client, cast: Cast
) -> None:
    describe_page = described(client, cast)
    keep(describe_page, "People")
    assert "there is a template of this name already; choose another name" in keep(
        describe_page, "People"
    )
    assert "No template was made: the template has no name" in keep(describe_page, " ")
    made = DescriptionTemplate.objects.get()
    page = client.post(reverse("datasets:delete-template", args=[made.code]), follow=True).text
    assert "Templates will be listed here" in page
    assert not DescriptionTemplate.objects.exists()
    assert "No template is chosen" in apply(describe_page, made.code)


def test_programs_list_keep_and_apply_templates(client: Client, cast: Cast) -> None:
    describe_page = described(client, cast)
    calls = Caller(cast.steward, "read", "spend")
    body = {"dataset": describe_page.dataset.code, "number": 1, "name": "People"}
    made = calls.send("/description-templates/", body).json()
    assert calls.get("/description-templates/").json()["results"] == [made]
    assert_problem(calls.send("/description-templates/", body), status=409)
    other = ready(cast)
    answer = calls.send(
        f"/datasets/{other.code}/domain/draft/template/", {"template": made["code"]}
    ).json()
    assert answer["columns"] == [item["name"] for item in SUGGESTIONS]
    unknown = calls.send(
        f"/datasets/{other.code}/domain/draft/template/", {"template": "nothing"}
    )
    assert_problem(unknown, status=404)
