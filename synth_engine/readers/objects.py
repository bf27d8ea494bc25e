"""Records as JSON objects, one in each line, or as one list of them: a block of text columns.

A text is the text, a number the digits as the file spells them, a truth value TRUE or FALSE, null nothing. A
key that an object lacks is nothing too. Which keys are columns is a fact about the whole file: it is found
once, when the table is read for its steward, and a public fact of its form from then on, because otherwise
one record could add a column to all others. Keys that are no columns are left alone.

A total reading, for a run, takes every line, or every element of a list, as a record: a nested value and a
key given twice are missing, and of what is no object all values are. Whether the file is one list is a fact
of its form, too.
"""

from __future__ import annotations

import codecs
import json
import re
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple, NoReturn

from synth_engine import formats
from synth_engine.errors import TableError
from synth_engine.formats import Dialect, Kind
from synth_engine.readers import cell_text
from synth_engine.readers.source import Block, Limits, Meter, Mode, Progress, ReadOptions, Shape

FEWEST_RECORDS = 20
"""That have a key which is drafted as a column; in a small file, half of them."""
_PIECE = 2**22
_STRUCTURE = re.compile(r'[\\"\[\]{},]')
_SPACE = " \t\r\n"
_MARK = "\ufeff"
_WRITE = 'write a record in each line, like {"age": 5}, or a list of such objects; JSON has null, and no NaN'


class Record(NamedTuple):
    """The keys and values of an object, and the line in which it begins."""

    line: int
    values: dict[str, object]


def blocks(
    path: Path,
    *,
    kind: Kind,
    dialect: Dialect | None,
    shape: Shape,
    options: ReadOptions,
) -> Iterator[Block]:
    """Columns as text, block by block. Without a form that says which keys are columns, all of the file are,
    and rows are read only where every column is wanted, which is for a steward. Raises TableError with the
    line."""
    limits, wanted = options.limits, options.wanted
    progress, mode = options.progress, options.mode
    dialect = dialect or Dialect()
    # What one record may change is not found out by a run: its neighbour would be read otherwise.
    if wanted is not None and (not dialect.names or (mode == "total" and not dialect.records)):
        _refuse_unnamed()
    if not dialect.names or not dialect.records:
        read, rare = _form(path, kind=kind, limits=limits, progress=progress)
        if rare and not dialect.names:
            shape.notes.append(
                f"{rare:,} keys that too few records have are no columns; name those that are to be"
            )
        dialect = replace(
            dialect,
            names=dialect.names or read.names,
            records=dialect.records or read.records,
        )
    names = dialect.names
    shape.columns = formats.checked_names(names, most=limits.columns)
    shape.dialect = dialect
    places = {
        name: key
        for name, key in zip(shape.columns, names, strict=True)
        if wanted is None or name in wanted
    }
    waiting: list[list[str | None]] = []
    records = _records(
        path, kind=kind, limits=limits, shape=shape, mode=mode, form=dialect.records
    )
    for record, fraction in records:
        shape.rows += 1
        if shape.rows > limits.rows:
            raise TableError("more rows than are allowed", repair="use a smaller table")
        waiting.append([_text(record, key, mode=mode) for key in places.values()])
        if len(waiting) == limits.rows_at_once(len(places)):
            progress("read", fraction)
            yield _block(waiting, list(places), limits=limits, mode=mode)
            waiting = []
    progress("read", 1.0)
    if waiting:
        yield _block(waiting, list(places), limits=limits, mode=mode)


def columns(
    path: Path, *, kind: Kind, limits: Limits, dialect: Dialect | None
) -> tuple[str, ...]:
    """The keys that the form names; the file is not looked at. Raises TableError if it names none."""
    with Meter(path, packed=False, limits=limits) as plain:
        formats.check_kind(kind, plain.take(formats.HEAD))
    if dialect is None or not dialect.names:
        _refuse_unnamed()
    return formats.checked_names(dialect.names, most=limits.columns)


def detect(path: Path, *, kind: Kind, limits: Limits) -> Dialect:
    """The form of a file: its keys, in the order in which they come, and whether it is a list."""
    form, _ = _form(path, kind=kind, limits=limits, progress=lambda *_: None)
    return form


