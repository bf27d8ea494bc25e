"""Slowing down guessing: an attempt to sign in is written down before the password is looked at and struck out when
it succeeds, so that parallel guesses count as well. Kept in the database: it holds across processes and restarts."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta

from django.conf import settings
from django.http import HttpRequest
from django.utils import timezone
from django.utils.crypto import salted_hmac

from synthweb.accounts.models import SignInAttempt

WINDOW = timedelta(minutes=15)
MAX_ATTEMPTS_HERE = 10  # of one name from one address
MAX_ATTEMPTS_BY_NAME = (
    100  # of one name from everywhere: a stranger must not lock somebody out with a few tries
)
MAX_ATTEMPTS_BY_ADDRESS = 100


@dataclass(frozen=True, kw_only=True)
class Attempt:
    """A sign-in that was counted: whether it has to be refused, and whether it is the first one of a pause."""

    stored: SignInAttempt
    refused: bool
    first_refused: bool


def begin(request: HttpRequest | None, *, name: str) -> Attempt:
    """Count an attempt before anybody looks at its password."""
    since = timezone.now() - WINDOW
    # Old attempts go here, so that the table stays short without a scheduled job.
    SignInAttempt.objects.filter(at__lt=since).delete()
    stored = SignInAttempt.objects.create(
        # Case-folded, so that all spellings of one name share its limit.
        name_digest=_digest("name", name.strip().casefold()),
        address_digest=_digest("address", address_of(request)),
    )
    recent = SignInAttempt.objects.filter(at__gte=since)
    by_name = recent.filter(name_digest=stored.name_digest)
    by_address = recent.filter(address_digest=stored.address_digest)
    excess = [
        (by_name & by_address).count() - MAX_ATTEMPTS_HERE,
        by_name.count() - MAX_ATTEMPTS_BY_NAME,
        by_address.count() - MAX_ATTEMPTS_BY_ADDRESS,
    ]
    return Attempt(stored=stored, refused=max(excess) > 0, first_refused=max(excess) == 1)


def succeed(attempt: Attempt) -> None:
    """Strike out the attempts of this name from this address: the right password was given."""
    same = SignInAttempt.objects.filter(
        name_digest=attempt.stored.name_digest, address_digest=attempt.stored.address_digest
    )
    same.delete()


def _digest(kind: str, text: str) -> str:
    return salted_hmac(
        f"synthweb.accounts.throttle.{kind}", text, algorithm="sha256"
    ).hexdigest()


def address_of(request: HttpRequest | None) -> str:
    """Where a request came from, as our own proxies say it: what others wrote into the header is not believed."""
    if request is None:
        return ""
    forwarded = [
        part.strip()
        for part in request.headers.get("X-Forwarded-For", "").split(",")
        if part.strip()
    ]
    # Each of our proxies appends the address it saw, so entry -PROXIES was written by the
    # outermost of them. The client may have sent everything to the left of it.
    if 0 < settings.PROXIES <= len(forwarded):
        return str(forwarded[-settings.PROXIES])
    return str(request.META.get("REMOTE_ADDR", ""))
