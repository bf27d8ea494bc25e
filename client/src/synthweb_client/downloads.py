"""Tables on their way here: written to a file as they come, with progress, and begun again if the connection breaks."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import IO

from synthweb_client.transport import Again, Transport


@dataclass(frozen=True, kw_only=True)
class Progress:
    """How far a download is. received: bytes. rows: lines of CSV below the header so far, None in other formats, whose rows
    cannot be counted on the way. total_rows: of the whole table."""

    received: int
    rows: int | None
    total_rows: int


Report = Callable[[Progress], None]


def download(
    transport: Transport, path: tuple[str, ...], *, to: IO[bytes], rows: int, report: Report
) -> None:
    """Write the table of so many rows at this address to the beginning of a file. Errors: SynthwebError."""
    counts = path[-1].endswith(".csv")
    for attempt in transport.attempts():
        to.seek(0)
        to.truncate()
        try:
            with transport.stream(*path, attempt=attempt) as response:
                received, lines = 0, -1
                for piece in response.iter_bytes():
                    to.write(piece)
                    received += len(piece)
                    lines += piece.count(b"\n")
                    # A text that spans lines counts as several.
                    seen = min(max(lines, 0), rows) if counts else None
                    report(Progress(received=received, rows=seen, total_rows=rows))
            return
        except Again as again:
            # The same sample has the same bytes, so the beginning can be fetched again.
            transport.wait_for(again, attempt=attempt)


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
            text = "table" if now.rows is None else f"{now.rows:,} of {now.total_rows:,} rows"
            bars.update(task, completed=now.received, description=text)

        yield advance
        # The size of a table is known once it is here.
        bars.update(task, total=bars.tasks[0].completed)


def _nobody_watches(_: Progress) -> None:
    pass
