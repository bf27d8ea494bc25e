"""Passkeys: set up, asked for at each sign-in, worth nothing elsewhere, of somebody else, or twice."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from hashlib import sha256
from html import unescape
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.hashes import SHA256
from django.contrib.auth import SESSION_KEY
from django.core.management import call_command
from django.test import Client
from fido2.cose import ES256
from fido2.utils import websafe_encode
from fido2.webauthn import (
    Aaguid,
    AttestationObject,
    AttestedCredentialData,
    AuthenticatorData,
    CollectedClientData,
)

from synthweb.accounts import passkeys, second_factors
from synthweb.accounts.models import Passkey, RecoveryCode, User
from synthweb.audit.models import AuditEntry
from synthweb.notifications import wording
from synthweb.notifications.models import Event, Notification
from tests.cast import PASSWORD, Cast
from tests.web.html import html_of

Browser = Callable[..., Client]
LOGIN, CODE = "/account/login/", "/account/login/code/"
PAGE, ADD = "/account/second-factor/", "/account/second-factor/passkey/"
ORIGIN = "http://testserver"
FLAG = AuthenticatorData.FLAG


class Stick:
    """A security key as a browser drives it; what it does wrong is said by `lies`."""

    def __init__(self, name: bytes = b"a stick", *, counts: bool = True) -> None:
        self.name, self.counts, self.uses = name, counts, 0
        self.key = ec.generate_private_key(ec.SECP256R1())

    def make(self, question: dict[str, Any], **lies: Any) -> str:
        """The answer to a page that sets up a passkey."""
        public = AttestedCredentialData.create(
            Aaguid.NONE, self.name, ES256.from_cryptography_key(self.key.public_key())
        )
        made = self._data(question["rp"]["id"], FLAG.UP | FLAG.AT, public)
        return self._answer(
            self._seen("webauthn.create", question, lies),
            attestationObject=AttestationObject.create("none", made, {}),
        )

    def sign(self, question: dict[str, Any], **lies: Any) -> str:
        """The answer to a page that signs in."""
        used = self._data(lies.get("host", question["rpId"]), lies.get("flags", FLAG.UP))
        seen = self._seen("webauthn.get", question, lies)
        key = lies.get("key", self.key)
        signature = key.sign(used + seen.hash, ec.ECDSA(SHA256()))
        return self._answer(seen, authenticatorData=used, signature=signature)

    def _data(
        self, host: str, flags: AuthenticatorData.FLAG, credential: bytes = b""
    ) -> AuthenticatorData:
        self.uses += self.counts
        hashed = sha256(host.encode()).digest()
        return AuthenticatorData.create(hashed, flags, self.uses, credential)

    def _seen(
        self, kind: str, question: dict[str, Any], lies: dict[str, Any]
    ) -> CollectedClientData:
        challenge = lies.get("challenge", question["challenge"])
        return CollectedClientData.create(kind, challenge, lies.get("origin", ORIGIN))

    def _answer(self, seen: bytes, **parts: bytes) -> str:
        name = websafe_encode(self.name)
        written = {part: websafe_encode(value) for part, value in parts.items()}
        response = {"clientDataJSON": websafe_encode(seen), **written}
        return json.dumps(
            {
                "id": name,
                "rawId": name,
                "type": "public-key",
                "clientExtensionResults": {},
                "response": response,
            }
        )


def question_of(page: str) -> dict[str, Any]:
    found = re.search(r'data-question="([^"]+)"', page)
    assert found is not None
    question: dict[str, Any] = json.loads(unescape(found[1]))
    return question


def set_up(client: Client, stick: Stick, name: str = "the blue stick") -> str:
    """The page that answers when `stick` is set up."""
    answer = stick.make(question_of(html_of(client.get(ADD))))
    return html_of(client.post(ADD, {"name": name, "passkey": answer}, follow=True))


def password_given() -> tuple[Client, dict[str, Any]]:
    """A sign-in that waits for its second factor, and what its page asks."""
    client = Client()
    answer = client.post(LOGIN, {"username": "steward", "password": PASSWORD})
    assert answer["Location"] == CODE
    assert SESSION_KEY not in client.session
    return client, question_of(html_of(client.get(CODE)))


def signed_in(client: Client) -> bool:
    return client.get("/account/").status_code == 200


@pytest.fixture
def stick(cast: Cast, browser: Browser) -> Stick:
    """The steward's."""
    made = Stick()
    set_up(browser(cast.steward), made)
    return made


