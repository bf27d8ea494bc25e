"""The request of a view that requires a sign-in."""

from __future__ import annotations

from django.http import HttpRequest

from synthweb.accounts.models import User


class SignedInRequest(HttpRequest):
    """A request as `login_required` lets it pass: its user is never anonymous."""

    user: User
