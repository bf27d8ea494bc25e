"""When something took place last in any process, and how much room there was, for whoever watches the
installation. Kept in the shared cache: nobody waits for it, and without a cache it is not known."""

from __future__ import annotations

import logging
import time

from django.core.cache import caches
from redis.exceptions import RedisError

logger = logging.getLogger(__name__)
AT = "at"
RECONCILED, BACKED_UP, VERIFIED = "reconciled", "backed-up", "verified"
"""A pass of the reconciler is through; a backup was made, with the bytes `free` where it lies; every chain
was found intact."""


def note(what: str, *, seconds: int | None = None, **facts: int) -> None:
    """Note that `what` took place now, and some whole numbers. seconds: after which it is forgotten."""
    try:
        caches["default"].set(_key(what), {AT: time.time(), **facts}, timeout=seconds)
    except (RedisError, OSError) as error:
        logger.warning("not noted that %s took place: %s", what, type(error).__name__)


def last(what: str) -> dict[str, float]:
    """What was noted last, with the time `at`; empty where nothing is known."""
    try:
        return dict(caches["default"].get(_key(what)) or {})
    except (RedisError, OSError):
        return {}


def age(what: str) -> float | None:
    """Seconds since it took place last."""
    noted = last(what)
    return max(0.0, time.time() - noted[AT]) if noted else None


def _key(what: str) -> str:
    return f"occurrence:{what}"
