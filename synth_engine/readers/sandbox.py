"""Files that a library may die of, read by a process of its own first."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from synth_engine.formats import Kind

_TRIAL = Path(__file__).with_name("sandbox_child.py")
_LONGEST = 3_600  # seconds


def is_deadly(path: Path, *, kind: Kind, cells: int) -> bool:
    """Whether reading the file ends the process of its reader, or never ends. What it is otherwise, the reader says.
    `cells`: what `trial` takes for this kind."""
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
    return ended not in (0, 1)


def _descriptors(path: Path) -> tuple[int, ...]:
    """The open descriptor that a path of /proc/self/fd names: the child needs it under the same number."""
    return (int(path.name),) if path.parent == Path("/proc/self/fd") else ()
