"""Expected ranges of a release, on their tab and by REST: for whoever may draw samples, from model and receipt alone."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from django.test import Client

from synth_engine.evaluation import expected as ranges
from synth_engine.models.model import Model
from synthweb.releases import expected, screens, services
from synthweb.releases.models import Release
from tests.cast import Cast
from tests.web import scene
from tests.web.html import html_of
from tests.web.rest import Caller

pytestmark = pytest.mark.django_db(transaction=True)
Open = Callable[..., Client]


@pytest.fixture
def release(cast: Cast) -> Release:
    return scene.released(
        cast, mechanism="independent", epsilon="4", name="Three columns", table=scene.TABLE
    )


def test_an_analyst_sees_them_once_the_release_is_shared(
    cast: Cast, release: Release, browser: Open
) -> None:
    address = f"/releases/{release.code}/expected/"
    assert browser(cast.analyst).get(address).status_code == 404
    services.share(actor=cast.steward, release=release, analyst=cast.analyst)
    page = browser(cast.analyst).get(address)
    assert page.status_code == 200
    # One table each for region, age and works.
    assert html_of(page).count("data-expected") == 3
    assert "expected" in [tab.key for tab in screens.tabs(cast.analyst, release)]


def test_rest_has_the_same_figures_with_bands_around_their_estimates(
    cast: Cast, release: Release
) -> None:
    services.share(actor=cast.steward, release=release, analyst=cast.analyst)
    answer = Caller(cast.analyst, "read").get(f"/releases/{release.code}/expected/")
    assert answer.status_code == 200
    columns: list[dict[str, Any]] = answer.json()
    assert [column["name"] for column in columns] == ["region", "age", "works"]
    age = {figure["figure"]: figure for figure in columns[1]["figures"]}
    assert {"mean", "median", "standard_deviation", "quantile_95"} <= set(age)
    for column in columns:
        for figure in column["figures"]:
            assert figure["low"] <= figure["estimate"] <= figure["high"]
            assert figure["level"] == ranges.LEVEL


def test_they_follow_from_the_released_documents_alone(release: Release) -> None:
    again = ranges.expected_columns(Model.from_json(release.model), release.receipt["calls"])
    assert ranges.to_json(again) == ranges.to_json(expected.columns_of(release))
