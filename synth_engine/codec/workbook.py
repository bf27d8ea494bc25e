"""Write a table as an Excel workbook (.xlsx, ECMA-376): one sheet, row by row, so that memory does not grow
with rows.

Numbers are cells of numbers, days and timestamps cells with a format of dates, everything else cells of text.
A text is never a formula, whatever it begins with. The same table gives the same bytes.
"""

from __future__ import annotations

import html
import re
import zipfile
from collections.abc import Iterable, Iterator
from typing import IO

import numpy as np
import pandas as pd
import pyarrow as pa

from synth_engine.codec.markers import marker_texts
from synth_engine.domain import Attribute, Domain
from synth_engine.errors import InputError

MAX_ROWS = 1_048_576
"""Rows of a sheet, the header included."""
MAX_COLUMNS = 16_384
MAX_CELL_CHARACTERS = 32_767
MEDIA_TYPE = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"
_EXACT = 10**15  # spreadsheet programs keep fifteen digits of a number
_FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n")
# What XML cannot hold, and texts that look like its escape in workbooks (ECMA-376 part 1, 22.9.2.19).
_ESCAPED = re.compile(r"[\x00-\x08\x0b\x0c\x0d\x0e-\x1f\ufffe\uffff]|_(?=x[0-9A-Fa-f]{4}_)")
_ZERO = np.datetime64("1899-12-30", "s")
# Days before were counted with a 29 February 1900 that never was.
_FIRST = np.datetime64("1900-03-01", "s")
_DAY, _MOMENT, _TEXT = 1, 2, 3  # styles
_MAIN = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
_OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
_PACKAGE = "http://schemas.openxmlformats.org/package/2006"
_KIND = "application/vnd.openxmlformats-officedocument.spreadsheetml"
_HEAD = '<?xml version="1.0" encoding="UTF-8" standalone="yes"?>\n'
_PARTS = {
    "[Content_Types].xml": f'<Types xmlns="{_PACKAGE}/content-types">'
    '<Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/>'
    '<Default Extension="xml" ContentType="application/xml"/>'
    f'<Override PartName="/xl/workbook.xml" ContentType="{_KIND}.sheet.main+xml"/>'
    f'<Override PartName="/xl/styles.xml" ContentType="{_KIND}.styles+xml"/>'
    f'<Override PartName="/xl/worksheets/sheet1.xml" ContentType="{_KIND}.worksheet+xml"/></Types>',
    "_rels/.rels": f'<Relationships xmlns="{_PACKAGE}/relationships">'
    f'<Relationship Id="r1" Type="{_OFFICE}/officeDocument" Target="xl/workbook.xml"/></Relationships>',
    "xl/workbook.xml": f'<workbook xmlns="{_MAIN}" xmlns:r="{_OFFICE}">'
    '<sheets><sheet name="table" sheetId="1" r:id="r1"/></sheets></workbook>',
    "xl/_rels/workbook.xml.rels": f'<Relationships xmlns="{_PACKAGE}/relationships">'
    f'<Relationship Id="r1" Type="{_OFFICE}/worksheet" Target="worksheets/sheet1.xml"/>'
    f'<Relationship Id="r2" Type="{_OFFICE}/styles" Target="styles.xml"/></Relationships>',
    "xl/styles.xml": f'<styleSheet xmlns="{_MAIN}">'
    '<numFmts count="2"><numFmt numFmtId="164" formatCode="yyyy\\-mm\\-dd"/>'
    '<numFmt numFmtId="165" formatCode="yyyy\\-mm\\-dd\\ hh:mm:ss"/></numFmts>'
    '<fonts count="1"><font/></fonts><fills count="1"><fill/></fills><borders count="1"><border/></borders>'
    '<cellStyleXfs count="1"><xf/></cellStyleXfs><cellXfs count="4"><xf/>'
    '<xf numFmtId="164" applyNumberFormat="1"/><xf numFmtId="165" applyNumberFormat="1"/>'
    # Keeps a text a text when somebody edits its cell.
    '<xf numFmtId="49" applyNumberFormat="1" quotePrefix="1"/></cellXfs></styleSheet>',
}


def require_rows(rows: int, *, columns: int) -> None:
    """Refuses a table that no sheet can hold. Errors: InputError."""
    if rows >= MAX_ROWS or columns > MAX_COLUMNS:
        raise InputError(
            f"a sheet holds at most {MAX_ROWS - 1:,} rows and {MAX_COLUMNS:,} columns",
            repair="ask for fewer rows, or for CSV or Parquet",
        )


