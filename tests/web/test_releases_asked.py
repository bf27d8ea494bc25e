"""What a release was made for: on its overview, and first on the page of its comparison."""

from __future__ import annotations

import html
from collections.abc import Callable

import pytest
from django.test import Client
from django.urls import reverse

from synthweb.datasets import selectors as datasets
from synthweb.datasets.models import Preview
from synthweb.releases import services, workload_report
from synthweb.releases.models import Release
from tests.cast import Cast
from tests.web import scene
from tests.web.html import html_of

Open = Callable[..., Client]
FOR = {
    "target": "works",
    "weights": {"age": 2.0, "region": 0.5},
    "marginals": [["age", "region"], ["works", "age", "region"]],
}


@pytest.fixture
def release(cast: Cast) -> Release:
    """Compared with the real data, and asked for with a purpose."""
    played = scene.play(
        steward=cast.steward, custodian=cast.custodian, organisation=cast.organisation
    ).release
    mechanism = played.receipt["mechanism"] | {"parameters": FOR}
    Release.objects.filter(pk=played.pk).update(
        receipt=played.receipt | {"mechanism": mechanism}
    )
    played.refresh_from_db()
    return played


@pytest.mark.django_db
def test_a_comparison_begins_with_what_the_release_was_made_for(
    release: Release, cast: Cast, browser: Open
) -> None:
    report = datasets.preview_for(
        cast.steward, release.dataset, Preview.Kind.REPORT, release.code
    )
    assert report is not None
    found = workload_report.asked(release, report)
    assert found is not None
    pairs = {frozenset(pair["attributes"]): pair for pair in report["pairs"]}
    assert {
        line.name: (line.distance, line.real, line.synthetic) for line in found.with_target
    } == {
        column: tuple(
            pairs[frozenset((column, "works"))][name]
            for name in ("tvd", "nmi_real", "nmi_synthetic")
        )
        for column in ("age", "region")
    }
    assert [line.distance for line in found.with_target] == sorted(
        (line.distance for line in found.with_target), reverse=True
    )
    assert {line.name for line in found.listed} == {"region × age", "region × age × works"}
    page = html.unescape(
        html_of(browser(cast.steward).get(reverse("releases:compare-all", args=[release.code])))
    )
    assert page.index("Predicting works") < page.index('id="summary"')
    assert "age 2, region 0.5; every other column 1." in page


@pytest.mark.django_db
def test_an_analyst_sees_what_it_was_made_for_and_nothing_of_the_comparison(
    release: Release, cast: Cast, browser: Open
) -> None:
    services.share(actor=cast.steward, release=release, analyst=cast.analyst)
    page = html_of(browser(cast.analyst).get(reverse("releases:about", args=[release.code])))
    assert "To predict" in page and "works × age × region" in page
    assert browser(cast.analyst).get(
        reverse("releases:compare-all", args=[release.code])
    ).status_code in (403, 404)


@pytest.mark.django_db
def test_without_a_purpose_nothing_is_said(cast: Cast, browser: Open) -> None:
    played = scene.play(
        steward=cast.steward, custodian=cast.custodian, organisation=cast.organisation
    ).release
    assert workload_report.asked(played) is None
    page = html_of(
        browser(cast.steward).get(reverse("releases:compare-all", args=[played.code]))
    )
    assert 'id="purpose"' not in page
