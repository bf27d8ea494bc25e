"""Two parsers of a CSV, one fast and one strict: they give the same cells, or the same refusal."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from synth_engine import readers
from synth_engine.errors import TableError
from synth_engine.formats import DELIMITERS, ENCODINGS, Dialect
from synth_engine.readers import fast_csv, line_feed
from synth_engine.readers.rules import Rules

LETTERS = st.sampled_from(
    [
        "a",
        "é",
        "1",
        ",",
        ";",
        '"',
        '""',
        "'",
        "\n",
        "\r\n",
        "\r",
        " ",
        "\0",
        "\xff",
        "\u2028",
        "x,y\n",
        '"b"',
        "\ufeff",
    ]
)
BYTES = (
    st.lists(LETTERS, max_size=40)
    .map("".join)
    .map(lambda text: text.encode("utf-8").replace("ÿ".encode(), b"\xff"))
)


MANY_BYTES = {
    "cp932": "表ソa",
    "euc_jp": "東京a",
    "gb18030": "中€a",
    "big5": "許功a",
    "big5hkscs": "許功a",
    "cp949": "서울a",
}


def outcome(path: Path, **options: Any) -> Any:
    """All cells, the notes and the number of lines; or the refusal."""
    shape, found = readers.Shape(), {}
    try:
        for block in readers.blocks(path, kind="csv", shape=shape, **options):
            for name, texts in block.items():
                found.setdefault(name, []).extend(texts.to_pylist())
    except TableError as error:
        return str(error), error.line, error.column
    return found, shape.notes, shape.lines, shape.rows


@pytest.fixture
def small_pieces(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A text is cut into pieces of some bytes, so that every boundary is met."""
    monkeypatch.setattr(line_feed, "PIECE", 16)
    monkeypatch.setattr(line_feed, "_READ", 7)
    yield


@settings(
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
    max_examples=150,
)
@given(
    body=BYTES,
    dialect=st.builds(
        Dialect,
        delimiter=st.sampled_from([",", ";"]),
        quote=st.sampled_from(['"', "'", ""]),
        header=st.booleans(),
        skip=st.integers(0, 1),
        footer=st.integers(0, 2),
        literal=st.booleans(),
        spaced=st.booleans(),
        escape=st.sampled_from(["", "\\", "none"]),
        extra_rows=st.sampled_from(["refuse", "keep", "drop"]),
    ),
)
@example(
    body=b",\n1,2\nTotal: 3,4\nx y z a,\n", dialect=Dialect(delimiter=",", extra_rows="drop")
)
@example(body="1,\ufeff2\n".encode(), dialect=Dialect(delimiter=","))
@example(body=b'1,"x\\""\n', dialect=Dialect(delimiter=","))
@example(body=b'3"r, s",4\n', dialect=Dialect(delimiter=","))
@example(body=b'"a", b \n1,2\n', dialect=Dialect(delimiter=","))
@example(body=b'1,"2\n3"\n4,5\n', dialect=Dialect(delimiter=","))
@example(body=b'1,2"\n3,"4"\n', dialect=Dialect(delimiter=","))
@example(body=b"1\n\n2\n", dialect=Dialect(delimiter=","))
@example(
    body="1,2345678\n\ufeffx,y\n1,2345678\n\ufeffx,y\n".encode(), dialect=Dialect(delimiter=",")
)
@example(body=b"1,2\n3,4,\n", dialect=Dialect(delimiter=","))
def test_whatever_the_bytes_both_parsers_agree(
    tmp_path: Path,
    small_pieces: None,
    monkeypatch: pytest.MonkeyPatch,
    body: bytes,
    dialect: Dialect,
) -> None:
    path = tmp_path / "table.csv"
    for header in (b"a,b\n", b"a\n", b"a;b,\n"):
        path.write_bytes(header + body)
        with monkeypatch.context() as strict:
            strict.setattr(fast_csv, "parsed", lambda *_args, **_options: None)
            expected = outcome(path, dialect=dialect)
        assert outcome(path, dialect=dialect) == expected


