"""What a prior adds to groups with public totals is shown before anything is spent, and on the receipt."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from django.template.loader import render_to_string
from django.test import Client
from django.urls import reverse

from synth_engine import mechanisms
from synth_engine.domain import Domain
from synth_engine.spec import Spec
from synthweb.runs import estimate as estimating
from synthweb.runs import planning, priors
from tests.cast import Cast
from tests.web import scene
from tests.web.html import html_of
from tests.web.test_releases_of_groups import TABLE

Open = Callable[..., Client]
SIZES = {"a": 2, "b": 5, "c": 30, "d": 563, "e": 0}
DOMAIN: dict[str, Any] = {
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
            "values": [*SIZES],
            "outside": "clamp",
            "missing": None,
        },
    ],
    "totals": {"column": "work", "counts": SIZES},
}


def planned(mechanism: str, *, epsilon: str = "2", delta: str = "0") -> Any:
    spec = Spec.from_json({"mechanism": mechanism, "epsilon": epsilon, "delta": delta})
    return mechanisms.plan(Domain.from_json(DOMAIN), spec)


def test_small_groups_have_more_of_the_prior_and_the_whole_is_that_of_all_records() -> None:
    found = priors.summarise(planned("on-the-map", delta="1e-6"), assumes="x")
    assert found is not None and found.column == "work" and found.parts == 2
    assert [(line.words, line.groups, line.records) for line in found.lines] == [
        ("1 to 5", 2, 7),
        ("21 to 100", 1, 30),
        ("over 100", 1, 563),
    ]
    shares = [line.share for line in found.lines]
    assert shares == sorted(shares, reverse=True)
    assert found.whole.share == pytest.approx(
        sum(line.share * line.records for line in found.lines) / 600
    )
    for line in found.lines[1:]:  # of one group each
        assert line.share == pytest.approx(line.against / (1 + line.against))


def test_without_a_delta_the_prior_is_that_of_the_theorem() -> None:
    found = priors.summarise(planned("on-the-map", epsilon="2"), assumes="")
    assert found is not None
    for line in found.lines:
        assert line.against == pytest.approx(
            2 / (2.718281828459045**2 - 1), rel=1e-3
        )  # n / (exp(epsilon) - 1), twice


def test_other_methods_mix_nothing_in() -> None:
    assert priors.summarise(planned("independent"), assumes="") is None


@pytest.mark.django_db
def test_the_new_release_page_shows_it(cast: Cast, browser: Open) -> None:
    dataset = scene.funded(cast, table=TABLE, document=DOMAIN)
    address, client = reverse("runs:estimate", args=[dataset.code]), browser(cast.steward)
    typed = {"mechanism": "on-the-map", "epsilon": "2", "delta": "1e-9", "name": "Commutes"}
    text = html_of(client.post(address, typed))
    assert "Share of the prior" in text and "over 100" in text
    assert "Share of the prior" not in html_of(
        client.post(address, typed | {"mechanism": "independent"})
    )


@pytest.mark.django_db
def test_the_new_release_page_warns_of_a_threshold_below_the_noise(cast: Cast) -> None:
    attribute = {
        "name": "x",
        "kind": "integer",
        "low": 0,
        "high": 63,
        "width": 1,
        "outside": "clamp",
        "missing": None,
    }
    places = [{"name": "spot", "latitude": "x", "longitude": "y"}]
    document = {
        "schema": "synth_engine/domain/1",
        "attributes": [attribute, attribute | {"name": "y"}],
    }
    dataset = scene.funded(cast, table="x,y\n1,2\n", document=document | {"places": places})

    def shown(threshold: int) -> str:
        spec = Spec.from_json(
            {
                "mechanism": "adaptive-improved",
                "epsilon": "1",
                "parameters": {"threshold": threshold},
            }
        )
        found = estimating.estimate(
            planning.ReleaseRequest(dataset=dataset, spec=spec).propose()
        )
        return render_to_string("runs/_estimate.html", {"estimate": found, "dataset": dataset})

    assert "Before you spend" in shown(1) and "below the noise" in shown(1)
    assert "Before you spend" not in shown(0)
