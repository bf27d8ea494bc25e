"""The hundred kinds of bad and odd tables, each with its verdict: taken with exactly the cells of its file,
taken in a form that is shown and told, or refused by line, rule and repair. Numbers are those of the list we
were given; what needs a browser, a socket or a database is tested where those are, and the last test says
where."""

from __future__ import annotations

import ast
import gzip
import io
import pickle
import time
import zipfile
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from synth_engine import readers
from synth_engine.domain import Domain, parse_attribute
from synth_engine.errors import TableError
from synth_engine.formats import Dialect
from synth_engine.room.counts import contingency
from synth_engine.sources.opening import open_table
from synth_engine.steward import ingest
from tests.engine.workbooks import workbook

ROOT = Path(__file__).parents[2]
CELL = "SECRET"
LONGEST = (
    10.0  # seconds of this process alone, for any of them: others may keep the machine busy
)


@dataclass(frozen=True, kw_only=True)
class Taken:
    """A table that is read, as it is guessed to be written or as `said`. `form` is what of that form is not
    usual, `note` begins what is told, `asked` is what the steward is asked first, who answers as was guessed
    but for `answer`."""

    content: bytes
    cells: dict[str, list[str]]
    form: dict[str, Any] = field(default_factory=dict)
    said: Dialect | None = None
    note: str = ""
    asked: tuple[str, ...] = ()
    answer: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class Refused:
    """A table that is not read, or not as `said`; `asked` as above."""

    content: bytes
    rule: str
    line: int | None = None
    said: Dialect | None = None
    asked: tuple[str, ...] = ()
    answer: dict[str, Any] = field(default_factory=dict)


def text(content: str, encoding: str = "utf-8") -> bytes:
    return content.encode(encoding)


def archive(files: dict[str, bytes]) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as packed:
        for name, content in files.items():
            packed.writestr(name, content)
    return buffer.getvalue()


AB = {"a": ["1"], "b": ["2"]}
STRANGE = "name;city\nZoë;Köln\n"
ZOE = {"name": ["Zoë"], "city": ["Köln"]}
STACKED = f"a,b\n1,2\n\na,b\n{CELL},4\n"

ENCODING: dict[str, Taken | Refused] = {
    "1 byte order mark": Taken(content=b"\xef\xbb\xbfa,b\n1,2\n", cells=AB),
    "2 UTF-16 with its mark": Taken(content=text(STRANGE, "utf-16"), cells=ZOE,
        form={"encoding": "utf-16", "delimiter": ";"}),
    "3 UTF-16, big end first, without a mark": Taken(content=text("a,b\n1,2\n", "utf-16-be"), cells=AB,
        form={"encoding": "utf-16-be"}),
    "4 UTF-32": Taken(content=text("a,b\n1,2\n", "utf-32"), cells=AB, form={"encoding": "utf-32"}),
    "5 Latin-1": Taken(content=text(STRANGE, "latin-1"), cells=ZOE,
        form={"encoding": "cp1252", "delimiter": ";"}, asked=("encoding",)),
    "5 Latin-1, not said": Refused(content=text(STRANGE, "latin-1"), rule="not text in UTF-8", line=2,
        said=Dialect()),
    "6 typographic quotation marks": Taken(
        content=text("a,b\n“x”,€ é\n", "cp1252"), cells={"a": ["“x”"], "b": ["€ é"]},
        form={"encoding": "cp1252"},
        asked=("encoding", "header"), answer={"encoding": "cp1252", "header": True}
    ),
    "7 encodings mixed by row": Refused(content=text("a\nä\nö\nü\n") + b"\xe4\n", rule="not text in UTF-8",
        line=5),
    "8 half a surrogate pair": Refused(content=text("a\näöü\n") + b"\xed\xa0\x80\n", rule="not text in UTF-8",
        line=3),
    "8 an overlong form": Refused(content=text("a\näöü\n") + b"\xc0\xaf\n", rule="not text in UTF-8", line=3),
    "9 a letter cut in two at the end": Refused(content=text("a\näö\n") + b"x\xe2\x82",
        rule="not text in UTF-8", line=3),
    "10 NUL": Refused(content=b"a,b\n1,\0\n", rule="a NUL byte", line=2),
    "11 no width": Refused(content=text("a\u200b,b\n1,2\n"), rule="invisible characters", line=1),
    "11 right to left": Refused(content=text("a\u202e,b\n1,2\n"), rule="invisible characters", line=1),
    "11 a hard space": Refused(content=text("a\u00a0b,b\n1,2\n"), rule="invisible characters", line=1),
    "12 one name in two forms of letters": Refused(content=text("é,e\u0301\n1,2\n"), rule="the same name",
        line=1),
    "13 Shift JIS": Refused(content=text("名前,テスト\nカナ,ー\n", "shift_jis"), rule="not text in UTF-8",
        line=1, said=Dialect(delimiter=",")),
    "13 Shift JIS of common bytes": Refused(content=text("テスト,カナ\nメモ,ハナ\n", "shift_jis"),
        rule="not text in UTF-8", line=1, said=Dialect(delimiter=",")),
    "14 EBCDIC": Refused(content=text("a,b\n1,2\n", "cp037"), rule="not text in UTF-8", line=1,
        said=Dialect(delimiter=",")),
}  # fmt: skip