def test_the_fast_parser_takes_what_is_regular_and_leaves_the_rest() -> None:
    form = fast_csv.Form(
        dialect=Dialect(delimiter=","),
        width=2,
        wanted=[0, 1],
        empty_end=False,
        longest=100,
        header=("a", "b"),
        rules=Rules(Dialect(delimiter=",")),
    )
    for piece in (b'1,"x ""y"""\n', b'1,2\r\n"3\n4",5\r\n', b"1,2\n\n3,4\n", "é,ß\n".encode()):
        found = fast_csv.parsed(piece, form, last=False)
        assert found is not None
        assert found.lines == piece.count(b"\n")
    for piece in (
        b'1,2"\n',
        b'"1"x,2\n',
        b"1\r2,3\n",
        b"1,\0\n",
        b"\xff,1\n",
        b"1,2,3\n",
        b"a,b\n",
        b'"a", b\n',
        b",\n",
        b"Total,2\n",
        b'"x\\"",2\n',
        "1,\ufeff2\n".encode(),
        b'"1,2\n',
        b"1,2",
        "\ufeffa,1\n".encode(),
        b"x" * 200 + b",1\n",
    ):
        assert fast_csv.parsed(piece, form, last=False) is None


def written(table: list[list[str]], dialect: Dialect, *, ends: str, last: bool) -> bytes:
    """A table as a careful program writes it: cells are quoted where they have to be."""
    quote, special = dialect.quote, {dialect.delimiter, dialect.quote, "\n", "\r"}

    def cell(text: str) -> str:
        bare = text and not special & set(text)
        return text if bare else quote + text.replace(quote, quote * 2) + quote

    above, below = ["A title"] * dialect.skip, ["Made by us"] * dialect.footer
    lines = [*above, *(dialect.delimiter.join(map(cell, row)) for row in table), *below]
    text = ends.join(lines) + ends * last
    mark = "\ufeff" if dialect.encoding == "utf-8" and last else ""
    return (mark + text).encode(dialect.encoding)


@settings(
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
    max_examples=150,
)
@given(data=st.data(), last=st.booleans(), ends=st.sampled_from(["\n", "\r\n", "\r"]))
def test_whatever_is_written_in_a_form_is_read_back_exactly(
    tmp_path: Path, small_pieces: None, data: st.DataObject, last: bool, ends: str
) -> None:
    dialect = data.draw(
        st.builds(
            Dialect,
            encoding=st.sampled_from(list(ENCODINGS)),
            delimiter=st.sampled_from(list(DELIMITERS)),
            quote=st.sampled_from(['"', "'"]),
            literal=st.just(True),
            escape=st.just("none"),
            extra_rows=st.just("keep"),
            skip=st.integers(0, 2),
            footer=st.integers(0, 2),
        )
    )
    codec = "utf-8" if dialect.encoding.startswith("utf") else dialect.encoding
    if codec in MANY_BYTES:  # some of their letters have two codes, of which a writer takes one
        letters = st.sampled_from(MANY_BYTES[codec])
    else:
        letters = st.characters(codec=codec, exclude_characters="\0")
    letters |= st.sampled_from(",;|\t\"'\r\n 0")
    width = data.draw(st.integers(1, 3))
    rows = data.draw(
        st.lists(
            st.lists(st.text(letters, max_size=6), min_size=width, max_size=width),
            min_size=1,
            max_size=8,
        )
    )
    names = [f"c{place}" for place in range(width)]
    path = tmp_path / "table.csv"
    path.write_bytes(written([names, *rows], dialect, ends=ends, last=last))
    found, notes, _, count = outcome(path, dialect=dialect)
    assert (count, notes) == (len(rows), [])
    assert found == {name: [row[place] for row in rows] for place, name in enumerate(names)}


def test_a_reading_that_is_given_up_waits_for_nobody(tmp_path: Path) -> None:
    """It may be collected while Python itself starts or ends a thread, under the lock that ending one
    needs."""
    path = tmp_path / "long.csv"
    path.write_text("a,b\n" + "1,2\n" * 3_000_000)
    reading = readers.blocks(
        path,
        kind="csv",
        dialect=None,
        options=readers.ReadOptions(limits=readers.Limits(block_rows=1_000)),
    )
    next(reading)

    def collect() -> None:
        with threading._shutdown_locks_lock:  # type: ignore[attr-defined]
            reading.close()  # type: ignore[attr-defined]

    collecting = threading.Thread(target=collect, daemon=True)
    collecting.start()
    collecting.join(timeout=300)
    assert not collecting.is_alive()
