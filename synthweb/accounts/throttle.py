"""Slowing down guessing: an attempt to sign in is written down before the password is looked at and struck out when
it succeeds, so that parallel guesses count as well. Kept in the database: it holds across processes and restarts."""

from __future__ import annotations

from datetime import timedelta

from django.conf import settings
from django.http import HttpRequest
from django.utils import timezone
from django.utils.crypto import salted_hmac

from synthweb.accounts.models import SignInAttempt

WINDOW = timedelta(minutes=15)
MOST_HERE = 10  # of one name from one address
MOST_BY_NAME = 100  # of one name from everywhere: a stranger must not lock somebody out with a few tries
MOST_BY_ADDRESS = 100


def begin(request: HttpRequest | None, *, name: str) -> SignInAttempt | None:
    """Write an attempt down; None if there have been too many."""
    since = timezone.now() - WINDOW
    SignInAttempt.objects.filter(at__lt=since).delete()
    attempt = SignInAttempt.objects.create(
        name_digest=_digest("name", name.strip().casefold()), address_digest=_digest("address", address_of(request))
    )
    recent = SignInAttempt.objects.filter(at__gte=since)
    by_name = recent.filter(name_digest=attempt.name_digest)
    by_address = recent.filter(address_digest=attempt.address_digest)
    too_many = (
        (by_name & by_address).count() > MOST_HERE
        or by_name.count() > MOST_BY_NAME
        or by_address.count() > MOST_BY_ADDRESS
    )
    return None if too_many else attempt


def succeed(attempt: SignInAttempt) -> None:
    """Strike out the attempts of this name from this address: the right password was given."""
    SignInAttempt.objects.filter(name_digest=attempt.name_digest, address_digest=attempt.address_digest).delete()


def _digest(kind: str, text: str) -> str:
    return salted_hmac(f"synthweb.accounts.throttle.{kind}", text, algorithm="sha256").hexdigest()


def address_of(request: HttpRequest | None) -> str:
    """Where a request came from, as our own proxies say it: what others wrote into the header is not believed."""
    if request is None:
        return ""
    forwarded = [part.strip() for part in request.headers.get("X-Forwarded-For", "").split(",") if part.strip()]
    if 0 < settings.PROXIES <= len(forwarded):
        return str(forwarded[-settings.PROXIES])
    return str(request.META.get("REMOTE_ADDR", ""))
