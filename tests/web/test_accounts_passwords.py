"""Passwords: refused where others would guess them, chosen anew by mail, and people told of what happens to
them."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from django.contrib.auth.password_validation import validate_password
from django.core.exceptions import ImproperlyConfigured, ValidationError
from django.core.management import call_command
from django.test import Client
from django.utils import timezone
from pytest_django import Settings

from synthweb.accounts import password_resets, services
from synthweb.accounts.known_passwords import is_listed
from synthweb.accounts.models import Organisation, User
from synthweb.audit.models import AuditEntry
from synthweb.notifications import about_accounts, delivering, selectors, wording
from synthweb.notifications.models import Delivery, Event, Notification
from tests.cast import PASSWORD, Cast
from tests.web import mail_server
from tests.web.html import html_of

Browser = Callable[..., Client]
LOGIN, RESET = "/account/login/", "/account/reset/"
NEW = "another long pass phrase"


@pytest.fixture
def mailing(settings: Settings) -> Iterator[mail_server.MailServer]:
    with mail_server.running() as server:
        settings.EMAIL_BACKEND = "django.core.mail.backends.smtp.EmailBackend"
        settings.EMAIL_HOST, settings.EMAIL_PORT = "127.0.0.1", server.port
        settings.EMAIL_USE_TLS = False
        settings.EMAIL_HOST_USER = settings.EMAIL_HOST_PASSWORD = ""
        settings.SITE_URL = "https://synthweb.example.org"
        yield server


@pytest.fixture
def steward(cast: Cast) -> User:
    cast.steward.email = "steward@example.org"
    cast.steward.save()
    return cast.steward


def fail(times: int, name: str = "steward") -> None:
    for _ in range(times):
        Client().post(LOGIN, {"username": name, "password": "not it"})


# --- which passwords are refused ----------------------------------------------------------------------------
@pytest.mark.parametrize(
    "password",
    ["qwertyuiop123", "Password2026!", "steward12345", "abcdefghijkl", "letmeinletmein"],
)
def test_a_password_that_lists_guess_is_refused(password: str) -> None:
    with pytest.raises(ValidationError):
        validate_password(password, User(username="steward"))


@pytest.mark.parametrize(
    "password", [PASSWORD, NEW, "Fahrrad-Mond-Tinte-Ofen", "x" * 5 + "Kq9!vT2#mZ"]
)
def test_a_password_of_words_that_do_not_belong_together_is_taken(password: str) -> None:
    validate_password(password, User(username="steward"))


def test_words_of_the_place_are_guessed_first(cast: Cast, settings: Settings) -> None:
    password = "Zwirbelhausen2026"
    validate_password(password, cast.steward)
    settings.PASSWORD_WORDS = ["Zwirbelhausen"]
    with pytest.raises(ValidationError):
        validate_password(password, cast.steward)
    settings.PASSWORD_WORDS = []
    Organisation.objects.filter(pk=cast.organisation.pk).update(name="Amt Zwirbelhausen")
    with pytest.raises(ValidationError):
        validate_password(password, cast.steward)
    validate_password(password, cast.stranger)


def test_every_line_of_a_list_is_found_and_nothing_else(tmp_path: Path) -> None:
    listed = [f"password {number}" for number in range(300)]
    lines = sorted(hashlib.sha1(word.encode()).hexdigest().upper() for word in listed)
    path = tmp_path / "breached.txt"
    for count, end in ((1, "\n"), (2, "\r\n"), (300, "\r\n"), (300, "\n")):
        kept = lines[:count]
        # Lines of unequal length, as Have I Been Pwned counts how often each was seen.
        path.write_text(
            "".join(f"{line}:{7 ** (i % 9)}{end}" for i, line in enumerate(kept)), newline=""
        )
        found = [word for word in listed if is_listed(word, path)]
        assert len(found) == count
    assert not any(is_listed(f"other {number}", path) for number in range(300))
    path.write_text("")
    assert not is_listed("password 1", path)


def test_a_listed_password_is_refused_and_a_list_that_is_gone_is_not_passed_over(
    tmp_path: Path, settings: Settings
) -> None:
    path = tmp_path / "breached.txt"
    path.write_text(hashlib.sha1(NEW.encode()).hexdigest().upper() + ":3\n")
    settings.BREACHED_PASSWORDS_FILE = str(path)
    with pytest.raises(ValidationError, match="breach"):
        validate_password(NEW)
    validate_password(PASSWORD)
    path.unlink()
    with pytest.raises(ImproperlyConfigured, match="BREACHED_PASSWORDS_FILE"):
        validate_password(PASSWORD)


# --- a new password by mail ---------------------------------------------------------------------------------
def test_a_link_by_mail_changes_the_password_once(
    steward: User, browser: Browser, mailing: mail_server.MailServer
) -> None:
    here = browser(steward)
    services.create_token(user=steward, name="notebook", scopes=["read"], days=30)
    client = Client()
    assert "data-asked" in html_of(client.post(RESET, {"name": "steward"}))
    # The link is made when the mail is sent: no row of the database has it.
    assert delivering.deliver() == 1
    text = mailing.arrived[0].get_body(("plain",)).get_content()
    link = re.search(r"https://synthweb\.example\.org(/account/reset/\S+)", text)
    assert link is not None
    page = client.get(link[1], follow=True)
    address = page.redirect_chain[-1][0]
    assert urlsplit(address).path.endswith("/set-password/")  # no token in the address bar
    assert (
        client.post(address, {"new_password1": "short", "new_password2": "short"}).status_code
        == 200
    )
    answer = client.post(address, {"new_password1": NEW, "new_password2": NEW})
    assert answer["Location"] == LOGIN
    steward.refresh_from_db()
    assert steward.check_password(NEW) and not steward.must_change_password
    assert here.get("/account/").status_code == 302
    assert not services.tokens_in_use(steward)
    assert 'data-link="invalid"' in html_of(Client().get(link[1], follow=True))
    said = AuditEntry.objects.filter(action="user.password_reset_by_mail").get()
    assert said.actor == "steward"


def test_a_link_ends(steward: User, settings: Settings) -> None:
    settings.PASSWORD_RESET_TIMEOUT = -1
    page = html_of(Client().get(password_resets.path_for(steward), follow=True))
    assert 'data-link="invalid"' in page


@pytest.mark.parametrize("name", ["nobody", "custodian", "steward@example.org", "switched-off"])
def test_every_name_gets_the_same_answer(
    cast: Cast, steward: User, mailing: mail_server.MailServer, name: str
) -> None:
    cast.analyst.username, cast.analyst.email, cast.analyst.is_active = (
        "switched-off",
        "a@example.org",
        False,
    )
    cast.analyst.save()
    pages = [html_of(Client().post(RESET, {"name": each})) for each in ("steward", name)]
    token = re.compile(r'name="csrfmiddlewaretoken" value="\w+"')
    assert token.sub("", pages[0]) == token.sub("", pages[1])
    told = Notification.objects.filter(event=Event.PASSWORD_RESET).values_list(
        "user__username", flat=True
    )
    assert list(told) == ["steward"]
    assert AuditEntry.objects.filter(action="user.reset_requested").count() == 2


def test_nobody_fills_a_mailbox(steward: User, mailing: mail_server.MailServer) -> None:
    for _ in range(20):
        Client().post(RESET, {"name": "steward"})
    assert Notification.objects.filter(event=Event.PASSWORD_RESET).count() == 1
    assert AuditEntry.objects.filter(action="user.reset_requested").count() == 10


def test_without_a_mail_server_the_page_says_whom_to_ask(steward: User) -> None:
    assert 'data-mail="off"' in html_of(Client().get(RESET))
    Client().post(RESET, {"name": "steward"})
    assert not Notification.objects.exists()


# --- what people are told -----------------------------------------------------------------------------------
def test_three_failed_sign_ins_notify_the_person_once_an_hour(steward: User) -> None:
    fail(2)
    about_accounts.failed_sign_ins()
    assert not Notification.objects.exists()
    fail(1)
    fail(3, name="nobody")
    now = timezone.now()
    about_accounts.failed_sign_ins(now)
    about_accounts.failed_sign_ins(now)
    notification = Notification.objects.get(event=Event.SIGN_INS_FAILED)
    assert notification.user == steward
    assert "127.0.0.1" in wording.sentence(notification)
    assert selectors.path_of(notification) == "/account/sessions/"
    # What is old is no news.
    Notification.objects.all().delete()
    about_accounts.failed_sign_ins(now + timedelta(hours=2))
    assert not Notification.objects.exists()


def test_a_changed_password_is_told_by_mail(
    steward: User, cast: Cast, mailing: mail_server.MailServer
) -> None:
    services.change_password(user=steward, password=NEW)
    services.give_one_time_password(
        actor=cast.staff, person=steward, organisation=cast.organisation
    )
    assert Delivery.objects.count() == 2
    said = [wording.sentence(row) for row in Notification.objects.order_by("pk")]
    assert said == [
        "How you sign in was changed: a new password.",
        "How you sign in was changed: a one-time password.",
    ]


def test_a_missing_list_of_breached_passwords_is_an_error_of_the_installation(
    settings: Settings, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    settings.BREACHED_PASSWORDS_FILE = str(tmp_path / "none.txt")
    with pytest.raises(Exception, match=r"synthweb\.E003"):
        call_command("check", "--tag", "security")
