"""Signing in at an identity provider: a real one on this machine, whose users and claims the tests choose."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from typing import Any
from urllib.parse import urlsplit

import pyotp
import pytest
import requests
from django.core.exceptions import ImproperlyConfigured
from django.core.management import call_command
from django.http import HttpResponse
from django.test import Client
from django.utils import timezone
from pytest_django import Settings

from synthweb.accounts import identity_provider, second_factors, selectors, services
from synthweb.accounts.checks import check_sign_ins
from synthweb.accounts.models import AuthenticatorApp, Role, User
from synthweb.accounts.reauthentication import FIELD
from synthweb.accounts.session_store import PROVED
from synthweb.audit.models import AuditEntry
from synthweb.lib.env import refuse_plain_issuer
from tests.cast import PASSWORD, Cast
from tests.web.html import html_of

# The provider runs in this process, and is older than the library that it uses.
pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")
Browser = Callable[..., Client]
LOGIN, BEGIN = "/account/login/", "/account/login/provider/"
STEWARDS = {"preferred_username": "ada", "name": "Ada Test", "groups": ["stewards", "others"]}


SECRET = "JBSWY3DPEHPK3PXPJBSWY3DPEHPK3PXP"  # of no person
NOON = datetime(2027, 1, 31, 12, 0, tzinfo=UTC)


@pytest.fixture(autouse=True)
def _noon(monkeypatch: pytest.MonkeyPatch) -> None:
    """Codes do not change while a test runs."""
    monkeypatch.setattr(second_factors, "_now", lambda: NOON)


@pytest.fixture(scope="module")
def issuer() -> Iterator[str]:
    """The address of a provider that runs in a thread of its own."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        import oidc_provider_mock

        with oidc_provider_mock.run_server_in_thread() as server:
            yield f"http://localhost:{server.server_port}"


@pytest.fixture(autouse=True)
def provider(issuer: str, settings: Settings, cast: Cast) -> Iterator[str]:
    settings.OIDC_ISSUER = issuer
    settings.OIDC_CLIENT_ID = settings.OIDC_CLIENT_SECRET = "synthweb"
    settings.OIDC_ORGANISATION = cast.organisation.name
    settings.OIDC_ROLES = ["stewards=steward", "budget=custodian", "managers=staff"]
    settings.SITE_URL = "http://testserver"
    identity_provider.forget_configuration()
    yield issuer
    identity_provider.forget_configuration()


def know(issuer: str, subject: str, **claims: Any) -> None:
    """The provider knows a person."""
    requests.put(f"{issuer}/users/{subject}", json=claims, timeout=10).raise_for_status()


def visit(client: Client, subject: str, query: str = "") -> HttpResponse:
    """Go to the provider, sign in there as `subject`, and come back."""
    there = client.get(BEGIN + query)["Location"]
    back = requests.post(there, data={"sub": subject}, allow_redirects=False, timeout=10)
    parts = urlsplit(back.headers["Location"])
    assert parts.path == "/account/login/provider/return/"
    answer: HttpResponse = client.get(f"{parts.path}?{parts.query}")
    return answer


def reasons() -> list[str]:
    return [
        entry.detail["because"]
        for entry in AuditEntry.objects.filter(action="user.sign_in_failed")
    ]


def test_a_first_visit_makes_a_person_with_the_roles_of_the_claims(provider: str) -> None:
    know(provider, "1", **STEWARDS)
    client = Client()
    page = html_of(client.get(f"{LOGIN}?next=/datasets/"))
    assert "Sign in with localhost" in page and f"{BEGIN}?next=/datasets/" in page
    assert visit(client, "1", "?next=/datasets/")["Location"] == "/datasets/"
    assert client.get("/datasets/").status_code == 200
    user = User.objects.get(username="ada")
    assert user.identity == f"{provider}|1" and not user.has_usable_password()
    assert [membership.role for membership in user.memberships.all()] == [Role.STEWARD]
    assert not user.is_staff and not user.is_superuser
    entry = AuditEntry.objects.get(action="user.signed_in")
    assert entry.detail["second_factor"] == "identity provider"


def test_an_open_redirect_is_none(provider: str) -> None:
    know(provider, "2", **STEWARDS | {"preferred_username": "bob"})
    assert visit(Client(), "2", "?next=https://evil.example/")["Location"] == "/"


