"""Reference tables of records: read beside the noisy answers of a run, such as last year's release. Public by
a steward's word."""

from __future__ import annotations

import gzip
from dataclasses import dataclass
from functools import lru_cache

from synth_engine.errors import TableError
from synth_engine.references import ReferenceSheet, read_sheet
from synthweb.references.models import RECORDS, ReferenceVersion

MOST_CELLS = 5_000_000
"""They are compared with a description in the web process, too."""
MOST_COLUMNS = 1_000
CACHED_SHEETS = 2  # in the memory of a process


@dataclass(frozen=True, kw_only=True)
class RecordsFile:
    """A file of records that was checked: the names of its columns and the number of its records."""

    columns: tuple[str, ...]
    records: int


def check(text: bytes) -> RecordsFile:
    """Check an unpacked CSV of records. Errors: TableError."""
    columns = read_sheet(text).names
    if len(columns) > MOST_COLUMNS:
        raise TableError(
            f"a table of records has {len(columns):,} columns, and at most {MOST_COLUMNS:,} are read",
            repair="leave out columns that no description has",
        )
    # Counted before the cells are read: a file of commas has many cells in few bytes.
    cells = _lines(text) * len(columns)
    if cells > MOST_CELLS:
        raise TableError(
            f"a table of records has up to {cells:,} cells, and at most {MOST_CELLS:,} are read",
            repair="leave out columns that no description has, or take a random part of its lines",
        )
    sheet = read_sheet(text, wanted=columns)
    if not len(sheet):
        raise TableError(
            "the reference table has no line below its header", repair="choose another file"
        )
    return RecordsFile(columns=columns, records=len(sheet))


def file_of(version: ReferenceVersion) -> bytes:
    """The CSV of a version of records, as it was imported and unpacked."""
    return gzip.decompress(bytes(version.content))


def sheet_of(version: ReferenceVersion) -> ReferenceSheet:
    """All cells of a version of records; nobody changes them."""
    return _sheet(version.pk, version.sha256)


# By the digest as well: SQLite gives the number of a deleted row to another one.
@lru_cache(maxsize=CACHED_SHEETS)
def _sheet(pk: int, sha256: str) -> ReferenceSheet:
    version = ReferenceVersion.objects.get(pk=pk, sha256=sha256, kind=RECORDS)
    text = file_of(version)
    return read_sheet(text, wanted=read_sheet(text).names)


def _lines(text: bytes) -> int:
    """At most so many lines below the header; a line may end in a line feed, a carriage return, or both."""
    endings = text.count(b"\n") + text.count(b"\r") - text.count(b"\r\n")
    return endings - text.endswith((b"\n", b"\r"))
