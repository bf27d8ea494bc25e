"""Workbooks for tests, written cell by cell, so that a test can write what no program would."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Mapping, Sequence
from xml.sax.saxutils import escape

DATE, MOMENT = 's="1"', 's="2"'
_MAIN = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
_OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
_PACKAGE = "http://schemas.openxmlformats.org/package/2006"
_TYPES = "application/vnd.openxmlformats-officedocument.spreadsheetml"
Cell = str | float | bool | tuple[object, str] | None
"""A tuple is what stands in the cell, and attributes of the cell: a style, or the type of an error."""


def workbook(
    sheets: Mapping[str, Sequence[Sequence[Cell]]], *, below: str = "", first: str = "", start: int = 1
) -> bytes:
    """An .xlsx with these sheets. `below` follows the cells of each, `first` stands before the root of each, the first
    row has the number `start`."""
    numbers = range(1, len(sheets) + 1)
    parts = "".join(
        f'<Override PartName="/xl/worksheets/sheet{i}.xml" ContentType="{_TYPES}.worksheet+xml"/>' for i in numbers
    )
    named = "".join(f'<sheet name="{escape(name)}" sheetId="{i}" r:id="r{i}"/>' for i, name in enumerate(sheets, 1))
    links = "".join(
        f'<Relationship Id="r{i}" Type="{_OFFICE}/worksheet" Target="worksheets/sheet{i}.xml"/>' for i in numbers
    )
    styles = '<xf numFmtId="0"/><xf numFmtId="14"/><xf numFmtId="22"/>'
    files = {
        "[Content_Types].xml": f'<Types xmlns="{_PACKAGE}/content-types"><Default Extension="rels" ContentType="application/'
        f'vnd.openxmlformats-package.relationships+xml"/><Default Extension="xml" ContentType="application/xml"/>'
        f'<Override PartName="/xl/workbook.xml" ContentType="{_TYPES}.sheet.main+xml"/>{parts}</Types>',
        "_rels/.rels": f'<Relationships xmlns="{_PACKAGE}/relationships"><Relationship Id="r1" '
        f'Type="{_OFFICE}/officeDocument" Target="xl/workbook.xml"/></Relationships>',
        "xl/workbook.xml": f'<workbook xmlns="{_MAIN}" xmlns:r="{_OFFICE}"><sheets>{named}</sheets></workbook>',
        "xl/_rels/workbook.xml.rels": f'<Relationships xmlns="{_PACKAGE}/relationships">{links}<Relationship Id="rs" '
        f'Type="{_OFFICE}/styles" Target="styles.xml"/></Relationships>',
        "xl/styles.xml": f'<styleSheet xmlns="{_MAIN}"><cellXfs count="3">{styles}</cellXfs></styleSheet>',
    }
    for i, rows in enumerate(sheets.values(), 1):
        body = "".join(_row(number, row) for number, row in enumerate(rows, start))
        files[f"xl/worksheets/sheet{i}.xml"] = (
            f'{first}<worksheet xmlns="{_MAIN}"><sheetData>{body}</sheetData>{below}</worksheet>'
        )
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in files.items():
            archive.writestr(name, '<?xml version="1.0" encoding="UTF-8"?>' + text)
    return buffer.getvalue()


def _row(number: int, row: Sequence[Cell]) -> str:
    cells = [_cell(f"{chr(65 + place)}{number}", cell) for place, cell in enumerate(row) if cell is not None]
    return f'<row r="{number}">{"".join(cells)}</row>'


def _cell(place: str, cell: Cell) -> str:
    if isinstance(cell, tuple):
        value, attributes = cell
        return f'<c r="{place}" {attributes}><v>{value}</v></c>'
    if isinstance(cell, bool):
        return f'<c r="{place}" t="b"><v>{int(cell)}</v></c>'
    if isinstance(cell, str):
        return f'<c r="{place}" t="inlineStr"><is><t xml:space="preserve">{escape(cell)}</t></is></c>'
    return f'<c r="{place}"><v>{cell}</v></c>'