STRUCTURE: dict[str, Taken | Refused] = {
    "15 nothing": Refused(content=b"", rule="the file is empty"),
    "16 only a mark": Refused(content=b"\xef\xbb\xbf", rule="the file is empty"),
    "17 only line ends": Refused(content=b"\n\r\n\n", rule="the file is empty"),
    "18 only a header": Refused(content=b"a,b\n", rule="a header and no rows", line=1),
    "19 one row": Taken(content=b"a,b\n1,2\n", cells=AB),
    "20 no header": Taken(content=b"39,1.5\n50,2.5\n",
        cells={"column_1": ["39", "50"], "column_2": ["1.5", "2.5"]}, form={"header": False}),
    "20 no header, not said": Refused(content=b"39,1.5\n50,2.5\n", rule="looks like data", line=1,
        said=Dialect()),
    "21 a header of two lines": Refused(content=b"Person,,Pay\na,b,c\n1,2,3\n", rule="column 2 has no name",
        line=1),
    "21 the same, as said": Taken(
        content=b"Person,,Pay\na,b,c\n1,2,3\n", cells={**AB, "c": ["3"]}, said=Dialect(skip=1),
        form={"skip": 1}
    ),
    "22 lines above the header": Taken(content=b"Title\nof 2020\n\na,b\n1,2\n", cells=AB, form={"skip": 3}),
    "22 lines with commas above the header": Refused(
        content=b"Title, long\na,b,c\nSECRET,2,3\n", rule="more or fewer cells than the 2", line=2,
        asked=("header",), answer={"header": True}),
    "22 the same, as said": Taken(
        content=b"Title, long\na,b,c\n1,2,3\n", cells={**AB, "c": ["3"]}, said=Dialect(skip=1),
        form={"skip": 1}
    ),
    "23 a footer": Refused(content=b"a,b\n1,2\nSource: SECRET\n", rule="more or fewer cells than the 2",
        line=3),
    "23 a footer, as said": Taken(
        content=b"a,b\n1,2\nSource: us\n\n", cells=AB, said=Dialect(footer=1), form={"footer": 1}
    ),
    "23 a sum that looks like a row": Refused(
        content=b"a,b\nx,2\nTotal,2\n", rule="an empty row, a note or a total", line=3, asked=("header",),
        answer={"header": True}),
    "24 the same header again": Refused(content=text(STACKED), rule="the header stands here again", line=4),
    "24 another table below": Refused(content=b"a,b\n1,2\n\nx,y,z\n3,4,5\n", rule="more or fewer cells",
        line=4),
    "25 a short row": Refused(content=b"a,b\n1,2\nSECRET\n", rule="more or fewer cells than the 2", line=3),
    "26 a long row": Refused(content=b"a,b\n1,2\nSECRET,4,5\n", rule="more or fewer cells than the 2",
        line=3),
    "27 a delimiter at every end": Taken(content=b"a,b,\n1,2,\n", cells=AB,
        note="Every line ends with a delimiter"),
    "27 something behind it": Refused(content=b"a,b,\n1,2,\n1,2,SECRET\n", rule="column 3 has no name",
        line=3),
    "28 blank lines": Taken(content=b"a,b\n\n1,2\n", cells=AB, note="1 blank lines"),
    "28 a blank line of one column": Refused(content=b"a\n1\n\nSECRET\n",
        rule="a blank line in a table of one", line=4, asked=("header",), answer={"header": True}),
    "29 no line end at the end": Taken(content=b"a,b\n1,2", cells=AB),
    "30 two of them": Taken(content=b"a,b\n1,2\n\n", cells=AB, note="1 blank lines"),
    "31 carriage returns": Taken(content=b"a,b\r1,2\r", cells=AB),
    "32 all line ends": Taken(content=b"a,b\r\n1,2\n1,2\r1,2", cells={"a": ["1"] * 3, "b": ["2"] * 3}),
    "33 a name twice": Refused(content=b"a,b,a\n1,2,3\n", rule="columns 1 and 3 have the same name", line=1),
    "34 but for case and space": Refused(content=b"Age, age \n1,2\n", rule="the same name", line=1),
    "35 an empty name": Refused(content=b"a,,c\n1,2,3\n", rule="column 2 has no name", line=1),
    "36 ten thousand columns": Refused(
        content=text(",".join(f"c{i}" for i in range(10_000)) + "\n" + ",".join(["1"] * 10_000) + "\n"),
        rule="more than 2,000 columns", line=1,
    ),
    "37 a header of a megabyte": Refused(content=b"a" * 2**20 + b",b\n1,2\n", rule="the line is too long",
        line=1),
    "38 one column": Taken(content=b"a\n1\n2\n", cells={"a": ["1", "2"]}),
    "39 an index without a name": Refused(content=b",a,b\n0,1,2\n", rule="column 1 has no name", line=1),
}  # fmt: skip

