"""Confirming that it is still the same person, before what cannot be taken back.

A page that needs it is decorated with `confirmed`. If the person has not proved who they are for a while, the
form that they sent comes back as a page that asks for the password, with everything they typed in hidden
fields; the answer is the same form again. So nothing is lost and nothing is done twice.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.translation import gettext as _
from django.views.decorators.debug import sensitive_post_parameters

from synthweb.accounts import selectors, services, sessions, throttle
from synthweb.accounts.http import SignedInRequest
from synthweb.accounts.models import User

FIELD = "confirm_password"
View = Callable[..., HttpResponse]


def confirmed(view: View) -> View:
    """A view whose POST needs a recent proof of who sends it. Stands below `login_required`."""

    @wraps(view)
    @sensitive_post_parameters(FIELD)
    def checked(request: SignedInRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        if request.method == "POST":
            question = ask(request)
            if question is not None:
                return question
        return view(request, *args, **kwargs)

    return checked


def ask(request: SignedInRequest) -> HttpResponse | None:
    """The page that asks for the password; None where that is not, or no longer, needed."""
    if sessions.proved_recently(request.session):
        return None
    problem = ""
    if FIELD in request.POST:
        problem = _refusal(request)
        if not problem:
            sessions.prove(request.session)
            services.confirmed(user=request.user, address=throttle.address_of(request))
            return None
    fields = [
        (name, value)
        for name, values in request.POST.lists()
        if name not in (FIELD, "csrfmiddlewaretoken")
        for value in values
    ]
    return render(
        request,
        "accounts/confirm.html",
        {
            "fields": fields,
            "problem": problem,
            "field": FIELD,
            # Who has no password here confirms where they signed in.
            "by_provider": not _has_password(request.user),
        },
        status=422 if problem else 200,
    )


def require_recent(request: HttpRequest) -> None:
    """Of a program in a browser, which no page can ask: raise PermissionDenied without a recent proof."""
    if not sessions.proved_recently(request.session):
        raise PermissionDenied(
            "Sign in again before you do this from the browser, or use an API token."
        )


def _has_password(user: User) -> bool:
    """Whether somebody has a password that works here."""
    return user.has_usable_password() and selectors.may_use_password(user.get_username())


def _refusal(request: SignedInRequest) -> str:
    """Why the password does not confirm the person; empty where it does."""
    user, address = request.user, throttle.address_of(request)
    attempt = throttle.begin(
        request, kind=throttle.Counted.CONFIRMATION, name=user.get_username()
    )
    if attempt.refused:
        if attempt.first_refused:
            services.sign_in_paused(username=user.get_username(), address=address)
        return _("Too many attempts. Try again in a quarter of an hour.")
    if _has_password(user) and user.check_password(request.POST[FIELD]):
        throttle.succeed(attempt)
        return ""
    services.sign_in_failed(username=user.get_username(), address=address)
    return _("This is not your password.")
