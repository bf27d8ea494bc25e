"""Signing in and out, passwords, and what the frame of a page shows to whom."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta

import pytest
from django.conf import settings
from django.contrib.auth.hashers import identify_hasher
from django.test import Client
from django.utils import timezone
from pytest_django import Settings

from synthweb.accounts import demo, services, throttle
from synthweb.accounts.forms import SIGN_IN_FAILED
from synthweb.accounts.models import SignInAttempt, User
from synthweb.audit.models import AuditEntry
from synthweb.lib.errors import Refused
from tests.cast import PASSWORD, Cast
from tests.web.html import html_of

Browser = Callable[..., Client]
LOGIN = "/account/login/"


def _sign_in(client: Client, name: str, password: str = PASSWORD, **headers: str) -> object:
    return client.post(LOGIN, {"username": name, "password": password}, headers=headers)


def _text(answer: object) -> str:
    return html_of(answer)  # type: ignore[attr-defined]


def _in(client: Client) -> bool:
    return "_auth_user_id" in client.session


def test_signing_in_leads_to_the_start_page(cast: Cast, browser: Browser) -> None:
    answer = _sign_in(browser(), "steward")
    assert answer.status_code == 302
    assert answer["Location"] == "/"


def test_signing_in_is_on_record(cast: Cast, browser: Browser) -> None:
    _sign_in(browser(), "steward")
    entry = AuditEntry.objects.latest("sequence")
    assert (entry.action, entry.actor, entry.organisation_code) == (
        "user.signed_in",
        "steward",
        cast.organisation.code,
    )


def test_a_wrong_password_an_unknown_name_and_a_closed_account_look_the_same(
    cast: Cast, browser: Browser
) -> None:
    User.objects.filter(username="analyst").update(is_active=False)
    answers = [
        _sign_in(browser(), "steward", "wrong"),
        _sign_in(browser(), "nobody", "wrong"),
        _sign_in(browser(), "analyst"),
    ]
    for answer in answers:
        assert answer.status_code == 200
        assert str(SIGN_IN_FAILED) in _text(answer)


def test_a_page_for_people_asks_strangers_to_sign_in_and_leads_back(
    cast: Cast, browser: Browser
) -> None:
    client = browser()
    answer = client.get("/account/tokens/")
    assert answer["Location"] == f"{LOGIN}?next=/account/tokens/"
    answer = client.post(
        answer["Location"],
        {"username": "steward", "password": PASSWORD, "next": "/account/tokens/"},
    )
    assert answer["Location"] == "/account/tokens/"


def test_signing_in_never_leads_to_another_site(cast: Cast, browser: Browser) -> None:
    answer = browser().post(
        LOGIN,
        {"username": "steward", "password": PASSWORD, "next": "https://elsewhere.example/"},
    )
    assert answer["Location"] == "/"


def test_the_session_gets_a_new_key_when_somebody_signs_in(
    cast: Cast, browser: Browser
) -> None:
    client = browser()
    client.get("/account/tokens/")
    session = client.session
    session["planted"] = "yes"
    session.save()
    before = session.session_key
    client.cookies[settings.SESSION_COOKIE_NAME] = before
    _sign_in(client, "steward")
    assert client.session.session_key != before


def test_signing_out_needs_a_post_and_ends_the_session(cast: Cast, browser: Browser) -> None:
    client = browser(cast.steward)
    assert client.get("/account/logout/").status_code == 405
    assert _in(client)
    answer = client.post("/account/logout/")
    assert answer["Clear-Site-Data"] == '"cache"'
    assert not _in(client)


def test_what_somebody_sees_who_is_signed_in_is_stored_nowhere(
    cast: Cast, browser: Browser
) -> None:
    client = browser(cast.steward)
    for address in ("/", "/account/", "/datasets/", "/api/v1/me/", "/nowhere/"):
        assert "no-store" in client.get(address)["Cache-Control"], address


def test_rest_without_tls_is_refused_and_not_led_on(settings: Settings) -> None:
    settings.SECURE_SSL_REDIRECT = True
    answer = Client().get("/api/v1/me/", headers={"Authorization": "Bearer x"})
    assert (answer.status_code, answer["Content-Type"]) == (403, "application/problem+json")
    assert "revoke it" in answer.json()["detail"]
    assert Client().get("/account/login/").status_code == 301
    assert Client().get("/api/v1/me/", secure=True).status_code == 401


def test_forms_need_the_token_of_their_page(cast: Cast, browser: Browser) -> None:
    client = browser(cast.steward, enforce_csrf_checks=True)
    assert (
        client.post("/account/tokens/", {"name": "x", "scopes": "read", "days": 30}).status_code
        == 403
    )
    assert client.post("/account/logout/").status_code == 403


def test_an_inactive_person_is_out_at_once(cast: Cast, browser: Browser) -> None:
    client = browser(cast.steward)
    services.set_active(
        actor=cast.staff, person=cast.steward, organisation=cast.organisation, active=False
    )
    assert client.get("/account/").status_code == 302


# --- guessing -----------------------------------------------------------------------------------------------
def test_after_too_many_failures_even_the_right_password_has_to_wait(
    cast: Cast, browser: Browser
) -> None:
    client = browser()
    for _ in range(throttle.MAX_ATTEMPTS_HERE):
        _sign_in(client, "steward", "wrong")
    answer = _sign_in(client, "steward")
    assert answer.status_code == 200
    assert str(SIGN_IN_FAILED) in _text(answer)


def test_one_persons_failures_do_not_keep_another_out(cast: Cast, browser: Browser) -> None:
    for _ in range(throttle.MAX_ATTEMPTS_HERE + 1):
        _sign_in(browser(), "steward", "wrong")
    assert _sign_in(browser(), "custodian").status_code == 302


def test_a_stranger_elsewhere_cannot_lock_somebody_out_with_a_few_tries(
    cast: Cast, browser: Browser, settings: Settings
) -> None:
    settings.PROXIES = 1
    for _ in range(throttle.MAX_ATTEMPTS_HERE + 1):
        _sign_in(browser(), "steward", "wrong", **{"X-Forwarded-For": "203.0.113.9"})
    assert (
        _sign_in(browser(), "steward", **{"X-Forwarded-For": "198.51.100.7"}).status_code == 302
    )


def test_an_address_that_a_client_made_up_does_not_count_without_a_proxy(
    cast: Cast, browser: Browser
) -> None:
    for number in range(throttle.MAX_ATTEMPTS_HERE + 1):
        _sign_in(browser(), "steward", "wrong", **{"X-Forwarded-For": f"203.0.113.{number}"})
    assert (
        _sign_in(browser(), "steward", **{"X-Forwarded-For": "198.51.100.7"}).status_code == 200
    )


def test_success_forgets_the_failures_before_it(cast: Cast, browser: Browser) -> None:
    _sign_in(browser(), "steward", "wrong")
    _sign_in(browser(), "steward")
    assert not SignInAttempt.objects.exists()


def test_attempts_keep_neither_name_nor_address(cast: Cast, browser: Browser) -> None:
    _sign_in(browser(), "a-password-typed-into-the-wrong-field", "wrong")
    attempt = SignInAttempt.objects.get()
    assert len(attempt.name_digest) == len(attempt.address_digest) == 64
    assert "password" not in attempt.name_digest


def test_a_client_that_went_away_can_try_again_after_a_quarter_of_an_hour(
    cast: Cast, browser: Browser
) -> None:
    for _ in range(throttle.MAX_ATTEMPTS_HERE + 1):
        _sign_in(browser(), "steward", "wrong")
    for attempt in SignInAttempt.objects.all():
        SignInAttempt.objects.filter(pk=attempt.pk).update(at=attempt.at - throttle.WINDOW)
    assert _sign_in(browser(), "steward").status_code == 302


# --- passwords ----------------------------------------------------------------------------------------------
def _change(client: Client, old: str, new: str) -> object:
    return client.post(
        "/account/password/", {"old_password": old, "new_password1": new, "new_password2": new}
    )


def test_changing_the_password_keeps_this_session_and_ends_the_others(
    cast: Cast, browser: Browser
) -> None:
    here, there = browser(cast.steward), browser(cast.steward)
    assert _change(here, PASSWORD, "another long pass phrase").status_code == 302
    assert here.get("/account/").status_code == 200
    assert there.get("/account/").status_code == 302
    assert AuditEntry.objects.latest("sequence").action == "user.password_changed"


@pytest.mark.parametrize("new", ["short", "password1234", "123456789012", PASSWORD])
def test_a_weak_or_unchanged_password_is_refused(
    cast: Cast, browser: Browser, new: str
) -> None:
    assert _change(browser(cast.steward), PASSWORD, new).status_code == 200
    cast.steward.refresh_from_db()
    assert cast.steward.check_password(PASSWORD)


def test_the_old_password_is_asked_for(cast: Cast, browser: Browser) -> None:
    assert (
        _change(browser(cast.steward), "wrong", "another long pass phrase").status_code == 200
    )
    cast.steward.refresh_from_db()
    assert cast.steward.check_password(PASSWORD)


def test_a_one_time_password_leads_to_an_own_one_before_anything_else(
    cast: Cast, browser: Browser
) -> None:
    one_time = services.give_one_time_password(
        actor=cast.staff, person=cast.analyst, organisation=cast.organisation
    )
    client = browser()
    _sign_in(client, "analyst", one_time)
    assert client.get("/account/")["Location"] == "/account/password/"
    assert _change(client, one_time, "another long pass phrase").status_code == 302
    assert client.get("/account/").status_code == 200


def test_stored_passwords_are_argon2(cast: Cast, settings: Settings) -> None:
    from synthweb.settings import PASSWORD_HASHERS

    settings.PASSWORD_HASHERS = PASSWORD_HASHERS
    cast.steward.set_password("another long pass phrase")
    assert identify_hasher(cast.steward.password).algorithm == "argon2"


# --- demo users ---------------------------------------------------------------------------------------------
def test_demo_users_sign_in_with_the_passwords_they_were_given(
    db: None, browser: Browser
) -> None:
    for name, password, _ in demo.make():
        assert _sign_in(browser(), name, password).status_code == 302, name


def test_demo_users_are_refused_when_they_are_switched_off(
    db: None, browser: Browser, settings: Settings
) -> None:
    name, password, _ = demo.make()[0]
    client = browser(User.objects.get(username=name))
    settings.DEMO_USERS = False
    assert client.get("/account/").status_code == 302
    assert _sign_in(browser(), name, password).status_code == 200


def test_making_demo_users_again_changes_their_passwords_and_adds_nobody(db: None) -> None:
    first, second = demo.make(), demo.make()
    assert [name for name, *_ in first] == [name for name, *_ in second]
    assert {password for _, password, _ in first}.isdisjoint(
        password for _, password, _ in second
    )
    assert User.objects.filter(is_demo=True).count() == len(first)


def test_the_sign_in_page_says_where_the_demo_logins_are_and_never_what(
    db: None, browser: Browser, settings: Settings
) -> None:
    passwords = [password for _, password, _ in demo.make()]
    text = _text(browser().get(LOGIN))
    assert "make demo-logins" in text
    assert not any(password in text for password in passwords)


# --- the frame ----------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("steward", {"Home", "Datasets", "Releases", "Budget", "Help"}),
        ("auditor", {"Home", "Datasets", "Releases", "Budget", "Help", "Administration"}),
        ("analyst", {"Home", "Releases", "Help"}),
        ("staff", {"People", "Administration"}),
    ],
)
def test_the_navigation_offers_what_a_role_may_open(
    cast: Cast, browser: Browser, name: str, shown: set[str]
) -> None:
    text = _text(browser(cast.by_name()[name]).get("/account/"))
    for words in shown:
        assert f">{words}</a>" in text, words
    if name == "analyst":
        for words in ("Datasets", "Runs", "Budget", "Administration", "People"):
            assert f">{words}</a>" not in text, words


def test_no_page_has_inline_script_or_style(cast: Cast, browser: Browser) -> None:
    pages = [
        "/account/",
        "/account/password/",
        "/account/tokens/",
        "/account/people/",
        "/nowhere/",
    ]
    for address in pages:
        text = _text(browser(cast.staff).get(address))
        assert "<style" not in text, address
        assert all("src=" in tag.split(">")[0] for tag in text.split("<script")[1:]), address
        assert " onclick=" not in text, address


def test_answers_carry_the_headers_that_browsers_need_to_protect_people(
    cast: Cast, browser: Browser
) -> None:
    for address in ("/account/login/", "/account/", "/nowhere/"):
        headers = browser(cast.steward).get(address).headers
        policy = headers["Content-Security-Policy"]
        assert "frame-ancestors 'none'" in policy
        assert "script-src 'self'" in policy
        assert "unsafe-eval" not in policy
        assert headers["X-Content-Type-Options"] == "nosniff"
        assert headers["Referrer-Policy"] == "same-origin"
        assert headers["Cross-Origin-Opener-Policy"] == "same-origin"


# --- what an auditor sees of sign-ins -----------------------------------------------------------------------
def _recorded(action: str) -> list[AuditEntry]:
    return list(AuditEntry.objects.filter(action=action).order_by("sequence"))


def test_a_failed_sign_in_is_on_record_with_name_address_and_reason(
    cast: Cast, browser: Browser
) -> None:
    _sign_in(browser(), "steward", "wrong")
    [entry] = _recorded("user.sign_in_failed")
    assert (entry.actor, entry.organisation_code) == ("anonymous", cast.organisation.code)
    assert (entry.object_kind, entry.object_code) == ("user", str(cast.steward.pk))
    assert entry.detail == {
        "username": "steward",
        "address": "127.0.0.1",
        "because": "wrong password",
    }


def test_a_successful_sign_in_is_on_record_with_its_address(
    cast: Cast, browser: Browser
) -> None:
    _sign_in(browser(), "steward")
    assert _recorded("user.signed_in")[-1].detail == {"address": "127.0.0.1"}


def test_what_was_typed_into_the_name_field_is_not_on_record(
    cast: Cast, browser: Browser
) -> None:
    _sign_in(browser(), "a-password-typed-into-the-wrong-field", "wrong")
    [entry] = _recorded("user.sign_in_failed")
    assert entry.detail == {"username": "", "address": "127.0.0.1", "because": "unknown name"}
    assert entry.organisation_code == ""  # there are two organisations: it is nobody's


def test_attempts_under_unknown_names_are_seen_where_there_is_one_organisation(
    cast: Cast, browser: Browser
) -> None:
    cast.stranger.memberships.all().delete()
    cast.elsewhere.delete()
    _sign_in(browser(), "nobody", "wrong")
    assert _recorded("user.sign_in_failed")[-1].organisation_code == cast.organisation.code


def test_a_refusal_for_the_state_of_the_account_says_so_on_record(
    cast: Cast, browser: Browser
) -> None:
    User.objects.filter(username="analyst").update(is_active=False)
    _sign_in(browser(), "analyst")
    assert _recorded("user.sign_in_failed")[-1].detail["because"] == "account not in use"


def test_a_pause_is_on_record_once(cast: Cast, browser: Browser) -> None:
    for _ in range(throttle.MAX_ATTEMPTS_HERE + 5):
        _sign_in(browser(), "steward", "wrong")
    assert len(_recorded("user.sign_in_failed")) == throttle.MAX_ATTEMPTS_HERE
    [entry] = _recorded("user.sign_in_paused")
    assert entry.detail == {
        "username": "steward",
        "address": "127.0.0.1",
        "because": "too many attempts",
    }


def test_the_auditor_reads_failed_sign_ins_in_the_log(cast: Cast, browser: Browser) -> None:
    _sign_in(browser(), "steward", "wrong")
    page = _text(browser(cast.auditor).get("/ledger/audit/"))
    assert "failed to sign in" in page
    assert "127.0.0.1" in page


# --- one-time passwords end ---------------------------------------------------------------------------------
def _give(cast: Cast) -> str:
    return services.give_one_time_password(
        actor=cast.staff, person=cast.analyst, organisation=cast.organisation
    )


def _expire(person: User) -> None:
    User.objects.filter(pk=person.pk).update(
        one_time_until=timezone.now() - timedelta(seconds=1)
    )


def test_a_one_time_password_works_until_its_time_is_over(
    cast: Cast, browser: Browser, settings: Settings
) -> None:
    before = timezone.now()
    password = _give(cast)
    cast.analyst.refresh_from_db()
    assert cast.analyst.one_time_until is not None
    lasts = cast.analyst.one_time_until - before
    assert timedelta(hours=settings.ONE_TIME_PASSWORD_HOURS) <= lasts < timedelta(hours=73)
    assert _sign_in(browser(), "analyst", password).status_code == 302
    _expire(cast.analyst)
    answer = _sign_in(browser(), "analyst", password)
    assert answer.status_code == 200
    assert str(SIGN_IN_FAILED) in _text(answer)
    assert _recorded("user.sign_in_failed")[-1].detail["because"] == "one-time password expired"


def test_a_session_that_began_with_a_one_time_password_ends_with_it(
    cast: Cast, browser: Browser
) -> None:
    client = browser()
    _sign_in(client, "analyst", _give(cast))
    assert client.get("/account/password/").status_code == 200
    _expire(cast.analyst)
    assert client.get("/account/password/")["Location"].startswith(LOGIN)


def test_an_own_password_does_not_end(cast: Cast, browser: Browser) -> None:
    _give(cast)
    cast.analyst.refresh_from_db()
    services.change_password(user=cast.analyst, password="a quite different horse")
    cast.analyst.refresh_from_db()
    assert cast.analyst.one_time_until is None
    assert _sign_in(browser(), "analyst", "a quite different horse").status_code == 302


def test_a_new_persons_one_time_password_ends_and_the_page_says_when(
    cast: Cast, browser: Browser
) -> None:
    form = {"username": "newcomer", "roles": "analyst"}
    page = _text(browser(cast.staff).post("/account/people/", form))
    until = User.objects.get(username="newcomer").one_time_until
    assert until is not None
    assert f"It works until {until:%Y-%m-%d %H:%M} UTC" in page


# --- names --------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    "mark", ["\r\n", "\n", "\t", "\x0b", "\x85", "\u2028", "\u2029", "\u202e", "\u2066", "\x7f"]
)
def test_a_name_of_several_lines_or_with_hidden_marks_is_refused(cast: Cast, mark: str) -> None:
    name = f"people{mark}Set-Cookie: x"
    with pytest.raises(Refused, match="one line"):
        services.create_token(user=cast.steward, name=name, scopes=["read"], days=1)
    with pytest.raises(Refused, match="one line"):
        services.create_organisation(actor="system", name=name)


@pytest.mark.parametrize(
    "name", ["Ärzte & Söhne", "名前", "می‌خواهم", "👩‍👩‍👧", "a\u00a0b", "  blanks around  "]
)
def test_names_of_all_languages_are_taken(cast: Cast, name: str) -> None:
    assert services.create_organisation(actor="system", name=name).name == name.strip()


def test_a_form_says_which_name_it_cannot_take(cast: Cast, browser: Browser) -> None:
    answer = browser(cast.steward).post(
        "/account/tokens/", {"name": "a\nb", "scopes": "read", "days": 30}
    )
    assert answer.status_code == 200
    assert "A name is one line" in _text(answer)
