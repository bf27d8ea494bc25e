"""A sample on its way to whoever downloads it.

A small table is drawn here, a block at a time. A large one is drawn by a process of its own (`drawing`),
because it takes up to hundreds of megabytes and tens of seconds, and neither may be the web server's. Its
first block is drawn here as well, so that nobody waits for the process to start. The process writes to a file
without a name, and the download follows it: the first line goes out at once, and a slow client holds a file
and no memory. A file of synthetic rows is no secret of the vault's; it is gone with its last reader.

What goes wrong on the way breaks the connection off: a half table must not look like a whole one.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import IO

from django.conf import settings
from django.http import HttpRequest

from synth_engine import codec
from synth_engine.domain import Domain
from synthweb.lib.errors import SynthwebError
from synthweb.releases import table_writers, tables
from synthweb.releases.models import Sample
from synthweb.releases.slots import Slot
from synthweb.releases.table_writers import FileFormat

SMALL = 2_000_000
"""Cells of a table that is drawn in the web process: about a second."""
PIECE = 1 << 18
POLL_SECONDS = 0.1
SILENT_SECONDS = 300.0
"""Without another block, after which a note of progress counts as left behind."""
WIDEST = 100
"""Columns up to which the first block of a large table is drawn in the web process."""
POPULATION = 1_000_000
"""A smaller table is a part of one of so many rows, if the model has as many (`Model.sample`)."""
WITHHELD = ("SYNTHWEB_", "DATABASE_", "DJANGO_")


class DrawingFailed(SynthwebError):
    """The process that drew a table ended before the table did."""


class Left(BrokenPipeError):
    """Nobody reads the table any more."""


class Download:
    """The bytes of a sample. Holds a slot of its requester's, or of those called `slots`, until it is closed
    or read to the end. `request`: of whoever downloads; where the server can say that they have left, the
    drawing ends then and not with the first rows that cannot be sent. Raises TooManyDrawings, and InputError
    for more rows than a workbook holds."""

    def __init__(
        self,
        sample: Sample,
        *,
        format: FileFormat = "csv",
        request: HttpRequest | None = None,
        slots: str = "",
    ) -> None:
        domain = Domain.from_json(sample.model_document["domain"])
        if format == "xlsx":
            codec.require_rows(sample.rows, columns=len(domain.table_columns))
        self._slot = Slot(slots or sample.requested_by_id)
        self._drawing: _Drawn | None = None
        try:
            # Many rows are drawn to choose a few.
            if _cells(sample) > SMALL or sample.selection is not None:
                self._drawing = _Drawn(sample, format)
                pieces = _followed(self._drawing, sample, format, left(request))
            else:
                pieces = table_writers.pieces(tables.draw_of(sample), format)
        # Also a KeyboardInterrupt or the time-out of a worker: no slot outlives its download.
        except BaseException:
            self.close()
            raise
        self._pieces = pieces
        self._first = table_writers.first_line(domain, format)

    def __iter__(self) -> Iterator[bytes]:
        return self

    def __next__(self) -> bytes:
        if self._first:
            first, self._first = self._first, b""
            return first
        try:
            return next(self._pieces)
        # StopIteration, too: the end of the table gives the slot back.
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """End what draws, and give the slot back."""
        if self._drawing is not None:
            self._drawing.close()
        self._slot.close()

    def __del__(self) -> None:
        # For a response that is dropped and never closed; a refused one has no slot.
        if hasattr(self, "_slot"):
            self.close()


def rows_so_far(sample: Sample) -> int | None:
    """How many rows of a sample its process has drawn; None where none draws it now. The caller
    authorised."""
    path = _progress_file(sample)
    try:
        # One that a killed server left behind says nothing.
        if time.time() - path.stat().st_mtime > SILENT_SECONDS:
            return None
        return int(path.read_text())
    except (FileNotFoundError, ValueError):
        return None


def _progress_file(sample: Sample) -> Path:
    return Path(settings.SPOOL_DIR) / "progress" / sample.code


def left(request: HttpRequest | None) -> Callable[[], bool]:
    """Whether whoever asked has closed the connection, where the server can say so."""
    connection = None if request is None else request.META.get("gunicorn.socket")
    has_gone: Callable[[], bool] = getattr(connection, "has_gone", lambda: False)
    return has_gone


def _cells(sample: Sample) -> int:
    """Of the table that the model draws for it."""
    document = sample.model_document
    return max(sample.rows, min(int(document["rows"]), POPULATION)) * len(
        document["domain"]["attributes"]
    )


def _followed(
    drawing: _Drawn, sample: Sample, format: FileFormat, has_gone: Callable[[], bool]
) -> Iterator[bytes]:
    """The file that a process fills. Its first block is drawn here, too: the process loads its libraries
    meanwhile, and the same bytes come from both."""
    first = b""
    # Chosen rows are searched among many.
    if sample.selection is None:
        draw = tables.draw_of(sample)
        if draw.model.refines_in_blocks and len(draw.model.domain.names) <= WIDEST:
            first = next(table_writers.pieces(draw, format))
    if first:
        yield first
    yield from drawing.pieces(has_gone, at=len(first))


def started(
    module: str, job: Mapping[str, object], *, out: IO[bytes]
) -> subprocess.Popen[bytes]:
    """A process of this module that reads its job as JSON from its standard input and writes to `out`."""
    # A file, not a pipe: a pipe holds less than a model, and would block this thread until
    # the process has loaded its libraries and reads.
    with tempfile.TemporaryFile(dir=settings.SPOOL_DIR) as asked:
        asked.write(json.dumps(job).encode())
        asked.seek(0)
        return subprocess.Popen(  # noqa: S603 - modules of this package
            [sys.executable, "-m", module],
            cwd=settings.BASE_DIR,
            env={
                # Drawing needs neither keys nor a database, so the
                # process does not learn where they are.
                name: value
                for name, value in os.environ.items()
                if not name.startswith(WITHHELD)
            },
            stdin=asked,
            stdout=out,
        )


class _Drawn:
    """A process that draws, and the file that it fills."""

    def __init__(self, sample: Sample, format: FileFormat) -> None:
        folder = Path(settings.SPOOL_DIR)
        self._progress = _progress_file(sample)
        self._progress.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._progress.write_text("0")
        self._file: IO[bytes] = tempfile.TemporaryFile(dir=folder)  # noqa: SIM115 - closed by close()
        job = {
            "model": sample.model_document,
            "rows": sample.rows,
            "seed": sample.seed,
            "selection": sample.selection,
            "progress": str(self._progress),
        }
        self._process = started(
            "synthweb.releases.drawing", job | {"format": format}, out=self._file
        )

    def pieces(self, has_gone: Callable[[], bool], *, at: int = 0) -> Iterator[bytes]:
        """The bytes of the file from this one on, and those that are added, until the process has ended
        well."""
        while True:
            # Asked before reading: what the process wrote last is read below.
            ended = self._process.poll() is not None
            while piece := os.pread(self._file.fileno(), PIECE, at):
                at += len(piece)
                yield piece
            if ended:
                break
            try:
                self._process.wait(timeout=POLL_SECONDS)
            except subprocess.TimeoutExpired:
                if has_gone():
                    raise Left from None
        # Raised in the middle of a response, this breaks the connection off.
        if self._process.returncode:
            raise DrawingFailed(
                f"the process that drew a table ended with {self._process.returncode}"
            )

    def close(self) -> None:
        """End the process, if it still draws, and let the file go."""
        if self._process.poll() is None:
            # Killed and waited for: without the wait each download
            # that ends early could leave a zombie.
            self._process.kill()
            self._process.wait()
        self._progress.unlink(missing_ok=True)
        self._file.close()
