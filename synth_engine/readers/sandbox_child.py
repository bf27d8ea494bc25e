"""Reads a file of SPSS or Stata or an old workbook to its end, for nothing, in a process of its own.

The libraries that read them trust what the file says of itself: a damaged or a hostile one ends the process,
or worse. This one has no key, no secret and no other import; what becomes of it says whether the worker may
read the file. Used by `sandbox`, as `python -I sandbox_child.py KIND PATH CELLS PARENT`. CELLS is how many
are read at once, 0 for the list of variables alone; of a workbook, how many the rectangle around those of a
sheet may have.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import resource
import signal
import sys
from typing import Any

MOST_ROWS = 65_536
MOST_MEMORY = 4 * 2**30
DEADLY = 3
PR_SET_PDEATHSIG, PR_SET_DUMPABLE = 1, 4


def main() -> None:
    """Exit status 0 or 1, or what the end of the process gives."""
    kind, path, cells, parent = sys.argv[1:]
    _leave_nothing(parent=int(parent))
    (_workbook if kind == "xls" else _statistical)(kind, path, int(cells))


def _leave_nothing(*, parent: int) -> None:
    """Disable core dumps, which would hold rows, and end with the process that asked, because the open table
    would live on with this one."""
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    with contextlib.suppress(
        OSError, AttributeError
    ):  # another system than Linux: the limit alone
        control = ctypes.CDLL(None).prctl
        control(PR_SET_DUMPABLE, 0, 0, 0, 0)
        control(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    if os.getppid() != parent:  # it ended before the line above
        os._exit(DEADLY)


def _statistical(kind: str, path: str, cells: int) -> None:
    import pyreadstat

    read = {"sav": pyreadstat.read_sav, "dta": pyreadstat.read_dta}[kind]
    options: dict[str, Any] = {"user_missing": True, "output_format": "dict"}
    columns = len(read(path, metadataonly=True, **options)[1].column_names)
    # Blocks are as large as those of the reader, so that both meet the same damage and need the
    # same memory.
    at_once, start = min(MOST_ROWS, -(-cells // max(1, columns))), 0
    while at_once:
        values = read(path, row_offset=start, row_limit=at_once, **options)[0]
        count = max((len(values) for values in values.values()), default=0)
        start += count
        if count < at_once:
            break


def _workbook(_kind: str, path: str, cells: int) -> None:
    """The sheets are laid out in memory; where there is not enough, the process ends."""
    import xlrd

    # xlrd allocates the rectangle of a sheet from sizes that the file states.
    resource.setrlimit(resource.RLIMIT_AS, (MOST_MEMORY, MOST_MEMORY))
    try:
        book = xlrd.open_workbook(path, formatting_info=True, ragged_rows=True)
        if any(sheet.nrows * sheet.ncols > cells for sheet in book.sheets()):
            sys.exit(DEADLY)
    except MemoryError:
        sys.exit(DEADLY)
    except Exception:  # noqa: BLE001 - the reader meets it again, and says so
        sys.exit(1)


if __name__ == "__main__":
    main()
