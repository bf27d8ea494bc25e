"""How a CSV is written is found out, can be said instead, and is then held to: no row has a say in how others
read."""

from __future__ import annotations

import gzip
import re
from dataclasses import replace
from pathlib import Path

import pytest

from synth_engine import readers
from synth_engine.domain import Domain
from synth_engine.errors import TableError
from synth_engine.formats import DELIMITERS, ENCODINGS, QUOTES, Dialect, Encodings, kind_of
from synth_engine.steward import ingest

UMLAUTS = "name;Größe\nÄsop;1,5\nZoë;2,5\n"


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "table"


def cells(path: Path, dialect: Dialect | None, **options: object) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for block in readers.blocks(path, kind="csv", dialect=dialect):
        for name, texts in block.items():
            found.setdefault(name, []).extend(texts.to_pylist())
    return found


DETECTED = {
    "commas": (b"a,b\n1,2\n", Dialect(delimiter=",")),
    "semicolons with decimal commas": (b"a;b\n1,5;2,5\n", Dialect(delimiter=";", decimal=",")),
    "more commas in the names than semicolons": (b"a;b, in EUR, net;c\n1;2;3\n", Dialect(delimiter=";")),
    "tabs": (b"a\tb\n1\t2\n", Dialect(delimiter="\t")),
    "bars": (b"a|b\n1|2\n", Dialect(delimiter="|")),
    "one column": (b"a\nb\nc\n", Dialect(delimiter=",", header=False, asked=("header",))),
    "a declared delimiter": (b"sep=;\na,b;c\n1;2\n", Dialect(delimiter=";")),
    "a byte order mark": (b"\xef\xbb\xbfa,b\n1,2\n", Dialect(delimiter=",")),
    "Windows-1252": (UMLAUTS.encode("cp1252"),
        Dialect(encoding="cp1252", delimiter=";", decimal=",", asked=("encoding",))),
    "UTF-8": (UMLAUTS.encode(), Dialect(delimiter=";", decimal=",")),
    "UTF-16": (UMLAUTS.encode("utf-16"), Dialect(encoding="utf-16", delimiter=";", decimal=",")),
    "UTF-16 without its mark": (UMLAUTS.encode("utf-16-le"),
        Dialect(encoding="utf-16-le", delimiter=";", decimal=",")),
    "single quotation marks": (b"a,b\n'x,y','z'\n",
        Dialect(delimiter=",", quote="'", header=False, asked=("header",))),
    "an apostrophe": (b"a,b\nit's,o'clock\n", Dialect(delimiter=",", header=False, asked=("header",))),
    "no header": (b"39,1.5\n50,2.5\n", Dialect(delimiter=",", header=False)),
    "no header and decimal commas": (b"3,5;1,5\n5,0;2,5\n",
        Dialect(delimiter=";", header=False, decimal=",")),
    "a title": (b"Our table\n\nof 2020\na,b\n1,2\n3,4\n", Dialect(delimiter=",", skip=3)),
    "a title with a comma": (
        b"Our table, of 2020\na,b,c\n1,2,3\n", Dialect(delimiter=",", asked=("header",))
    ),
    "comments": (b"# one, two, three\n# 4\na,b\n1,2\n", Dialect(delimiter=",", skip=2)),
    "thousands or decimals": (b"a;b\n1,234;2,345\n", Dialect(delimiter=";", asked=("decimal",))),
    "both marks": (b"a;b\n1,5;2.5\n", Dialect(delimiter=";")),
    "counted columns": (b"0,1\n5,6\n", Dialect(delimiter=",", header=False, asked=("header",))),
}  # fmt: skip


@pytest.mark.parametrize("case", DETECTED)
def test_the_form_of_a_table_is_found(file: Path, case: str) -> None:
    content, expected = DETECTED[case]
    file.write_bytes(content)
    assert readers.detect(file, kind="csv") == expected
    file.write_bytes(gzip.compress(content))
    assert readers.detect(file, kind="csv.gz") == expected


def test_a_letter_late_in_the_file_counts(file: Path) -> None:
    file.write_bytes(b"a,b\n" + b"1,2\n" * 400_000 + b"3,\xe9\n")
    found = readers.detect(file, kind="csv")
    assert found is not None
    assert found.asked == ("encoding",)
    assert cells(file, Dialect(encoding="cp1252", delimiter=","))["b"][-1] == "é"


def test_a_text_in_utf8_with_one_broken_letter_is_damaged_and_not_western(file: Path) -> None:
    file.write_bytes("a,b\nä,ö\nü,ß\n".encode() + b"x,\xe9\n")
    found = readers.detect(file, kind="csv")
    assert found == Dialect(delimiter=",")
    with pytest.raises(TableError, match="not text in UTF-8") as refusal:
        cells(file, found)
    assert refusal.value.line == 4


def test_bytes_that_stand_for_nothing_are_not_taken_for_western_letters() -> None:
    found = Encodings()
    found.feed(b"a,b\n1,\x81\n")
    assert found.most_likely() != "cp1252"
    assert "cp1252" not in found.possible()


