"""Recognise kinds of files by name, by media type and by their first bytes, and refuse those that are not
read."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Literal, get_args

from synth_engine.errors import TableError
from synth_engine.formats.foreign import is_json, refuse_other_texts

Kind = Literal[
    "csv",
    "csv.gz",
    "json",
    "json.gz",
    "parquet",
    "xlsx",
    "xls",
    "sav",
    "dta",
    "zip",
    "baskets",
    "baskets.gz",
]
KINDS: tuple[Kind, ...] = get_args(Kind)
KIND_NAMES: dict[Kind, str] = {
    "csv": "CSV",
    "csv.gz": "CSV, packed with gzip",
    "json": "JSON, an object a record",
    "json.gz": "JSON, packed with gzip",
    "parquet": "Parquet",
    "xlsx": "Excel workbook",
    "xls": "Excel workbook (97–2003)",
    "sav": "SPSS",
    "dta": "Stata",
    "zip": "one file in a ZIP archive",
    "baskets": "baskets, one a line",
    "baskets.gz": "baskets, packed with gzip",
}
DELIMITED: tuple[Kind, ...] = ("csv", "csv.gz")
JSON: tuple[Kind, ...] = ("json", "json.gz")
WORKBOOKS: tuple[Kind, ...] = ("xlsx", "xls")
WITH_SCHEMA: tuple[Kind, ...] = (
    "parquet",
    "sav",
    "dta",
)  # they say themselves how they are written
BASKETS: tuple[Kind, ...] = ("baskets", "baskets.gz")
PACKED: tuple[Kind, ...] = (
    "csv.gz",
    "json.gz",
    "baskets.gz",
    "zip",
)  # their size says little of what they hold
BASKET_LIST = "a list of baskets"
HEAD = 512  # bytes at the beginning that are enough to know
GZIP = b"\x1f\x8b"
PARQUET = b"PAR1"  # a Parquet file begins and ends with it
ENDINGS: dict[str, Kind] = {
    ".csv": "csv",
    ".tsv": "csv",
    ".txt": "csv",
    ".csv.gz": "csv.gz",
    ".tsv.gz": "csv.gz",
    ".txt.gz": "csv.gz",
    ".jsonl": "json",
    ".ndjson": "json",
    ".json": "json",
    ".jsonl.gz": "json.gz",
    ".ndjson.gz": "json.gz",
    ".json.gz": "json.gz",
    ".parquet": "parquet",
    ".pq": "parquet",
    ".xlsx": "xlsx",
    ".xlsm": "xlsx",
    ".xls": "xls",
    ".sav": "sav",
    ".zsav": "sav",
    ".dta": "dta",
    ".zip": "zip",
    ".dat": "baskets",
    ".baskets": "baskets",
    ".dat.gz": "baskets.gz",
    ".baskets.gz": "baskets.gz",
}
MEDIA_TYPES: dict[str, Kind] = {
    "text/csv": "csv",
    "application/gzip": "csv.gz",
    "application/x-ndjson": "json",
    "application/vnd.apache.parquet": "parquet",
    "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet": "xlsx",
    "application/vnd.ms-excel": "xls",
    "application/x-spss-sav": "sav",
    "application/x-stata-dta": "dta",
    "application/zip": "zip",
    "text/x-baskets": "baskets",
}
_GZIPPED: tuple[Kind, ...] = ("json.gz", "baskets.gz")
_ZIP = b"PK\x03\x04"
_STARTS: dict[Kind, tuple[bytes, ...]] = {
    "parquet": (PARQUET,),
    "csv.gz": (GZIP,),
    "json.gz": (GZIP,),
    "xlsx": (_ZIP,),
    "zip": (_ZIP,),
    "xls": (b"\xd0\xcf\x11\xe0",),
    "sav": (b"$FL2", b"$FL3"),
    # Before version 13: version (108 to 115), order of bytes, file type 1, and a zero.
    "dta": (
        b"<stata_dta>",
        *(bytes([version, order, 1, 0]) for version in range(0x6C, 0x74) for order in (1, 2)),
    ),
}
_INSIDE_XLSX = (
    b"[Content_Types].xml",
    b"_rels/",
    b"xl/",
    b"docProps/",
)  # the first entry of the archive
SAVE_AS_CSV = 'open it in the program that made it and save it as "CSV UTF-8"'
UNPACK = "unpack it and use the CSV inside, or pack the CSV with gzip"
_EXPORT = "export the table as CSV"
_FOREIGN = (  # first bytes, what it is, what to do
    (
        _ZIP,
        "a ZIP archive or an Excel workbook",
        "name a workbook .xlsx and an archive of one table .zip",
    ),
    (b"\xd0\xcf\x11\xe0", "an old Excel workbook", "name it .xls"),
    (b"$FL2", "a file of SPSS", "name it .sav"),
    (b"$FL3", "a file of SPSS", "name it .sav"),
    (b"<stata_dta>", "a file of Stata", "name it .dta"),
    (b"PAR1\x15", "a Parquet file", "name it .parquet"),
    (
        b"PARE\x15",
        "an encrypted Parquet file",
        "write it without encryption; it is encrypted on arrival",
    ),
    (b"ARROW1\x00", "an Arrow file", "write it as Parquet or CSV"),
    (b"\x89HDF", "an HDF5 file", SAVE_AS_CSV),
    (b"SQLite format 3\x00", "a database", _EXPORT),
    (b"%PDF-", "a PDF", "find the table that the PDF was made from"),
    (b"\x89PNG", "a picture", _EXPORT),
    (b"\xff\xd8\xff", "a picture", _EXPORT),
    (b"GIF87a", "a picture", _EXPORT),
    (b"GIF89a", "a picture", _EXPORT),
    (GZIP, "packed with gzip", "name it .csv.gz, and pack it once"),
    (b"BZh91AY&SY", "packed with bzip2", UNPACK),
    (b"\xfd7zXZ", "packed with xz", UNPACK),
    (b"7z\xbc\xaf\x27", "a 7-Zip archive", UNPACK),
    (b"Rar!\x1a", "a RAR archive", UNPACK),
    (b"\x28\xb5\x2f\xfd", "packed with Zstandard", UNPACK),
    (b"\x7fELF", "a program", _EXPORT),
    (b"II*\x00", "a picture", _EXPORT),
    (b"MM\x00*", "a picture", _EXPORT),
    (b"\x00\x00\x01\x00", "a picture", _EXPORT),
    (b"FEA1\x00", "a Feather file", "write it as Parquet or CSV"),
    (b"Obj\x01", "an Avro file", "write it as Parquet or CSV"),
    (b"ORC\x08", "an ORC file", "write it as Parquet or CSV"),
    (b"RDX2\n", "a file of R", _EXPORT),
    (b"RDX3\n", "a file of R", _EXPORT),
    (b"\x93NUMPY", "an array of NumPy", SAVE_AS_CSV),
    (b"MATLAB 5.0 MAT-file", "a file of MATLAB", SAVE_AS_CSV),
    (b"\x00\x01\x00\x00Standard", "a database", _EXPORT),
    (b"\x00" * 12 + b"\xc2\xea\x81\x60", "a file of SAS", _EXPORT),
    (b"MZ\x90", "a program", _EXPORT),
    (b"\x80\x04\x95", "a Python pickle", SAVE_AS_CSV),
    (b"\x80\x05\x95", "a Python pickle", SAVE_AS_CSV),
)


_EXPECTED: dict[Kind, str] = {
    "parquet": "a Parquet table",
    "xlsx": "an Excel workbook",
    "xls": "an old Excel workbook",
    "sav": "a file of SPSS",
    "dta": "a file of Stata",
}


def kind_of(name: Path | str) -> Kind:
    """The kind that a file's name promises by its ending, which is all that is ever used of it. Raises
    TableError."""
    lowered = str(name).lower()
    for ending in sorted(ENDINGS, key=len, reverse=True):
        if lowered.endswith(ending):
            return ENDINGS[ending]
    raise unknown_ending()


def endings(kinds: Iterable[Kind]) -> tuple[str, ...]:
    """The endings of names that promise one of these kinds, in the order of `ENDINGS`."""
    wanted = set(kinds)
    return tuple(ending for ending, kind in ENDINGS.items() if kind in wanted)


def unknown_ending(kinds: Iterable[Kind] = KINDS) -> TableError:
    """The refusal of a file whose name promises none of these kinds."""
    *first, last = endings(kinds)
    return TableError(
        f"the file's name ends neither in {', '.join(first)} nor {last}", repair=SAVE_AS_CSV
    )


def found_kind(head: bytes, *, name: str = "") -> Kind:
    """The kind that a file's first bytes show, whatever its name; but that a text has a basket in each line,
    or what is packed with gzip, only its name says. Raises TableError for what is read nowhere."""
    for kind, starts in _STARTS.items():
        starts = (
            (PARQUET + b"\x15",) if kind == "parquet" else starts
        )  # four letters may begin a text
        if head.startswith(starts) and _fits_archive(kind, head):
            return (
                next((one for one in _GZIPPED if _promises(one, name)), "csv.gz")
                if kind == "csv.gz"
                else kind
            )
    # Any text is a list of baskets, so that its bytes cannot show it.
    if _promises("baskets", name):
        refuse_foreign(head, instead_of=BASKET_LIST)
        return "baskets"
    if is_json(head):
        return "json"
    refuse_foreign(head)
    return "csv"


def _fits_archive(kind: Kind, head: bytes) -> bool:
    """Whether a ZIP archive is a workbook where one is meant; a document of another program is neither."""
    if kind not in ("xlsx", "zip"):
        return True
    return _is_workbook(head) if kind == "xlsx" else not _is_document(head)


def _promises(kind: Kind, name: str) -> bool:
    return any(
        name.lower().endswith(ending)
        for ending, promised in ENDINGS.items()
        if promised == kind
    )


def check_kind(kind: Kind, head: bytes) -> None:
    """Refuses a file whose first bytes show another kind than the one it was announced as."""
    if kind in ("csv", "baskets"):
        return refuse_foreign(
            head, instead_of=BASKET_LIST if kind == "baskets" else "a CSV table"
        )
    if kind == "json":
        return None if is_json(head) or not head.strip() else _refuse_no_json(head)
    kind = "csv.gz" if kind in _GZIPPED else kind
    if head.startswith(_STARTS[kind]) and _fits_archive(kind, head):
        return None
    if kind == "zip":
        raise TableError(
            "this is not a ZIP archive of one table",
            repair="name a workbook .xlsx; pack the table alone",
        )
    if kind == "csv.gz":
        if not head:
            return None
        refuse_foreign(head)
        raise TableError(
            "this is not packed with gzip", repair="leave .gz out of its name, or pack it"
        )
    refuse_foreign(head, instead_of=_EXPECTED[kind])
    if kind == "parquet":
        raise TableError("this is not a Parquet file", repair="write it again, or use CSV")
    raise TableError(
        f"this is no file of the kind {KIND_NAMES[kind]}", repair="save it again, or use CSV"
    )


def _refuse_no_json(head: bytes) -> None:
    refuse_foreign(head, instead_of="JSON")
    raise TableError(
        "this is no JSON of objects",
        repair='write a record in each line, like {"age": 5}, or a list of such objects',
    )


def _is_document(head: bytes) -> bool:
    """Whether an archive begins as documents of OpenDocument do, or as workbooks do."""
    return _is_workbook(head) or head[30:].startswith(b"mimetype")


def _is_workbook(head: bytes) -> bool:
    """Whether an archive begins as workbooks do; others, such as those of OpenDocument, begin in another
    way."""
    # The name of the first entry stands behind 30 bytes of fixed length (PKWARE APPNOTE,
    # 4.3.7).
    return head[30:].startswith(_INSIDE_XLSX)


def refuse_foreign(head: bytes, *, instead_of: str = "a CSV table") -> None:
    """Refuses a file whose first bytes say that it is no CSV text."""
    # The first entry of such an archive says so, uncompressed.
    if head.startswith(_ZIP) and head[30:].startswith(
        b"mimetypeapplication/vnd.oasis.opendocument"
    ):
        what = f"a workbook or text of OpenDocument, not {instead_of}"
        raise TableError(
            f"this is {what}", repair="save it as an Excel workbook .xlsx or as CSV UTF-8"
        )
    for start, what, repair in _FOREIGN:
        if head.startswith(start):
            raise TableError(f"this is {what}, not {instead_of}", repair=repair)
    # A tar archive has no mark at its beginning but the name of its first file.
    if head[257:262] == b"ustar":
        raise TableError(f"this is a tar archive, not {instead_of}", repair=UNPACK)
    # BM alone may begin a word; a bitmap has four reserved zeros behind its size.
    if (head.startswith(b"BM") and head[6:10] == bytes(4)) or (
        head.startswith(b"RIFF") and head[8:12] == b"WEBP"
    ):
        raise TableError(f"this is a picture, not {instead_of}", repair=_EXPORT)
    if instead_of != BASKET_LIST:  # a basket may hold anything
        refuse_other_texts(head, instead_of=instead_of)
