"""Workbooks for tests, written cell by cell, so that a test can write what no program would."""

from __future__ import annotations

import base64
import io
import struct
import zipfile
import zlib
from collections.abc import Mapping, Sequence
from typing import NamedTuple
from xml.sax.saxutils import escape

DATE, MOMENT = 's="1"', 's="2"'
_MAIN = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
_OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
_PACKAGE = "http://schemas.openxmlformats.org/package/2006"
_TYPES = "application/vnd.openxmlformats-officedocument.spreadsheetml"
_STATE = ' state="hidden"'


class Xml(NamedTuple):
    """A cell whose content is written as it stands."""

    content: str
    attributes: str = ""


Cell = str | float | bool | Xml | tuple[object, str] | None
"""A tuple is what stands in the cell, and attributes of the cell: a style, or the type of an error."""


def workbook(
    sheets: Mapping[str, Sequence[Sequence[Cell]]],
    *,
    below: str = "",
    first: str = "",
    start: int = 1,
    codes: Sequence[str] = (),
    shared: Sequence[str] = (),
    since_1904: bool = False,
    hidden: Sequence[str] = (),
    hidden_rows: Sequence[int] = (),
) -> bytes:
    """An .xlsx with these sheets. `below` follows the cells of each, `first` stands before the root of each,
    the first row has the number `start`. `codes` are number formats: a cell with the style 3 has the first of
    them. `shared` are the texts that sheets share, as XML. `hidden` are names of sheets, `hidden_rows`
    numbers of rows, that are not shown."""
    numbers = range(1, len(sheets) + 1)
    parts = "".join(
        f'<Override PartName="/xl/worksheets/sheet{i}.xml" ContentType="{_TYPES}.worksheet+xml"/>'
        for i in numbers
    )
    named = "".join(
        f'<sheet name="{escape(name)}" sheetId="{i}" r:id="r{i}"{_STATE * (name in hidden)}/>'
        for i, name in enumerate(sheets, 1)
    )
    spelled = "".join(
        f'<numFmt numFmtId="{164 + i}" formatCode="{_quoted(code)}"/>'
        for i, code in enumerate(codes)
    )
    links = "".join(
        f'<Relationship Id="r{i}" Type="{_OFFICE}/worksheet" Target="worksheets/sheet{i}.xml"/>'
        for i in numbers
    )
    styles = '<xf numFmtId="0"/><xf numFmtId="14"/><xf numFmtId="22"/>'
    styles += "".join(f'<xf numFmtId="{164 + i}"/>' for i in range(len(codes)))
    epoch = '<workbookPr date1904="1"/>' * since_1904
    files = {
        "[Content_Types].xml": f'<Types xmlns="{_PACKAGE}/content-types"><Default Extension="rels" '
        'ContentType="application/vnd.openxmlformats-package.relationships+xml"/><Default Extension="xml" '
        'ContentType="application/xml"/><Override PartName="/xl/workbook.xml" '
        f'ContentType="{_TYPES}.sheet.main+xml"/>{parts}</Types>',
        "_rels/.rels": f'<Relationships xmlns="{_PACKAGE}/relationships"><Relationship Id="r1" '
        f'Type="{_OFFICE}/officeDocument" Target="xl/workbook.xml"/></Relationships>',
        "xl/workbook.xml": f'<workbook xmlns="{_MAIN}" '
        f'xmlns:r="{_OFFICE}">{epoch}<sheets>{named}</sheets></workbook>',
        "xl/_rels/workbook.xml.rels": "<Relationships "
        f'xmlns="{_PACKAGE}/relationships">{links}<Relationship Id="rs" Type="{_OFFICE}/styles" '
        f'Target="styles.xml"/><Relationship Id="rt" Type="{_OFFICE}/sharedStrings" '
        'Target="sharedStrings.xml"/></Relationships>',
        "xl/styles.xml": f'<styleSheet xmlns="{_MAIN}"><numFmts>{spelled}</numFmts><cellStyleXfs><xf '
        'numFmtId="14"/>'
        f"</cellStyleXfs><cellXfs>{styles}</cellXfs></styleSheet>",
        "xl/sharedStrings.xml": "<sst "
        f'xmlns="{_MAIN}">{"".join(f"<si>{text}</si>" for text in shared)}</sst>',
    }
    for i, rows in enumerate(sheets.values(), 1):
        body = "".join(
            _row(number, row, hidden=number in hidden_rows)
            for number, row in enumerate(rows, start)
        )
        files[f"xl/worksheets/sheet{i}.xml"] = (
            f'{first}<worksheet xmlns="{_MAIN}"><sheetData>{body}</sheetData>{below}</worksheet>'
        )
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in files.items():
            archive.writestr(name, '<?xml version="1.0" encoding="UTF-8"?>' + text)
    return buffer.getvalue()