DIALECT: dict[str, Taken | Refused] = {
    "40 semicolons": Taken(content=b"a;b\n1;2\n", cells=AB, form={"delimiter": ";"}),
    "41 tabs": Taken(content=b"a\tb\n1\t2\n", cells=AB, form={"delimiter": "\t"}),
    "42 bars": Taken(content=b"a|b\n1|2\n", cells=AB, form={"delimiter": "|"}),
    "43 spaces": Taken(content=b"a b\n1 2\n", cells=AB, form={"delimiter": " "},
        asked=("delimiter", "header"), answer={"header": True, "delimiter": " "}),
    "44 spaces behind commas": Taken(content=b"a, b\n1, 2\n", cells=AB, form={"spaced": True},
        asked=("spaced",)),
    "45 two bars": Refused(content=b"a||b\n1||2\n", rule="column 2 has no name", line=1),
    "46 a line that says the delimiter": Taken(content=b"sep=;\na;b\n1;2\n", cells=AB,
        form={"delimiter": ";"}, note="The first line says"),
    "47 single quotation marks": Taken(content=b"a,b\n'x,y','z'\n", cells={"a": ["x,y"], "b": ["z"]},
        form={"quote": "'"}, asked=("header",), answer={"header": True}),
    "48 backslashes": Taken(content=b'a,b\n"say \\"x\\"",2\n', cells={"a": ['say "x"'], "b": ["2"]},
        form={"escape": "\\"}, asked=("escape", "header"), answer={"header": True}),
    "49 a quotation mark that stays open": Refused(content=b'a,b\n1,2\n"SECRET,4\n', rule="never closed",
        line=3),
    "49 for two megabytes": Refused(content=b'a,b\n1,2\n"SECRET' + b",x\n" * 700_000, rule="too long",
        line=3),
    "50 a quotation mark inside": Refused(content=b'a,b\n5" wide,2\n', rule="a quotation mark inside a cell",
        line=2, asked=("header",), answer={"header": True}),
    "51 text behind a closing one": Refused(content=b'a,b\n"SECRET"x,2\n', rule="text after a closing",
        line=2),
    "52 a line end in a cell": Taken(content=b'a,b\n"x\r\ny",2\n', cells={"a": ["x\r\ny"], "b": ["2"]},
        asked=("header",), answer={"header": True}),
    "53 doubled quotation marks": Taken(content=b'a,b\n"say ""hi""",2\n',
        cells={"a": ['say "hi"'], "b": ["2"]}, asked=("header",), answer={"header": True}),
    "54 a cell of twenty megabytes": Refused(content=b"a,b\n1," + b"x" * (20 * 2**20) + b"\n",
        rule="too long", line=2),
    "55 JSON": Taken(content=b'a,b\n"{""k"": [1]}",2\n', cells={"a": ['{"k": [1]}'], "b": ["2"]},
        asked=("header",), answer={"header": True}),
    "56 comments above": Taken(content=b"# by us, for you, free\na,b\n1,2\n", cells=AB, form={"skip": 1}),
    "56 a header that begins like a comment": Taken(content=b"#a,b\n1,2\n", cells={"#a": ["1"], "b": ["2"]}),
    "56 comments below": Refused(content=b"a,b\n1,2\n# SECRET\n", rule="more or fewer cells than the 2",
        line=3),
}  # fmt: skip

