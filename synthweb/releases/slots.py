"""How many tables are drawn at once: for each person, and for all processes of the web on one machine.

A slot is a lock on a file. The kernel gives it back when its holder ends, however it ends, so a killed process leaves no
slot taken and nothing has to be cleaned up.
"""

from __future__ import annotations

import fcntl
import os
from pathlib import Path
from typing import Self

from django.conf import settings
from django.utils.text import slugify

from synthweb.lib.errors import Busy

COME_BACK = 15  # seconds


class TooManyDrawings(Busy):
    """So many tables are being drawn or downloaded already, of this person or of all"""

    code = "too-many-drawings"


class Slot:
    """The right to draw one table, until it is closed. holder: the number of a person, or what all visitors with public links share."""

    def __init__(self, holder: int | str) -> None:
        self._held: list[int] = []
        own, every = settings.DRAWINGS_PER_PERSON, settings.DRAWINGS
        try:
            # The holder's own limit first: whoever has reached it takes no slot from the others,
            # not even for a moment.
            self._take(
                f"person-{holder}" if isinstance(holder, int) else slugify(holder),
                own,
                rule=f"You have {own} tables being drawn or downloaded already"
                if isinstance(holder, int)
                else f"{own} tables are being downloaded with {holder} already",
            )
            self._take(
                "all", every, rule=f"{every} tables are being drawn or downloaded already"
            )
        except TooManyDrawings:
            self.close()
            raise

    def _take(self, name: str, count: int, *, rule: str) -> None:
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
                self._held.append(handle)
                return
        raise TooManyDrawings(rule, repair="come back when one of them is done", wait=COME_BACK)

    def close(self) -> None:
        """Give it back."""
        while self._held:
            os.close(self._held.pop())

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
