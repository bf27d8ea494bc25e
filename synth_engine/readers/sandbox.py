"""Try files that may end the process of their reader in a process of their own first."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from synth_engine.formats import Kind

_TRIAL = Path(__file__).with_name("sandbox_child.py")
_LONGEST = 3_600  # seconds


def is_deadly(path: Path, *, kind: Kind, cells: int) -> bool:
    """Whether reading the file ends the process of its reader, or takes more than an hour. `cells` is the
    argument CELLS of `sandbox_child`."""
    command = [
        sys.executable,
        "-I",
        str(_TRIAL),
        kind,
        str(path.absolute()),
        str(cells),
        str(os.getpid()),
    ]
    nothing = subprocess.DEVNULL  # what it says could quote the file
    try:
        ended = subprocess.run(  # noqa: S603 - our own script, our own words
            command,
            # The environment of the worker holds keys; the child, which parses hostile bytes,
            # gets none.
            env={},
            stdin=nothing,
            stdout=nothing,
            stderr=nothing,
            pass_fds=_descriptors(path),
            timeout=_LONGEST,
            check=False,
        ).returncode
    except subprocess.TimeoutExpired:
        return True
    # A signal or an exhausted memory gives another status. 1 is an ordinary error of the
    # library, which the reader meets again and reports.
    return ended not in (0, 1)


def _descriptors(path: Path) -> tuple[int, ...]:
    """The open descriptor that a path of /proc/self/fd names: the child needs it under the same number."""
    return (int(path.name),) if path.parent == Path("/proc/self/fd") else ()