def test_roles_follow_the_claims_at_each_sign_in(provider: str) -> None:
    know(provider, "3", **STEWARDS | {"preferred_username": "cleo"})
    former = Client()
    visit(former, "3")
    know(provider, "3", preferred_username="cleo", groups=["budget", "managers"])
    assert visit(Client(), "3").status_code == 302
    user = User.objects.get(username="cleo")
    assert [membership.role for membership in user.memberships.all()] == [Role.CUSTODIAN]
    assert user.is_staff
    assert former.get("/account/").status_code == 302  # a lost role ends what was open
    know(provider, "3", preferred_username="cleo", groups=["others"])
    page = visit(Client(), "3")
    assert page.status_code == 403 and 'data-provider="failed"' in html_of(page)
    assert reasons() == ["no role in the claims"]


@pytest.mark.parametrize(
    ("claims", "because"),
    [
        ({"groups": ["stewards"]}, "no user name in the claims"),
        ({"preferred_username": "Steward", "groups": "stewards"}, "the user name is taken"),
        ({"preferred_username": "dora"}, "no role in the claims"),
    ],
)
def test_claims_that_do_not_suffice_sign_nobody_in(
    provider: str, claims: dict[str, Any], because: str
) -> None:
    know(provider, "4", **claims)
    client = Client()
    assert visit(client, "4").status_code == 403
    assert reasons() == [because]
    assert client.get("/account/").status_code == 302


def test_a_local_account_is_connected_by_a_command_alone(provider: str, cast: Cast) -> None:
    know(provider, "5", preferred_username="steward", groups=["stewards"])
    call_command("link_identity", "steward", "5")
    client = Client()
    assert visit(client, "5").status_code == 302
    assert "steward" in html_of(client.get("/account/"))


def test_who_is_shut_out_here_stays_out(provider: str) -> None:
    know(provider, "6", **STEWARDS | {"preferred_username": "emil"})
    visit(Client(), "6")
    User.objects.filter(username="emil").update(is_active=False)
    assert visit(Client(), "6").status_code == 403
    assert reasons() == ["account not in use"]


def test_a_return_that_nobody_began_signs_nobody_in() -> None:
    answer = Client().get("/account/login/provider/return/?code=1&state=2")
    assert answer.status_code == 403
    assert reasons() == ["no confirmation by the identity provider"]


def test_a_return_to_another_browser_signs_nobody_in(provider: str) -> None:
    know(provider, "7", **STEWARDS | {"preferred_username": "finn"})
    there = Client().get(BEGIN)["Location"]
    back = requests.post(there, data={"sub": "7"}, allow_redirects=False, timeout=10)
    parts = urlsplit(back.headers["Location"])
    assert Client().get(f"{parts.path}?{parts.query}").status_code == 403
    assert not User.objects.filter(username="finn").exists()


def test_a_refusal_of_the_provider_is_a_clear_page(provider: str) -> None:
    client = Client()
    there = client.get(BEGIN)["Location"]
    back = requests.post(there, data={"action": "deny"}, allow_redirects=False, timeout=10)
    parts = urlsplit(back.headers["Location"])
    assert client.get(f"{parts.path}?{parts.query}").status_code == 403


def test_a_provider_that_is_down_is_a_clear_page_and_the_local_account_works(
    settings: Settings, cast: Cast
) -> None:
    settings.OIDC_ISSUER = "http://localhost:9"  # the port of nobody
    settings.EMERGENCY_USER = "staff"
    app_of(cast.staff)
    identity_provider.forget_configuration()
    client = Client()
    page = client.get(BEGIN)
    assert page.status_code == 403 and "does not answer" in html_of(page)
    assert reasons() == ["identity provider unreachable"]
    answer = client.post(LOGIN, {"username": "staff", "password": PASSWORD})
    assert answer["Location"] == "/account/login/code/" and not in_use(client)
    client.post("/account/login/code/", {"code": pyotp.TOTP(SECRET).at(NOON)})
    assert in_use(client)
    entry = AuditEntry.objects.latest("sequence")
    assert (entry.action, entry.actor) == ("user.signed_in_in_emergency", "staff")
    assert entry.detail["second_factor"] == "app"


# --- passwords ----------------------------------------------------------------------------------------------
def app_of(user: User) -> None:
    """Somebody sets up an app that shows codes, a while ago."""
    made = second_factors.add_app(user=user, secret=SECRET, code=pyotp.TOTP(SECRET).at(NOON))
    assert made is not None
    AuthenticatorApp.objects.update(last_step=0)


def in_use(client: Client) -> bool:
    """Whether somebody is signed in."""
    return client.get("/account/").status_code == 200


