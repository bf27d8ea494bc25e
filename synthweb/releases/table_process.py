"""A table that a process of its own makes whole, while a person waits for it: test data, and repaired tables.

The process reads what to make as JSON from its standard input and writes a file to its standard output. Where
that cannot be had it writes the refusal as JSON instead, and ends with `REFUSED`.
"""

from __future__ import annotations

import json
import subprocess
import tempfile
import time
from collections.abc import Callable, Mapping
from typing import IO

from django.conf import settings
from django.http import HttpRequest

from synth_engine.errors import InputError
from synthweb.lib.errors import Refused
from synthweb.releases import spool
from synthweb.releases.drawing import REFUSED

SECONDS = 240
MOST_CELLS = 20_000_000
"""Cells of a table: all of them are in memory at once, about 150 bytes each."""


class TableUnfinished(Refused):
    """The process that made a table was slow, or ended before its file did"""

    code = "table-unfinished"


def made_by(
    module: str, job: Mapping[str, object], *, request: HttpRequest | None = None
) -> IO[bytes]:
    """The file that a module makes of its job, open at its beginning; it is gone once it is closed. request:
    of whoever waits; if they leave, the process ends. Errors: InputError as the process refused,
    TableUnfinished."""
    out: IO[bytes] = tempfile.TemporaryFile(dir=settings.SPOOL_DIR)  # noqa: SIM115 - closed by the caller
    try:
        _run(module, job, out=out, has_gone=spool.left(request))
    except BaseException:
        out.close()
        raise
    out.seek(0)
    return out


def _run(
    module: str, job: Mapping[str, object], *, out: IO[bytes], has_gone: Callable[[], bool]
) -> None:
    """The process, until it has ended well."""
    process = spool.started(module, job, out=out)
    ends = time.monotonic() + SECONDS
    try:
        while process.poll() is None:
            if has_gone():
                raise spool.Left
            if time.monotonic() > ends:
                raise TableUnfinished(
                    f"The table took longer than {SECONDS} seconds",
                    repair="ask for fewer rows, or use the command line",
                )
            _wait(process)
    finally:
        # Killed and waited for: without the wait it would be left as a zombie.
        if process.poll() is None:
            process.kill()
            process.wait()
    if process.returncode == REFUSED:
        out.seek(0)
        fault = json.load(out)
        raise InputError(fault["rule"], repair=fault["repair"], column=fault["column"])
    if process.returncode:
        raise TableUnfinished(
            "The process that made the table ended before it did",
            repair="ask for fewer rows, or tell whoever operates the installation",
        )


def _wait(process: subprocess.Popen[bytes]) -> None:
    try:
        process.wait(timeout=spool.POLL_SECONDS)
    except subprocess.TimeoutExpired:
        return
