"""One HTTP request of a webhook: signed, to an address that was checked, within a time, without redirects.

The signature is that of Standard Webhooks (https://www.standardwebhooks.com): HMAC-SHA256 over id, timestamp
and body.
"""

from __future__ import annotations

import contextlib
import hashlib
import hmac
import http.client
import json
import socket
import ssl
import threading
import time
from base64 import b64decode, b64encode
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from urllib.parse import urlsplit

from django.conf import settings

from synthweb.notifications import addresses, selectors
from synthweb.notifications.models import SECRET_PREFIX, Delivery, Notification

Problem = Delivery.Problem
USER_AGENT = "synthweb-webhooks/1"
SUCCESS = range(200, 300)
MOST_ADDRESSES = 3  # of a host that are tried


@dataclass(frozen=True, kw_only=True)
class DeliveryAttempt:
    """What came of one. status: the code of the answer, None if there was none."""

    problem: Delivery.Problem | None = None
    status: int | None = None


def document(notification: Notification) -> dict[str, str]:
    """What a webhook is told: names and a link, never a value of a table."""
    return {
        "id": notification.code,
        "event": notification.event,
        "time": notification.at.isoformat(timespec="seconds"),
        "kind": notification.kind,
        "code": notification.subject_code,
        "name": notification.name,
        "link": selectors.link_of(notification),
    }


def sign(secret: str, *, identifier: str, timestamp: int, body: bytes) -> str:
    """The value of `webhook-signature`."""
    key = b64decode(secret.removeprefix(SECRET_PREFIX))
    signed = f"{identifier}.{timestamp}.".encode() + body
    return "v1," + b64encode(hmac.digest(key, signed, hashlib.sha256)).decode()


def send(delivery: Delivery, *, now: int) -> DeliveryAttempt:
    """Send one delivery. now: seconds since 1970. Every failure is an answer, not an exception."""
    webhook = delivery.webhook
    if webhook is None:
        raise TypeError("a delivery without a webhook")
    identifier = delivery.notification.code
    body = json.dumps(document(delivery.notification), ensure_ascii=False).encode()
    headers = {
        "Content-Type": "application/json",
        "User-Agent": USER_AGENT,
        "webhook-id": identifier,
        "webhook-timestamp": str(now),
        "webhook-signature": sign(
            webhook.secret, identifier=identifier, timestamp=now, body=body
        ),
    }
    try:
        status = _post(webhook.url, body=body, headers=headers)
    except addresses.NotAllowed:
        return DeliveryAttempt(problem=Problem.ADDRESS)
    except ssl.SSLCertVerificationError:
        return DeliveryAttempt(problem=Problem.CERTIFICATE)
    except TimeoutError:
        return DeliveryAttempt(problem=Problem.TIMEOUT)
    except (OSError, http.client.HTTPException, UnicodeError):
        return DeliveryAttempt(problem=Problem.UNREACHABLE)
    return DeliveryAttempt(
        problem=None if status in SUCCESS else Problem.REFUSED, status=status
    )


def _post(url: str, *, body: bytes, headers: dict[str, str]) -> int:
    """The status code of the answer; nothing else of it is read."""
    parts = urlsplit(url)
    host, port = addresses.host_of(url), addresses.port_of(url)
    ends = time.monotonic() + settings.WEBHOOK_SECONDS
    checked = addresses.resolve(host, port, seconds=settings.WEBHOOK_SECONDS)
    seconds = ends - time.monotonic()  # what the look-up has left
    if seconds <= 0:
        raise TimeoutError
    connection = _Pinned(host, port, checked=checked, seconds=seconds)
    target = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    with _deadline(seconds, connection.abort) as passed:
        try:
            connection.request("POST", target, body=body, headers=headers)
            return connection.getresponse().status
        except (OSError, http.client.HTTPException):
            if passed.is_set():
                raise TimeoutError from None
            raise
        finally:
            connection.close()


class _Pinned(http.client.HTTPSConnection):
    """HTTPS to one of the addresses that were checked; the certificate is that of the host. Neither proxies
    nor redirects."""

    def __init__(self, host: str, port: int, *, checked: list[str], seconds: float) -> None:
        self._tls = ssl.create_default_context()
        super().__init__(host, port, timeout=seconds, context=self._tls)
        self._checked = checked[:MOST_ADDRESSES]
        self._open: socket.socket | None = None
        self._aborted = False

    def connect(self) -> None:
        """Connects to the first address that answers."""
        self._open = self._reached()
        # The handshake comes after the assignment: it must be possible to end it from outside.
        self._open = self.sock = self._tls.wrap_socket(
            self._open, server_hostname=self.host, do_handshake_on_connect=False
        )
        self._require_time()
        self.sock.do_handshake()

    def abort(self) -> None:
        """Ends the connection from another thread."""
        self._aborted = True
        if self._open is not None:
            with contextlib.suppress(OSError):
                # Not the method of the TLS socket, which takes the session from under the other thread.
                socket.socket.shutdown(self._open, socket.SHUT_RDWR)

    def _reached(self) -> socket.socket:
        failure: OSError | None = None
        for address in self._checked:
            self._require_time()
            try:
                return socket.create_connection((address, self.port), timeout=self.timeout)
            except OSError as error:
                failure = error
        raise failure or OSError("no address")

    def _require_time(self) -> None:
        if self._aborted:
            raise TimeoutError


@contextlib.contextmanager
def _deadline(seconds: float, end: Callable[[], None]) -> Iterator[threading.Event]:
    """Calls `end` after so many seconds in all: a timeout of a socket counts from the last byte, and a server
    can send one now and then for ever."""
    passed = threading.Event()

    def over() -> None:
        passed.set()
        end()

    timer = threading.Timer(seconds, over)
    timer.daemon = True
    timer.start()
    try:
        yield passed
    finally:
        timer.cancel()
