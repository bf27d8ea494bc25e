"""A sign-in whose password was right and whose second factor is still to come; in the session of a
stranger."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta

from django.contrib.auth import login
from django.http import HttpRequest
from django.utils import timezone
from django.utils.crypto import constant_time_compare
from django.utils.translation import gettext as _

from synthweb.accounts import passkeys, second_factors, selectors, services, throttle
from synthweb.accounts.models import User
from synthweb.accounts.session_store import moment

KEY = "pending_sign_in"
WITHIN = timedelta(minutes=5)
BACKEND = "synthweb.accounts.backends.PeopleBackend"


@dataclass(frozen=True, kw_only=True)
class Pending:
    """Who is signing in, and where to go afterwards: an address that was checked."""

    user: User
    onward: str


def begin(request: HttpRequest, *, user: User, onward: str) -> None:
    """The password was right."""
    request.session.cycle_key()
    request.session[KEY] = {
        "user": user.pk,
        "at": timezone.now().isoformat(),
        "onward": onward,
        # A new password, or the end of access, ends this as well.
        "hash": user.get_session_auth_hash(),
    }


def of(request: HttpRequest) -> Pending | None:
    """The sign-in that waits in this session; None if there is none, or it waited too long."""
    stored = request.session.get(KEY)
    if stored is None:
        return None
    begun = moment(stored["at"])
    user = User.objects.filter(pk=stored["user"]).first()
    if (
        begun is None
        or timezone.now() - begun > WITHIN
        or user is None
        or not selectors.may_sign_in(user)
        or not constant_time_compare(stored["hash"], user.get_session_auth_hash())
    ):
        del request.session[KEY]
        return None
    return Pending(user=user, onward=stored["onward"])


def finish(request: HttpRequest, pending: Pending, *, code: str = "", passkey: str = "") -> str:
    """Sign in if `code`, or what a `passkey` answered, is right; otherwise why not."""
    user, address = pending.user, throttle.address_of(request)
    attempt = throttle.begin(
        request, kind=throttle.Counted.SECOND_FACTOR, name=user.get_username()
    )
    if attempt.refused:
        if attempt.first_refused:
            services.sign_in_paused(username=user.get_username(), address=address)
        return _("Too many attempts. Try again in a quarter of an hour.")
    if passkey:
        factor, because = passkeys.check(request, user, passkey), "wrong passkey"
        refusal = _("This passkey does not fit, or the page was too old. Try again.")
    else:
        factor, because = second_factors.check(user, code), "wrong code"
        refusal = _("This code does not fit, or it was used before.")
    if not factor:
        services.second_factor_failed(user=user, address=address, because=because)
        return refusal
    throttle.succeed(attempt)
    del request.session[KEY]
    login(request, user, backend=BACKEND)
    services.signed_in(user=user, address=address, factor=factor)
    return ""