LEGACY = {
    "cp1250": "jméno;město\nŽluťoučký;Příbram\nKůň;Třešť\n",
    "cp1251": "имя;город\nИван;Москва\n",
    "cp1252": "name;Größe\nÄsop;1,5\nZoë;2,5\n",
    "cp1253": "όνομα;πόλη\nΓιώργος;Αθήνα\n",
    "mac-roman": "name;stadt\nJürgen;Köln\nBäcker;Größe\n",
    "cp932": "名前,テスト\nカナ,ー\n",
    "euc_jp": "名前,テスト\nカナ,東京\n",
    "gb18030": "姓名,城市\n王伟,北京\n",
    "big5": "姓名,城市\n王偉,臺北\n",
    "cp949": "이름,도시\n김철수,서울\n",
    "latin-1": "name;Größe\nÄsop;1,5\n",
    "koi8-r": "имя;город\nИван;Москва\n",
}


@pytest.mark.parametrize("encoding", LEGACY)
def test_a_text_in_a_legacy_encoding_is_read_in_none_before_a_person_chooses(
    file: Path, encoding: str
) -> None:
    file.write_bytes(LEGACY[encoding].encode(encoding))
    guessed = readers.detect(file, kind="csv")
    assert guessed is not None
    assert "encoding" in guessed.asked
    with pytest.raises(TableError, match="which encoding its letters have") as refusal:
        cells(file, guessed)
    assert "encoding" in refusal.value.repair
    with pytest.raises(TableError, match="which encoding"):
        readers.columns(file, kind="csv", dialect=guessed)
    found = Encodings()
    found.feed(file.read_bytes())
    assert encoding in found.possible()
    assert set(found.words(encoding)) <= set(re.findall(r"\w+", LEGACY[encoding]))
    [first, second] = LEGACY[encoding].splitlines()[0].split(guessed.delimiter)
    said = replace(guessed, encoding=encoding, asked=(), header=True)
    assert set(cells(file, said)) == {first, second}


LETTERS = {
    **dict.fromkeys(["cp1251", "koi8-r", "iso8859-5", "mac-cyrillic", "cp866"], "жЯ"),
    **dict.fromkeys(["cp1253", "iso8859-7"], "λΩ"),
    **dict.fromkeys(["cp1255", "iso8859-8"], "אש"),
    **dict.fromkeys(["cp1256", "iso8859-6"], "سل"),
    **dict.fromkeys(
        ["cp932", "euc_jp"], "表ソ"
    ),  # the second byte of the first two is a backslash in Shift-JIS
    **dict.fromkeys(["gb18030", "big5", "big5hkscs"], "中文"),
    "cp949": "서울",
    "cp874": "กข",
}


@pytest.mark.parametrize("encoding", ENCODINGS)
@pytest.mark.parametrize("delimiter", DELIMITERS)
def test_what_is_said_is_how_it_is_read(file: Path, encoding: str, delimiter: str) -> None:
    dialect = Dialect(encoding=encoding, delimiter=delimiter, quote="'")
    one, other = LETTERS.get(encoding, "äé")
    text = f"{one}{delimiter}b\n'x{delimiter}''y'{delimiter}{other}\"\n"
    file.write_bytes(text.encode(encoding))
    assert cells(file, dialect) == {one: [f"x{delimiter}'y"], "b": [f'{other}"']}
    assert readers.columns(file, kind="csv", dialect=dialect) == (one, "b")


@pytest.mark.parametrize(
    ("content", "encoding"), [(b"a,b\n1,2\n", "utf-16"), (b"a,b\n1,\x81\n", "cp1252")]
)
def test_what_is_not_of_the_encoding_said_is_refused(
    file: Path, content: bytes, encoding: str
) -> None:
    file.write_bytes(content)
    with pytest.raises(TableError, match="not text in"):
        cells(file, Dialect(encoding=encoding, delimiter=","))


def test_the_names_are_refused_alike(file: Path) -> None:
    file.write_bytes(b"a,b\n1,2\n")
    with pytest.raises(TableError, match="not text in UTF-16"):
        readers.columns(file, kind="csv", dialect=Dialect(encoding="utf-16", delimiter=","))


def test_marks_inside_cells_are_letters_where_that_is_said(file: Path) -> None:
    file.write_bytes(b'a,b\n3"r, s",4"\n' + "\ufeffx,2\n".encode())
    with pytest.raises(TableError, match="a quotation mark inside"):
        cells(file, Dialect(delimiter=","))
    file.write_bytes(b'a,b\n3",4"\n' + "\ufeffx,2\n".encode())
    assert cells(file, Dialect(delimiter=",", literal=True)) == {
        "a": ['3"', "\ufeffx"],
        "b": ['4"', "2"],
    }


def test_without_quotation_marks_they_are_letters(file: Path) -> None:
    file.write_bytes(b'a,b\n5" wide,"x\n')
    assert cells(file, Dialect(delimiter=",", quote="")) == {"a": ['5" wide'], "b": ['"x']}
    with pytest.raises(TableError, match="never closed"):
        cells(file, Dialect(delimiter=","))


