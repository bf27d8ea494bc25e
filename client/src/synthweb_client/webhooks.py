"""Webhooks on arrival: who sent it, and when. The signature is that of Standard Webhooks."""

from __future__ import annotations

import hashlib
import hmac
import time
from base64 import b64decode, b64encode
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from synthweb_client import documents
from synthweb_client.errors import WebhookRefused

TOLERANCE_SECONDS = 300
SECRET_PREFIX = "whsec_"  # noqa: S105 - what secrets begin with
VERSION = "v1"


@dataclass(frozen=True, kw_only=True)
class WebhookEvent:
    """What happened. id: the same for every repeat of a delivery. kind, code, name: what it is about. link:
    its page."""

    id: str
    event: str
    time: datetime
    kind: str
    code: str
    name: str
    link: str


def verify_webhook(
    body: bytes,
    headers: Mapping[str, str],
    *,
    secret: str,
    tolerance: float = TOLERANCE_SECONDS,
) -> WebhookEvent:
    """A delivery as an event, once its signature is verified.

    body: the bytes as they arrived, before anything parses them. headers: in any case of letters. secret:
    `whsec_…`, shown when the webhook was registered. tolerance: how many seconds ago or ahead it can have
    been sent. Errors: WebhookRefused.
    """
    by_name = {name.lower(): value for name, value in headers.items()}
    identifier = _header(by_name, "webhook-id")
    timestamp = _header(by_name, "webhook-timestamp")
    signatures = _header(by_name, "webhook-signature")
    expected = _signature(secret, f"{identifier}.{timestamp}.".encode() + body)
    # A header can hold several signatures, while a secret is being replaced.
    if not any(
        hmac.compare_digest(expected.encode(), given.encode()) for given in signatures.split()
    ):
        raise WebhookRefused("the signature is not of this secret and body")
    if not timestamp.isascii() or not timestamp.isdigit():
        raise WebhookRefused("webhook-timestamp is not a number of seconds")
    if abs(time.time() - int(timestamp)) > tolerance:
        raise WebhookRefused("it was sent too long ago, or the clocks differ")
    event = documents.read(body, WebhookEvent)
    if event.id != identifier:
        raise WebhookRefused("webhook-id is not the id of the body")
    return event


def _header(headers: Mapping[str, str], name: str) -> str:
    value = headers.get(name)
    if not value:
        raise WebhookRefused(f"there is no header {name}")
    return value


def _signature(secret: str, signed: bytes) -> str:
    try:
        key = b64decode(secret.removeprefix(SECRET_PREFIX), validate=True)
    except ValueError:
        raise WebhookRefused("the secret is not one of a webhook: whsec_ and Base64") from None
    return f"{VERSION}," + b64encode(hmac.digest(key, signed, hashlib.sha256)).decode()
