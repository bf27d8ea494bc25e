"""The five tabs of a release: who is offered which, and what is open in them."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest
from django.test import Client
from django.urls import reverse

from synthweb.accounts.models import User
from synthweb.releases import screens, tabs
from synthweb.releases.models import Release
from tests.cast import Cast
from tests.web.html import html_of
from tests.web.scene import Scene

pytestmark = pytest.mark.django_db

Open = Callable[..., Client]
FIVE = ["look", "quality", "download", "share", "receipt"]
OFFERED = {
    "steward": FIVE,
    "custodian": ["quality", "share", "receipt"],
    "auditor": ["quality", "receipt"],
    "reader": ["look", "quality", "download", "receipt"],
}


def tabs_for(person: User, release: Release) -> list[str]:
    offered = tabs.offered(person, release)
    return [tab.key for tab in screens.tabs_of(release, offered)]


def people(cast: Cast, played: Scene) -> dict[str, User]:
    return {
        "steward": cast.steward,
        "custodian": cast.custodian,
        "auditor": cast.auditor,
        "reader": played.reader,
    }


def test_a_release_has_five_tabs_and_everybody_those_with_a_card_for_them(
    cast: Cast, played: Scene
) -> None:
    assert list(tabs.TABS) == FIVE
    for name, person in people(cast, played).items():
        assert tabs_for(person, played.release) == OFFERED[name], name
        compares = "compare" in {card.key for card in tabs.offered(person, played.release)}
        assert compares == (name == "steward"), name


def test_every_card_opens_in_its_tab_beside_those_that_are_folded(
    cast: Cast, played: Scene, browser: Open
) -> None:
    for name, person in people(cast, played).items():
        client, offered = browser(person), tabs.offered(person, played.release)
        for card in offered:
            page = html_of(client.get(card.address(played.release), follow=True))
            marked = re.findall(r'<a href="[^"]+" class="active" aria-current="page">', page)
            assert len(marked) == 1, (name, card.key)
            assert page.count('id="card"') == 1, (name, card.key)
            folded = re.findall(
                r'<section class="tab-card-folded">\s*<h2><a href="([^"#]+)', page
            )
            others = [one for one in offered if one.tab == card.tab and one != card]
            assert folded == [one.address(played.release) for one in others], (name, card.key)


def test_the_address_of_a_release_shows_rows_or_else_the_receipt(
    cast: Cast, played: Scene, browser: Open
) -> None:
    address = reverse("releases:release", args=[played.release.code])
    assert tabs.front(cast.steward, played.release).key == "look"
    assert tabs.front(cast.auditor, played.release).key == "receipt"
    assert 'id="rows' in html_of(browser(cast.steward).get(address))
    assert 'id="verdict"' in html_of(browser(cast.auditor).get(address))


def test_every_module_of_cards_has_one_and_each_is_in_a_tab() -> None:
    cards = tabs.registered()
    assert {card.tab for card in cards} == set(FIVE)
    assert len({card.key for card in cards}) == len(cards)
    for card in cards:
        places = [one.order for one in cards if one.tab == card.tab and one.of == card.of]
        assert len(set(places)) == len(places), card.tab
