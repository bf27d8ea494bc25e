"""A release of a tree of places: its pages, its tables, and what it has no use for."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from django.test import Client
from django.urls import reverse

from synth_engine.mechanisms import Model
from synthweb.lib.errors import Conflict
from synthweb.releases import services
from synthweb.releases.models import Release
from tests.cast import Cast
from tests.web import scene
from tests.web.html import html_of

Open = Callable[..., Client]

RNG = np.random.default_rng(3)
TABLE = "north,east\n" + "".join(
    f"{a:.3f},{b:.3f}\n" for a, b in RNG.normal((41.5, -71.4), 0.1, (600, 2))
)
DOMAIN = {
    "schema": "synth_engine/domain/1",
    "places": [{"name": "home", "latitude": "north", "longitude": "east"}],
    "attributes": [
        {
            "name": "north",
            "kind": "number",
            "low": 41.0,
            "high": 42.0,
            "outside": "clamp",
            "missing": None,
        },
        {
            "name": "east",
            "kind": "number",
            "low": -72.0,
            "high": -71.0,
            "outside": "clamp",
            "missing": None,
        },
    ],
}


@pytest.fixture
def release(cast: Cast) -> Release:
    return scene.released(
        cast, mechanism="adaptive", epsilon="4", name="Places", table=TABLE, document=DOMAIN
    )


@pytest.mark.django_db
def test_its_pages_are_shown_and_its_description_has_nodes(
    release: Release, cast: Cast, browser: Open
) -> None:
    client = browser(cast.steward)
    assert Model.from_json(release.model).tree is not None
    assert client.get(reverse("releases:release", args=[release.code])).status_code == 200
    measured = reverse("releases:measured", args=[release.code])
    quality = html_of(client.get(reverse("releases:validation", args=[release.code])))
    assert measured not in quality
    assert client.get(measured).status_code == 200
    description = reverse("releases:description", args=[release.code])
    assert f'href="{description}#card"' in html_of(
        client.get(reverse("releases:samples", args=[release.code]))
    )
    for page in ("description", "receipt", "verification", "samples", "dictionary-json"):
        assert (
            client.get(reverse(f"releases:{page}", args=[release.code])).status_code == 200
        ), page
    document = client.get(reverse("releases:description-json", args=[release.code])).json()
    assert all(set(one["node"]) == {"north", "east"} for one in document["tree"]["nodes"])
    # As it stands, it is the release itself; with other shares it is an edition.
    with pytest.raises(Conflict):
        services.keep_edition(actor=cast.steward, release=release, document=document, note="x")
    first, *others = document["tree"]["nodes"]
    first["share"] = 1
    for other in others:
        other["share"] = 0
    services.keep_edition(actor=cast.steward, release=release, document=document, note="one")
