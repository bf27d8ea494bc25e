"""A release of groups drawn anew within public totals: its pages say what was asked and what it cost."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from django.test import Client
from django.urls import reverse

from synthweb.releases.models import Release
from tests.cast import Cast
from tests.web import scene
from tests.web.html import html_of

Open = Callable[..., Client]

TABLE = "home,work\n" + "".join(
    f"{'north' if i % 3 else 'south'},{'port' if i % 2 else 'hill'}\n" for i in range(600)
)
DOMAIN = {
    "schema": "synth_engine/domain/1",
    "relation": "replace-one",
    "attributes": [
        {
            "name": "home",
            "kind": "categorical",
            "values": ["north", "south"],
            "outside": "clamp",
            "missing": None,
        },
        {
            "name": "work",
            "kind": "categorical",
            "values": ["port", "hill"],
            "outside": "clamp",
            "missing": None,
        },
    ],
    "totals": {"column": "work", "counts": {"port": 300, "hill": 300}},
}


@pytest.fixture
def release(cast: Cast) -> Release:
    return scene.released(
        cast, mechanism="on-the-map", epsilon="2", name="Commutes", table=TABLE, document=DOMAIN
    )


@pytest.mark.django_db
def test_its_pages_are_shown_and_say_what_was_drawn(
    release: Release, cast: Cast, browser: Open
) -> None:
    client = browser(cast.steward)
    assert client.get(reverse("releases:release", args=[release.code])).status_code == 200
    for page in (
        "measured",
        "description",
        "receipt",
        "verification",
        "samples",
        "dictionary-json",
        "description-json",
    ):
        assert (
            client.get(reverse(f"releases:{page}", args=[release.code])).status_code == 200
        ), page
    quality = html_of(client.get(reverse("releases:validation", args=[release.code])))
    assert reverse("releases:receipt", args=[release.code]) in quality
    assert (
        reverse("releases:measured", args=[release.code]) not in quality
    )  # it counts no columns together
    receipt = html_of(client.get(reverse("releases:receipt", args=[release.code])))
    assert "Resampled within public totals work × home" in receipt
    assert "Dirichlet-multinomial" in receipt
    assert "for each record of a group" in receipt
    assert "ε 2, δ 1e-9" in receipt
