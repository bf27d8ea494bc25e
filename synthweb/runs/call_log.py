"""The calls of a run while it asks: what is recorded and stored, so that a worker that dies loses nothing
that could be saved.

    the row                         the file
    calls_begun = n + 1, fenced                               this worker may draw noise for call n
                                    mark of call n            noise is drawn from here on
                                    answer n, synced          it is used from here on, by this worker or the
                                                              next one

A call that is drawn in parts, as a tree is depth by depth, stands here as so many calls. Each worker writes a
file of its own, which begins with what the one before has stored. So a worker that was frozen and wakes up
after it was taken over begins no call, and what it had drawn is nowhere used. A run goes on if each call that
was begun has its answer, or the worker is dead and had not marked the last one; else noise was drawn that is
lost, and the run ends (docs/proofs/interrupted.md). The mark alone is not forced to the disk: it counts while
the machine has not been started again.
"""

from __future__ import annotations

import hashlib
import io
import struct
from collections import deque
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

from synth_engine.measurement import AnsweredCall, Answers, Call
from synthweb.runs import artefacts, failpoints, leases
from synthweb.runs.models import SynthesisRun

State = SynthesisRun.State
Retry = Callable[[Callable[[], None]], None]
"""Does a write that must not be lost, and tries it again as long as the lease is held."""

_HEAD = struct.Struct(">8sQ32s")
_MARK, _DRAWING = b"answer/1", b"drawing!"
"""An answer in a file: mark, length, SHA-256 of its number and content, and the content, an archive as of
`Answers`. Where it will stand there are zeros, and another mark once noise is drawn for it."""
_BOOT = Path("/proc/sys/kernel/random/boot_id")
_BEGINNING = 36
"""Bytes at the beginning of a file: the name of the time since the machine was started."""


class CallLog:
    """The log of one worker's turn (`synth_engine.measurement.CallLog`)."""

    def __init__(
        self,
        lease: leases.Lease,
        room: artefacts.Reservation,
        *,
        stored: list[bytes],
        retry: Retry,
    ) -> None:
        """stored: the answers of the turns before, as they are stored."""
        self._lease, self._room, self._retry = lease, room, retry
        self._upcoming = deque(map(_answered, stored))
        self._number, self._end = len(stored), _BEGINNING
        retry(lambda: room.write(_boot(), at=0))
        for number, content in enumerate(stored):
            retry(partial(self._append, number, content))

    def next_stored(self) -> AnsweredCall | None:
        return self._upcoming.popleft() if self._upcoming else None

    def begin(self, call: Call) -> None:  # noqa: ARG002 - which call it is follows from those before it
        failpoints.reach(f"{failpoints.CALL_COUNTED}{self._number}")
        # Under the fence: a worker that was taken over draws nothing.
        self._retry(
            lambda: leases.write(
                self._lease, states=(State.CHARGED,), calls_begun=self._number + 1
            )
        )
        failpoints.reach(f"{failpoints.CALL_ALLOWED}{self._number}")
        self._retry(lambda: self._room.note(_DRAWING, at=self._end))
        failpoints.reach(f"{failpoints.CALL_BEGUN}{self._number}")

    def store(self, answered: AnsweredCall) -> None:
        # Not compressed: until it is written, whoever is killed loses it.
        content = Answers((answered,)).to_bytes(compressed=False)
        failpoints.reach(f"{failpoints.CALL_DRAWN}{self._number}")
        self._retry(partial(self._append, self._number, content))
        failpoints.reach(f"{failpoints.CALL_STORED}{self._number}")
        self._number += 1

    def _append(self, number: int, content: bytes) -> None:
        head = _HEAD.pack(_MARK, len(content), _digest(number, content))
        self._room.write(head + content, at=self._end)
        self._end += len(head) + len(content)


def name_of(run: SynthesisRun, lease: leases.Lease) -> str:
    """The name of the file of one worker's turn."""
    return f"{run.code}-{lease.token}{artefacts.CALLS}"


def stored_of(run: SynthesisRun) -> list[bytes] | None:
    """The answers of a charged run, as they are stored; None if noise may have been drawn whose answer is not
    there, or none of its workers had a log: it must not go on."""
    paths = sorted(artefacts.paths_of_calls(run.code), key=_token)
    if not paths or run.calls_begun is None:
        return None
    # Before the file is read: whoever is dead writes nothing more.
    is_over = artefacts.is_unlocked(paths[-1])
    content = paths[-1].read_bytes()
    stored = list(_stored(content))
    if len(stored) == run.calls_begun:
        return stored
    end = _BEGINNING + sum(_HEAD.size + len(answer) for answer in stored)
    is_unmarked = not any(content[end : end + len(_DRAWING)])
    was_seen_dead = is_over and content[:_BEGINNING] == _boot()
    if len(stored) == run.calls_begun - 1 and is_unmarked and was_seen_dead:
        return stored
    return None


def discard(run: SynthesisRun) -> None:
    """Remove the files of calls of a run that has stored all its answers."""
    for path in artefacts.paths_of_calls(run.code):
        path.unlink(missing_ok=True)


def is_needed(name: str) -> bool:
    """Whether a run may go on from this file of calls."""
    code, _, _ = name.partition("-")
    return SynthesisRun.objects.filter(code=code, state=State.CHARGED).exists()


def _token(path: Path) -> int:
    return int(path.stem.rpartition("-")[2])


def _boot() -> bytes:
    return _BOOT.read_bytes()[:_BEGINNING]


def _stored(content: bytes) -> Iterator[bytes]:
    """The whole answers in a file, one after another. Behind the last one there is what was reserved, a mark,
    or a part of one."""
    number, place = 0, _BEGINNING
    while len(content) >= place + _HEAD.size:
        mark, length, digest = _HEAD.unpack_from(content, place)
        answer = content[place + _HEAD.size : place + _HEAD.size + length]
        if mark != _MARK or _digest(number, answer) != digest:
            return
        yield answer
        number, place = number + 1, place + _HEAD.size + length


def _digest(number: int, content: bytes) -> bytes:
    return hashlib.sha256(number.to_bytes(8, "big") + content).digest()


def _answered(content: bytes) -> AnsweredCall:
    (answered,) = Answers.load(io.BytesIO(content)).answered
    return answered
