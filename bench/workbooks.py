"""How long a small workbook that unpacks to much keeps its reader busy, beside a real one.

    python bench/workbooks.py

Hostile: a sheet of 500 MB of empty rows before a cell that is far away; the same with 150 MB, which passes the look at
the archive's directory; each filled up to 2.5 MB by a part that does not pack. Real: 150,000 rows of six columns. Each is read in a process of its own; printed are seconds of its processor, peak memory and the answer.
"""

from __future__ import annotations

import multiprocessing
import os
import resource
import sys
import tempfile
import time
import zipfile
from collections.abc import Iterator
from multiprocessing.connection import Connection
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

SIZE = 2_500_000  # bytes on disk
_MAIN = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
_OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
_PACKAGE = "http://schemas.openxmlformats.org/package/2006"
_TYPE = "application/vnd.openxmlformats-officedocument.spreadsheetml"
_PARTS = {
    "[Content_Types].xml": f'<Types xmlns="{_PACKAGE}/content-types"><Default Extension="rels" '
    'ContentType="application/vnd.openxmlformats-package.relationships+xml"/><Default Extension="xml" '
    f'ContentType="application/xml"/><Override PartName="/xl/workbook.xml" ContentType="{_TYPE}.sheet.main+xml"/>'
    f'<Override PartName="/xl/worksheets/sheet1.xml" ContentType="{_TYPE}.worksheet+xml"/></Types>',
    "_rels/.rels": f'<Relationships xmlns="{_PACKAGE}/relationships"><Relationship Id="r1" '
    f'Type="{_OFFICE}/officeDocument" Target="xl/workbook.xml"/></Relationships>',
    "xl/workbook.xml": f'<workbook xmlns="{_MAIN}" xmlns:r="{_OFFICE}"><sheets>'
    '<sheet name="Data" sheetId="1" r:id="r1"/></sheets></workbook>',
    "xl/_rels/workbook.xml.rels": f'<Relationships xmlns="{_PACKAGE}/relationships"><Relationship Id="r1" '
    f'Type="{_OFFICE}/worksheet" Target="worksheets/sheet1.xml"/></Relationships>',
}


def written(path: Path, rows: Iterator[str], *, filled: bool) -> None:
    """A workbook with these rows of XML in its only sheet."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        for name, text in _PARTS.items():
            archive.writestr(name, text)
        with archive.open("xl/worksheets/sheet1.xml", "w") as part:
            part.write(f'<worksheet xmlns="{_MAIN}"><sheetData>'.encode())
            for text in rows:
                part.write(text.encode())
            part.write(b"</sheetData></worksheet>")
        if filled:
            size = SIZE - path.stat().st_size
            archive.writestr(
                "xl/media/image1.png", os.urandom(max(0, size)), zipfile.ZIP_STORED
            )


def empty_rows(megabytes: int) -> Iterator[str]:
    """A header, empty rows, and a cell far below them."""
    yield '<row r="1"><c r="A1" t="inlineStr"><is><t>a</t></is></c></row>'
    for _ in range(megabytes):
        yield "<row/>" * (2**20 // 6)
    yield "<row>" + "<c/>" * 50 + "<c><v>1</v></c></row>"


def real_cells(rows: int) -> Iterator[str]:
    """A header and rows of six numbers."""
    yield (
        "<row>"
        + "".join(f'<c t="inlineStr"><is><t>{name}</t></is></c>' for name in "abcdef")
        + "</row>"
    )
    for row in range(2, rows + 2):
        cells = "".join(
            f'<c r="{letter}{row}"><v>{row * 7919 % (97 + i)}</v></c>'
            for i, letter in enumerate("ABCDEF")
        )
        yield f'<row r="{row}">{cells}</row>'


def look(path: Path, answers: Connection) -> None:
    """Read it as the worker does."""
    from synth_engine import readers
    from synth_engine.errors import TableError

    start = time.process_time()
    try:
        limits = readers.Limits()
        count = sum(
            len(next(iter(one.values())))
            for one in readers.blocks(
                path, kind="xlsx", options=readers.ReadOptions(limits=limits)
            )
        )
        said = f"{count:,} rows read"
    except TableError as error:
        said = f"refused: {error.rule}"
    seconds = time.process_time() - start
    answers.send(
        f"{seconds:6.2f} s  {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**10:5.0f} MB  {said}"
    )


def main() -> None:
    """Print a line for each workbook."""
    cases = {
        "500 MB of empty rows": (empty_rows(500), True),
        "150 MB of empty rows": (empty_rows(150), True),
        "real, 150,000 rows": (real_cells(150_000), False),
    }
    with tempfile.TemporaryDirectory() as folder:
        for name, (rows, filled) in cases.items():
            path = Path(folder) / "table.xlsx"
            written(path, rows, filled=filled)
            answers, sender = multiprocessing.Pipe(duplex=False)
            process = multiprocessing.get_context("spawn").Process(
                target=look, args=(path, sender)
            )
            process.start()
            print(f"{name:24} {path.stat().st_size / 1e6:4.1f} MB on disk: {answers.recv()}")
            process.join()


if __name__ == "__main__":
    main()
