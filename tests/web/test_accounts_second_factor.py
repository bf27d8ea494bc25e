"""A second factor: set up, asked for at each sign-in, worth nothing twice, and required of roles."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from datetime import UTC, datetime, timedelta

import pyotp
import pytest
from django.contrib.auth import SESSION_KEY
from django.core.management import CommandError, call_command
from django.test import Client
from django.utils import timezone
from pytest_django import Settings

from synthweb.accounts import (
    pending_sign_in,
    reauthentication,
    second_factors,
    services,
    tokens,
)
from synthweb.accounts.models import AuthenticatorApp, Organisation, RecoveryCode, User
from synthweb.accounts.session_store import PROVED
from synthweb.audit.models import AuditEntry
from synthweb.lib import codes
from synthweb.notifications import wording
from synthweb.notifications.models import Event, Notification
from tests.cast import PASSWORD, Cast
from tests.web.html import html_of
from tests.web.rest import Caller

Browser = Callable[..., Client]
LOGIN, CODE, ADD = "/account/login/", "/account/login/code/", "/account/second-factor/app/"
SECRET = "JBSWY3DPEHPK3PXPJBSWY3DPEHPK3PXP"  # of no person
NOON = datetime(2027, 1, 31, 12, 0, tzinfo=UTC)


@pytest.fixture(autouse=True)
def _noon(monkeypatch: pytest.MonkeyPatch) -> None:
    """Codes do not change while a test runs."""
    monkeypatch.setattr(second_factors, "_now", lambda: NOON)


@pytest.fixture
def recovery(cast: Cast) -> list[str]:
    """The steward has an app; their recovery codes."""
    made = second_factors.add_app(
        user=cast.steward, secret=SECRET, code=pyotp.TOTP(SECRET).at(NOON)
    )
    assert made is not None
    # As if set up a while ago: the code of the present step was not used yet.
    AuthenticatorApp.objects.update(last_step=0)
    return made


def password_given(**extra: str) -> Client:
    client = Client()
    answer = client.post(LOGIN, {"username": "steward", "password": PASSWORD, **extra})
    assert answer["Location"] == CODE
    assert SESSION_KEY not in client.session
    return client


def signed_in(client: Client) -> bool:
    return client.get("/account/").status_code == 200


# --- codes --------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("seconds", "code"), [(59, "287082"), (1111111109, "081804"), (2000000000, "279037")]
)
def test_codes_are_those_of_the_standard(
    monkeypatch: pytest.MonkeyPatch, seconds: int, code: str
) -> None:
    """RFC 6238, appendix B, SHA-1: the last six digits of the eight that it lists."""
    monkeypatch.setattr(second_factors, "_now", lambda: datetime.fromtimestamp(seconds, UTC))
    secret = "GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ"  # "12345678901234567890" in base 32
    assert second_factors.step_of(secret, code) == seconds // 30


@pytest.mark.parametrize(
    ("seconds", "fits"), [(-61, False), (-30, True), (30, True), (61, False)]
)
def test_a_clock_may_be_half_a_minute_off(seconds: int, fits: bool) -> None:
    code = pyotp.TOTP(SECRET).at(NOON + timedelta(seconds=seconds))
    assert (second_factors.step_of(SECRET, code) is not None) == fits


def test_the_database_shows_no_code(cast: Cast, recovery: list[str]) -> None:
    assert SECRET not in AuthenticatorApp.objects.get().secret
    assert second_factors.opened(AuthenticatorApp.objects.get().secret) == SECRET
    digests = set(RecoveryCode.objects.values_list("digest", flat=True))
    assert len(digests) == len(set(recovery)) == 10 and not digests & set(recovery)


def test_a_recovery_code_has_112_bits_and_is_typed_in_groups(recovery: list[str]) -> None:
    for code in recovery:
        assert [len(group) for group in code.split("-")] == [second_factors.GROUP] * 4
        letters = code.replace("-", "")
        assert set(letters) <= set(codes.ALPHABET)
        assert len(letters) * math.log2(len(codes.ALPHABET)) >= 112


def test_a_shorter_code_that_was_made_earlier_still_works(cast: Cast) -> None:
    digest = second_factors._digest(cast.analyst, "abcde-fghjk")
    RecoveryCode.objects.create(user=cast.analyst, digest=digest)
    assert second_factors.check(cast.analyst, "ABCDE fghjk") == second_factors.RECOVERY
    assert second_factors.check(cast.analyst, "abcde-fghjk") == ""


def test_a_secret_of_the_web_that_was_changed_leaves_the_recovery_codes_of_nobody(
    cast: Cast, recovery: list[str], settings: Settings
) -> None:
    settings.SECRET_KEY = "y" * 60
    assert second_factors.check(cast.steward, pyotp.TOTP(SECRET).at(NOON)) == ""


# --- setting it up ------------------------------------------------------------------------------------------
def test_an_app_is_set_up_on_the_page(cast: Cast, browser: Browser) -> None:
    client = browser(cast.steward)
    page = html_of(client.get(ADD))
    shown = re.search(r'id="app-key">([A-Z2-7 ]+)<', page)
    assert shown is not None and "data:image/svg+xml" in page
    secret = shown[1].replace(" ", "")
    assert shown[1] in html_of(client.post(ADD, {"code": "000000x"}))  # the same key again
    assert not AuthenticatorApp.objects.exists()
    page = html_of(client.post(ADD, {"code": pyotp.TOTP(secret).at(NOON)}))
    assert len(re.findall(r"data-code>\w{6}(?:-\w{6}){3}<", page)) == 10
    assert 'data-second-factor="on"' in html_of(client.get("/account/second-factor/"))
    assert AuditEntry.objects.filter(action="user.second_factor_added").count() == 1
    notification = Notification.objects.get(event=Event.ACCOUNT_CHANGED)
    assert wording.sentence(notification) == (
        "How you sign in was changed: a second factor was set up."
    )


# --- signing in ---------------------------------------------------------------------------------------------
def test_a_sign_in_needs_password_and_code(cast: Cast, recovery: list[str]) -> None:
    client = password_given(next="/account/tokens/")
    assert not signed_in(client)
    assert client.get("/api/v1/datasets/").status_code == 401
    assert client.post(CODE, {"code": "000000x"}).status_code == 200
    answer = client.post(CODE, {"code": pyotp.TOTP(SECRET).at(NOON)})
    assert answer["Location"] == "/account/tokens/" and signed_in(client)
    entries = AuditEntry.objects.order_by("sequence")
    assert entries.get(action="user.sign_in_failed").detail["because"] == "wrong code"
    assert entries.get(action="user.signed_in").detail["second_factor"] == "app"


def test_a_code_works_once(cast: Cast, recovery: list[str]) -> None:
    code = pyotp.TOTP(SECRET).at(NOON)
    first, second = password_given(), password_given()
    first.post(CODE, {"code": code})
    second.post(CODE, {"code": code})
    assert signed_in(first) and not signed_in(second)


def test_a_recovery_code_works_once_however_it_is_typed(
    cast: Cast, recovery: list[str]
) -> None:
    first, second = password_given(), password_given()
    first.post(CODE, {"code": recovery[3].upper().replace("-", " ")})
    second.post(CODE, {"code": recovery[3]})
    assert signed_in(first) and not signed_in(second)
    assert second_factors.codes_left(cast.steward) == 9


def test_codes_of_somebody_else_do_not_fit(cast: Cast, recovery: list[str]) -> None:
    made = second_factors.make_codes(user=cast.analyst)
    client = password_given()
    client.post(CODE, {"code": made[0]})
    assert not signed_in(client)


def test_guessing_codes_pauses_even_with_the_right_password_in_between(
    cast: Cast, recovery: list[str]
) -> None:
    for _ in range(10):
        password_given().post(CODE, {"code": "000000x"})
    client = password_given()
    client.post(CODE, {"code": recovery[0]})
    assert not signed_in(client)
    assert AuditEntry.objects.filter(action="user.sign_in_paused").count() == 1


@pytest.mark.parametrize("ended", ["late", "password", "deactivated"])
def test_a_password_that_waits_for_its_code_does_not_wait_for_ever(
    cast: Cast, recovery: list[str], ended: str
) -> None:
    client = password_given()
    if ended == "late":
        session = client.session
        session[pending_sign_in.KEY]["at"] = (timezone.now() - timedelta(minutes=6)).isoformat()
        session.save()
    elif ended == "password":
        services.change_password(user=cast.steward, password="another long pass phrase")
    else:
        services.set_active(
            actor=cast.staff, person=cast.steward, organisation=cast.organisation, active=False
        )
    assert client.post(CODE, {"code": recovery[0]})["Location"] == LOGIN
    assert not signed_in(client)


# --- taking it away -----------------------------------------------------------------------------------------
def test_whoever_manages_people_takes_away_a_lost_one_and_access_ends(
    cast: Cast, recovery: list[str], browser: Browser
) -> None:
    _token, text = services.create_token(
        user=cast.steward, name="notebook", scopes=["read"], days=30
    )
    theirs = browser(cast.steward)
    address = f"/account/people/{cast.steward.pk}/second-factor/remove/"
    assert browser(cast.analyst).post(address).status_code == 403
    assert browser(cast.staff).post(address).status_code == 302
    assert not signed_in(theirs) and tokens.authenticate(text) is None
    assert not AuthenticatorApp.objects.exists() and not RecoveryCode.objects.exists()
    entry = AuditEntry.objects.get(action="user.second_factor_removed")
    assert (entry.actor, entry.detail) == ("staff", {"username": "steward"})
    answer = Client().post(LOGIN, {"username": "steward", "password": PASSWORD})
    assert answer["Location"] != CODE


def test_nobody_takes_away_their_own_on_the_page_of_people(
    cast: Cast, browser: Browser
) -> None:
    address = f"/account/people/{cast.staff.pk}/second-factor/remove/"
    assert browser(cast.staff).post(address).status_code == 403


# --- required of roles --------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("roles", "name", "led"),
    [
        ([], "custodian", False),
        (["custodian"], "custodian", True),
        (["custodian"], "steward", False),
        (["staff"], "staff", True),
        (["staff"], "auditor", False),
    ],
)
def test_roles_are_led_to_set_one_up(
    cast: Cast, browser: Browser, settings: Settings, roles: list[str], name: str, led: bool
) -> None:
    settings.SECOND_FACTOR_ROLES = roles
    client = browser(cast.by_name()[name])
    for address in ("/", "/ledger/", "/api/v1/accounts/"):
        answer = client.get(address)
        assert (answer.get("Location") == ADD) == led, address
    assert client.get(ADD).status_code == 200
    assert client.post("/account/logout/").status_code == 302


def test_who_has_one_goes_on_and_demo_users_never_need_one(
    cast: Cast, browser: Browser, settings: Settings, recovery: list[str]
) -> None:
    settings.SECOND_FACTOR_ROLES = ["steward", "custodian"]
    assert browser(cast.steward).get("/datasets/").status_code == 200
    User.objects.filter(pk=cast.custodian.pk).update(is_demo=True)
    cast.custodian.refresh_from_db()
    assert browser(cast.custodian).get("/datasets/").status_code == 200


def test_an_organisation_requires_one_of_everybody(
    cast: Cast, browser: Browser, settings: Settings, capsys: pytest.CaptureFixture[str]
) -> None:
    settings.SECOND_FACTOR_ROLES = []
    analyst, stranger = browser(cast.analyst), browser(cast.stranger)
    assert analyst.get("/releases/").status_code == 200
    call_command("second_factor", cast.organisation.name, "--required")
    said = capsys.readouterr().out
    assert "everybody needs a second factor" in said
    assert "analyst" in said
    # Sessions of before are led there as well; another organisation is not.
    assert analyst.get("/releases/")["Location"] == ADD
    assert analyst.get(ADD).status_code == 200
    assert stranger.get("/releases/").status_code == 200
    entry = AuditEntry.objects.get(action="organisation.second_factor_set")
    assert entry.detail == {"required": True}
    call_command("second_factor", cast.organisation.code, "--by-role")
    assert analyst.get("/releases/").status_code == 200
    with pytest.raises(CommandError, match="no such organisation"):
        call_command("second_factor", "Nowhere")


def test_a_person_who_has_one_works_on_where_it_is_required(
    cast: Cast, browser: Browser, settings: Settings, recovery: list[str]
) -> None:
    settings.SECOND_FACTOR_ROLES = []
    call_command("second_factor", cast.organisation.name, "--required")
    assert browser(cast.steward).get("/datasets/").status_code == 200


def test_whoever_manages_people_requires_one_of_everybody_on_the_page(
    cast: Cast, browser: Browser, settings: Settings, recovery: list[str]
) -> None:
    settings.SECOND_FACTOR_ROLES = []
    address = "/account/people/second-factor/"
    assert browser(cast.auditor).post(address, {"required": "yes"}).status_code == 403
    client = browser(cast.staff)
    page = html_of(client.get("/account/people/"))
    assert 'data-second-factor-of-all="off"' in page
    assert "Without one: analyst, auditor, custodian, staff." in page  # the steward has one
    session = client.session
    session[PROVED] = (timezone.now() - timedelta(days=1)).isoformat()
    session.save()
    asked = client.post(address, {"required": "yes"})
    assert "confirm-password" in html_of(asked)
    assert not Organisation.objects.get(pk=cast.organisation.pk).second_factor_required
    said = {"required": "yes", reauthentication.FIELD: PASSWORD}
    assert client.post(address, said).status_code == 302
    assert browser(cast.analyst).get("/releases/")["Location"] == ADD
    assert client.get("/account/people/")["Location"] == ADD  # of themselves as well
    entry = AuditEntry.objects.get(action="organisation.second_factor_set")
    assert (entry.actor, entry.detail) == ("staff", {"required": True})


def test_a_program_of_whoever_manages_people_requires_one_of_everybody(
    cast: Cast, settings: Settings
) -> None:
    settings.SECOND_FACTOR_ROLES = []
    address = "/people/second-factor/"
    calls = Caller(cast.staff, "read", "people")
    before = calls.get(address).json()
    assert before["required"] is False
    assert "analyst" in before["without"]
    assert "stranger" not in before["without"]
    for _ in range(2):  # twice is no error, and one entry
        answer = calls.send(address, {"required": True}, method="put")
        assert answer.json()["required"] is True
    assert AuditEntry.objects.filter(action="organisation.second_factor_set").count() == 1
    assert calls.send(address, {"required": "perhaps"}, method="put").status_code == 400
    assert Caller(cast.auditor, "people").send(address, {}, method="put").status_code == 403
