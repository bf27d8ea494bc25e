"""Where somebody is signed in, how long it lasts, and when they last proved who they are."""

from __future__ import annotations

import re
from datetime import datetime, timedelta
from typing import Any

from django.conf import settings
from django.contrib.auth import HASH_SESSION_KEY
from django.contrib.sessions.backends.base import SessionBase
from django.http import HttpRequest
from django.utils import timezone

from synthweb.accounts import appearance, throttle
from synthweb.accounts.models import User, UserSession
from synthweb.accounts.session_store import (
    ADDRESS,
    BROWSER,
    CODE,
    PROVED,
    SEEN,
    SIGNED_IN,
    moment,
)
from synthweb.lib import codes
from synthweb.lib.language import LANGUAGE

WRITTEN_EVERY = timedelta(minutes=1)  # how exactly the last use of a session is known
BROWSERS = (
    ("Edge", r"Edg/"),
    ("Opera", r"OPR/"),
    ("Firefox", r"Firefox/"),
    ("Chrome", r"Chrom(e|ium)/"),
    ("Safari", r"Safari/"),
)
SYSTEMS = (
    ("Android", r"Android"),
    ("iOS", r"iPhone|iPad"),
    ("Windows", r"Windows"),
    ("macOS", r"Mac OS"),
    ("Linux", r"Linux|X11"),
)


def begin(request: HttpRequest, *, user: User, **_signal: Any) -> None:
    """A person has just signed in: connected to Django's signal, so every way to sign in passes here."""
    now = timezone.now()
    session = request.session
    session[CODE] = codes.new()
    session[SIGNED_IN] = session[SEEN] = session[PROVED] = now.isoformat()
    session[LANGUAGE] = appearance.language_of(user)
    session[ADDRESS] = throttle.address_of(request)[:64]
    session[BROWSER] = browser_of(request.headers.get("User-Agent", ""))
    throttle.remember(request, user=user)
    # A fixed end: Django's own age would begin again with each write.
    session.set_expiry(now + timedelta(hours=settings.SESSION_HOURS))


def idle(session: SessionBase) -> bool:
    """Whether nobody has used a session for so long that it has ended."""
    seen = moment(session.get(SEEN))
    limit = timedelta(minutes=settings.IDLE_MINUTES)
    return bool(limit) and seen is not None and timezone.now() - seen > limit


def touch(session: SessionBase) -> None:
    """Somebody used the session just now."""
    now = timezone.now()
    seen = moment(session.get(SEEN))
    if seen is None or now - seen > WRITTEN_EVERY:
        session[SEEN] = now.isoformat()


def proved_recently(session: SessionBase) -> bool:
    """Whether the person has signed in, or confirmed that it is them, within `REAUTHENTICATION_MINUTES`."""
    proved: datetime | None = moment(session.get(PROVED))
    within = timedelta(minutes=settings.REAUTHENTICATION_MINUTES)
    return not within or (proved is not None and timezone.now() - proved <= within)


def prove(session: SessionBase) -> None:
    """The person has just confirmed that it is them."""
    session[PROVED] = timezone.now().isoformat()


def sessions_of(user: User) -> list[UserSession]:
    """The sessions of a person that still open something, the one used last first."""
    valid = user.get_session_auth_hash()
    idle_since = timezone.now() - timedelta(minutes=settings.IDLE_MINUTES)
    rows = UserSession.objects.filter(user=user, expire_date__gt=timezone.now())
    if settings.IDLE_MINUTES:
        rows = rows.filter(last_seen_at__gt=idle_since)
    # A new password, or the end of somebody's access, leaves rows behind that open nothing.
    return [
        row
        for row in rows.order_by("-last_seen_at")
        if row.get_decoded().get(HASH_SESSION_KEY) == valid
    ]


def browser_of(agent: str) -> str:
    """Browser and system, as far as a request says: “Firefox, Linux”. A hint for people, never a check."""
    names = [
        next((name for name, pattern in known if re.search(pattern, agent)), "")
        for known in (BROWSERS, SYSTEMS)
    ]
    return ", ".join(name for name in names if name)
