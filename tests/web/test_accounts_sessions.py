"""Sessions: listed, ended, over when idle; who signed in a while ago confirms before what cannot be taken
back."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import timedelta

import pytest
from django.conf import settings as django_settings
from django.test import Client
from django.utils import timezone
from pytest_django import Settings

from synthweb.accounts import sessions
from synthweb.accounts.models import ApiToken, UserSession
from synthweb.accounts.reauthentication import FIELD
from synthweb.accounts.session_store import PROVED, SEEN, SIGNED_IN
from synthweb.audit.models import AuditEntry
from synthweb.ledger.models import BudgetRequest
from tests.cast import PASSWORD, Cast
from tests.web import ledger_setup
from tests.web.html import html_of

Browser = Callable[..., Client]
SESSIONS, TOKENS = "/account/sessions/", "/account/tokens/"
TOKEN = {"name": "notebook", "scopes": ["read"], "days": 30}
FIREFOX = "Mozilla/5.0 (X11; Linux x86_64; rv:130.0) Gecko/20100101 Firefox/130.0"


def age(client: Client, key: str, minutes: int) -> None:
    """Move one moment of a session into the past."""
    session = client.session
    session[key] = (timezone.now() - timedelta(minutes=minutes)).isoformat()
    session.save()


def actions() -> list[str]:
    return list(AuditEntry.objects.order_by("sequence").values_list("action", flat=True))


# --- the list -----------------------------------------------------------------------------------------------
def test_the_list_names_each_session_and_ends_another_one(cast: Cast, browser: Browser) -> None:
    here, there = browser(cast.steward), Client()
    there.post(
        "/account/login/",
        {"username": "steward", "password": PASSWORD},
        headers={"User-Agent": FIREFOX},
    )
    page = html_of(here.get(SESSIONS))
    assert re.search(r"Firefox,\s+Linux", page) and page.count("data-session=") == 2
    code = there.session["code"]
    assert here.post(f"{SESSIONS}{code}/end/").status_code == 302
    assert there.get("/account/").status_code == 302
    assert here.get("/account/").status_code == 200
    assert actions()[-1] == "session.ended"


def test_nobody_ends_a_session_of_somebody_else(cast: Cast, browser: Browser) -> None:
    theirs = browser(cast.custodian)
    browser(cast.steward).post(f"{SESSIONS}{theirs.session['code']}/end/")
    browser(cast.steward).post(f"{SESSIONS}others/end/")
    assert theirs.get("/account/").status_code == 200


def test_all_other_sessions_end_at_once(cast: Cast, browser: Browser) -> None:
    here, others = browser(cast.steward), [browser(cast.steward) for _ in range(2)]
    here.post(f"{SESSIONS}others/end/")
    assert [client.get("/account/").status_code for client in others] == [302, 302]
    assert here.get("/account/").status_code == 200


def test_sessions_that_a_new_password_ended_are_not_listed(
    cast: Cast, browser: Browser
) -> None:
    browser(cast.steward)
    cast.steward.set_password("another long pass phrase")
    cast.steward.save()
    assert UserSession.objects.filter(user=cast.steward).count() == 1
    assert sessions.sessions_of(cast.steward) == []


@pytest.mark.parametrize(
    ("agent", "name"),
    [
        (FIREFOX, "Firefox, Linux"),
        ("Mozilla/5.0 (Windows NT 10.0) Chrome/130 Safari/537.36 Edg/130", "Edge, Windows"),
        ("Mozilla/5.0 (iPhone; CPU iPhone OS 18) Safari/604.1", "Safari, iOS"),
        ("<script>alert(1)</script>", ""),
    ],
)
def test_a_browser_is_named_by_what_is_known_of_it(agent: str, name: str) -> None:
    assert sessions.browser_of(agent) == name


# --- how long it lasts --------------------------------------------------------------------------------------
def test_a_session_that_nobody_uses_ends_and_says_why(cast: Cast, browser: Browser) -> None:
    client = browser(cast.steward)
    age(client, SEEN, django_settings.IDLE_MINUTES + 1)
    answer = client.get("/datasets/", follow=True)
    assert answer.redirect_chain[-1][0].startswith("/account/login/?next=/datasets/")
    assert "signed out because nothing happened" in html_of(answer)
    assert actions()[-1] == "session.idle"


def test_an_idle_session_opens_nothing_by_rest(cast: Cast, browser: Browser) -> None:
    client = browser(cast.steward)
    age(client, SEEN, django_settings.IDLE_MINUTES + 1)
    assert client.get("/api/v1/datasets/").status_code == 401


def test_use_keeps_a_session_and_what_a_page_asks_by_itself_does_not(
    cast: Cast, browser: Browser
) -> None:
    client = browser(cast.steward)
    age(client, SEEN, 5)
    before = client.session[SEEN]
    client.get("/runs/notice/", headers={"X-Background": "1"})
    assert client.session[SEEN] == before
    client.get("/account/")
    assert client.session[SEEN] > before


def test_use_does_not_move_the_end_of_a_session(cast: Cast, browser: Browser) -> None:
    client = browser(cast.steward)
    row = UserSession.objects.get(user=cast.steward)
    age(client, SEEN, 5)
    client.get("/account/")
    again = UserSession.objects.get(user=cast.steward)
    assert again.last_seen_at is not None and row.last_seen_at is not None
    assert again.last_seen_at >= row.last_seen_at
    assert abs(again.expire_date - row.expire_date) < timedelta(seconds=1)
    assert client.session[SIGNED_IN]


def test_idle_time_can_be_switched_off(
    cast: Cast, browser: Browser, settings: Settings
) -> None:
    settings.IDLE_MINUTES = 0
    client = browser(cast.steward)
    age(client, SEEN, 600)
    assert client.get("/account/").status_code == 200
    assert len(sessions.sessions_of(cast.steward)) == 1


# --- confirming ---------------------------------------------------------------------------------------------
def test_a_token_needs_a_recent_proof_and_nothing_typed_is_lost(
    cast: Cast, browser: Browser
) -> None:
    client = browser(cast.steward)
    age(client, PROVED, 16)
    assert client.get(TOKENS).status_code == 200
    page = html_of(client.post(TOKENS, TOKEN))
    assert "data-confirm" in page and 'name="name" value="notebook"' in page
    wrong = client.post(TOKENS, {**TOKEN, FIELD: "not it"})
    assert wrong.status_code == 422 and not ApiToken.objects.exists()
    assert "user.sign_in_failed" in actions()
    client.post(TOKENS, {**TOKEN, FIELD: PASSWORD})
    assert ApiToken.objects.get().name == "notebook"
    assert "user.confirmed" in actions()
    # Confirmed for a while.
    client.post(TOKENS, {**TOKEN, "name": "second"})
    assert ApiToken.objects.count() == 2


def test_guessing_at_the_confirmation_pauses_like_signing_in(
    cast: Cast, browser: Browser
) -> None:
    client = browser(cast.steward)
    age(client, PROVED, 16)
    for _ in range(10):
        client.post(TOKENS, {**TOKEN, FIELD: "not it"})
    client.post(TOKENS, {**TOKEN, FIELD: PASSWORD})
    assert not ApiToken.objects.exists()


def test_granting_needs_a_recent_proof_on_the_page_and_by_rest(
    cast: Cast, browser: Browser
) -> None:
    asked = ledger_setup.asked(cast, ledger_setup.dataset(cast))
    client = browser(cast.custodian)
    age(client, PROVED, 16)
    address = f"/ledger/requests/{asked.code}/grant/"
    form = {"reason": "Agreed.", "confirmed": "yes"}
    assert "data-confirm" in html_of(client.post(address, form))
    refused = client.post(
        f"/api/v1/budget-requests/{asked.code}/grant/",
        {"reason": "Agreed."},
        content_type="application/json",
    )
    assert refused.status_code == 403
    asked.refresh_from_db()
    assert asked.state == BudgetRequest.State.OPEN


@pytest.mark.parametrize("address", ["", "{pk}/", "{pk}/one-time-password/"])
def test_managing_people_needs_a_recent_proof(
    cast: Cast, browser: Browser, address: str
) -> None:
    client = browser(cast.staff)
    age(client, PROVED, 16)
    answer = client.post("/account/people/" + address.format(pk=cast.analyst.pk), {})
    assert "data-confirm" in html_of(answer)
