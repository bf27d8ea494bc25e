"""Places at which tests kill or freeze a worker, to prove that no fault loses budget or draws noise twice.

Off unless SYNTHWEB_DEBUG_FAILPOINTS names a folder and SYNTHWEB_FAIL_AT a place, optionally with `:stop`:
`before-charge`, `after-charge`, `after-measure`, `during-fit`. The process gets SIGKILL (or SIGSTOP) from itself, once:
a mark in the folder keeps a worker that comes back from dying again. Never set either variable in production.
"""

from __future__ import annotations

import os
import signal
from pathlib import Path

from django.conf import settings

BEFORE_CHARGE = "before-charge"
AFTER_CHARGE = "after-charge"
AFTER_MEASURE = "after-measure"
DURING_FIT = "during-fit"


def reach(point: str) -> None:
    """Say that execution has come to `point`; dies or freezes here if a test asked for it."""
    if not settings.DEBUG_FAILPOINTS:
        return
    wanted, _, how = os.environ.get("SYNTHWEB_FAIL_AT", "").partition(":")
    if wanted != point:
        return
    mark = Path(settings.DEBUG_FAILPOINTS) / f"reached-{point}"
    try:
        mark.touch(exist_ok=False)
    except FileExistsError:
        return
    os.kill(os.getpid(), signal.SIGSTOP if how == "stop" else signal.SIGKILL)
