"""python -m synth_engine"""

from __future__ import annotations

import os
import signal
import sys


def start() -> int:
    """One command in a process of its own; its exit code. Ctrl-C ends it quietly from the first moment on:
    what follows takes a while to import."""
    signal.signal(signal.SIGINT, lambda *_: os._exit(130))
    # Tables are small: with more threads, OpenBLAS takes twice the processor time and is no faster. Read when
    # it is loaded.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    from synth_engine import outputs

    outputs.end_cleanly()
    from synth_engine.cli import main

    return main()


if __name__ == "__main__":
    sys.exit(start())
