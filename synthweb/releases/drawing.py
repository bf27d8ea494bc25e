"""The process that draws one large table: `python -m synthweb.releases.drawing`, started by `spool`.

It reads what to draw from its standard input, writes the table to its standard output and ends, and with it the memory
of the table. It knows no database and no key: its environment names none.
"""

from __future__ import annotations

import contextlib
import ctypes
import json
import os
import signal
import sys

NICER = 10  # than the processes that answer
PR_SET_PDEATHSIG = 1


def main() -> int:
    """Draw; 0 if all of the table is written."""
    # Linux: nobody waits for this process when the server is gone.
    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    os.nice(NICER)
    # Imported after the lines above, because it takes a second.
    from synth_engine.mechanisms import Model
    from synthweb.releases import table_writers

    # From the standard input: arguments, the seed among them,
    # are shown to every user of the machine.
    job = json.load(sys.stdin.buffer)
    model = Model.from_json(job["model"])
    table = {"seed": job["seed"], "format": job["format"]}
    if job["format"] not in table_writers.LINE_FORMATS:
        table_writers.write_file(model, job["rows"], **table, file=sys.stdout.buffer)
    else:
        for block in table_writers.blocks_below(model, job["rows"], **table):
            sys.stdout.buffer.write(block)
            sys.stdout.buffer.flush()  # the download goes on while the next block is drawn
    sys.stdout.buffer.flush()
    return 0


if __name__ == "__main__":
    sys.exit(main())
