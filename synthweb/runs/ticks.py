"""The grid of time on which a result of a real table is shown to who may not see how long its run took.

How long a run takes depends on the table, and so may whether it ends. A result that is there is shown at the
next tick; the times of ticks are public facts: when it was asked for, and a length that rests on released
numbers alone.
"""

from __future__ import annotations

from datetime import datetime, timedelta

TICK = timedelta(minutes=1)
"""Between two ticks, for a small table: longer than a figure or a sketch of it usually takes."""
RECORDS = 500_000
"""Each further so many synthetic records make the distance of two ticks longer by `TICK`."""
MOST = 60
"""Ticks after which what is not there counts as without an answer."""
LAG = 6
"""The last part of so many of a tick is too late for it: a row can be read a moment after the time that it
names."""
WAITING, NO_ANSWER = "waiting", "no-answer"
"""Two states of what is not shown: before the last tick, and after it."""


def length(records: int) -> timedelta:
    """The distance of two ticks for a table of about this many records, which is a public number."""
    return TICK * (1 + max(0, records) // RECORDS)


def shown_at(done: datetime, *, due: datetime, length: timedelta) -> datetime:
    """The tick at which something that was done is shown. due: the first tick."""
    late = done + length / LAG - due
    return due + max(0, -(-late // length)) * length


def next_after(now: datetime, *, due: datetime, length: timedelta) -> datetime | None:
    """The next tick; None after the last one."""
    passed = (now - due) // length + 1
    return None if passed >= MOST else due + max(0, passed) * length
