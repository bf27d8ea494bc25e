"""Each refusal of a table names a repair, and the repair that it names mends the table that provoked it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

from synth_engine import cli
from synth_engine.commands import descriptions
from synth_engine.errors import SynthError

ROWS = "".join(f"{20 + n},{'ab'[n % 2]}\n" for n in range(40))
TABLE = f"age,ward\n{ROWS}"


@dataclass(frozen=True, kw_only=True)
class Refused:
    """A table that is refused. rule, repair: what the message says. read: facts of the form that the repair
    names. mended: the content after the repair, where it changes the file. name: of the file. given: facts
    that are stated before."""

    rule: str
    repair: str
    content: str | bytes
    read: Sequence[str] = ()
    mended: str | bytes | None = None
    name: str = "table.csv"
    given: Sequence[str] = ("header=yes",)


CASES = {
    "a note at the end": Refused(
        rule="more or fewer cells",
        repair="footer",
        content=TABLE + "Source: office\n",
        read=["footer=1"],
    ),
    "a title above": Refused(
        rule="more or fewer cells",
        repair="skip",
        content="Table 1\n" + TABLE,
        read=["skip=1"],
        given=["header=yes", "skip=0"],
    ),
    "a delimiter in a cell": Refused(
        rule="more or fewer cells",
        repair="quote cells that hold the delimiter",
        content=TABLE + "30,a,b\n",
        mended=TABLE + '30,"a,b"\n',
        given=["header=yes", "delimiter=comma"],
    ),
    "a total that is no record": Refused(
        rule="a note or a total",
        repair="extra_rows",
        content=TABLE + "Total,40\n",
        read=["extra_rows=drop"],
    ),
    "a total that is a record": Refused(
        rule="a note or a total",
        repair="extra_rows",
        content=TABLE + "Total,40\n",
        read=["extra_rows=keep"],
    ),
    "the header again": Refused(
        rule="the header stands here again",
        repair="one header",
        content=TABLE + TABLE,
        mended=TABLE + ROWS,
    ),
    "a column without a name": Refused(
        rule="column 2 has no name",
        repair="name it",
        content=TABLE.replace("ward", ""),
        mended=TABLE,
    ),
    "a last column without a name": Refused(
        rule="column 3 has no name",
        repair="leave the empty column out",
        content=TABLE.replace("ward", "ward,").replace("a\n", "a,1\n").replace("b\n", "b,\n"),
        mended=TABLE,
    ),
    "a title padded with delimiters": Refused(
        rule="column 2 has no name",
        repair="skip",
        content="Table 1,,\n" + TABLE.replace("\n", ",1\n").replace("ward,1", "ward,n"),
        read=["skip=1"],
        given=["header=yes", "skip=0"],
    ),
    "a number of names": Refused(
        rule="3 names are given for 2 columns",
        repair="one name",
        content=ROWS,
        given=["header=no", "names=a,b,c"],
        read=["names=age,ward"],
    ),
    "one mark for decimals and thousands": Refused(
        rule="decimals and thousands have the same sign",
        repair="say which of them it marks",
        content=TABLE,
        given=["header=yes", "decimal=comma", "thousands=comma"],
        read=["thousands=none"],
    ),
    "two columns of one name": Refused(
        rule="have the same name",
        repair="rename one",
        content=TABLE.replace("ward", "Age"),
        mended=TABLE,
    ),
    "a mark inside a cell": Refused(
        rule="a quotation mark inside a cell",
        repair="literal",
        content=TABLE + '30,a"b\n',
        read=["literal=yes"],
    ),
    "a mark inside a cell, doubled": Refused(
        rule="a quotation mark inside a cell",
        repair="double the mark",
        content=TABLE + '30,a"b\n',
        mended=TABLE + '30,"a""b"\n',
    ),
    "a blank before a mark": Refused(
        rule="a quotation mark inside a cell",
        repair="spaced",
        content=TABLE + '30, "a"\n',
        read=["spaced=yes"],
    ),
    "text behind a mark": Refused(
        rule="text after a closing quotation mark",
        repair="double quotation marks",
        content=TABLE + '30,"a"b\n',
        mended=TABLE + '30,"a""b"\n',
    ),
    "a mark that is never closed": Refused(
        rule="never closed",
        repair="close it",
        content=TABLE + '30,"a\n',
        mended=TABLE + '30,"a"\n',
    ),
    "a backslash before a mark": Refused(
        rule="text after a closing quotation mark",
        repair="escape",
        content=TABLE + '30,"a\\"b"\n',
        read=["escape=backslash"],
    ),
    "a backslash that is a letter": Refused(
        rule="a backslash before an ordinary letter",
        repair="escape=none",
        content=TABLE + "30,a\\b\n",
        read=["escape=none"],
        given=["header=yes", "escape=backslash"],
    ),
    "a NUL": Refused(
        rule="a NUL byte",
        repair="UTF-8",
        content=(TABLE + "30,a\0\n").encode(),
        mended=TABLE,
    ),
    "a second mark of the order of bytes": Refused(
        rule="a byte order mark inside the text",
        repair="apart",
        content=TABLE + "\ufeff30,a\n",
        mended=TABLE,
    ),
    "an empty file": Refused(
        rule="the file is empty", repair="a header and rows", content="", mended=TABLE
    ),
    "no rows": Refused(
        rule="a header and no rows", repair="add the rows", content="age,ward\n", mended=TABLE
    ),
    "nested values": Refused(
        rule="nested values",
        repair="leave the key out",
        content='{"age": 5, "of": [1]}\n' * 40,
        mended='{"age": 5}\n' * 40,
        name="table.jsonl",
    ),
    "a key twice": Refused(
        rule="a key is given twice",
        repair="each key once",
        content='{"age": 5, "age": 6}\n' * 40,
        mended='{"age": 5}\n' * 40,
        name="table.jsonl",
    ),
    "no JSON": Refused(
        rule="a record that is no JSON object",
        repair="a record in each line",
        content='{"age": 5}\n' * 40 + "[5]\n",
        mended='{"age": 5}\n' * 40,
        name="table.jsonl",
    ),
    "something behind the list": Refused(
        rule="something behind the list",
        repair="one list",
        content='[{"age": 5}, {"age": 6}] [{"age": 7}]',
        mended='[{"age": 5}, {"age": 6}, {"age": 7}]',
        name="table.json",
    ),
    "a list that is cut short": Refused(
        rule="a record that is no JSON object",
        repair="a list of such objects",
        content='[{"age": 5}, {"age": 6},',
        mended='[{"age": 5}, {"age": 6}]',
        name="table.json",
    ),
}


def drafted(case: Refused, content: str | bytes, read: Sequence[str], path: Path) -> None:
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    facts = [word for fact in (*case.given, *read) for word in ("--read", fact)]
    given = facts if case.name.endswith("csv") else []
    descriptions.drafted(cli.parsed(["domain", str(path), "--out", "draft.json", *given]))


@pytest.mark.parametrize("name", CASES)
def test_the_repair_that_a_refusal_names_mends_the_table(name: str, tmp_path: Path) -> None:
    case = CASES[name]
    path = tmp_path / case.name
    with pytest.raises(SynthError) as refused:
        drafted(case, case.content, (), path)
    said = " ".join(str(refused.value).split())
    assert case.rule in said
    assert case.repair in said
    drafted(case, case.content if case.mended is None else case.mended, case.read, path)
