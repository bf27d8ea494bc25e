"""How much of one kind of work is done at once: for each person, and for all processes of the web on one
machine.

A slot is a lock on a file. The kernel gives it back when its holder ends, however it ends, so a killed
process leaves no slot taken and nothing has to be cleaned up.
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterable
from pathlib import Path
from typing import Self

from django.conf import settings

from synthweb.lib.errors import Busy


class Slots:
    """Slots that are held until `close`. Each of `wanted` is the name of some slots, how many of them there
    are, and the Busy to raise when all of them are held; the order is that of asking."""

    def __init__(self, wanted: Iterable[tuple[str, int, Busy]]) -> None:
        self._held: list[int] = []
        for name, count, refusal in wanted:
            handle = _take(name, count)
            if handle is None:
                self.close()
                raise refusal
            self._held.append(handle)

    def close(self) -> None:
        """Give them back."""
        while self._held:
            os.close(self._held.pop())

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _take(name: str, count: int) -> int | None:
    """A handle on one of `count` slots, which holds it while it is open; None if all of them are held."""
    folder = Path(settings.SPOOL_DIR) / "slots"
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    for number in range(count):
        # Closed in children: one that had this handle would keep the slot as long as it lives.
        handle = os.open(
            folder / f"{name}-{number}", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600
        )
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(handle)
        else:
            return handle
    return None
