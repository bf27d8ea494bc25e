"""Workbooks for tests, written cell by cell, so that a test can write what no program would."""

from __future__ import annotations

import base64
import io
import struct
import zipfile
import zlib
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


_OLD = (
    "c-rk)J!n%=6#ni@()`e-"
    "FEtfgp@f1}YZq~GX`hPP$x>Yu5j1HtNJ}cg!8&NQW)uV`#ih{2rRt&;9dvULDmn;)km%?nC^)ovp8MrKO>2h+G^pI~an3#OoO9njx#!&ba^I"
    "_^RC(?}cLi%Ogb=EJ94&P^B@_>CT!`KGwHUN9A>ZPkLOdpkY>D7W+smlVq0V;&4(^Aa3kN<3ox(YcOcnB(CgK2N$SNJfpm2pdqDi8QQFV}yk"
    "#8cuN6)9^`>452J}ACrbrMV7NdI0_#V4Fz+LF-EeZ)TRsM(E9ywFvA`G%_bMzFtlHaq!u8hXO5n1|$TIA6#Yvy)|{C4uw!>Sus2!AgCWvHIr"
    "f6-57SwLZFz{-zTKX5gP;ftO@+T@2L{d~g|CAV!iTJu8$Gx*#;2(EBjgt-EU7wy~aDg^#11a*9>$%Feue_w(x`xl!*lH8b3+YdiWj9Rz$_(L"
    "JPdk`~56-+uC4<X8FBt(3dT(^8Al_KkKL;qWYduF={j<Ln{cc-!mb9U_-L9bN1xee`yUyf9q3m|l46&7oH&VO;v_YZe1)K;6Ej@z@JmWmf-"
    "t@~&TYf|%o)*nRWbYR3u^6jS82J3Twf_^UPkmz)H3DbB0*S3hP``#bCSJM>Q&|Jv;9SsZdY@K76NU;2pzEG#T6EG#T6EG(K2W&Y)d%vmF1&J"
    "t1cU1vq8YCn_ww>X9=xz5YM^biWt7BSsW{cJ`=1<z6&>=S%1)Hp7q7cqex<Cti;e&sBv>VMCMJG#Gb2{k%?wUIdg@c7>W9QM9D"
)  # what xlwt writes for the rows a, b / 1, x / 2, y


def old_workbook(*, last: tuple[int, int] = (2, 1)) -> bytes:
    """An .xls with the columns a and b and two rows. `last`: row and column of its last cell, from zero."""
    content = bytearray(zlib.decompress(base64.b85decode(_OLD)))
    text = struct.Struct("<HHHH")  # a cell of text: its number, its length, row and column
    place = content.rindex(text.pack(0x00FD, 10, 2, 1))
    text.pack_into(content, place, 0x00FD, 10, *last)
    return bytes(content)