def write_workbook(domain: Domain, blocks: Iterable[pd.DataFrame], file: IO[bytes]) -> None:
    """Writes a table to a file from its beginning to its end, without going back. blocks: frames with the
    columns of a generated table, in order."""
    file.writelines(workbook_pieces(domain, blocks))


def workbook_pieces(domain: Domain, blocks: Iterable[pd.DataFrame]) -> Iterator[bytes]:
    """The bytes of the file, a piece for each block as soon as it is there."""
    file = _Forward()
    with zipfile.ZipFile(file, "w") as archive:  # type: ignore[call-overload]
        for name, content in _PARTS.items():
            archive.writestr(_entry(name), _HEAD + content)
        with archive.open(_entry("xl/worksheets/sheet1.xml"), "w", force_zip64=True) as sheet:
            for piece in _sheet(domain, blocks):
                sheet.write(piece.encode())
                if written := file.taken():
                    yield written
    yield file.taken()


class _Forward:
    """A file that only goes forward: a download may have sent what was written."""

    def __init__(self) -> None:
        self._written: list[bytes] = []

    def write(self, piece: bytes) -> int:
        self._written.append(bytes(piece))
        return len(piece)

    def flush(self) -> None:
        """Nothing waits here."""

    def taken(self) -> bytes:
        """What was written since it was asked for last."""
        written, self._written = self._written, []
        return b"".join(written)


def _entry(name: str) -> zipfile.ZipInfo:
    entry = zipfile.ZipInfo(name)  # of 1980, so that bytes do not depend on the day
    entry.compress_type = zipfile.ZIP_DEFLATED
    return entry


def _sheet(domain: Domain, blocks: Iterable[pd.DataFrame]) -> Iterator[str]:
    columns = domain.table_columns
    yield f'{_HEAD}<worksheet xmlns="{_MAIN}"><sheetData>'
    yield _row([_text(column.name) for column in columns])
    for block in blocks:
        cells = [_cells(domain.written_like(column), block, column.name) for column in columns]
        yield "".join(map(_row, zip(*cells, strict=True)))
    yield "</sheetData></worksheet>"


def _row(cells: Iterable[str]) -> str:
    return f"<row>{''.join(cells)}</row>"


def _cells(attribute: Attribute, frame: pd.DataFrame, name: str) -> list[str]:
    """The cells of a column; a missing value is the text of its marker, as in a CSV."""
    column = frame[name]
    missing = column.isna().to_numpy()
    kind = attribute.arrow_type
    cells: Iterable[str]
    if attribute.written.width:  # zeros in front of a number are kept by a text alone
        cells = map(_text, attribute.write(column).str.zfill(attribute.written.width))
    elif pa.types.is_date(kind) or pa.types.is_timestamp(kind):
        cells = _moments(
            column.mask(missing), style=_DAY if pa.types.is_date(kind) else _MOMENT
        )
    elif pa.types.is_integer(kind) or pa.types.is_floating(kind):
        cells = map(_number, column.tolist())
    else:
        cells = map(_text, attribute.write(column))
    markers = marker_texts(attribute, frame)
    if markers is None:
        markers = np.full(len(frame), attribute.missing_text, dtype=object)
    return [
        _text(marker) if lost else cell
        for cell, marker, lost in zip(cells, markers, missing, strict=True)
    ]


def _moments(column: pd.Series, *, style: int) -> Iterator[str]:
    moments = column.to_numpy().astype("datetime64[s]")
    days = (moments - _ZERO) / np.timedelta64(1, "D")
    early = moments < _FIRST
    for day, moment, is_early in zip(days.tolist(), moments, early.tolist(), strict=True):
        if is_early:
            text = str(moment).replace("T", " ")
            yield _text(text[:10] if style == _DAY else text)
        else:
            number = int(day) if day == day and day.is_integer() else day
            yield f'<c s="{style}"><v>{number}</v></c>'


def _number(value: object) -> str:
    if isinstance(value, int) and abs(value) >= _EXACT:
        return _text(str(value))
    return f"<c><v>{value}</v></c>"


def _text(text: str) -> str:
    if not text:
        return "<c/>"
    if len(text) > MAX_CELL_CHARACTERS:
        raise InputError(
            f"a text is longer than the {MAX_CELL_CHARACTERS:,} characters of a cell",
            repair="ask for CSV or Parquet",
        )
    style = f' s="{_TEXT}"' if text.startswith(_FORMULA) else ""
    content = html.escape(
        _ESCAPED.sub(lambda sign: f"_x{ord(sign[0]):04X}_", text), quote=False
    )
    return f'<c t="inlineStr"{style}><is><t xml:space="preserve">{content}</t></is></c>'