HOSTILE: dict[str, Taken | Refused] = {
    **{
        f"80 formula {cell!r}": Taken(content=text(f'a,b\n"{cell}",2\n'), cells={"a": [cell], "b": ["2"]})
        for cell in ("=cmd|' /C calc'!A0", "+1+1", "-1+1", "@SUM(1)", "\t=1", "\r=1")
    },
    "81 markup": Taken(content=b"<script>,b\n<img src=x onerror=a()>,2\n",
        cells={"<script>": ["<img src=x onerror=a()>"], "b": ["2"]}, asked=("header",),
        answer={"header": True}),
    "82 SQL": Taken(content=b"a,b\n'); DROP TABLE x; --,2\n",
        cells={"a": ["'); DROP TABLE x; --"], "b": ["2"]}),
    "83 templates": Taken(content=b"{{7*7}},%s\n{0.__class__},%(x)s\n",
        cells={"{{7*7}}": ["{0.__class__}"], "%s": ["%(x)s"]}, asked=("header",), answer={"header": True}),
    "84 a line end in a name": Refused(content=b'"a\r\nERROR forged",b\n1,2\n', rule="invisible characters",
        line=1),
    "86 a workbook": Refused(content=workbook({"D": [["a"], [1]]}), rule="Excel workbook"),
    "86 a PDF": Refused(content=b"%PDF-1.7\n", rule="a PDF"),
    "86 a picture": Refused(content=b"\x89PNG\r\n\x1a\n", rule="a picture"),
    "86 packed": Refused(content=gzip.compress(b"a,b\n1,2\n"), rule="packed with gzip"),
    "88 an archive of ten thousand files": Refused(content=archive({f"../{i}": b"" for i in range(10_000)}),
        rule="ZIP archive"),
    "89 an archive in an archive": Refused(content=archive({"a.zip": archive({"b": b"x"})}),
        rule="ZIP archive"),
    "99 a pickle": Refused(content=pickle.dumps({"a": [1]}), rule="pickle"),
    "99 Parquet": Refused(content=b"PAR1\x15\x04", rule="Parquet"),
}  # fmt: skip

