"""How many tables are drawn at once: for each person, and for all processes of the web on one machine."""

from __future__ import annotations

from django.conf import settings
from django.utils.text import slugify

from synthweb.lib.errors import Busy
from synthweb.lib.slots import Slots

COME_BACK = 15  # seconds


class TooManyDrawings(Busy):
    """So many tables are being drawn or downloaded already, of this person or of all"""

    code = "too-many-drawings"


class Slot(Slots):
    """The right to draw one table, until it is closed. holder: the number of a person, or what all visitors
    with public links share."""

    def __init__(self, holder: int | str) -> None:
        own, every = settings.DRAWINGS_PER_PERSON, settings.DRAWINGS
        if isinstance(holder, int):
            name = f"person-{holder}"
            rule = f"You have {own} tables being drawn or downloaded already"
        else:
            name = slugify(holder)
            rule = f"{own} tables are being downloaded with {holder} already"
        theirs = TooManyDrawings(
            rule, repair="come back when one of them is done", wait=COME_BACK
        )
        ours = TooManyDrawings(
            f"{every} tables are being drawn or downloaded already",
            repair="come back when one of them is done",
            wait=COME_BACK,
        )
        # The holder's own limit first: whoever has reached it takes no slot from the others,
        # not even for a moment.
        super().__init__([(name, own, theirs), ("all", every, ours)])
