"""How often somebody may ask: so many requests a minute, counted for each person, each token, and, for who shows no
usable token, each address.

Counted in the cache that all web processes share (Redis), in windows of a minute: the counter of a window is raised by
one atomic step, so parallel requests cannot slip through together. While that cache cannot be reached each process
counts for itself: the limits get softer, and nothing stops."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

from django.conf import settings
from django.http import HttpRequest
from django.utils.crypto import salted_hmac
from rest_framework import exceptions, permissions
from rest_framework.request import Request
from rest_framework.throttling import BaseThrottle

from synthweb.accounts.models import ApiToken, User
from synthweb.accounts.throttle import address_of
from synthweb.api.counting import Counters

WINDOW = 60  # seconds
counters = Counters()


class Limits(BaseThrottle):
    """For everybody who is known."""

    def __init__(self) -> None:
        self._wait: int | None = None

    def allow_request(self, request: Request, view: Any) -> bool:
        # A list and no generator: every counter is raised, also
        # behind one that is over its limit.
        over = [not _count(kind, subject) for kind, subject in _counted(request, view)]
        self._wait = _seconds_left() if any(over) else None
        return not any(over)

    def wait(self) -> float | None:
        return self._wait


def refuse_strangers(request: HttpRequest | Request) -> None:
    """Count a request without a usable token; Throttled if its address has sent too many."""
    # The shared cache holds no addresses, which are data about people.
    digest = salted_hmac(
        "synthweb.api.throttling", address_of(request), algorithm="sha256"
    ).hexdigest()
    if not _count("stranger", digest):
        raise exceptions.Throttled(wait=_seconds_left())


def _counted(request: Request, view: Any) -> Iterator[tuple[str, str]]:
    if isinstance(request.user, User):
        yield "user", str(request.user.pk)
        if request.method not in permissions.SAFE_METHODS:
            yield "write", str(request.user.pk)
        if getattr(view, "makes_files", False):
            yield "file", str(request.user.pk)
    if isinstance(request.auth, ApiToken):
        yield "token", request.auth.code


def _count(kind: str, subject: str) -> bool:
    """Raise the counter of this window; whether it is still within the limit."""
    limit = int(settings.REST_PER_MINUTE[kind])
    if not limit:
        return True
    key = f"rest:{kind}:{subject}:{_window()}"
    # Longer than a window, so that no counter is forgotten within its own.
    return counters.raised(key, seconds=2 * WINDOW) <= limit


def _window() -> int:
    return int(time.time()) // WINDOW


def _seconds_left() -> int:
    return WINDOW - int(time.time()) % WINDOW
