"""Files on their way here: written as they come, with progress, and begun again if the connection breaks."""

from __future__ import annotations

import base64
import binascii
import hashlib
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import IO

import httpx

from synthweb_client.errors import ConnectionFailed
from synthweb_client.transport import Again, Params, Transport

ACCEPTED = 202
PAUSE = 2.0
"""Seconds after which to ask again where the server does not say."""
DIGEST_HEADER = "Repr-Digest"
_SHA256 = re.compile(r"(?:^|,)\s*sha-256=:([A-Za-z0-9+/=]{44}):")


@dataclass(frozen=True, kw_only=True)
class Progress:
    """How far a download is. received: bytes. rows: lines of CSV below the header so far, None in other
    formats, whose rows cannot be counted on the way. total_rows: of the whole table, None for files other
    than samples."""

    received: int
    rows: int | None
    total_rows: int | None


Report = Callable[[Progress], None]


def download(
    transport: Transport,
    path: tuple[str, ...],
    *,
    to: IO[bytes],
    rows: int | None = None,
    report: Report,
    params: Params | None = None,
) -> float | None:
    """Write the file at this address to the beginning of `to`, and compare it with the SHA-256 that the
    server states, if it does.

    rows: of the table, if it is a sample. Returns None, or the seconds after which to ask again if a worker
    has not prepared the file yet. Errors: SynthwebError.
    """
    for attempt in transport.attempts():
        to.seek(0)
        to.truncate()
        try:
            with transport.stream(*path, attempt=attempt, params=params) as response:
                if response.status_code == ACCEPTED:
                    return float(response.headers.get("Retry-After", PAUSE))
                digest = _receive(
                    response, to, counts=path[-1].endswith(".csv"), rows=rows, report=report
                )
            stated = _stated_digest(response)
            if stated is not None and stated != digest:
                error = ConnectionFailed(
                    f"what arrived of {path[-1]} is not what was sent: its SHA-256 differs from the one "
                    "that the server states"
                )
                raise Again(error, seconds=transport.retries.pause(attempt))
            return None
        except Again as again:
            # The same file has the same bytes, so the beginning can be fetched again.
            transport.wait_for(again, attempt=attempt)
    raise AssertionError("the last attempt returns or raises")


def _receive(
    response: httpx.Response, to: IO[bytes], *, counts: bool, rows: int | None, report: Report
) -> bytes:
    """Write the body to a file piece by piece; its SHA-256."""
    digest = hashlib.sha256()
    received, lines = 0, -1
    for piece in response.iter_bytes():
        to.write(piece)
        digest.update(piece)
        received += len(piece)
        lines += piece.count(b"\n")
        # A text that spans lines counts as several.
        seen = min(max(lines, 0), rows) if counts and rows is not None else None
        report(Progress(received=received, rows=seen, total_rows=rows))
    return digest.digest()


def _stated_digest(response: httpx.Response) -> bytes | None:
    """The SHA-256 of the body in the header Repr-Digest (RFC 9530); None without one, or of a compressed
    answer."""
    found = _SHA256.search(response.headers.get(DIGEST_HEADER, ""))
    if found is None or response.headers.get("Content-Encoding", "identity") != "identity":
        return None
    try:
        return base64.b64decode(found[1], validate=True)
    except binascii.Error:
        return None


@contextmanager
def shown(progress: bool | Report) -> Iterator[Report]:
    """What to call with the progress: a bar for True, nothing for False, else the function given."""
    if callable(progress):
        yield progress
        return
    if not progress:
        yield _nobody_watches
        return
    try:
        from rich.progress import (
            BarColumn,
            DownloadColumn,
            TextColumn,
            TimeElapsedColumn,
            TransferSpeedColumn,
        )
        from rich.progress import Progress as Bars
    except ImportError:
        raise ImportError(
            "a progress bar needs rich: pip install 'synthweb-client[progress]', or give a function"
        ) from None
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        DownloadColumn(),
        TransferSpeedColumn(),
        TimeElapsedColumn(),
    )
    with Bars(*columns) as bars:
        task = bars.add_task("table", total=None)

        def advance(now: Progress) -> None:
            counted = now.rows is not None and now.total_rows is not None
            text = f"{now.rows:,} of {now.total_rows:,} rows" if counted else "received"
            bars.update(task, completed=now.received, description=text)

        yield advance
        # The size of a table is known once it is here.
        bars.update(task, total=bars.tasks[0].completed)


def _nobody_watches(_: Progress) -> None:
    pass
