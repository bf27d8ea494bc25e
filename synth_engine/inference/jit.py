"""Functions over records that arrays cannot say, compiled."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar, cast

import numba

Function = TypeVar("Function", bound=Callable[..., object])


def compiled(function: Function) -> Function:
    """The function as machine code, kept on disk for the next process where there is a place that can be written to.

    The order of additions is that of the source, and nothing runs in parallel: the same numbers on every machine.
    """
    try:
        machine_code = numba.njit(cache=True)(function)
    except (
        RuntimeError
    ):  # neither beside the source nor in the user's own folder: compiled anew in each process
        machine_code = numba.njit(function)
    return cast(Function, machine_code)
