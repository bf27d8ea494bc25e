"""What comes as the body of a request: JSON, read strictly and within bounds; or a table, handed on as a
stream, never kept in memory or in a temporary file."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from http import HTTPStatus
from typing import IO, Any

from django.conf import settings
from rest_framework.parsers import BaseParser

from synth_engine.formats import MEDIA_TYPES, Kind
from synthweb.api.faults import Fault, Unusable, escaped, fault

PIECE = 1 << 20
DEEPEST = 32  # a DOMAIN.json needs six
LONGEST_NUMBER = 80  # characters: as many as the size of a set of values may have
# NUL, and surrogates, which json.loads lets through where they are lone. PostgreSQL stores
# neither.
NO_CHARACTER = re.compile("[\0\ud800-\udfff]")
Step = str | int  # a name in an object, or a place in a list


class StrictJsonParser(BaseParser):
    """`application/json` (RFC 8259). Refuses, with the place: what is no JSON, `NaN` and `Infinity`, a number
    that a float would turn into another one, a name that is given twice, nesting without end, characters that
    no text has."""

    media_type = "application/json"

    def parse(
        self,
        stream: IO[Any],
        _media_type: str | None = None,
        _context: Mapping[str, Any] | None = None,
    ) -> Any:
        # One byte more tells a body that is too large from one that just fits.
        body = stream.read(settings.DATA_UPLOAD_MAX_MEMORY_SIZE + 1)
        if len(body) > settings.DATA_UPLOAD_MAX_MEMORY_SIZE:
            raise TooLarge
        try:
            document = json.loads(
                body.decode("utf-8"),
                parse_float=_float,
                parse_int=_integer,
                parse_constant=_constant,
                object_pairs_hook=_object,
            )
        except (json.JSONDecodeError, UnicodeDecodeError):
            raise _malformed(
                "the body is no JSON in UTF-8", repair="send one JSON document"
            ) from None
        # json.loads recurses, so a body of brackets alone would end in a 500.
        except RecursionError:
            raise _too_deep("") from None
        for value, path in _walk(document):
            _check(value, path=path)
        return document


@dataclass(frozen=True)
class Unread:
    """Stands in a document for what JSON or we do not allow, until its place is known."""

    rule: str
    repair: str


class TooLarge(Unusable):
    """413: more than a request of JSON may have."""

    status_code = HTTPStatus.REQUEST_ENTITY_TOO_LARGE

    def __init__(self) -> None:
        most = f"{settings.DATA_UPLOAD_MAX_MEMORY_SIZE / 1024**2:.0f} MiB"
        super().__init__(
            detail="The body is too large.",
            faults=[
                fault(
                    f"a body of JSON has at most {most}", repair="a table is sent as text/csv"
                )
            ],
        )


class Malformed(Unusable):
    """400: not of the right form."""

    status_code = HTTPStatus.BAD_REQUEST


def _malformed(rule: str, *, pointer: str = "", repair: str = "") -> Malformed:
    faults: list[Fault] = [fault(rule, pointer=pointer, repair=repair)]
    return Malformed(detail="The body cannot be read.", faults=faults)


def _too_deep(pointer: str) -> Malformed:
    return _malformed(
        f"the document is nested deeper than {DEEPEST} levels",
        pointer=pointer,
        repair="make it flatter",
    )


def _check(value: object, *, path: list[Step]) -> None:
    """Refuse a value or name that may not be there; only then is its place spelled out."""
    if len(path) > DEEPEST:
        raise _too_deep(_pointer(path))
    if isinstance(value, Unread):
        raise _malformed(value.rule, pointer=_pointer(path), repair=value.repair)
    if isinstance(value, str) and not _is_text(value):
        rule = "NUL and lone surrogates are no characters of a text"
        raise _malformed(rule, pointer=_pointer(path), repair="take them out")


def _pointer(path: list[Step]) -> str:
    """A JSON pointer; a step that is no text, which no answer could hold, ends it."""
    steps = [str(step) for step in path]
    end = next((place for place, step in enumerate(steps) if not _is_text(step)), len(steps))
    return "".join(f"/{escaped(step)}" for step in steps[:end])


def _float(text: str) -> float | Unread:
    number = float(text)
    # 1e-999 becomes 0 and 1e999 infinity: neither is the number that was sent.
    vanished = number == 0 and any(
        digit in "123456789" for digit in text.lower().partition("e")[0]
    )
    if vanished or number in (float("inf"), float("-inf")) or len(text) > LONGEST_NUMBER:
        return Unread(
            "a number is too long, too large or too close to zero", "send one of ordinary size"
        )
    return number


def _integer(text: str) -> int | Unread:
    # int() takes a time that grows with the square of the length.
    if len(text) > LONGEST_NUMBER:
        return Unread(f"a number has more than {LONGEST_NUMBER} digits", "send a smaller one")
    return int(text)


def _constant(name: str) -> Unread:
    return Unread(f"{name} is no JSON", "send a finite number")


def _object(pairs: list[tuple[str, Any]]) -> dict[str, object]:
    values = dict(pairs)
    # Two programs that read this body could each take another of the values.
    if len(values) != len(pairs):
        twice = _first_repeated(name for name, _ in pairs)
        pointer = f"/{escaped(twice)}" if _is_text(twice) else ""
        raise _malformed(
            "a name is given twice in one object", pointer=pointer, repair="give each once"
        )
    return values


def _first_repeated(names: Iterator[str]) -> str:
    """The first name that came before. One pass: counting each name in all others would take a square of
    their number."""
    seen: set[str] = set()
    for name in names:
        if name in seen:
            return name
        seen.add(name)
    raise ValueError("no name is repeated")


def _walk(document: Any) -> Iterator[tuple[Any, list[Step]]]:
    """Every value and every name, with the path to it, without recursion. The path is one list that changes
    from step to step, so the memory it takes grows with the depth of the document alone, not with its names
    times its items."""
    path: list[Step] = []
    yield document, path
    open_containers = [_entries(document)]
    while open_containers:
        entry = next(open_containers[-1], None)
        if entry is None:
            open_containers.pop()
            if path:
                path.pop()
            continue
        step, value = entry
        if isinstance(step, str):
            yield step, path  # a name stands in its object
        path.append(step)
        yield value, path
        if isinstance(value, dict | list):
            open_containers.append(_entries(value))
        else:
            path.pop()


def _entries(value: Any) -> Iterator[tuple[Step, Any]]:
    if isinstance(value, dict):
        return iter(value.items())
    return iter(enumerate(value)) if isinstance(value, list) else iter(())


def _is_text(value: str) -> bool:
    return NO_CHARACTER.search(value) is None


class CsvParser(BaseParser):
    """`Content-Type: text/csv`; the parsed data is the stream itself."""

    media_type = "text/csv"

    def parse(
        self,
        stream: IO[Any],
        _media_type: str | None = None,
        _context: Mapping[str, Any] | None = None,
    ) -> Any:
        return stream


class GzipParser(CsvParser):
    """`Content-Type: application/gzip`: a CSV packed with gzip."""

    media_type = "application/gzip"


class ParquetParser(CsvParser):
    """`Content-Type: application/vnd.apache.parquet`."""

    media_type = "application/vnd.apache.parquet"


class WorkbookParser(CsvParser):
    """An Excel workbook."""

    media_type = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"


class OldWorkbookParser(CsvParser):
    """An Excel workbook as of 1997."""

    media_type = "application/vnd.ms-excel"


class SpssParser(CsvParser):
    """A file of SPSS."""

    media_type = "application/x-spss-sav"


class StataParser(CsvParser):
    """A file of Stata."""

    media_type = "application/x-stata-dta"


class BasketParser(CsvParser):
    """A list of baskets, one a line."""

    media_type = "text/x-baskets"


class OffsetParser(CsvParser):
    """Bytes that continue an upload (tus)."""

    media_type = "application/offset+octet-stream"


def kind_of(content_type: str) -> Kind:
    """What the vault calls a body of this type; only types with a parser here get this far."""
    return MEDIA_TYPES[content_type.split(";")[0].strip().lower()]


def pieces(stream: IO[bytes]) -> Iterator[bytes]:
    """The bytes of a request in pieces of a mebibyte."""
    while piece := stream.read(PIECE):
        yield piece
