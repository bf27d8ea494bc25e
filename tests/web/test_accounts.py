"""Signing in and out, and what the frame shows to whom."""

from __future__ import annotations

from collections.abc import Callable

from django.test import Client

from tests.conftest import PASSWORD, Cast

Browser = Callable[..., Client]


def test_signing_in_leads_to_the_start_page(cast: Cast, browser: Browser) -> None:
    answer = browser().post("/account/login/", {"username": "steward", "password": PASSWORD})
    assert answer.status_code == 302
    assert answer["Location"] == "/"


def test_every_page_about_oneself_opens(cast: Cast, browser: Browser) -> None:
    for address in ("/account/", "/account/password/", "/account/tokens/"):
        assert browser(cast.analyst).get(address).status_code == 200, address


def test_people_are_managed_by_staff_alone(cast: Cast, browser: Browser) -> None:
    assert browser(cast.staff).get("/account/people/").status_code == 200
    assert browser(cast.steward).get("/account/people/").status_code == 403
