"""A line with the present step and how long it takes already, for whoever waits at a terminal. Python's
standard library alone: it is used before anything is installed."""

from __future__ import annotations

import shutil
import sys
import time
from types import TracebackType
from typing import TextIO

QUIET_SECONDS = 30.0  # without a terminal: between two lines of the same work


class StatusLine:
    """The progress of one piece of work: on a terminal one line that is written again and again, elsewhere a
    line at the beginning and another one now and then."""

    def __init__(
        self, *, stream: TextIO | None = None, quiet: float = QUIET_SECONDS, after: float = 0.0
    ) -> None:
        """stream: where to, by default the standard output. quiet: seconds between two lines where there is
        no terminal. after: seconds for which nothing is said, for work that is usually done by then."""
        self._stream = stream or sys.stdout
        self._quiet = quiet
        self._begun = time.monotonic()
        self._next = self._begun + after
        self._has_line = False

    def __enter__(self) -> StatusLine:
        return self

    def __exit__(
        self,
        _kind: type[BaseException] | None,
        _error: BaseException | None,
        _trace: TracebackType | None,
    ) -> None:
        self.end()

    def show(self, text: str) -> None:
        """Say how far the work is. What it took so far is added."""
        now = time.monotonic()
        if now < self._next:
            return
        text = f"{text} ({duration(now - self._begun)})"
        if self._stream.isatty():
            self._next = now + 0.1
            width = max(20, shutil.get_terminal_size().columns) - 1
            self._stream.write(f"\r\x1b[K{text[:width]}")
            self._has_line = True
        else:
            self._next = now + self._quiet
            self._stream.write(f"{text}\n")
        self._stream.flush()

    def end(self) -> None:
        """Take the line away, so that the next one begins at the left."""
        if self._has_line:
            self._stream.write("\r\x1b[K")
            self._stream.flush()
            self._has_line = False


def duration(seconds: float) -> str:
    """Seconds, from two minutes on minutes and seconds."""
    minutes, rest = divmod(int(seconds), 60)
    return f"{int(seconds)} s" if minutes < 2 else f"{minutes} min {rest} s"
