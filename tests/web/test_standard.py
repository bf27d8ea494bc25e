"""Items of the standard of docs/security.md (ASVS) that no other test shows."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from django.conf import settings
from django.test import Client
from django.utils.crypto import RANDOM_STRING_CHARS

from synthweb.accounts import second_factors
from synthweb.accounts.models import User, UserSession
from tests.cast import Cast
from tests.web.html import html_of

pytestmark = pytest.mark.django_db
Browser = Callable[..., Client]
LOGIN = "/account/login/"


def test_a_password_is_taken_as_it_was_typed(cast: Cast) -> None:
    """With its spaces, its case and all of its characters; none is cut off."""
    password = "  Mixed CASE of \u00fc and \U0001f600 " + "x" * 64 + " "
    cast.steward.set_password(password)
    cast.steward.save()
    typed = [password.strip(), password.lower(), password[:64], password[:-2], password]
    codes = [
        Client().post(LOGIN, {"username": "steward", "password": each}).status_code
        for each in typed
    ]
    assert codes == [200, 200, 200, 200, 302]


def test_a_field_for_a_password_hides_it_and_lets_managers_fill_it_in(
    cast: Cast, browser: Browser
) -> None:
    for page, kind in (
        (html_of(Client().get(LOGIN)), "current-password"),
        (html_of(browser(cast.steward).get("/account/password/")), "new-password"),
    ):
        fields = re.findall(r"<input[^>]*name=\"[a-z0-9_]*password[a-z0-9_]*\"[^>]*>", page)
        assert fields and all('type="password"' in field for field in fields)
        assert any(f'autocomplete="{kind}"' in field for field in fields)
        assert not re.search(r"maxlength", " ".join(fields))
    # Nothing of ours keeps somebody from pasting one.
    scripts = (Path(settings.BASE_DIR) / "static" / "js").glob("*.js")
    assert [path.name for path in scripts if "paste" in path.read_text()] == []


def test_nobody_has_to_change_a_password_because_of_its_age() -> None:
    names = {field.name for field in User._meta.get_fields()}
    assert {name for name in names if re.search("expire|age|changed_at", name)} == set()


def test_a_session_is_32_random_characters_that_the_database_knows(cast: Cast) -> None:
    keys = set()
    for _ in range(3):
        client = Client()
        client.force_login(cast.steward)
        keys.add(client.cookies[settings.SESSION_COOKIE_NAME].value)
    assert len(keys) == 3
    assert all(len(key) == 32 and set(key) <= set(RANDOM_STRING_CHARS.lower()) for key in keys)
    assert UserSession.objects.filter(session_key__in=keys).count() == 3
    made_up = Client()
    made_up.cookies[settings.SESSION_COOKIE_NAME] = "a" * 32
    assert made_up.get("/account/").status_code == 302


def test_a_secret_of_an_app_has_160_bits() -> None:
    secrets = {second_factors.new_secret() for _ in range(3)}
    assert len(secrets) == 3
    assert all(re.fullmatch("[A-Z2-7]{32}", secret) for secret in secrets)


@pytest.mark.parametrize("address", ["/", "/account/", "/datasets/", "/docs/", "/nowhere/"])
def test_every_page_offers_to_sign_out(cast: Cast, browser: Browser, address: str) -> None:
    assert 'action="/account/logout/"' in html_of(browser(cast.steward).get(address))


def test_what_a_request_says_is_not_sent_back() -> None:
    """TRACE would show a script the cookies that it must not read."""
    answer = Client().generic("TRACE", LOGIN, headers={"X-Marker": "canary-7f3a"})
    assert answer.status_code == 405
    assert "canary-7f3a" not in html_of(answer) + str(answer.headers)


@pytest.mark.parametrize(
    "address", ["/static/", "/static/js/", "/static/js", "/static/../manage.py"]
)
def test_no_folder_is_listed(address: str) -> None:
    assert Client().get(address).status_code == 404
