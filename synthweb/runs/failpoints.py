"""Places at which tests kill or freeze a worker, to prove that no fault loses budget or draws noise twice.

Off but for settings of the tests (tests/settings.py), where DEBUG_FAILPOINTS names a folder and FAIL_AT some
places, separated by commas, each optionally with `:stop`. The process gets SIGKILL (or SIGSTOP) from itself
at each place once: a mark with its process id in the folder keeps a worker that comes back from dying there
again.
"""

from __future__ import annotations

import os
import signal
from pathlib import Path

from django.conf import settings

BEFORE_CHARGE = "before-charge"
AFTER_CHARGE = "after-charge"  # nothing is drawn yet, which nobody can know from outside
BEFORE_STORE = "before-store"  # noise is drawn, and stored call by call
# Before the number of a call, from 0 on: when records are counted, when it is recorded in the row, when it is
# marked that noise is drawn, when it is drawn and nobody has it yet, and when it is stored.
CALL_COUNTED, CALL_ALLOWED = "counted-", "allowed-"
CALL_BEGUN, CALL_DRAWN, CALL_STORED = "begun-", "drawn-", "stored-"
AFTER_MEASURE = "after-measure"  # the answers are stored
DURING_FIT = "during-fit"
STAGE = "stage-"  # before the name of any stage, of runs and jobs: the beginning of its first piece of work


def reach(point: str) -> None:
    """Say that execution has come to `point`; dies or freezes here if a test asked for it."""
    if not settings.DEBUG_FAILPOINTS:
        return
    for wanted in settings.FAIL_AT.split(","):
        name, _, how = wanted.partition(":")
        if name == point and _first(Path(settings.DEBUG_FAILPOINTS) / point):
            # A signal, not an exception: as in a real fault, no
            # `finally` runs and no transaction ends.
            os.kill(os.getpid(), signal.SIGSTOP if how == "stop" else signal.SIGKILL)


def _first(mark: Path) -> bool:
    try:
        with mark.open("x") as file:
            file.write(str(os.getpid()))
    except FileExistsError:
        return False
    return True