def _quoted(code: str) -> str:
    return escape(code, {'"': "&quot;"})


def _row(number: int, row: Sequence[Cell], *, hidden: bool = False) -> str:
    cells = [
        _cell(f"{chr(65 + place)}{number}", cell)
        for place, cell in enumerate(row)
        if cell is not None
    ]
    shown = ' hidden="1"' * hidden
    return f'<row r="{number}"{shown}>{"".join(cells)}</row>'


def _cell(place: str, cell: Cell) -> str:
    if isinstance(cell, Xml):
        return f'<c r="{place}" {cell.attributes}>{cell.content}</c>'
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
    "FEtfgp@f1}YZq~GX`hPP$x>Yu5j1HtNJ}cg!8&NQW)uV`#ih{2rRt&;9dvULDmn;)km%?nC^)ovp8MrKO>2h+"
    "G^pI~an3#OoO9njx#!&ba^I_^RC(?}cLi%Ogb=EJ94&P^B@_>CT!`KGwHUN9A>ZPkLOdpkY>D7W+smlVq0V;&"
    "4(^Aa3kN<3ox(YcOcnB(CgK2N$SNJfpm2pdqDi8QQFV}yk#8cuN6)9^`>452J}ACrbrMV7NdI0_#V4Fz+LF-EeZ)"
    "TRsM(E9ywFvA`G%_bMzFtlHaq!u8hXO5n1|$TIA6#Yvy)|{C4uw!>Sus2!AgCWvHIrf6-57SwLZFz{-zTKX5gP;ftO@+T@2L{d~g|"
    "CAV!iTJu8$Gx*#;2(EBjgt-EU7wy~aDg^#11a*9>$%Feue_w(x`xl!*lH8b3+YdiWj9Rz$_(LJPdk`~56-+uC4<X8FBt(3dT(^8Al_"
    "KkKL;qWYduF={j<Ln{cc-!mb9U_-L9bN1xee`yUyf9q3m|l46&7oH&VO;v_YZe1)K;6Ej@z@JmWmf-t@~&TYf|%o)"
    "*nRWbYR3u^6jS82J3Twf_^UPkmz)H3DbB0*S3hP``#bCSJM>Q&|Jv;9SsZdY@K76NU;2pzEG#T6EG#T6EG(K2W&Y)d%vmF1&"
    "Jt1cU1vq8YCn_ww>X9=xz5YM^biWt7BSsW{cJ`=1<z6&>=S%1)Hp7q7cqex<Cti;e&sBv>VMCMJG#Gb2{k%?wUIdg@c7>W9QM9D"
)  # what xlwt writes for the rows a, b / 1, x / 2, y


def old_workbook(*, last: tuple[int, int] = (2, 1)) -> bytes:
    """An .xls with the columns a and b and two rows. `last`: row and column of its last cell, from zero."""
    content = bytearray(zlib.decompress(base64.b85decode(_OLD)))
    text = struct.Struct("<HHHH")  # a cell of text: its number, its length, row and column
    place = content.rindex(text.pack(0x00FD, 10, 2, 1))
    text.pack_into(content, place, 0x00FD, 10, *last)
    return bytes(content)


