"""Counters that slow down strangers: none can be used by a stranger to keep the rightful person out.

Every counter of the web is in the table below, by the call that raises it; another one fails the first test
until it is in the table and in the walk."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pyotp
import pytest
from django.http import HttpRequest
from django.test import Client, RequestFactory
from django.utils import timezone
from pytest_django import Settings

import synthweb
from synthweb.accounts import second_factors, services, throttle
from synthweb.accounts.models import AuthenticatorApp, SignInAttempt, SignInPlace
from synthweb.accounts.reauthentication import FIELD
from synthweb.accounts.session_store import PROVED
from synthweb.api import throttling
from synthweb.audit.models import AuditEntry
from synthweb.lib.rates import PerMinute
from synthweb.notifications.models import Event, Notification
from tests.cast import PASSWORD, Cast
from tests.web.tus import VERSION, metadata

LOGIN, CODE, RESET = "/account/login/", "/account/login/code/", "/account/reset/"
TOKENS = "/account/tokens/"
OFFICE, ELSEWHERE = "198.51.100.7", [f"203.0.113.{number}" for number in range(1, 6)]
HERE, IN_ALL = 3, 6  # the limits of these tests
SECRET = "JBSWY3DPEHPK3PXPJBSWY3DPEHPK3PXP"  # of no person
NOON = datetime(2027, 1, 31, 12, 0, tzinfo=UTC)

RAISED_BY_THE_PERSON_ALONE = "the subject is a person who is signed in, or their token"
PUBLIC = "tests/web/test_public_links.py::test_visitors_are_counted_each_for_themselves"
COUNTERS = {
    # whose subject a stranger names: walked below
    "throttle.begin(request, kind=throttle.Counted.PASSWORD, name=username)": "sign-in",
    "throttle.begin(request, kind=throttle.Counted.SECOND_FACTOR, name=user.get_username())": (
        "second factor"
    ),
    "throttle.begin(request, kind=throttle.Counted.CONFIRMATION, name=user.get_username())": (
        "confirmation"
    ),
    (
        "throttle.begin(request, kind=throttle.Counted.RESET_MAIL, name=person.get_username() if person "
        "else name)"
    ): ("reset mail"),
    "rates.within(kind, f'{link.code} {line_of(request)}')": PUBLIC,
    # of an address, and asked only of who shows nothing that opens anything
    "rates.within('stranger', line_of(request))": "rest",
    # of a person or token: also walked
    "rates.within(kind, subject)": "rest",
    "Slot(slots or sample.requested_by_id)": PUBLIC,  # visitors hold up visitors alone
    "Slot(user.pk)": RAISED_BY_THE_PERSON_ALONE,
    "Slot(person)": RAISED_BY_THE_PERSON_ALONE,
    "Slot(request.user.pk)": RAISED_BY_THE_PERSON_ALONE,
    "Slot(caller(request).pk)": RAISED_BY_THE_PERSON_ALONE,
    "PreviewSlot(caller(request).pk)": RAISED_BY_THE_PERSON_ALONE,
    "PreviewSlot(request.user.pk or 0)": RAISED_BY_THE_PERSON_ALONE,
    "len(waiting) >= settings.UPLOADS_UNFINISHED": "upload",
}
WALKED = {
    "sign-in",
    "sign-in of a colleague",
    "second factor",
    "confirmation",
    "reset mail",
    "rest",
    "upload",
}


def test_every_counter_is_in_the_table() -> None:
    found = set()
    for path in Path(synthweb.__file__).parent.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            text = ast.unparse(node) if isinstance(node, ast.Call | ast.Compare) else ""
            if re.match(r"(throttle\.begin|\w*rates\.within|Slot|PreviewSlot)\(", text) or (
                isinstance(node, ast.Compare) and "UPLOADS_UNFINISHED" in text
            ):
                found.add(text)
    assert found == set(COUNTERS)
    assert set(COUNTERS.values()) <= WALKED | {PUBLIC, RAISED_BY_THE_PERSON_ALONE}


@pytest.fixture(autouse=True)
def _few(monkeypatch: pytest.MonkeyPatch, settings: Settings) -> None:
    """Small limits, counted in a cache of this test, in one window."""
    monkeypatch.setattr(throttle, "MAX_ATTEMPTS_HERE", HERE)
    monkeypatch.setattr(throttle, "MAX_ATTEMPTS_BY_NAME", IN_ALL)
    monkeypatch.setattr(throttle, "MAX_ATTEMPTS_BY_ADDRESS", IN_ALL)
    monkeypatch.setattr(second_factors, "_now", lambda: NOON)
    monkeypatch.setattr("synthweb.lib.rates.time.time", lambda: 1_000_000.0)
    settings.CACHES = {
        name: {
            "BACKEND": "django.core.cache.backends.locmem.LocMemCache",
            "LOCATION": f"counters-{name}",
        }
        for name in ("default", "process")
    }
    monkeypatch.setattr(throttling, "rates", PerMinute(prefix="counters"))
    settings.REST_PER_MINUTE = {
        "token": 4, "user": 4, "write": 4, "file": 4, "stranger": 2
    }  # fmt: skip
    settings.PROXIES = 1
    settings.EMAIL_HOST = "localhost"


def at(address: str) -> Client:
    """A browser at an address."""
    return Client(headers={"X-Forwarded-For": address})


def sign_in(client: Client, name: str, password: str = PASSWORD) -> int:
    return client.post(LOGIN, {"username": name, "password": password}).status_code


def signed_in(client: Client) -> bool:
    return client.get("/account/").status_code == 200


def storm() -> None:
    """All that strangers do to the steward from elsewhere, and to others from the address of the office."""
    for address in ELSEWHERE:
        client = at(address)
        for _ in range(HERE + 1):
            sign_in(client, "steward", "wrong")
            client.get("/api/v1/me/", headers={"Authorization": "Bearer synthweb_guess"})
        for counter in ("second factor of", "confirmation of", "reset", "password of"):
            for _ in range(HERE):
                sign_in(client, f"{counter} steward", "wrong")
        for name in ("steward", "steward", "steward@office.example", "STEWARD@office.example"):
            client.post(RESET, {"name": name})
    office = at(OFFICE)
    for number in range(2 * IN_ALL):
        sign_in(office, f"guess-{number}", "wrong")
        office.post(RESET, {"name": f"guess-{number}"})
        office.get(f"/public/guess-{number}/")
        office.get("/api/v1/me/", headers={"Authorization": "Bearer synthweb_guess"})


def test_strangers_keep_nobody_out_who_signed_in_there_lately(cast: Cast) -> None:
    cast.steward.email = "steward@office.example"
    cast.steward.save()
    assert second_factors.add_app(
        user=cast.steward, secret=SECRET, code=pyotp.TOTP(SECRET).at(NOON)
    )
    AuthenticatorApp.objects.update(last_step=0)  # set up a while ago
    _, token = services.create_token(
        user=cast.steward, name="mine", scopes=["read", "spend"], days=1
    )
    before, colleague = at(OFFICE), at(OFFICE)
    sign_in(before, "steward")
    before.post(CODE, {"code": pyotp.TOTP(SECRET).at(NOON)})
    sign_in(colleague, "custodian")
    assert signed_in(before) and signed_in(colleague)
    AuthenticatorApp.objects.update(last_step=0)

    storm()

    walked: dict[str, bool] = {}
    now = at(OFFICE)
    walked["sign-in"] = sign_in(now, "steward") == 302
    now.post(CODE, {"code": pyotp.TOTP(SECRET).at(NOON)})
    walked["second factor"] = signed_in(now)
    walked["sign-in of a colleague"] = sign_in(at(OFFICE), "custodian") == 302
    walked["confirmation"] = confirmed(before)
    walked["reset mail"] = mailed(at(OFFICE))
    bearer = {"Authorization": f"Bearer {token}"}
    walked["rest"] = at(OFFICE).get("/api/v1/me/", headers=bearer).status_code == 200
    begins = VERSION | {"Upload-Length": "10", "Upload-Metadata": metadata("t.csv")}
    begun = at(OFFICE).post("/api/v1/uploads/", headers=bearer | begins)
    walked["upload"] = begun.status_code == 201
    assert walked == dict.fromkeys(WALKED, True)


def confirmed(client: Client) -> bool:
    """Whether somebody who signed in long ago can confirm that it is them."""
    session = client.session
    session[PROVED] = (timezone.now() - timedelta(hours=1)).isoformat()
    session.save()
    form = {"name": "notebook", "scopes": ["read"], "days": "30", FIELD: PASSWORD}
    return 'id="new-token"' in client.post(TOKENS, form).content.decode()


def mailed(client: Client) -> bool:
    """Whether somebody who asks for a mail is heard; the storm has caused one, which works as well."""
    asked = AuditEntry.objects.filter(action="user.reset_requested")
    before = asked.count()
    client.post(RESET, {"name": "steward@office.example"})
    return (
        asked.count() == before + 1
        and Notification.objects.filter(event=Event.PASSWORD_RESET).count() == 1
    )


def request_from(address: str) -> HttpRequest:
    return RequestFactory().post(LOGIN, headers={"X-Forwarded-For": address})


def tried(address: str, name: str) -> bool:
    """Whether an attempt was let through to the password."""
    begun = throttle.begin(request_from(address), kind=throttle.Counted.PASSWORD, name=name)
    return not begun.refused


def test_what_is_refused_already_does_not_count(cast: Cast) -> None:
    """One address uses up its own attempts, and not those of the name."""
    let_through = [tried(ELSEWHERE[0], "steward") for _ in range(10 * IN_ALL)]
    assert let_through == [True] * HERE + [False] * (10 * IN_ALL - HERE)
    assert tried(ELSEWHERE[1], "steward")
    assert tried(ELSEWHERE[0], "custodian")


def test_guessing_from_everywhere_stays_bounded(cast: Cast) -> None:
    """Without a place of their own, a name has its limit over all addresses, and an address over all
    names."""
    by_name = sum(tried(f"203.0.113.{number}", "steward") for number in range(50))
    by_address = sum(tried("192.0.2.1", f"name-{number}") for number in range(50))
    assert (by_name, by_address) == (IN_ALL, IN_ALL)


def test_where_somebody_is_known_guessing_stays_bounded_too(cast: Cast) -> None:
    throttle.remember(request_from(OFFICE), user=cast.steward)
    assert sum(tried(OFFICE, "steward") for _ in range(50)) == HERE
    assert tried(OFFICE, "custodian")


def test_a_line_of_ipv6_is_one_address(cast: Cast) -> None:
    """Its owner chooses the last 64 bits at will."""
    let_through = [tried(f"2001:db8:1:2::{number:x}", "steward") for number in range(20)]
    assert sum(let_through) == HERE
    throttle.remember(request_from("2001:db8:7:7::1"), user=cast.steward)
    for number in range(IN_ALL):
        tried(f"2001:db8:1:{number + 3:x}::1", "steward")
    assert not tried("2001:db8:8:8::1", "steward")
    assert tried("2001:db8:7:7:ffff::2", "steward")


@pytest.mark.parametrize(
    ("address", "counted"),
    [
        ("198.51.100.7", "198.51.100.7"),
        ("2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64"),
        ("::ffff:198.51.100.7", "198.51.100.7"),
        ("no address", "no address"),
    ],
)
def test_what_is_counted_as_one_address(address: str, counted: str) -> None:
    assert throttle.line_of(request_from(address)) == counted


def test_a_place_is_a_digest_and_goes_after_its_time_or_with_its_person(cast: Cast) -> None:
    sign_in(at(OFFICE), "steward")
    sign_in(at(OFFICE), "steward")
    sign_in(at(OFFICE), "custodian")
    place = SignInPlace.objects.get(user=cast.steward)
    assert len(place.address_digest) == 64
    # Nobody reads from the rows of attempts that one was made where somebody is known.
    sign_in(at(OFFICE), "steward", "wrong")
    assert not SignInAttempt.objects.filter(address_digest=place.address_digest).exists()
    SignInPlace.objects.filter(pk=place.pk).update(at=timezone.now() - throttle.LATELY)
    sign_in(at(ELSEWHERE[0]), "custodian", "wrong")
    assert not SignInPlace.objects.filter(user=cast.steward).exists()
    services.leave(actor="system", person=cast.custodian)
    assert not SignInPlace.objects.exists()


@pytest.mark.parametrize(
    "names",
    [lambda number: "steward", lambda number: f"guess-{number}"],
    ids=["one name", "many names"],
)
def test_a_pause_is_one_entry_whatever_is_typed(
    cast: Cast, names: Callable[[int], str]
) -> None:
    """Guessing cannot fill the audit log."""
    for number in range(5 * IN_ALL):
        sign_in(at(OFFICE), names(number), "wrong")
    assert AuditEntry.objects.filter(action="user.sign_in_paused").count() == 1
