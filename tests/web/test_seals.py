"""How well a release is protected stands at its head, once, by the scale of words: never green whatever ε
is."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from fractions import Fraction

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from synthweb.lib import guarantee
from synthweb.releases import bundle, public_links
from synthweb.releases import services as releases
from tests.cast import Cast
from tests.web import scene

Open = Callable[..., Client]


@pytest.mark.parametrize(
    ("epsilon", "tone"),
    [
        ("0.1", "protected"),
        ("1", "protected"),
        ("1.001", "moderate"),
        ("3", "moderate"),
        ("3.5", "weak"),
        ("8", "weak"),
    ],
)
def test_the_seal_follows_the_scale_of_words(epsilon: str, tone: str) -> None:
    assert guarantee.seal(Fraction(epsilon)).tone == tone


def test_seals_change_where_words_change_and_name_no_two_tones_alike() -> None:
    bounds = {largest for largest, _word in guarantee.STRENGTHS}
    assert set(guarantee.SEALS) < bounds
    seals = [guarantee.seal(largest) for largest in [*sorted(bounds), Fraction(100)]]
    tones = {seal.title: seal.tone for seal in seals}
    assert len(tones) == 4 and list(tones.values()) == [
        "protected",
        "protected",
        "moderate",
        "weak",
    ]


TABS = (
    *("release", "look", "expected", "marginals", "paid", "criteria", "receipt", "files"),
    *("share", "samples", "about", "describe"),
)


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("epsilon", "tone"), [("0.5", "protected"), ("2", "moderate"), ("8", "weak")]
)
def test_every_page_of_a_release_has_the_seal_of_its_epsilon_once(
    cast: Cast, browser: Open, epsilon: str, tone: str
) -> None:
    release = scene.released(
        cast, mechanism="independent", epsilon=epsilon, name="A release", table=scene.TABLE
    )
    client = browser(cast.steward)
    shown = 0
    for tab in TABS:
        answer = client.get(reverse(f"releases:{tab}", args=[release.code]), follow=True)
        if answer.status_code == 200:
            assert answer.text.count("data-seal=") == 1, tab
            assert f'data-seal="{tone}"' in answer.text, tab
            shown += 1
    assert shown >= 10
    public_links.allow(
        actor=cast.staff, organisation=release.dataset.organisation, allowed=True
    )
    until = timezone.now().date() + timedelta(days=9)
    link = public_links.make(actor=cast.steward, release=release, until=until)
    page = Client().get(reverse("public:release", args=[link.token])).text
    assert page.count("data-seal=") == 1 and f'data-seal="{tone}"' in page
    sample = releases.draw_sample(user=cast.steward, release=release, rows=5, seed="1")
    readme = bundle._readme(release, sample, archive="a.zip").decode()
    assert guarantee.seal(Fraction(epsilon)).title in readme
