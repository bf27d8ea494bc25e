"""The process that draws one large table: `python -m synthweb.releases.drawing`, started by `spool`.

It reads what to draw from its standard input, writes the table to its standard output and ends, and with it
the memory of the table. It knows no database and no key: its environment names none.
"""

from __future__ import annotations

import contextlib
import ctypes
import json
import os
import signal
import sys
from pathlib import Path

REFUSED = 3
"""How a process ends that wrote a refusal in place of a table."""
NICER = 10  # than the processes that answer
PR_SET_PDEATHSIG = 1


def _note(path: Path, rows: int) -> None:
    """How many rows there are by now, for the page that waits. Whole or not at all; a full disk costs the
    note alone."""
    with contextlib.suppress(OSError):
        written = path.with_suffix(".new")
        written.write_text(str(rows))
        written.replace(path)


def become_background_process() -> None:
    """Let the processes that answer go first, and end with the server."""
    # Linux: nobody waits for this process when the server is gone.
    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    os.nice(NICER)


def main() -> int:
    """Draw; 0 if all of the table is written."""
    become_background_process()
    # Imported after the lines above, because it takes a second.
    from synth_engine.mechanisms import Model
    from synth_engine.row_selection import RowSelection
    from synth_engine.tables import Drawing
    from synthweb.releases import table_writers

    # From the standard input: arguments, the seed among them,
    # are shown to every user of the machine.
    job = json.load(sys.stdin.buffer)
    draw = Drawing(
        model=Model.from_json(job["model"]),
        rows=job["rows"],
        seed=job["seed"],
        selection=None
        if job["selection"] is None
        else RowSelection.from_json(job["selection"]),
        progress=lambda rows: _note(Path(job["progress"]), rows),
    )
    for piece in table_writers.pieces(draw, job["format"]):
        sys.stdout.buffer.write(piece)
        sys.stdout.buffer.flush()  # the download goes on while the next block is drawn
    return 0


if __name__ == "__main__":
    sys.exit(main())
