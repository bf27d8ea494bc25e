"""Sessions in the database, each with the person whom it belongs to: so that they can be listed and ended."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from django.contrib.auth import SESSION_KEY
from django.contrib.sessions.backends.base import UpdateError
from django.contrib.sessions.backends.db import SessionStore as DatabaseStore
from django.db import OperationalError

from synthweb.accounts.models import UserSession

CODE, SIGNED_IN, SEEN = "code", "signed_in_at", "last_seen_at"
PROVED, ADDRESS, BROWSER = "proved_at", "address", "browser"


class SessionStore(DatabaseStore):
    """Django's own store, whose rows repeat what a list of sessions shows."""

    @classmethod
    def get_model_class(cls) -> type[UserSession]:
        return UserSession

    def save(self, must_create: bool = False) -> None:
        """Django's own, which takes any error of the database for a session that somebody ended meanwhile: a
        database that is locked has ended nobody's."""
        try:
            super().save(must_create)
        except UpdateError as error:
            if isinstance(error.__context__, OperationalError):
                raise error.__context__ from None
            raise

    def create_model_instance(self, data: dict[str, Any]) -> UserSession:
        plain = super().create_model_instance(data)
        user = data.get(SESSION_KEY)
        return UserSession(
            session_key=plain.session_key,
            session_data=plain.session_data,
            expire_date=plain.expire_date,
            user_id=None if user is None else int(user),
            code=data.get(CODE, ""),
            signed_in_at=moment(data.get(SIGNED_IN)),
            last_seen_at=moment(data.get(SEEN)),
            address=data.get(ADDRESS, ""),
            browser=data.get(BROWSER, ""),
        )


def moment(text: str | None) -> datetime | None:
    """A time that a session holds as text."""
    return datetime.fromisoformat(text) if text else None
