"""Slowing down guessing: an attempt is written down before the password is looked at and struck out when it
succeeds, so that parallel guesses count as well. Kept in the database: it holds across processes and
restarts.

A limit must not become a weapon of those whom it slows down. So what is refused already counts for nothing;
each kind of attempt is counted by itself; and whoever signed in at an address lately has a limit of their own
there, which attempts elsewhere, and attempts under other names there, do not reach."""

from __future__ import annotations

import ipaddress
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum

from django.conf import settings
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils import timezone
from django.utils.crypto import salted_hmac

from synthweb.accounts.models import SignInAttempt, SignInPlace, User

WINDOW = timedelta(minutes=15)
LATELY = timedelta(days=30)  # for how long a place where somebody signed in is kept
MAX_ATTEMPTS_HERE = 10  # of one name from one address
MAX_ATTEMPTS_BY_NAME = 100  # of one name from all addresses where that person is not known
MAX_ATTEMPTS_BY_ADDRESS = 100  # from one address, of all names that are not known there
LINE = 64  # bits of an IPv6 address that belong to a line; the rest its owner changes at will

Limit = SignInAttempt.Limit


class Counted(StrEnum):
    """The kind of secret that is guessed, or of request. Part of each digest: no name that somebody types
    counts for another kind."""

    PASSWORD = "password"  # noqa: S105 - the name of a counter
    SECOND_FACTOR = "second factor"  # by somebody who gave the right password
    CONFIRMATION = "confirmation"  # by somebody who is signed in
    RESET_MAIL = "reset mail"


@dataclass(frozen=True, kw_only=True)
class Attempt:
    """What was counted: whether it has to be refused, and whether it is the first one of a pause."""

    stored: SignInAttempt
    refused: bool
    first_refused: bool


def begin(request: HttpRequest | None, *, kind: Counted, name: str) -> Attempt:
    """Count an attempt before anybody looks at its password. name: a user name."""
    now = timezone.now()
    # What is old goes here, so that the tables stay short without a scheduled job.
    SignInAttempt.objects.filter(at__lt=now - WINDOW).delete()
    SignInPlace.objects.filter(at__lt=now - LATELY).delete()
    stored = SignInAttempt.objects.create(
        # Case-folded, so that all spellings of one name share its limit.
        name_digest=_digest(f"name.{kind}", name.strip().casefold()),
        address_digest=_digest(f"address.{kind}", line_of(request)),
    )
    limit = _exceeded(stored, since=now - WINDOW, known=_is_known(request, name))
    if limit is None:
        return Attempt(stored=stored, refused=False, first_refused=False)
    SignInAttempt.objects.filter(pk=stored.pk).update(refused_by=limit)
    earlier = _subject(stored, limit).filter(
        refused_by=limit, pk__lt=stored.pk, at__gte=now - WINDOW
    )
    return Attempt(stored=stored, refused=True, first_refused=not earlier.exists())


def succeed(attempt: Attempt) -> None:
    """Strike out the attempts of this name from this address: the right password was given."""
    _subject(attempt.stored, Limit.HERE).delete()


def remember(request: HttpRequest, *, user: User) -> None:
    """Somebody has signed in here: for a while they have a limit of their own at this address."""
    SignInPlace.objects.update_or_create(
        user=user,
        address_digest=_digest("place", line_of(request)),
        defaults={"at": timezone.now()},
    )


def _is_known(request: HttpRequest | None, name: str) -> bool:
    """Whether the person with this user name signed in at this address lately. One query, whether there is
    such a person or not."""
    return SignInPlace.objects.filter(
        user__username=name, address_digest=_digest("place", line_of(request))
    ).exists()


def _exceeded(
    stored: SignInAttempt, *, since: datetime, known: bool
) -> SignInAttempt.Limit | None:
    """The first limit that is exceeded; None if there is none. known: the person signed in here lately."""
    limits = [(Limit.HERE, MAX_ATTEMPTS_HERE)]
    if not known:
        limits += [
            (Limit.NAME, MAX_ATTEMPTS_BY_NAME),
            (Limit.ADDRESS, MAX_ATTEMPTS_BY_ADDRESS),
        ]
    for limit, most in limits:
        # Refused ones count for nothing: otherwise a few addresses could keep everybody from a name.
        counted = _subject(stored, limit).filter(refused_by="", at__gte=since)
        if counted.count() > most:
            return limit
    return None


def _subject(stored: SignInAttempt, limit: SignInAttempt.Limit) -> QuerySet[SignInAttempt]:
    """The attempts that share a limit with this one."""
    rows = SignInAttempt.objects.all()
    if limit != Limit.ADDRESS:
        rows = rows.filter(name_digest=stored.name_digest)
    if limit != Limit.NAME:
        rows = rows.filter(address_digest=stored.address_digest)
    return rows


def _digest(kind: str, text: str) -> str:
    return salted_hmac(
        f"synthweb.accounts.throttle.{kind}", text, algorithm="sha256"
    ).hexdigest()


def line_of(request: HttpRequest | None) -> str:
    """The unit that counts as one address: an IPv4 address, or the network of a line in IPv6, which has 2⁶⁴
    addresses to choose from and changes them each day."""
    text = address_of(request)
    try:
        address = ipaddress.ip_address(text)
    except ValueError:
        return text
    if isinstance(address, ipaddress.IPv4Address):
        return text
    if address.ipv4_mapped is not None:
        return str(address.ipv4_mapped)
    return str(ipaddress.ip_network((int(address), LINE), strict=False))


def address_of(request: HttpRequest | None) -> str:
    """Where a request came from, as our own proxies say it: what others wrote into the header is not
    believed."""
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