CASES = {**ENCODING, **STRUCTURE, **DIALECT, **HOSTILE}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "table"


def read(
    path: Path, said: Dialect | None, case: Taken | Refused | None = None
) -> tuple[dict[str, list[str]], readers.Shape]:
    """All cells, in the form that is said, or else in the one that is guessed, as for a new upload: what is
    asked is refused until it is answered."""
    shape, found = readers.Shape(), {}
    dialect = said or readers.detect(path, kind="csv")
    assert dialect is not None
    if case is not None:
        assert dialect.asked == case.asked
        if case.asked:
            with pytest.raises(TableError, match="does not tell for certain"):
                list(readers.blocks(path, kind="csv", dialect=dialect))
        dialect = replace(dialect, asked=(), **case.answer)
    for block in readers.blocks(path, kind="csv", dialect=dialect, shape=shape):
        for name, texts in block.items():
            found.setdefault(name, []).extend(texts.to_pylist())
    return found, shape


@pytest.mark.parametrize(
    "name", [name for name, case in CASES.items() if isinstance(case, Taken)]
)
def test_a_table_that_is_taken_has_exactly_the_cells_of_its_file(path: Path, name: str) -> None:
    case = CASES[name]
    assert isinstance(case, Taken)
    path.write_bytes(case.content)
    found, shape = read(path, case.said, case)
    assert found == case.cells
    assert shape.dialect is not None
    usual = Dialect(delimiter=",", columns=shape.dialect.columns).to_json()
    assert {
        key: value for key, value in shape.dialect.to_json().items() if value != usual[key]
    } == case.form
    reading = ingest.read(path, kind="csv", dialect=shape.dialect)
    for suggested in reading.suggestions:
        parse_attribute(suggested)  # whatever is suggested can be described
    assert (
        any(note.startswith(case.note) for note in reading.notes)
        if case.note
        else not reading.notes
    )


@pytest.mark.parametrize(
    "name", [name for name, case in CASES.items() if isinstance(case, Refused)]
)
def test_a_table_that_is_refused_is_so_by_place_rule_and_repair(path: Path, name: str) -> None:
    case = CASES[name]
    assert isinstance(case, Refused)
    path.write_bytes(case.content)
    start = time.process_time()
    with pytest.raises(TableError, match=case.rule) as refusal:
        read(path, case.said, case)
    assert time.process_time() - start < LONGEST
    assert refusal.value.line == case.line
    assert refusal.value.repair
    assert CELL not in str(refusal.value)


