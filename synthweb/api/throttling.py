"""How often somebody may ask: so many requests a minute, counted for each person, each token, and, for who
shows no usable token, each address.

Counted in the cache that all web processes share (Redis), in windows of a minute: the counter of a window is
raised by one atomic step, so parallel requests cannot slip through together. While that cache cannot be
reached each process counts for itself: the limits get softer, and nothing stops."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from django.http import HttpRequest
from rest_framework import exceptions, permissions
from rest_framework.request import Request
from rest_framework.throttling import BaseThrottle

from synthweb.accounts.models import ApiToken, User
from synthweb.accounts.throttle import line_of
from synthweb.lib.rates import PerMinute

rates = PerMinute(prefix="rest")


class Limits(BaseThrottle):
    """For everybody who is known."""

    def __init__(self) -> None:
        self._wait: int | None = None

    def allow_request(self, request: Request, view: Any) -> bool:
        # A list and no generator: every counter is raised, also
        # behind one that is over its limit.
        over = [not rates.within(kind, subject) for kind, subject in _counted(request, view)]
        self._wait = rates.seconds_left() if any(over) else None
        return not any(over)

    def wait(self) -> float | None:
        return self._wait


def refuse_strangers(request: HttpRequest | Request) -> None:
    """Count a request without a usable token; Throttled if its address has sent too many."""
    if not rates.within("stranger", line_of(request)):
        raise exceptions.Throttled(wait=rates.seconds_left())


def _counted(request: Request, view: Any) -> Iterator[tuple[str, str]]:
    if isinstance(request.user, User):
        yield "user", str(request.user.pk)
        if request.method not in permissions.SAFE_METHODS:
            yield "write", str(request.user.pk)
        if getattr(view, "makes_files", False):
            yield "file", str(request.user.pk)
    if isinstance(request.auth, ApiToken):
        yield "token", request.auth.code
