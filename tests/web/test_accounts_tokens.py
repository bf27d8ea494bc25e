"""API tokens: shown once, kept as a digest, scoped, revocable, and worth nothing when their owner is."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import timedelta

import pytest
from django.core.exceptions import ValidationError
from django.test import Client
from django.utils import timezone
from pytest_django import Settings

from synthweb.accounts import services, tokens
from synthweb.accounts.models import ApiToken
from synthweb.audit.models import AuditEntry
from tests.cast import Cast
from tests.web.html import html_of

Browser = Callable[..., Client]
TOKENS = "/account/tokens/"


def _made(cast: Cast) -> tuple[ApiToken, str]:
    return services.create_token(user=cast.analyst, name="notebook", scopes=["read"], days=30)


def test_a_token_is_shown_once_and_kept_as_a_digest(cast: Cast, browser: Browser) -> None:
    client = browser(cast.analyst)
    answer = client.post(TOKENS, {"name": "notebook", "scopes": ["read"], "days": "30"})
    found = re.search(r'id="new-token">([^<]+)<', html_of(answer))
    assert found is not None
    token = ApiToken.objects.get()
    assert token.digest == tokens.digest(found[1])
    assert found[1] not in html_of(client.get(TOKENS))
    assert found[1] not in str(list(AuditEntry.objects.values()))
    assert "no-store" in answer["Cache-Control"]


def test_a_token_has_32_random_bytes_behind_a_prefix(db: None) -> None:
    drawn = {tokens.mint()[0] for _ in range(100)}
    assert len(drawn) == 100
    assert all(re.fullmatch(r"synthweb_[\w-]{43}", token) for token in drawn)


def test_a_token_opens_what_its_owner_may_do(cast: Cast) -> None:
    token, text = _made(cast)
    found = tokens.authenticate(text)
    assert found == token
    assert found.user == cast.analyst
    assert found.scopes == ["read"]


def test_anything_else_opens_nothing(cast: Cast) -> None:
    _, text = _made(cast)
    for wrong in (
        "",
        "synthweb_",
        text[:-1],
        text + "x",
        text.removeprefix("synthweb_"),
        text.upper(),
    ):
        assert tokens.authenticate(wrong) is None, wrong


def test_a_revoked_token_opens_nothing_and_the_second_time_is_no_error(
    cast: Cast, browser: Browser
) -> None:
    token, text = _made(cast)
    client = browser(cast.analyst)
    for _ in range(2):
        assert client.post(f"{TOKENS}{token.code}/revoke/").status_code == 302
    assert tokens.authenticate(text) is None
    assert AuditEntry.objects.filter(action="token.revoked").count() == 1


def test_an_expired_token_opens_nothing(cast: Cast) -> None:
    token, text = _made(cast)
    ApiToken.objects.filter(pk=token.pk).update(
        expires_at=timezone.now() - timedelta(seconds=1)
    )
    assert tokens.authenticate(text) is None


def test_a_token_of_somebody_kept_out_opens_nothing(cast: Cast) -> None:
    _, text = _made(cast)
    services.set_active(
        actor=cast.staff, person=cast.analyst, organisation=cast.organisation, active=False
    )
    assert tokens.authenticate(text) is None


def test_a_token_of_a_demo_user_opens_nothing_when_they_are_switched_off(
    cast: Cast, settings: Settings
) -> None:
    _, text = _made(cast)
    cast.analyst.is_demo = True
    cast.analyst.save()
    assert tokens.authenticate(text) is not None
    settings.DEMO_USERS = False
    assert tokens.authenticate(text) is None


def test_nobody_sees_or_revokes_somebody_elses_token(cast: Cast, browser: Browser) -> None:
    token, text = _made(cast)
    for person in (cast.steward, cast.staff, cast.stranger):
        client = browser(person)
        assert "notebook</td>" not in html_of(client.get(TOKENS))
        assert client.post(f"{TOKENS}{token.code}/revoke/").status_code == 404
    assert tokens.authenticate(text) is not None


def test_last_use_is_remembered_but_not_at_every_call(cast: Cast) -> None:
    token, text = _made(cast)
    tokens.authenticate(text)
    token.refresh_from_db()
    first = token.last_used_at
    assert first is not None
    tokens.authenticate(text)
    token.refresh_from_db()
    assert token.last_used_at == first


@pytest.mark.parametrize("scopes", [[], ["everything"], ["read", "everything"]])
def test_a_token_needs_scopes_that_exist(cast: Cast, scopes: list[str]) -> None:
    with pytest.raises(ValidationError):
        services.create_token(user=cast.analyst, name="x", scopes=scopes, days=30)
    assert not ApiToken.objects.exists()
