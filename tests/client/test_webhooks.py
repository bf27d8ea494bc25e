"""The client accepts exactly what the server signs, and nothing that was changed, is old or has no
signature."""

from __future__ import annotations

import time

import pytest
from synthweb_client import WebhookRefused, verify_webhook

from synthweb.notifications.models import new_secret
from synthweb.notifications.webhooks import sign

BODY = (
    b'{"id": "abc", "event": "run.finished", "time": "2031-01-31T09:30:00+00:00", "kind": "run", "code": '
    b'"r4t8xnp3vd",'
    b' "name": "Commutes", "link": "https://synthweb.example.org/runs/r4t8xnp3vd/", "later": 1}'
)
SECRET = new_secret()


def headers(
    *, body: bytes = BODY, at: int | None = None, identifier: str = "abc"
) -> dict[str, str]:
    sent = int(time.time()) if at is None else at
    return {
        "Webhook-Id": identifier,
        "Webhook-Timestamp": str(sent),
        "Webhook-Signature": sign(SECRET, identifier=identifier, timestamp=sent, body=body),
    }


def test_what_the_server_signs_is_accepted() -> None:
    event = verify_webhook(BODY, headers(), secret=SECRET)
    assert (event.event, event.code, event.time.year) == ("run.finished", "r4t8xnp3vd", 2031)


def test_one_of_several_signatures_is_enough() -> None:
    several = headers()
    several["Webhook-Signature"] = f"v1,AAAA v2,x {several['Webhook-Signature']}"
    assert verify_webhook(BODY, several, secret=SECRET).id == "abc"


@pytest.mark.parametrize("name", ["Webhook-Id", "Webhook-Timestamp", "Webhook-Signature"])
def test_every_header_is_needed_and_signed(name: str) -> None:
    without = {other: value for other, value in headers().items() if other != name}
    with pytest.raises(WebhookRefused):
        verify_webhook(BODY, without, secret=SECRET)
    with pytest.raises(WebhookRefused):
        verify_webhook(BODY, headers() | {name: "1"}, secret=SECRET)


@pytest.mark.parametrize("seconds", [-301, 302, -(10**9)])
def test_what_was_recorded_long_ago_is_refused(seconds: int) -> None:
    with pytest.raises(WebhookRefused):
        verify_webhook(BODY, headers(at=int(time.time()) + seconds), secret=SECRET)


def test_another_body_secret_or_id_is_refused() -> None:
    for body, secret in ((BODY + b" ", SECRET), (BODY, new_secret()), (BODY, "whsec_?")):
        with pytest.raises(WebhookRefused):
            verify_webhook(body, headers(), secret=secret)
    with pytest.raises(WebhookRefused):
        verify_webhook(BODY, headers(identifier="other"), secret=SECRET)