def _form(path: Path, *, kind: Kind, limits: Limits, progress: Progress) -> tuple[Dialect, int]:
    """The form, and how many keys are no columns because too few records have them: a key may be what one
    record says, like a name in an object that maps names to numbers. Whoever describes the table may still
    name it."""
    keys: Counter[str] = Counter()
    shape = Shape(dialect=Dialect())
    records = 0
    for record, fraction in _records(
        path, kind=kind, limits=limits, shape=shape, mode="checked"
    ):
        records += 1
        keys.update(record.values.keys())
        if len(keys) > limits.columns:
            raise TableError(
                f"more than {limits.columns:,} columns", repair="keep the columns you need"
            )
        progress("read", fraction)
    if not keys:
        raise TableError("the file is empty", repair="upload a table with a header and rows")
    fewest = min(FEWEST_RECORDS, -(-records // 2))
    names = tuple(key for key, held in keys.items() if held >= fewest)
    if not names:
        raise TableError(
            "objects that have no key in common",
            repair="store one value under the same key in each",
        )
    return replace(shape.dialect or Dialect(), names=names), len(keys) - len(names)


def _text(record: Record, key: str, *, mode: Mode) -> str | None:
    value = record.values.get(key)
    match value:
        case None:
            return None
        case str():
            return (
                value if mode == "checked" else value.encode("utf-8", "replace").decode()
            )  # halves of characters
        case bool():
            return "TRUE" if value else "FALSE"
    if mode == "total":
        return None
    raise TableError(
        "nested values (a list or an object as a value)",
        repair="store one plain value under each key, or leave the key out",
        line=record.line,
        column=key,
    )


def _block(
    rows: list[list[str | None]], names: list[str], *, limits: Limits, mode: Mode
) -> Block:
    values = list(zip(*rows, strict=True)) or [()] * len(names)
    return {
        name: cell_text.column(name, values[place], limits=limits, mode=mode)
        for place, name in enumerate(names)
    }


# --- from bytes to objects ----------------------------------------------------------------------------------
def _records(
    path: Path, *, kind: Kind, limits: Limits, shape: Shape, mode: Mode, form: str = ""
) -> Iterator[tuple[Record, float]]:
    """Every record, and how much of the file has been read. form: as `Dialect.records`; where it is empty,
    the first sign of the file tells, and `shape.dialect` is told."""
    with Meter(path, packed=False, limits=limits) as plain:
        if mode == "checked" or kind == "json.gz":  # of a text, the first bytes are a record
            formats.check_kind(kind, plain.take(formats.HEAD))
    with Meter(path, packed=kind == "json.gz", limits=limits) as meter:
        feed = _Feed(meter, limits=limits, mode=mode)
        feed.need(formats.HEAD)
        if mode == "checked":
            formats.check_kind("json", feed.text[: formats.HEAD].encode("utf-8", "replace"))
        feed.skip_space()
        if not form:
            form = "list" if feed.text.startswith("[", feed.at) else "lines"
            shape.dialect = Dialect(records=form)
        for record in _listed(feed) if form == "list" else _in_lines(feed):
            yield record, meter.fraction
        shape.lines = feed.line


class _Feed:
    """The text of a file, of which a part is held. `at` is the place in it that comes next, `line` the line
    there."""

    def __init__(self, meter: Meter, *, limits: Limits, mode: Mode) -> None:
        self._meter, self.longest, self.mode = meter, limits.line_characters, mode
        self._decoder = codecs.getincrementaldecoder("utf-8")(
            "strict" if mode == "checked" else "replace"
        )
        self.text, self.at, self.line, self.ended = "", 0, 1, False
        self._lines = 0  # in all that was decoded, to say where a byte is damaged

    def need(self, characters: int) -> None:
        """Hold so many characters ahead, if there are so many."""
        while len(self.text) - self.at < characters and not self.ended:
            data = self._meter.take(_PIECE)
            self.ended = not data
            try:
                more = self._decoder.decode(data, final=not data)
            except UnicodeDecodeError as error:
                line = 1 + self._lines + error.object.count(b"\n", 0, error.start)
                raise TableError(
                    "the text is not UTF-8", repair="save the file in UTF-8", line=line
                ) from None
            more = more.removeprefix(_MARK) if not self._lines and not self.text else more
            self._lines += more.count("\n")
            self.text, self.at = self.text[self.at :] + more, 0

    def forward(self, end: int) -> None:
        """Go on to a place further on in the text that is held."""
        self.line += self.text.count("\n", self.at, end)
        self.at = end

    def skip_line(self) -> None:
        """Go on to the end of the line, however long it is."""
        while True:
            end = self.text.find("\n", self.at)
            if end >= 0 or self.ended:
                self.forward(end if end >= 0 else len(self.text))
                return
            self.forward(len(self.text))
            self.need(1)

    def skip_space(self) -> None:
        """Go on to what is no blank."""
        while True:
            self.need(1)
            end = self.at
            while end < len(self.text) and self.text[end] in _SPACE:
                end += 1
            self.forward(end)
            if self.at < len(self.text) or self.ended:
                return


def _in_lines(feed: _Feed) -> Iterator[Record]:
    """Read one object from each line; blank lines are left out."""
    while True:
        feed.skip_space()
        if feed.at == len(feed.text):
            return
        feed.need(feed.longest)
        end = feed.text.find("\n", feed.at)
        end = len(feed.text) if end < 0 else end
        if end - feed.at >= feed.longest:
            if feed.mode == "checked":
                raise TableError("the line is too long", repair=_WRITE, line=feed.line)
            yield Record(feed.line, {})
            feed.skip_line()
            continue
        line = feed.text[feed.at : end]
        yield (
            _line(line, line=feed.line)
            if feed.mode == "checked"
            else _line_in_total(line, line=feed.line)
        )
        feed.forward(end)


def _listed(feed: _Feed) -> Iterator[Record]:
    """A list of objects, and nothing behind it."""
    if not feed.text.startswith("[", feed.at):
        _refuse_list(feed)
    feed.forward(feed.at + 1)
    feed.skip_space()
    while not feed.text.startswith("]", feed.at):
        yield _element(feed)
        feed.skip_space()
        if feed.text.startswith(",", feed.at):
            feed.forward(feed.at + 1)
            feed.skip_space()
            if not feed.text.startswith("]", feed.at):
                continue
        elif feed.text.startswith("]", feed.at):
            break
        _refuse_list(feed)
    feed.forward(feed.at + 1)
    feed.skip_space()
    if feed.at < len(feed.text):
        raise TableError(
            "something behind the list of objects",
            repair="keep one list in a file",
            line=feed.line,
        )


def _refuse_list(feed: _Feed) -> NoReturn:
    raise TableError(
        "a list of objects that is malformed or cut short",
        repair="write it again",
        line=feed.line,
    )


def _element(feed: _Feed) -> Record:
    """The next element of a list. In a total reading one that is no object, or that no parser reads, has no
    values."""
    feed.need(feed.longest)
    # The parser sees a bounded slice: an object that never ends costs no more than a long
    # line.
    here = feed.text[feed.at : feed.at + feed.longest]
    if feed.mode == "checked":
        record, length = _record(_DECODER.raw_decode, here, line=feed.line)
        feed.forward(feed.at + length)
        return record
    line = feed.line
    try:
        value, length = _TOTAL_DECODER.raw_decode(here)
    except (ValueError, RecursionError):
        value, length = None, 0
    if isinstance(value, dict):
        feed.forward(feed.at + length)
        return Record(line, value)
    # Not by its length: of a number that is longer than the slice, the parser sees the beginning.
    _skip_element(feed)
    return Record(line, {})


def _skip_element(feed: _Feed) -> None:
    """Go on to the comma or bracket behind an element, however long and deep it is."""
    depth, in_text = 0, False
    while True:
        escaped = -1
        for sign in _STRUCTURE.finditer(feed.text, feed.at):
            place = sign.start()
            match sign[0]:
                case "\\" if in_text and place != escaped:
                    escaped = place + 1
                case '"' if place != escaped:
                    in_text = not in_text
                case "[" | "{" if not in_text:
                    depth += 1
                case "]" | "}" if not in_text and depth:
                    depth -= 1
                case "," | "]" | "}" if not in_text and not depth:
                    feed.forward(place)
                    return
        if feed.ended:
            _refuse_list(feed)
        # What follows a backslash at the end of what is held belongs to it.
        feed.forward(len(feed.text) - (escaped == len(feed.text)))
        feed.need(_PIECE)


class _DoubledError(ValueError):
    """An object has a key twice."""


def _pairs(pairs: list[tuple[str, Any]]) -> dict[str, object]:
    values = dict(pairs)
    if len(values) < len(pairs):
        raise _DoubledError
    return values


def _constant(_name: str) -> NoReturn:
    # Python's parser takes NaN and Infinity, which are no JSON (RFC 8259, section 6).
    raise ValueError("no JSON")


# Numbers stay as the file spells them: a float would round them, and 5.0 would become 5.
_DECODER = json.JSONDecoder(
    object_pairs_hook=_pairs, parse_float=str, parse_int=str, parse_constant=_constant
)


def _missing_if_doubled(pairs: list[tuple[str, Any]]) -> dict[str, object]:
    values: dict[str, object] = {}
    for key, value in pairs:
        # Which value of a repeated key counts is not defined (RFC 8259, section 4). A run
        # cannot refuse the record, so that the value is missing.
        values[key] = None if key in values else value
    return values


_TOTAL_DECODER = json.JSONDecoder(
    object_pairs_hook=_missing_if_doubled,
    parse_float=str,
    parse_int=str,
    parse_constant=lambda _: None,
)


def _line(text: str, *, line: int) -> Record:
    return _record(lambda text: (_DECODER.decode(text), 0), text, line=line)[0]


def _line_in_total(text: str, *, line: int) -> Record:
    """The object in a line; one without keys where there is none."""
    try:
        value = _TOTAL_DECODER.decode(text)
    except (ValueError, RecursionError):
        return Record(line, {})
    return Record(line, value if isinstance(value, dict) else {})


def _record(
    decode: Callable[[str], tuple[Any, int]], text: str, *, line: int
) -> tuple[Record, int]:
    """The object at the beginning of a text, and its length."""
    try:
        value, length = decode(text)
    except _DoubledError:
        raise TableError(
            "a key is given twice in one object", repair="give each key once", line=line
        ) from None
    except RecursionError:
        raise TableError(
            "nested too deep", repair="store one plain value under each key", line=line
        ) from None
    except ValueError:
        raise TableError("a record that is no JSON object", repair=_WRITE, line=line) from None
    if not isinstance(value, dict):
        raise TableError("a record that is no JSON object", repair=_WRITE, line=line)
    return Record(line, value), length


def _refuse_unnamed() -> NoReturn:
    raise TableError(
        "a file of JSON objects, of which nobody has said which keys are its columns",
        repair="write its form with python -m synth_engine form, look at its names, and give it with --form",
    )
