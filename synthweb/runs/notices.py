"""Which ends of one's own runs somebody has seen: a mark for the frame of every page, no entry in any log."""

from __future__ import annotations

from typing import Any

from django.db.models.functions import Now

from synthweb.accounts.models import User
from synthweb.runs import selectors


def see(*, user: User, **which: Any) -> int:
    """The ends of `user`'s own runs count as seen: all of them, or those that `which` narrows to."""
    unseen = selectors.ends_unseen(user).filter(**which)
    return unseen.update(seen_at=Now()) if unseen.exists() else 0  # most pages write nothing
