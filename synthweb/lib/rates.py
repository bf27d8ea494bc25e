"""Requests a minute: one counter for each subject, with the limits of REST (`settings.REST_PER_MINUTE`)."""

from __future__ import annotations

import time

from django.conf import settings
from django.utils.crypto import salted_hmac

from synthweb.lib.counting import Counters

WINDOW = 60  # seconds


class PerMinute:
    """Counters below one prefix, in windows of a minute. Subjects are stored as keyed digests: the shared
    cache holds no address of anybody."""

    def __init__(self, *, prefix: str) -> None:
        self._prefix = prefix
        self._counters = Counters()

    def within(self, kind: str, subject: str) -> bool:
        """Raise the counter of this window; whether it is still within the limit. 0 is no limit."""
        limit = int(settings.REST_PER_MINUTE[kind])
        if not limit:
            return True
        digest = salted_hmac("synthweb.lib.rates", subject, algorithm="sha256").hexdigest()
        key = f"{self._prefix}:{kind}:{digest}:{int(time.time()) // WINDOW}"
        # Longer than a window, so that no counter is forgotten within its own.
        return self._counters.raised(key, seconds=2 * WINDOW) <= limit

    def seconds_left(self) -> int:
        """Of the current window."""
        return WINDOW - int(time.time()) % WINDOW
