"""What ends somebody's access ends all of it: sessions and API tokens, for good, and the audit log says
why."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from django.core.management import call_command
from django.test import Client

from synthweb.accounts import demo, services, tokens
from synthweb.accounts.models import ApiToken, Role, User
from synthweb.audit.models import AuditEntry
from tests.cast import PASSWORD, Cast
from tests.web.html import html_of

Browser = Callable[..., Client]
NEW = "another long pass phrase"


@pytest.fixture
def text(cast: Cast) -> str:
    """A token of the steward's."""
    return services.create_token(user=cast.steward, name="notebook", scopes=["read"], days=30)[
        1
    ]


def change(client: Client, *, old: str = PASSWORD, new: str = NEW) -> str:
    answer = client.post(
        "/account/password/",
        {"old_password": old, "new_password1": new, "new_password2": new},
        follow=True,
    )
    return str(html_of(answer))


def reasons() -> list[str]:
    return [
        entry.detail.get("because", "")
        for entry in AuditEntry.objects.filter(action="token.revoked")
    ]


def test_a_new_password_revokes_the_tokens_and_says_so_before_and_after(
    cast: Cast, browser: Browser, text: str
) -> None:
    services.create_token(user=cast.steward, name="script", scopes=["read"], days=30)
    client, other = browser(cast.steward), browser(cast.steward)
    assert "revokes your 2 API tokens" in html_of(client.get("/account/password/"))
    assert "2 API tokens no longer open anything." in change(client)
    assert tokens.authenticate(text) is None
    assert client.get("/account/").status_code == 200
    assert other.get("/account/").status_code == 302
    assert reasons() == ["a new password"] * 2
    assert "revoked</span>" in html_of(client.get("/account/tokens/"))


def test_a_password_that_was_not_changed_revokes_nothing(
    cast: Cast, browser: Browser, text: str
) -> None:
    change(browser(cast.steward), old="not the old one")
    change(browser(cast.steward), new="short")
    assert (
        browser()
        .post("/account/login/", {"username": "steward", "password": PASSWORD})
        .status_code
        == 302
    )
    assert tokens.authenticate(text) is not None


def test_nobody_elses_tokens_are_touched(cast: Cast, browser: Browser, text: str) -> None:
    change(browser(cast.analyst))
    assert tokens.authenticate(text) is not None


def test_a_one_time_password_revokes_the_tokens(cast: Cast, text: str) -> None:
    services.give_one_time_password(
        actor=cast.staff, person=cast.steward, organisation=cast.organisation
    )
    assert tokens.authenticate(text) is None


def test_a_password_set_at_the_command_line_revokes_the_tokens(
    cast: Cast, text: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("getpass.getpass", lambda *_args, **_options: NEW)
    call_command("changepassword", "steward")
    assert User.objects.get(username="steward").check_password(NEW)
    assert tokens.authenticate(text) is None


def test_whoever_is_kept_out_and_let_in_again_signs_in_again(
    cast: Cast, browser: Browser, text: str
) -> None:
    client = browser(cast.steward)
    for active in (False, True):
        services.set_active(
            actor=cast.staff, person=cast.steward, organisation=cast.organisation, active=active
        )
    assert client.get("/account/").status_code == 302, "an old session came back to life"
    assert tokens.authenticate(text) is None, "an old token came back to life"
    assert reasons() == ["deactivated"]
    assert browser(User.objects.get(pk=cast.steward.pk)).get("/account/").status_code == 200


def test_losing_a_role_ends_sessions_and_tokens_and_gaining_one_does_not(
    cast: Cast, browser: Browser, text: str
) -> None:
    client = browser(cast.steward)

    def roles(*wanted: Role) -> None:
        services.set_roles(
            actor=cast.staff, person=cast.steward, organisation=cast.organisation, roles=wanted
        )

    roles(Role.STEWARD, Role.CUSTODIAN)
    assert client.get("/account/").status_code == 200
    assert tokens.authenticate(text) is not None
    roles(Role.STEWARD)
    assert client.get("/account/").status_code == 302
    assert tokens.authenticate(text) is None
    assert reasons() == ["lost the role custodian"]


def test_switching_demo_users_off_revokes_their_tokens(db: None) -> None:
    demo.make()
    user = User.objects.get(username="demo-analyst")
    _, text = services.create_token(user=user, name="x", scopes=["read"], days=1)
    demo.set_active(active=False)
    demo.set_active(active=True)
    assert tokens.authenticate(text) is None


def test_a_token_that_was_revoked_before_is_not_revoked_again(
    cast: Cast, browser: Browser, text: str
) -> None:
    token = ApiToken.objects.get()
    services.revoke_token(user=cast.steward, token=token)
    before = ApiToken.objects.get().revoked_at
    assert (
        "API token"
        not in change(browser(cast.steward)).split("Other places")[1].split("</div>")[0]
    )
    assert ApiToken.objects.get().revoked_at == before
