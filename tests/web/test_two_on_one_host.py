"""Two installations on one host: a browser keeps cookies by host and not by port, and neither takes those of
the other."""

from __future__ import annotations

import contextlib
import secrets
from collections.abc import Callable
from pathlib import Path

import httpx
import pytest
from django.conf import settings
from django.contrib.auth.hashers import Argon2PasswordHasher, make_password
from django.db import connection
from django.test import Client

from synthweb.accounts.models import User
from synthweb.lib.env import cookie_name
from tests.cast import PASSWORD
from tests.web import served

LOGIN = "/account/login/"


def test_an_installation_has_cookies_of_its_own() -> None:
    one, other = secrets.token_urlsafe(), secrets.token_urlsafe()
    names = [cookie_name("session", secret_key=key, https=False) for key in (one, one, other)]
    assert names[0] == names[1] != names[2]
    deployed = cookie_name("session", secret_key=one, https=True)
    assert deployed.startswith("__Host-")  # what browsers take over HTTPS from this host alone
    assert one not in deployed


def test_every_cookie_that_is_set_is_of_this_installation(
    steward: User, browser: Callable[..., Client]
) -> None:
    own = settings.SESSION_COOKIE_NAME.rpartition("_")[2]
    client = browser()
    client.get(LOGIN)
    client.post(LOGIN, {"username": steward.username, "password": PASSWORD})
    client.post("/language/", {"language": "de"})
    client.post("/account/password/", {})
    names = set(client.cookies)
    assert len(names) >= 3
    assert {
        name for name in names | {settings.MESSAGE_COOKIE_NAME} if not name.endswith(own)
    } == set()


@pytest.mark.services
@pytest.mark.slow
@pytest.mark.same_on_every_database  # the servers open SQLite's file
@pytest.mark.django_db(transaction=True)
def test_signed_in_at_both_one_stays_signed_in_at_both(tmp_path: Path, steward: User) -> None:
    """Failed before: signing in at the second one signed out of the first one."""
    # Servers know no quick hash of the tests.
    steward.password = make_password(PASSWORD, hasher=Argon2PasswordHasher())
    steward.save()
    place = {"DATABASE_URL": f"sqlite:///{connection.settings_dict['NAME']}"}
    with contextlib.ExitStack() as stack:
        ports = []
        for name in ("one", "other"):
            (tmp_path / name).mkdir()
            own = place | {"SYNTHWEB_SECRET_KEY": secrets.token_urlsafe(48)}
            server = served.running(tmp_path / name, app="synthweb.wsgi", environment=own)
            ports.append(stack.enter_context(server))
        jar = stack.enter_context(httpx.Client(timeout=served.PATIENCE))
        for port in ports:
            address = f"http://127.0.0.1:{port}{LOGIN}"
            token = jar.get(address).text.partition('name="csrfmiddlewaretoken" value="')[2]
            given = {
                "csrfmiddlewaretoken": token.partition('"')[0],
                "username": steward.username,
                "password": PASSWORD,
            }
            assert jar.post(address, data=given).status_code == 302
        for port in (*ports, *ports):
            assert jar.get(f"http://127.0.0.1:{port}/account/tokens/").status_code == 200
