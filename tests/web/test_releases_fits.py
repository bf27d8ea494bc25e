"""Regressions of a release with intervals, on their page and by REST: from noisy answers alone."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from django.test import Client
from pytest_django import Settings

from synthweb.releases import services, tabs
from synthweb.releases.models import Release
from synthweb.runs import released_counts
from synthweb.runs import services as runs
from synthweb.runs.models import CountsJob
from tests.cast import Cast
from tests.web import scene
from tests.web.html import html_of
from tests.web.rest import Caller

pytestmark = pytest.mark.django_db(transaction=True)
Open = Callable[..., Client]


@pytest.fixture
def shared(cast: Cast) -> Release:
    release = scene.released(
        cast,
        mechanism="contingency-table",
        epsilon="4",
        name="Three columns",
        table=scene.TABLE,
    )
    services.share(actor=cast.steward, release=release, analyst=cast.analyst)
    return release


def gather(release: Release) -> None:
    released_counts.compute(code=runs.request_counts(release=release).code)


def test_an_analyst_asks_for_a_regression_once_the_answers_are_gathered(
    cast: Cast, shared: Release, browser: Open
) -> None:
    calls, client = Caller(cast.analyst, "read"), browser(cast.analyst)
    asked = "fit/?outcome=age&regressors=works"
    waiting = calls.get(f"/releases/{shared.code}/{asked}")
    assert waiting.status_code == 202
    assert waiting.headers["Location"].endswith(asked)
    page = f"/releases/{shared.code}/fits/"
    # The form asks no worker for anything.
    assert client.get(page).status_code == 200
    query = "outcome=age&regressors=works&kind=ols"
    shown = client.get(f"{page}?{query}", follow=True)
    assert 'id="waiting"' in html_of(shown)
    assert CountsJob.objects.count() == 1
    gather(shared)
    arrived = client.get(
        shown.request["PATH_INFO"] + "?" + shown.request["QUERY_STRING"],
        headers={"HX-Request": "true"},
    )
    assert arrived.headers["HX-Redirect"].startswith(page)
    assert "data-fit" in html_of(client.get(arrived.headers["HX-Redirect"]))
    assert "fits" in [card.key for card in tabs.offered(cast.analyst, shared)]
    found = calls.get(f"/releases/{shared.code}/{asked}").json()
    assert [one["column"] for one in found["coefficients"]] == ["", "works"]
    for one in found["coefficients"]:
        table, population = one["of_table"], one["of_population"]
        assert population["lower"] <= table["lower"] <= table["upper"] <= population["upper"]
    assert [column["name"] for column in found["columns"]] == ["works", "age"]
    assert found["columns"][0]["base"]
    assert all(group["number"] is not None for group in found["columns"][1]["groups"])


def test_what_is_not_offered_says_why(cast: Cast, shared: Release, browser: Open) -> None:
    calls, client = Caller(cast.analyst, "read"), browser(cast.analyst)
    for query, words in (
        ("outcome=age&regressors=height", "no such column"),
        ("outcome=age&regressors=age", "named twice"),
        ("outcome=age&regressors=works&kind=probit", "no such kind"),
        ("outcome=age", "no regressor"),
    ):
        refused = calls.get(f"/releases/{shared.code}/fit/?{query}")
        assert refused.status_code == 422, query
        assert words in refused.json()["detail"]
    assert not CountsJob.objects.exists()
    gather(shared)
    query = "outcome=age&regressors=works&kind=logit"
    assert "two" in calls.get(f"/releases/{shared.code}/fit/?{query}").json()["detail"]
    assert "data-not-offered" in html_of(client.get(f"/releases/{shared.code}/fits/?{query}"))
    assert calls.get(f"/releases/{shared.code}/fit/?outcom=age").status_code == 400


def test_a_regression_takes_a_slot(
    cast: Cast, shared: Release, browser: Open, settings: Settings
) -> None:
    gather(shared)
    settings.DRAWINGS_PER_PERSON = 0
    query = "outcome=age&regressors=works"
    refused = Caller(cast.analyst, "read").get(f"/releases/{shared.code}/fit/?{query}")
    assert refused.status_code == 429
    page = browser(cast.analyst).get(f"/releases/{shared.code}/fits/?{query}")
    assert page.status_code == 429
