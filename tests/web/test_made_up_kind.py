"""A kind of column that nobody thought of, from the file to a release that is compared and fetched: pages and
REST show its values as the class writes them."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

import pytest
from django.test import Client
from django.urls import reverse

from synth_engine.kinds import KINDS
from synthweb.datasets import draft as drafts
from synthweb.datasets import grid
from synthweb.datasets.draft_to_attribute import attribute_of
from synthweb.datasets.kinds import FORMS
from synthweb.datasets.models import DomainVersion
from synthweb.ledger import services as ledger
from synthweb.releases import tabs
from synthweb.releases.models import Release
from synthweb.runs import ranges, released_counts, worker
from synthweb.runs import services as runs
from tests import made_up_kind
from tests.cast import Cast
from tests.made_up_kind import raw_numbers, strings
from tests.web import scene
from tests.web.describe_page import DescribePage, line
from tests.web.html import html_of
from tests.web.rest import Caller

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("places")]
Open = Callable[..., Client]

MONTH = re.compile(r"20(22|23|24)-(0[1-9]|1[0-2])")


@pytest.fixture(autouse=True)
def kind() -> Iterator[None]:
    with made_up_kind.known_to_pages():
        yield
    assert "month" not in KINDS and "month" not in FORMS and "month" not in drafts.KINDS


def seen(html: str) -> str:
    """What a page shows: without the numbers that its scripts draw by."""
    return re.sub(r"<(script|style)\b.*?</\1>", " ", html, flags=re.DOTALL)


@pytest.fixture
def describe_page(cast: Cast, browser: Open) -> DescribePage:
    """The describe page of a table with two columns of months, as the worker read it."""
    uploaded = scene.upload(
        steward=cast.steward, organisation=cast.organisation, table=made_up_kind.table()
    )
    return DescribePage(browser(cast.steward), scene.read(uploaded))


def described(describe_page: DescribePage) -> None:
    for index in range(3):
        describe_page.press(f"confirm:{index}", in_place=True)
    assert describe_page.press("finish").status_code == 302


@pytest.fixture
def release(describe_page: DescribePage, cast: Cast) -> Release:
    """The release of that table, compared, with all that is computed of it."""
    described(describe_page)
    request = scene.ask(steward=cast.steward, dataset=describe_page.dataset)
    ledger.grant(custodian=cast.custodian, request=request, reason="Agreed.")
    run = scene.submit(steward=cast.steward, dataset=describe_page.dataset, epsilon="4")
    worker.synthesize(code=run.code)
    run.refresh_from_db()
    release = run.release
    assert release is not None, run.failure
    worker.table_job(code=runs.request_report(release=release, actor=cast.steward).code)
    ranges.compute(code=runs.request_ranges(release=release).code)
    released_counts.compute(code=runs.request_counts(release=release).code)
    return release


def test_every_kind_of_a_description_has_a_form() -> None:
    # Learned bins, and what was not found, are written by runs alone.
    assert set(KINDS) - set(FORMS) == {"scale-bins", "not-found"}


def test_what_is_typed_becomes_an_attribute_and_is_typed_again() -> None:
    typed: drafts.Column = {
        "kind": "month",
        "fields": {
            "low": "2022-06", "high": "2023-11", "every": "2",
            "unordered": "on", "missing": "?", "outside": "missing",
        },
    }  # fmt: skip
    attribute = attribute_of("begun", typed)
    assert not attribute.ordered and attribute.details()["every"] == 2
    assert attribute_of("begun", drafts.typed_from(attribute.to_json())) == attribute
    shown = grid.ColumnLine(index=0, name="begun", suggested=None, typed=typed)
    assert [each.key for each in shown.inputs if each.key != "separate_markers"] == [
        key for key in FORMS["month"].fields if key != "separate_markers"
    ]


def test_the_page_suggests_checks_and_confirms_it(describe_page: DescribePage) -> None:
    page = describe_page.page("?edit=0")
    assert not raw_numbers(seen(page))
    row = line(page, 0)
    assert "Month" in row and "2022-06" in row and 'data-light="fits"' in row
    described(describe_page)
    document = DomainVersion.objects.get().document
    assert [each["kind"] for each in document["attributes"]] == [
        "month",
        "month",
        "categorical",
    ]
    version = describe_page.client.get(
        reverse("datasets:domain", args=[describe_page.dataset.code, 1])
    )
    assert "Month" in html_of(version)


def test_pages_of_a_release_show_its_values(
    release: Release, cast: Cast, browser: Open
) -> None:
    steward = browser(cast.steward)
    addresses = {
        card.key: card.address(release) for card in tabs.offered(cast.steward, release)
    }
    assert {"look", "compare", "marginals"} <= set(addresses)
    for key, address in addresses.items():
        answer = steward.get(address)
        assert answer.status_code == 200, key
        assert not raw_numbers(seen(html_of(answer))), key
    assert len(MONTH.findall(html_of(steward.get(addresses["look"])))) >= 100
    assert MONTH.search(
        seen(html_of(steward.get(reverse("releases:compare-all", args=[release.code]))))
    )
    beside = f"/releases/side-by-side/?release={release.code}"
    assert not raw_numbers(seen(html_of(steward.get(beside))))
    report = steward.get(reverse("releases:compare-json", args=[release.code])).json()
    (begun,) = (each for each in report["values"] if each["name"] == "begun")
    assert begun["unit"] == "months" and MONTH.fullmatch(begun["measures"]["median"]["real"])


def test_programs_get_its_values(release: Release, cast: Cast) -> None:
    program = Caller(cast.steward, "read")
    of_release = f"/releases/{release.code}"
    # Expected ranges are numbers of the ladder in REST, of days and times too.
    for address in (
        "first-rows/",
        "marginals/?columns=begun,ended",
        "dictionary/",
        "description/",
        "model/",
    ):
        answer = program.get(f"{of_release}/{address}")
        assert answer.status_code == 200, address
        assert not raw_numbers(" ".join(strings(answer.json()))), address
    (begun, *_) = program.get(f"{of_release}/dictionary/").json()
    assert (begun["kind"], begun["values"]) == ("month", "2022-06 to 2023-11")
    dataset = program.get(f"/datasets/{release.release_run.run.dataset.code}/domain/")
    assert dataset.json()["document"]["attributes"][0]["kind"] == "month"