# --- 57 to 79: values, by what is suggested for them --------------------------------------------------------
SUGGESTED: dict[str, tuple[list[str], dict[str, Any], str]] = {
    "57 mixed missing values": (["1", "NA", "null", "?", "", "4.5"],
        {"kind": "scale", "missing": ["", "?", "NA", "null"]}, ""),
    "59 decimal commas": (["1,5", "2,25"], {"kind": "categorical"}, "“1,5” is 1.5 (decimal comma)"),
    "60 thousands beside a plain zero": (["2,385,000", "0", "950,000"], {"kind": "categorical"},
        "“2,385,000” is 2385000 (comma between thousands"),
    "60 thousands with apostrophes, and without": (["1'234.5", "7"], {"kind": "categorical"},
        "is 1234.5 (apostrophe between thousands, decimal point)"),
    "66 years of two digits": (["2/9/21", "25/8/21"], {"kind": "scale", "of": "date", "format": "%d/%m/%y"},
        "“25/8/21” is 25 August 2021"),
    "60 thousands": (["1,234", "12,345"], {"kind": "categorical"},
        "“1,234” is 1.234 (decimal comma); or “1,234” is 1234 (comma"),
    "60 thousands and decimals": (["1,234.5", "2,345.5"], {"kind": "categorical"},
        "is 1234.5 (comma between thousands, decimal point)"),
    "60 the other way round": (["1.234,5", "2.345,5"], {"kind": "categorical"},
        "is 1234.5 (point between thousands, decimal comma)"),
    "61 units": (["$74.69", "12 %"], {"kind": "categorical"}, ""),
    "62 beyond floats": (["1e400", "1"], {"kind": "categorical"}, ""),
    "62 no numbers": (["inf", "1.5"], {"kind": "categorical"}, ""),
    "63 other notations": (["0x10", "1_000", "7"], {"kind": "categorical"}, ""),
    "64 beyond 2^53": (["9007199254740993", "1"], {"kind": "categorical"}, ""),
    "65 leading zeros": (["007", "012"], {"kind": "categorical", "values": ["007", "012"]}, ""),
    "65 leading zeros of decimals": (["007.5", "1.5"], {"kind": "categorical"}, ""),
    "66 dates of no certain order": (["03/04/2021", "05/06/2021"], {"kind": "categorical"},
        "whether the day or the month"),
    "66 the day first": (["03/04/2021", "25/06/2021"], {"kind": "scale", "of": "date", "format": "%d/%m/%Y"},
        ""),
    "66 the month first": (["03.04.2021", "05.26.2021"],
        {"kind": "scale", "of": "date", "format": "%m.%d.%Y"}, ""),
    "66 both orders": (["25/04/2021", "05/26/2021"], {"kind": "categorical"}, "correct the file"),
    "67 no such day": (["2021-02-31", "2021-02-01"], {"kind": "categorical"}, ""),
    "67 no such day in another order": (["31/02/2021", "01/02/2021"], {"kind": "categorical"},
        "correct the file"),
    "67 years of none": (["0000-01-01", "10000-01-01"], {"kind": "categorical"}, ""),
    "68 days counted by a spreadsheet": (["43466", "43831"], {"kind": "scale"}, ""),
    "69 zones": (["2021-03-28T02:30:00+01:00", "2021-03-28T03:30:00+02:00"], {"kind": "identifier"},
        "of several time zones"),
    "70 truth values": (["Yes", "No"], {"kind": "boolean", "true": "Yes", "false": "No"}, ""),
    "70 in another language": (["Ja", "Nein"], {"kind": "categorical"}, ""),
    "71 full-width digits": (["１", "２"], {"kind": "scale", "of": "integer"}, ""),
    "71 Arabic digits": (["١", "٢"], {"kind": "scale", "of": "integer"}, ""),
    "72 another type late": ([str(i) for i in range(100_000)] + ["x"], {"kind": "identifier"}, ""),
    "75 a constant": (["5", "5"], {"kind": "scale", "of": "integer"}, ""),
    "76 nothing but missing": (["", "NA"], {"kind": "identifier"}, "Every value is missing"),
    "77 a number for each row": ([str(i) for i in range(300)], {"kind": "identifier"}, "row ids"),
    "77 many of them": ([str(i) for i in range(50_000)], {"kind": "identifier"}, "row ids"),
    "78 many categories": ([f"t{i % 30_000}" for i in range(90_000)], {"kind": "weak"}, "More than 20,000"),
    "79 blanks": ([" ", "x"], {"kind": "categorical", "values": [" ", "x"], "missing": None}, ""),
    "96 bait for slow patterns": (["1" * 50_000, "1" * 50_000 + "x", "1-" * 20_000], {"kind": "identifier"},
        ""),
}  # fmt: skip


@pytest.mark.parametrize("name", SUGGESTED)
def test_what_is_suggested_for_odd_values_is_no_guess(path: Path, name: str) -> None:
    values, expected, question = SUGGESTED[name]
    if expected["kind"] == "categorical":
        values = values * 20  # texts of fewer rows are never listed
    path.write_text("x,y\n" + "".join(f'"{value}",1\n' for value in values))
    start = time.process_time()
    reading = ingest.read(path, kind="csv")
    assert time.process_time() - start < LONGEST
    draft = reading.suggestions[0]
    assert {key: draft[key] for key in expected} == expected
    assert question in draft["why"]
    assert draft["provenance"] == "suggested"
    Domain.from_json({"attributes": reading.suggestions})
    found, _ = read(path, Dialect(delimiter=","))
    assert found["x"] == values