OFF = "passwords are off: sign in at the identity provider"


@pytest.mark.parametrize(
    ("emergency", "strong"), [("", True), ("nobody", True), ("steward", True), ("staff", False)]
)
def test_no_password_signs_in_but_that_of_the_emergency_account(
    settings: Settings, cast: Cast, emergency: str, strong: bool
) -> None:
    """Whom the settings name, and only with a second factor."""
    settings.EMERGENCY_USER = emergency
    if strong:
        app_of(cast.staff)
    for name in ("staff", "custodian", "auditor"):
        answer = Client().post(LOGIN, {"username": name, "password": PASSWORD})
        assert answer.status_code == 200, name
        assert selectors.resettable(name) is None
    assert reasons() == [OFF] * 3


def test_without_a_provider_every_password_signs_in(settings: Settings, cast: Cast) -> None:
    settings.OIDC_ISSUER, settings.EMERGENCY_USER = "", "staff"
    client = Client()
    client.post(LOGIN, {"username": "custodian", "password": PASSWORD})
    assert in_use(client)
    assert AuditEntry.objects.latest("sequence").action == "user.signed_in"


def test_a_password_that_is_left_over_confirms_nothing(provider: str, cast: Cast) -> None:
    """Of somebody who had an account before there was a provider."""
    know(provider, "20", preferred_username="steward", groups=["stewards"])
    call_command("link_identity", "steward", "20")
    client = Client()
    visit(client, "20")
    session = client.session
    session[PROVED] = (timezone.now() - timedelta(minutes=16)).isoformat()
    session.save()
    token = {"name": "notebook", "scopes": ["read"], "days": 30}
    page = client.post("/account/tokens/", token)
    assert f"{BEGIN}?confirm=yes" in html_of(page) and f'name="{FIELD}"' not in html_of(page)
    assert client.post("/account/tokens/", token | {FIELD: PASSWORD}).status_code == 422
    assert not cast.steward.api_tokens.exists()


def said() -> dict[str, str]:
    """The warnings of `manage.py check --deploy` about people."""
    return {str(found.id): found.msg for found in check_sign_ins(None)}


def test_the_check_lists_who_is_refused(provider: str, settings: Settings, cast: Cast) -> None:
    know(provider, "21", **STEWARDS | {"preferred_username": "lena"})
    visit(Client(), "21")
    User.objects.filter(username="auditor").update(is_active=False)
    found = said()
    assert set(found) == {"synthweb.W004", "synthweb.W005"}
    names = set(re.findall(r"\w+", found["synthweb.W004"].partition(": ")[2]))
    assert {"steward", "custodian", "analyst", "staff"} <= names
    assert names.isdisjoint({"lena", "auditor"})
    settings.EMERGENCY_USER = "staff"
    assert set(said()) == {"synthweb.W004", "synthweb.W005"}
    app_of(cast.staff)
    found = said()
    assert set(found) == {"synthweb.W004"} and "staff" not in found["synthweb.W004"]
    settings.OIDC_ISSUER = ""
    assert said() == {}


# --- tokens -------------------------------------------------------------------------------------------------
def me(text: str) -> HttpResponse:
    answer: HttpResponse = Client().get(
        "/api/v1/me/", headers={"Authorization": f"Bearer {text}"}
    )
    return answer


def ended() -> int:
    return AuditEntry.objects.filter(action="token.ended").count()


def seen(user: User, days: float) -> datetime:
    """Their last sign-in was so many days ago."""
    last = timezone.now() - timedelta(days=days)
    User.objects.filter(pk=user.pk).update(last_login=last)
    return last


def test_tokens_of_who_is_removed_at_the_provider_end_without_anybodys_doing(
    provider: str,
) -> None:
    know(provider, "22", **STEWARDS | {"preferred_username": "mona"})
    client = Client()
    visit(client, "22")
    user = User.objects.get(username="mona")
    _, text = services.create_token(user=user, name="year", scopes=["read"], days=365)
    assert 'data-unseen-days="7"' in html_of(client.get("/account/tokens/"))
    last = seen(user, 6.9)
    answer = me(text)
    assert answer.status_code == 200
    assert datetime.fromisoformat(answer.json()["token_ends_at"]) == last + timedelta(days=7)
    assert 'data-token="ended"' not in html_of(client.get("/account/tokens/"))
    seen(user, 7.1)
    for _ in range(3):
        assert me(text).status_code == 401
    assert ended() == 1
    entry = AuditEntry.objects.get(action="token.ended")
    assert entry.detail == {"of": "mona", "because": "no sign-in for 7 days"}
    assert 'data-token="ended"' in html_of(client.get("/account/tokens/"))
    # The provider knows them still: the next sign-in there is enough.
    visit(Client(), "22")
    assert me(text).status_code == 200 and ended() == 1
    # A later end is recorded anew.
    seen(user, 7.1)
    user.api_tokens.update(end_recorded_at=timezone.now() - timedelta(days=30))
    assert me(text).status_code == 401 and ended() == 2