def old_workbook_with_a_formula() -> bytes:
    """The same, where the 2 in the second row is the stored result of a formula ([MS-XLS] 2.4.127)."""
    content = old_workbook()
    number = struct.pack("<HHHH", 0x027E, 10, 2, 0)
    # Row, column, style, result, flags, chain, length of the formula, and one token: the whole number 2.
    formula = struct.pack("<HHHdHIHBH", 2, 0, 17, 2.0, 0, 0, 3, 0x1E, 2)
    record = struct.pack("<HH", 0x0006, len(formula)) + formula
    place, end = content.index(number), content.rindex(struct.pack("<HH", 0x000A, 0)) + 4
    longer = len(record) - 14
    assert content[end : end + longer] == bytes(longer)  # what fills the last sector
    return content[:place] + record + content[place + 14 : end] + content[end + longer :]


_OLD_OF_ALL_SORTS = (
    "c-rk)T}TvB6#nj=*<buwbqzF-MaXK^D0(OYUCT^}66>Xipk|vT#a3nA2iJ$P%*P_=sh<}?gI=s2`lEt^9(o9jdI*9*>oEv|f*#cA+"
    "%vPwx*51oLNebnXYM&?&i&5JJ@?+(c{5WnJ8`de4h3k1hD9p?Z=Oxi5y&bbkl(UYGkf;aVY&FP5b)DLdOdhj`r4<)P>uH-B<|"
    "`jNCKbeIF3Pd4fH1>tB5_EgCSH7EhGhQlBEnaoK+>uQ!J}k-r*~svTS3^C6+C8?W{P4nOIkJr&"
    "Gm8Wj*`Kp!$8tF(25n4b^z1s`%U$VPEUP?o_XFX3ab5^b$;hN}w~*pGYY^h$(Vnt3sV#jazEUX9&&7WV2~TdU|#xld}j@$xPyh6#>"
    "3y*M{d2*S@-T0kZ#GYWMxY?x%rW&K{s4Ud|pQPoe#))PYf0CwXd)qXai}<<YU%NE`FCeFU7%LIXy62WfKkn$$Fn49QGlh$?"
    "HS$4DheiyJ1zrW3<yO_kdYD$L=aisq#$v}9>2<tbZ2(nLA8D|q6D=&t5(e|vi{-W@x^mQmi0>`iNf$`%&Rs|X4%V~@sCbsgo1MwS="
    "2*Y(`4Wf`VvK<9?;YNxSpjIX)K-Ui~?&UhEwnAhG!?eQ;%9@UM1j%}v)bm!bic=~;80`>G<Oo~^(F*J!Las8UY<5>"
    "1AoCWS9%bMR7JHHG$xm(W8T#f|<xmm%|*3{DxIZZmx%GNZ}w4A1srsp&dX`Y<sCC%%wiUQWNGRU?{?60Ce>B$OaeK~c1OZ00;"
    "yX}{h_soHS@JK&t8fW#4Vgzx9ahkLCGOuD3%;<9%<uZ)+7I0bEjCK{+Xlu9qijjLHM#+qDA{Ap}&ZF)$Dio_^R#h{tvJwv@_m="
    "na6NC#FE?l^9;ljn5fZ!KH`(;??S1|iU+vj}OS)gOl{Y<iEaTo*iOVi)G4)oJGg-lWPvko4S?MtjMCi}fm;Rvy((1$qZ(N}c+(jO&"
    "}e?Kb@4E?<+R4o5uF?s%D{$F&x`#="
)  # what xlwt writes for zip, id, day, yes, share, bad, text, and two rows


def old_workbook_of_all_sorts() -> bytes:
    """An .xls with a code of zeros, long numbers, moments, truth values, percentages, an error cell and a
    text."""
    return zlib.decompress(base64.b85decode(_OLD_OF_ALL_SORTS))