# --- and by what they are under a description ---------------------------------------------------------------
NUMBER = {
    "kind": "number",
    "low": 0,
    "high": 10,
    "edges": [0, 1, 2, 10],
    "missing": [""],
    "outside": "clamp",
}
WHOLE = {
    "kind": "integer",
    "low": 0,
    "high": 2_000,
    "edges": [0, 10, 1_000, 2_000],
    "missing": [""],
    "outside": "clamp",
}
DAY = {
    "kind": "date",
    "low": "2021-01-01",
    "high": "2021-12-31",
    "step_days": 365,
    "missing": [""],
}
TEXT = {"kind": "categorical", "values": ["NA", "DE"], "other": True, "missing": [""]}
ENCODED: dict[str, tuple[dict[str, Any], Dialect, list[str], list[int]]] = {
    "57 missing by a declared list": (
        {**NUMBER, "missing": ["NA", "?"]}, Dialect(), ["NA", "?", "1.5", "null", ""], [3, 3, 1, 3, 3]
    ),
    "58 Namibia": (TEXT, Dialect(), ["NA", "DE", "FR", ""], [0, 1, 2, 3]),
    "59 decimal commas, as said": (NUMBER, Dialect(delimiter=";", decimal=","),
        ["1,5", "0,5", "1.5", "7", ""], [1, 0, 3, 2, 3]),
    "59 decimal commas, not said": (NUMBER, Dialect(delimiter=";"), ["1,5", "1.5"], [3, 1]),
    "60 thousands, as said": (WHOLE, Dialect(delimiter=";", thousands=","), ["1,234", "1234", "12,34", "5"],
        [2, 2, 3, 0]),
    "60 points between thousands": (
        WHOLE, Dialect(delimiter=";", decimal=",", thousands="."), ["1.234", "1234", "1.23", "1.234.567"],
        [2, 2, 3, 2]
    ),
    "60 spaces between thousands": (WHOLE, Dialect(delimiter=";", thousands=" "),
        ["1 234", "1\u202f234", "1 23"], [2, 2, 3]),
    "60 not said": (WHOLE, Dialect(delimiter=";"), ["1,234", "1234"], [3, 2]),
    "61 units": (NUMBER, Dialect(), ["$1.5", "1.5 %", "1.5"], [3, 3, 1]),
    "62 beyond floats": (NUMBER, Dialect(), ["1e400", "-1e400", "inf", "nan"], [2, 0, 3, 3]),
    "63 other notations": (WHOLE, Dialect(), ["-0", "+5", "0x10", "1_000", "5.0"], [0, 0, 3, 3, 0]),
    "64 beyond 2^63": (WHOLE, Dialect(), ["99999999999999999999", "9007199254740993"], [2, 2]),
    "66 dates with the day first": ({**DAY, "format": "%d/%m/%Y"}, Dialect(),
        ["03/04/2021", "25/06/2021", "06/25/2021"], [0, 0, 1]),
    "67 no such day": (DAY, Dialect(), ["2021-02-31", "2021-02-28", "10000-01-01"], [1, 0, 1]),
    "70 truth values by declaration": (
        {"kind": "boolean", "true": "Ja", "false": "Nein", "missing": [""]}, Dialect(), ["Ja", "Nein", "ja"],
        [1, 0, 2]
    ),
    "71 digits of other scripts": (WHOLE, Dialect(), ["１", "١", "1"], [0, 0, 0]),
    "73 a category that nobody declared": (TEXT, Dialect(), ["ZZ", "DE"], [2, 1]),
    "74 beyond the bounds": (NUMBER, Dialect(), ["-5", "99"], [0, 2]),
    "79 blanks": (TEXT, Dialect(), [" ", "DE"], [2, 1]),
}  # fmt: skip