def test_a_tokens_own_day_is_not_put_off(provider: str) -> None:
    know(provider, "23", **STEWARDS | {"preferred_username": "nele"})
    visit(Client(), "23")
    user = User.objects.get(username="nele")
    token, text = services.create_token(user=user, name="short", scopes=["read"], days=1)
    assert token.expires_at is not None
    assert datetime.fromisoformat(me(text).json()["token_ends_at"]) == token.expires_at
    user.api_tokens.update(expires_at=timezone.now())
    assert me(text).status_code == 401 and ended() == 0


def test_tokens_of_local_accounts_end_too_where_no_password_works(
    settings: Settings, cast: Cast
) -> None:
    """Nobody at the provider can be removed who is not there, so their tokens would outlive them."""
    _, text = services.create_token(user=cast.analyst, name="old", scopes=["read"], days=365)
    seen(cast.analyst, 8)
    assert me(text).status_code == 401
    settings.OIDC_ISSUER = ""
    assert me(text).status_code == 200


def test_an_identity_without_a_provider_ends_tokens_as_well(
    settings: Settings, cast: Cast
) -> None:
    """While the operator has switched it off."""
    call_command("link_identity", "analyst", "24")
    _, text = services.create_token(user=cast.analyst, name="old", scopes=["read"], days=365)
    settings.OIDC_ISSUER = ""
    seen(cast.analyst, 8)
    assert me(text).status_code == 401


def test_no_second_factor_is_asked_of_who_signed_in_there(
    provider: str, settings: Settings
) -> None:
    settings.SECOND_FACTOR_ROLES = ["steward"]
    know(provider, "8", **STEWARDS | {"preferred_username": "gina"})
    client = Client()
    visit(client, "8")
    assert client.get("/datasets/").status_code == 200


def test_confirming_happens_at_the_provider(provider: str) -> None:
    now = timezone.now()
    claims = STEWARDS | {"preferred_username": "hugo"}
    know(provider, "9", **claims)
    client = Client()
    visit(client, "9")
    session = client.session
    session[PROVED] = (now - timedelta(minutes=16)).isoformat()
    session.save()
    token = {"name": "notebook", "scopes": ["read"], "days": 30}
    page = html_of(client.post("/account/tokens/", token))
    assert f"{BEGIN}?confirm=yes" in page and f'name="{FIELD}"' not in page
    # A provider that does not ask anew confirms nothing.
    know(provider, "9", **claims, auth_time=int(now.timestamp()) - 3600)
    assert visit(client, "9", "?confirm=yes").status_code == 403
    know(provider, "9", **claims)
    assert 'data-provider="confirmed"' in html_of(visit(client, "9", "?confirm=yes"))
    client.post("/account/tokens/", token)
    assert User.objects.get(username="hugo").api_tokens.count() == 1


def test_somebody_else_at_the_provider_confirms_nothing(provider: str) -> None:
    for subject, name in (("10", "ida"), ("11", "jan")):
        know(provider, subject, **STEWARDS | {"preferred_username": name})
    client = Client()
    visit(client, "10")
    assert visit(client, "11", "?confirm=yes").status_code == 403
    assert "ida" in html_of(client.get("/account/"))


def test_without_a_provider_there_is_no_address(settings: Settings) -> None:
    settings.OIDC_ISSUER = ""
    assert Client().get(BEGIN).status_code == 404
    assert Client().get(BEGIN + "return/").status_code == 404
    assert BEGIN not in html_of(Client().get(LOGIN))


@pytest.mark.parametrize(
    ("issuer_named", "fine"),
    [
        ("", True),
        ("https://id.example.org", True),
        ("http://localhost:8080", True),
        ("http://id.example.org", False),
        ("id.example.org", False),
    ],
)
def test_a_provider_is_asked_by_https(issuer_named: str, fine: bool) -> None:
    if fine:
        refuse_plain_issuer(issuer_named)
        return
    with pytest.raises(ImproperlyConfigured, match="https"):
        refuse_plain_issuer(issuer_named)