# --- setting it up ------------------------------------------------------------------------------------------
def test_the_first_one_comes_with_recovery_codes(cast: Cast, browser: Browser) -> None:
    client = browser(cast.steward)
    page = set_up(client, Stick())
    assert len(re.findall(r"data-code>\w{6}(?:-\w{6}){3}<", page)) == 10
    page = set_up(client, Stick(b"another"), name="my phone")
    assert "data-code>" not in page
    assert "the blue stick" in page
    assert "my phone" in page
    assert second_factors.codes_left(cast.steward) == 10
    assert AuditEntry.objects.filter(action="user.passkey_added").count() == 2
    notification = Notification.objects.filter(event=Event.ACCOUNT_CHANGED)[0]
    assert wording.sentence(notification) == (
        "How you sign in was changed: a passkey was set up."
    )


@pytest.mark.parametrize(
    "lies",
    [
        {"origin": "https://testserver"},
        {"origin": "http://testserver.example"},
        {"challenge": b"x" * 32},
    ],
    ids=["another scheme", "another host", "another question"],
)
def test_what_was_made_for_another_page_is_not_kept(
    cast: Cast, browser: Browser, lies: dict[str, Any]
) -> None:
    client = browser(cast.steward)
    answer = Stick().make(question_of(html_of(client.get(ADD))), **lies)
    page = html_of(client.post(ADD, {"name": "stick", "passkey": answer}))
    assert "made no passkey for this page" in page
    assert not Passkey.objects.exists()


def test_an_answer_sets_up_one_passkey(cast: Cast, browser: Browser) -> None:
    client, stick = browser(cast.steward), Stick()
    answer = stick.make(question_of(html_of(client.get(ADD))))
    for _ in range(2):
        client.post(ADD, {"name": "stick", "passkey": answer})
    assert Passkey.objects.count() == 1
    # The same key of somebody else, who would then sign in with what is not theirs.
    assert "made no passkey" in set_up(browser(cast.analyst), stick)
    assert Passkey.objects.get().user == cast.steward


@pytest.mark.parametrize("answer", ["", "{", "[]", "null", '{"id": 1}', '{"rawId": "%"}'])
def test_what_is_no_answer_is_refused_and_no_failure(
    cast: Cast, browser: Browser, stick: Stick, answer: str
) -> None:
    client = browser(cast.analyst)
    client.get(ADD)
    assert client.post(ADD, {"name": "x", "passkey": answer}).status_code == 200
    waiting, _question = password_given()
    assert waiting.post(CODE, {"passkey": answer}).status_code == 200
    assert Passkey.objects.count() == 1
    assert not signed_in(waiting)


# --- signing in ---------------------------------------------------------------------------------------------
def test_a_sign_in_needs_password_and_passkey(cast: Cast, stick: Stick) -> None:
    client, question = password_given()
    assert question["rpId"] == "testserver"
    assert [known["id"] for known in question["allowCredentials"]] == [
        websafe_encode(b"a stick")
    ]
    answer = client.post(CODE, {"passkey": stick.sign(question)})
    assert answer.status_code == 302
    assert signed_in(client)
    entry = AuditEntry.objects.get(action="user.signed_in")
    assert entry.detail["second_factor"] == "passkey"
    assert Passkey.objects.get().used_at is not None


@pytest.mark.parametrize(
    "lies",
    [
        {"origin": "https://testserver.example"},
        {"host": "elsewhere"},
        {"challenge": b"x" * 32},
        {"flags": FLAG(0)},
        {"key": ec.generate_private_key(ec.SECP256R1())},
    ],
    ids=["origin", "host", "question", "nobody touched it", "another key"],
)
def test_an_answer_that_is_not_for_this_page_signs_nobody_in(
    cast: Cast, stick: Stick, lies: dict[str, Any]
) -> None:
    client, question = password_given()
    page = html_of(client.post(CODE, {"passkey": stick.sign(question, **lies)}))
    assert "This passkey does not fit" in page
    assert not signed_in(client)
    entry = AuditEntry.objects.get(action="user.sign_in_failed")
    assert entry.detail["because"] == "wrong passkey"
    # The page asks anew, and the right answer then signs in.
    assert client.post(CODE, {"passkey": stick.sign(question_of(page))}).status_code == 302


