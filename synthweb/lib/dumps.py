"""Keeping the memory of this process out of core dumps and away from other processes of the same user."""

from __future__ import annotations

import contextlib
import ctypes
import resource

# From <linux/prctl.h>; the standard library has no binding.
PR_SET_DUMPABLE = 4


def forbid() -> None:
    """No core dump of this process or of its forks, and no debugger or /proc/PID/fd for others of the same
    user.

    The limit alone is not enough: Linux ignores it where core dumps are piped to a program (systemd-coredump,
    apport).
    """
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    with contextlib.suppress(
        OSError, AttributeError
    ):  # another system than Linux: the limit alone
        ctypes.CDLL(None).prctl(PR_SET_DUMPABLE, 0, 0, 0, 0)
