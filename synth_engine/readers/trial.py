"""Reads a file of SPSS or Stata from end to end, for nothing, in a process of its own.

The library that reads them trusts what the file says of itself: a damaged or a hostile one ends the process, or worse.
This one has no key, no secret and no other import; what becomes of it says whether the worker may read the file.
Used by `statistical`, as `python -I trial.py KIND PATH CELLS`: so many at once, 0 for the list of variables alone.
"""

from __future__ import annotations

import resource
import sys
from typing import Any

import pyreadstat

MOST_ROWS = 65_536


def main() -> None:
    """Exit status 0 or 1 whatever the file holds; anything else is the end of the process."""
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))  # what is left of it would hold rows
    kind, path, cells = sys.argv[1:]
    read = {"sav": pyreadstat.read_sav, "dta": pyreadstat.read_dta}[kind]
    options: dict[str, Any] = {"user_missing": True, "output_format": "dict"}
    columns = len(read(path, metadataonly=True, **options)[1].column_names)
    at_once, start = min(MOST_ROWS, -(-int(cells) // max(1, columns))), 0
    while at_once:
        found = read(path, row_offset=start, row_limit=at_once, **options)[0]
        count = max((len(values) for values in found.values()), default=0)
        start += count
        if count < at_once:
            break


if __name__ == "__main__":
    main()
