"""Whoever has a one-time password chooses an own one before anything else."""

from __future__ import annotations

from collections.abc import Callable

from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import resolve

# Health probes and signing out always work; the password page must not redirect to itself.
OPEN = {
    "accounts:password",
    "accounts:logout",
    "accounts:login",
    "language",
    "public-language",
    "livez",
    "readyz",
}


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
