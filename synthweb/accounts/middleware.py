"""What comes before every page: sessions that nobody uses end, and one-time passwords are replaced."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable

from django.contrib import messages
from django.contrib.auth import logout
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import resolve
from django.utils.functional import LazyObject, empty
from django.utils.translation import gettext as _

from synthweb.accounts import identity_provider, second_factors, services, sessions, throttle
from synthweb.accounts.models import User
from synthweb.lib import numbers, request_log, routes

logger = logging.getLogger("synthweb.requests")

BACKGROUND = "X-Background"
"""The header of requests that a page sends by itself, such as a look at a run's progress: they are no use of
a session."""

# Health probes and signing out always work; the password page must not redirect to itself.
OPEN = {
    "accounts:password",
    "accounts:logout",
    "accounts:login",
    "accounts:reset",
    "accounts:choose_password",
    "language",
    "public-language",
    "livez",
    "readyz",
    "metrics",
}
SECOND_FACTOR = {"accounts:second_factor", "accounts:add_app", "accounts:add_passkey"}


def log_requests(
    get_response: Callable[[HttpRequest], HttpResponse],
) -> Callable[[HttpRequest], HttpResponse]:
    """Write each request into the request log: who, from where, by which route, and what came of it. Its
    answer is counted."""

    def middleware(request: HttpRequest) -> HttpResponse:
        begun = time.monotonic()
        response = get_response(request)
        seconds = time.monotonic() - begun
        if not routes.is_quiet(request):
            numbers.answered(status=response.status_code, seconds=seconds)
        request_log.write(
            logger,
            called=(routes.method(request), routes.of(request)),
            status=response.status_code,
            milliseconds=round(seconds * 1000),
            address=throttle.address_of(request),
            person=_number_of_person(request),
        )
        return response

    return middleware


def _number_of_person(request: HttpRequest) -> int | None:
    """Whoever the answer was for: of a session, or the owner of a token. Nobody is looked up for the log
    alone."""
    user = getattr(request, "user", None)
    if isinstance(user, LazyObject) and user.__dict__.get("_wrapped") is empty:
        return None
    return user.pk if isinstance(user, User) else None


def keep_no_copies(
    get_response: Callable[[HttpRequest], HttpResponse],
) -> Callable[[HttpRequest], HttpResponse]:
    """What somebody sees who is signed in, no browser and no cache on the way stores, unless the page says
    so."""

    def middleware(request: HttpRequest) -> HttpResponse:
        response = get_response(request)
        if request.user.is_authenticated:
            response.headers.setdefault("Cache-Control", "private, no-store")
        return response

    return middleware


def end_idle_sessions(
    get_response: Callable[[HttpRequest], HttpResponse],
) -> Callable[[HttpRequest], HttpResponse]:
    """Sign out whoever has not used their session for `IDLE_MINUTES`; what they asked for leads to the
    sign-in page."""

    def middleware(request: HttpRequest) -> HttpResponse:
        user = request.user
        if isinstance(user, User):
            if sessions.idle(request.session):
                services.session_idle(user=user)
                logout(request)
                messages.warning(
                    request, _("You were signed out because nothing happened for a while.")
                )
            elif BACKGROUND not in request.headers:
                sessions.touch(request.session)
        return get_response(request)

    return middleware


def change_password_first(
    get_response: Callable[[HttpRequest], HttpResponse],
) -> Callable[[HttpRequest], HttpResponse]:
    """Lead people with a one-time password to the page that replaces it."""

    def middleware(request: HttpRequest) -> HttpResponse:
        if (
            # AnonymousUser has no such field.
            getattr(request.user, "must_change_password", False)
            and resolve(request.path_info).view_name not in OPEN
        ):
            return redirect("accounts:password")
        return get_response(request)

    return middleware


def set_up_second_factor_first(
    get_response: Callable[[HttpRequest], HttpResponse],
) -> Callable[[HttpRequest], HttpResponse]:
    """Lead people whose role or organisation needs a second factor, and who have none, to the page that sets
    one up."""

    def middleware(request: HttpRequest) -> HttpResponse:
        user = request.user
        if (
            isinstance(user, User)
            and resolve(request.path_info).view_name not in OPEN | SECOND_FACTOR
            # The identity provider asks for its own.
            and not request.session.get(identity_provider.BY_PROVIDER)
            and second_factors.lacks_one(user)
        ):
            return redirect("accounts:add_app")
        return get_response(request)

    return middleware
