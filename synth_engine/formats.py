"""What files look like from outside: which formats are read, and what the first bytes of others give away.

No content is looked at here beyond those bytes, so that whoever receives a file can refuse it before storing it.
"""

from __future__ import annotations

from pathlib import Path
from typing import Literal, get_args

from synth_engine.errors import TableError

Kind = Literal["csv", "csv.gz", "parquet"]
KINDS: tuple[Kind, ...] = get_args(Kind)
HEAD = 512  # bytes at the beginning that are enough to know
GZIP = b"\x1f\x8b"
SAVE_AS_CSV = 'open it in the program that made it and save it as "CSV UTF-8"'
UNPACK = "unpack it and use the CSV inside, or pack the CSV with gzip"
_EXPORT = "export the table as CSV"
_FOREIGN = (  # first bytes, what it is, what to do
    (b"PK\x03\x04", "a ZIP archive or an Excel workbook", SAVE_AS_CSV),
    (b"\xd0\xcf\x11\xe0", "an old Excel workbook", SAVE_AS_CSV),
    (b"PAR1\x15", "a Parquet file", SAVE_AS_CSV),
    (b"ARROW1\x00", "an Arrow file", SAVE_AS_CSV),
    (b"\x89HDF", "an HDF5 file", SAVE_AS_CSV),
    (b"SQLite format 3\x00", "a database", _EXPORT),
    (b"%PDF-", "a PDF", "find the table that the PDF was made from"),
    (b"\x89PNG", "a picture", _EXPORT),
    (b"\xff\xd8\xff", "a picture", _EXPORT),
    (b"GIF87a", "a picture", _EXPORT),
    (b"GIF89a", "a picture", _EXPORT),
    (GZIP, "packed with gzip", UNPACK),
    (b"BZh91AY&SY", "packed with bzip2", UNPACK),
    (b"\xfd7zXZ", "packed with xz", UNPACK),
    (b"7z\xbc\xaf\x27", "a 7-Zip archive", UNPACK),
    (b"Rar!\x1a", "a RAR archive", UNPACK),
    (b"\x28\xb5\x2f\xfd", "packed with Zstandard", UNPACK),
    (b"\x7fELF", "a program", _EXPORT),
    (b"MZ\x90", "a program", _EXPORT),
    (b"\x80\x04\x95", "a Python pickle", SAVE_AS_CSV),
    (b"\x80\x05\x95", "a Python pickle", SAVE_AS_CSV),
    (b"\xff\xfe", "text in UTF-16 or UTF-32", SAVE_AS_CSV),
    (b"\xfe\xff", "text in UTF-16", SAVE_AS_CSV),
    (b"\x00\x00\xfe\xff", "text in UTF-32", SAVE_AS_CSV),
)


def kind_of(path: Path | str) -> Kind:
    """The format a file name promises."""
    name = Path(path).name.lower()
    if name.endswith((".parquet", ".pq")):
        return "parquet"
    return "csv.gz" if name.endswith(".gz") else "csv"


def refuse_foreign(head: bytes, *, packed: bool = False) -> None:
    """Refuses a file whose first bytes say that it is no CSV text; `packed`: gzip is what was promised."""
    for start, what, repair in _FOREIGN:
        if head.startswith(start) and not (packed and start == GZIP):
            raise TableError(f"this is {what}, not a CSV table", repair=repair)
    if head[257:262] == b"ustar":
        raise TableError("this is a tar archive, not a CSV table", repair=UNPACK)
