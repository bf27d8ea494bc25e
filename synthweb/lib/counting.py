"""Counters in a cache: raised by one atomic step, so that parallel requests cannot slip through together."""

from __future__ import annotations

import logging
import time

from django.core.cache import caches
from redis.exceptions import RedisError

SHARED, OWN = "default", "process"
PAUSE = 10  # seconds for which a cache that did not answer is left alone: it costs every request its time-out
log = logging.getLogger(__name__)


class Counters:
    """Shared by all processes; while the shared cache cannot be reached, this process's own."""

    def __init__(self) -> None:
        self._ask_again_at = 0.0

    def raised(self, key: str, *, seconds: int) -> int:
        """Raise a counter by one; what it says now. It is forgotten after `seconds`."""
        if time.monotonic() >= self._ask_again_at:
            try:
                return raised(SHARED, key, seconds=seconds)
            except (RedisError, OSError):
                # Nothing stops: for a while each process has
                # limits of its own, which are softer.
                self._ask_again_at = time.monotonic() + PAUSE
                log.warning(
                    "the cache cannot be reached: limits of requests hold for each process alone"
                )
        return raised(OWN, key, seconds=seconds)


def raised(alias: str, key: str, *, seconds: int) -> int:
    """The same in one cache."""
    cache = caches[alias]
    # add() leaves a counter and its time alone where there is one; incr() is one atomic step.
    cache.add(key, 0, timeout=seconds)
    try:
        return cache.incr(key)
    except ValueError:  # forgotten between the two steps
        return 1
