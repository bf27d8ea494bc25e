"""Signing in, for the pages and the admin alike. Every refusal takes the same time and looks the same."""

from __future__ import annotations

import logging
from typing import Any

from django.contrib.auth.backends import ModelBackend
from django.contrib.auth.models import AnonymousUser
from django.http import HttpRequest

from synthweb.accounts import selectors, services, throttle
from synthweb.accounts.models import User

log = logging.getLogger(__name__)


class PeopleBackend(ModelBackend):
    """Passwords, with a limit on guessing; no permissions of Django's own: roles say what people may do."""

    def authenticate(
        self,
        request: HttpRequest | None,
        username: str | None = None,
        password: str | None = None,
        **kwargs: Any,
    ) -> User | None:
        if username is None or password is None:
            return None
        address = throttle.address_of(request)
        attempt = throttle.begin(request, kind=throttle.Counted.PASSWORD, name=username)
        if attempt.refused:
            User().set_password(password)  # as slow as looking at it
            log.warning("sign-in refused: too many attempts; address %s", address)
            if (
                attempt.first_refused
            ):  # one entry for each pause: guessing must not be able to fill the audit log
                services.sign_in_paused(username=username, address=address)
            return None
        if not selectors.may_use_password(username):
            User().set_password(password)  # as slow as looking at it
            services.sign_in_failed(username=username, address=address)
            return None
        # Django hashes the password for unknown names too, so both refusals take as long.
        user = super().authenticate(request, username=username, password=password, **kwargs)
        if user is None:
            log.warning("sign-in failed; address %s", address)
            services.sign_in_failed(username=username, address=address)
            return None
        throttle.succeed(attempt)
        return user

    def get_user(self, user_id: int) -> User | None:
        # With what the middleware asks of everybody at every request.
        user = selectors.with_second_factor(User.objects.filter(pk=user_id)).first()
        return user if self.user_can_authenticate(user) else None

    def user_can_authenticate(self, user: User | AnonymousUser | None) -> bool:
        return isinstance(user, User) and selectors.may_sign_in(user)