def test_an_answer_works_once(cast: Cast, stick: Stick) -> None:
    client, question = password_given()
    answer = stick.sign(question)
    client.post(CODE, {"passkey": answer})
    other, _question = password_given()
    other.post(CODE, {"passkey": answer})
    assert signed_in(client)
    assert not signed_in(other)


@pytest.mark.parametrize("copy_counts", [True, False])
def test_a_copy_of_a_key_that_counts_is_refused(
    cast: Cast, stick: Stick, copy_counts: bool
) -> None:
    Passkey.objects.update(uses=50)
    if not copy_counts:
        stick.counts, stick.uses = False, 0
    client, question = password_given()
    client.post(CODE, {"passkey": stick.sign(question)})
    assert not signed_in(client)


def test_a_key_that_does_not_count_signs_in_again(cast: Cast, browser: Browser) -> None:
    stick = Stick(counts=False)
    set_up(browser(cast.steward), stick)
    for _ in range(2):
        client, question = password_given()
        client.post(CODE, {"passkey": stick.sign(question)})
        assert signed_in(client)


def test_a_passkey_of_somebody_else_does_not_fit(
    cast: Cast, browser: Browser, stick: Stick
) -> None:
    theirs = Stick(b"of the analyst")
    set_up(browser(cast.analyst), theirs)
    client, question = password_given()
    client.post(CODE, {"passkey": theirs.sign(question)})
    assert not signed_in(client)


def test_wrong_passkeys_count_like_wrong_codes(cast: Cast, stick: Stick) -> None:
    for _ in range(10):
        client, _question = password_given()
        client.post(CODE, {"passkey": "{}"})
    client, question = password_given()
    client.post(CODE, {"passkey": stick.sign(question)})
    assert not signed_in(client)


def test_a_recovery_code_stands_in_for_a_lost_one(cast: Cast, stick: Stick) -> None:
    made = second_factors.make_codes(user=cast.steward)
    client, _question = password_given()
    client.post(CODE, {"code": made[0]})
    assert signed_in(client)


# --- taking it away -----------------------------------------------------------------------------------------
def test_with_the_last_one_the_recovery_codes_go(
    cast: Cast, browser: Browser, stick: Stick
) -> None:
    client = browser(cast.steward)
    set_up(client, Stick(b"another"), name="my phone")
    first, second = Passkey.objects.order_by("added_at")
    address = f"{PAGE}passkeys/{first.code}/remove/"
    assert browser(cast.analyst).post(address).status_code == 404
    assert client.post(address).status_code == 302
    assert second_factors.codes_left(cast.steward) == 10
    client.post(f"{PAGE}passkeys/{second.code}/remove/")
    assert not RecoveryCode.objects.exists()
    assert 'data-second-factor="off"' in html_of(client.get(PAGE))
    assert AuditEntry.objects.filter(action="user.passkey_removed").count() == 2


def test_whoever_manages_people_takes_away_a_lost_one(
    cast: Cast, browser: Browser, stick: Stick
) -> None:
    theirs, staff = browser(cast.steward), browser(cast.staff)
    page = html_of(staff.get(f"/account/people/{cast.steward.pk}/"))
    assert "Lost second factor" in page
    staff.post(f"/account/people/{cast.steward.pk}/second-factor/remove/")
    assert not Passkey.objects.exists()
    assert not RecoveryCode.objects.exists()
    assert not signed_in(theirs)


def test_it_meets_what_an_organisation_requires(
    cast: Cast, browser: Browser, stick: Stick, capsys: pytest.CaptureFixture[str]
) -> None:
    call_command("second_factor", cast.organisation.name, "--required")
    assert "steward" not in capsys.readouterr().out
    assert browser(cast.steward).get("/datasets/").status_code == 200
    analyst = browser(cast.analyst)
    assert analyst.get(ADD).status_code == 200
    set_up(analyst, Stick(b"of the analyst"))
    assert analyst.get("/releases/").status_code == 200


def test_nobody_has_more_passkeys_than_a_page_shows(
    cast: Cast, browser: Browser, stick: Stick, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(passkeys, "MOST", 1)
    assert "made no passkey" in set_up(browser(cast.steward), Stick(b"another"))


def test_one_for_another_host_is_not_asked_for(cast: Cast, stick: Stick) -> None:
    Passkey.objects.update(host="elsewhere")
    client = Client()
    client.post(LOGIN, {"username": "steward", "password": PASSWORD})
    page = html_of(client.get(CODE))
    assert "data-question" not in page
    assert User.objects.get(username="steward").passkeys.count() == 1