@pytest.mark.parametrize("name", ENCODED)
@pytest.mark.parametrize("times", [1, 500])  # few texts are read one by one, many at once
def test_odd_values_are_read_as_described_and_as_the_form_says(
    path: Path, name: str, times: int
) -> None:
    facts, dialect, values, expected = ENCODED[name]
    attribute = {"name": "x", **facts, "provenance": "declared"}
    domain = Domain.from_json({"attributes": [attribute]})
    padding = (
        [str(i / 1_000) for i in range(1_000)]
        if times > 1 and facts["kind"] == "number"
        else []
    )
    lines = [f'"{value}"' for value in [*values, *padding]]
    path.write_text(
        "x;y\n".replace(";", dialect.delimiter or ",")
        + "".join(f"{line}{dialect.delimiter or ','}1\n" for line in lines)
    )
    table = open_table(path, domain, kind="csv", dialect=dialect)
    counted = pd.Series(expected).value_counts()
    found = contingency(table, ("x",))
    if padding:
        found = found - contingency(_only(path, padding, domain, dialect), ("x",))
    assert {code: int(n) for code, n in enumerate(found) if n} == counted.sort_index().to_dict()


def _only(path: Path, values: list[str], domain: Domain, dialect: Dialect) -> Any:
    other = path.with_name("padding")
    other.write_text(
        f"x{dialect.delimiter or ','}y\n"
        + "".join(f"{value}{dialect.delimiter or ','}1\n" for value in values)
    )
    return open_table(other, domain, kind="csv", dialect=dialect)


def test_97_many_names_are_told_apart_in_time(path: Path) -> None:
    names = [f"{i:b}" + "a" * (i % 7) for i in range(1, 2_000)]
    path.write_text(",".join(names) + "\n" + ",".join(["1"] * len(names)) + "\n")
    start = time.process_time()
    assert readers.columns(path, kind="csv") == tuple(names)
    assert time.process_time() - start < LONGEST


# Of a body that trickles in (92) the server in front decides when it has had enough; that nothing stays of it
# is ours.
ELSEWHERE = {
    80: "tests/web/test_releases.py",
    84: "tests/web/test_health_and_logs.py::test_a_message_cannot_fake_a_second_record",
    85: "tests/web/test_datasets_upload.py::test_of_a_file_name_nothing_but_its_ending_is_used",
    87: "tests/web/test_datasets_upload.py::test_a_gzip_bomb_is_stopped_at_the_limit",
    90: "tests/engine/test_other_kinds.py::test_entities_of_xml_are_never_followed",
    91: "tests/web/test_api.py::test_an_upload_that_ends_early_is_refused",
    92: "tests/web/test_datasets_upload.py::test_a_connection_that_ends_early_leaves_neither_row_nor_file",
    93: "tests/web/test_datasets_upload.py::test_of_several_files_in_one_request_none_is_taken",
    94: "tests/web/test_datasets_upload.py::test_of_several_files_in_one_request_none_is_taken",
    95: "tests/web/test_api.py::test_an_upload_of_the_wrong_form_is_a_problem",
    98: "tests/web/test_csp.py::test_every_page_carries_the_policy_and_keeps_it",
    100: "tests/web/test_datasets_lifecycle.py::test_the_very_same_file_is_noticed",
}


def test_every_case_is_here_or_where_its_means_are() -> None:
    here = {int(name.split(" ")[0]) for name in [*CASES, *SUGGESTED, *ENCODED]} | {97}
    assert here | set(ELSEWHERE) == set(range(1, 101))
    for place in ELSEWHERE.values():
        file, _, test = place.partition("::")
        tree = ast.parse((ROOT / file).read_text())
        names = {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}
        assert not test or test in names, place