def test_without_a_header_columns_are_counted_and_the_first_line_is_a_row(file: Path) -> None:
    file.write_bytes(b"\nx,1\ny,2\n")
    reading = ingest.read(file, kind="csv", dialect=Dialect(delimiter=",", header=False))
    assert reading.columns == ("column_1", "column_2")
    assert (reading.rows, reading.preview) == (2, [["x", "1"], ["y", "2"]])
    assert reading.dialect == Dialect(delimiter=",", header=False, columns=2)


def test_the_names_of_counted_columns_are_known_without_a_look_at_the_file(
    tmp_path: Path,
) -> None:
    """The check before a charge must not depend on a row, and the first line is one."""
    nowhere = tmp_path / "nowhere.csv"
    dialect = Dialect(delimiter=",", header=False, columns=3)
    assert readers.columns(nowhere, kind="csv", dialect=dialect) == (
        "column_1",
        "column_2",
        "column_3",
    )


def test_a_first_row_of_another_length_is_refused_like_any_other(file: Path) -> None:
    file.write_bytes(b"1,2,3\n4,5\n")
    with pytest.raises(
        TableError, match="more or fewer cells than the 2 of the header"
    ) as refusal:
        cells(file, Dialect(delimiter=",", header=False, columns=2))
    assert refusal.value.line == 1


def test_one_row_cannot_change_how_another_is_read(file: Path) -> None:
    """Two tables that differ in one record, read as it was settled for the table: every other record
    stays."""
    dialect = Dialect(delimiter=",")
    file.write_bytes("a,b\nä,1\n".encode())
    before = cells(file, dialect)
    file.write_bytes("a,b\nä,1\n€;'x',2\n".encode())
    assert {name: column[:1] for name, column in cells(file, dialect).items()} == before
    file.write_bytes("a,b\nä,1\n".encode() + b"\xe9,2\n")
    with pytest.raises(
        TableError, match="not text"
    ):  # refused, and not read as another encoding
        cells(file, None)


@pytest.mark.parametrize(
    "stored",
    [
        {"encoding": "utf-7"},
        {"delimiter": "x"},
        {"quote": '""'},
        {"header": "no"},
        {"columns": True},
        {"escape": "x"},
        {"literal": 1},
        {"extra_rows": "some"},
        {"header_lines": 0},
        {"names": [1]},
        {"asked": ["colour"]},
        {"delimiter": None},
        {"encoding": ["utf-8"]},
        {"skip": -1},
        {"skip": True},
        {"footer": 1_000},
        {"footer": 0.5},
        {"decimal": ";"},
        {"thousands": None},
        {"sheet": 1},
        {"sheet": "x" * 300},
    ],
)
def test_what_is_no_form_is_refused(stored: dict[str, object]) -> None:
    with pytest.raises(TableError, match="not read"):
        Dialect.from_json(stored)


def test_a_form_is_stored_and_read_back() -> None:
    for encoding in ENCODINGS:
        for quote in QUOTES:
            dialect = Dialect(
                encoding=encoding, delimiter="|", quote=quote, header=False, columns=4
            )
            assert Dialect.from_json(dialect.to_json()) == dialect
            assert "vertical bar" in dialect.sentence


def test_the_same_table_gives_the_same_rows_in_every_form(file: Path) -> None:
    from synth_engine.room.counts import contingency
    from synth_engine.sources.opening import open_table

    facts = {
        "kind": "categorical",
        "values": ["ä", "b"],
        "other": True,
        "provenance": "declared",
    }
    domain = Domain.from_json({"attributes": [{"name": "x", **facts}]})
    plain, western = "x,y\nä,1\nb,2\nä,3\n", "x;y\nä;1\nb;2\nä;3\n"
    file.write_text(plain)
    expected = contingency(open_table(file, domain, kind="csv"), ("x",)).tolist()
    file.write_bytes(western.encode("cp1252"))
    read = open_table(
        file, domain, kind="csv", dialect=Dialect(encoding="cp1252", delimiter=";")
    )
    assert contingency(read, ("x",)).tolist() == expected == [2, 1, 0]


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("A.CSV", "csv"),
        ("a.tsv.gz", "csv.gz"),
        ("a.parquet", "parquet"),
        ("x.pq", "parquet"),
        ("a.b.txt", "csv"),
        ("a.XLSX", "xlsx"),
        ("a.xls", "xls"),
        ("a.zsav", "sav"),
        ("a.dta", "dta"),
    ],
)
def test_a_name_promises_a_kind(name: str, kind: str) -> None:
    assert kind_of(name) == kind


@pytest.mark.parametrize("name", ["a", "a.ods", "a.gz", "csv", "a.csv.7z"])
def test_a_name_that_promises_nothing_is_refused(name: str) -> None:
    with pytest.raises(TableError, match=r"neither in \.csv"):
        kind_of(name)


@pytest.mark.parametrize(("packed", "name"), [(False, "anything"), (True, "table.dat")])
def test_without_a_kind_the_content_says_it_and_no_name(
    tmp_path: Path, packed: bool, name: str
) -> None:
    path = tmp_path / name
    path.write_bytes(gzip.compress(b"a,b\n1,2\n") if packed else b"a,b\n1,2\n")
    assert ingest.read(path).columns == ("a", "b")
