"""Texts that are no delimited tables: recognised by how they begin, so that none becomes a table of one
column."""

from __future__ import annotations

import codecs
import re
from typing import NamedTuple

from synth_engine.errors import TableError

_EXPORT = "export the table as CSV"


class _ForeignForm(NamedTuple):
    """A kind of text that is no table: how it begins, its name, and the repair."""

    start: re.Pattern[str]
    what: str
    repair: str


def _begins(pattern: str) -> re.Pattern[str]:
    return re.compile(rf"\s*(?:{pattern})", re.IGNORECASE)


_JSON = _begins(
    r'\{\s*(?:"|\}\s*$)|\[\s*(?:[\[{]|"(?:[^"\\]|\\.)*"\s*[,\]]|-?[0-9][0-9.eE+-]*\s*[,\]]|\]\s*$)'
)
_FORMS = (
    _ForeignForm(
        _begins(
            r"<!doctype\s+html|<(?:html|head|body|table|meta|script|style|div|title)\b[^<>]*(?:>(?!\s*[,;"
            r"\t|])|\s[^<>]*$)"
        ),
        "a web page (HTML)",
        "find the table that the page shows, or open the page in a spreadsheet program and save it as CSV "
        "UTF-8",
    ),
    _ForeignForm(
        _begins(
            r"<\?xml\b|<!--|<!doctype\b|<[a-z][a-z0-9:._-]*(?:\s+[a-z:._-]+\s*=\s*[\"'][^<>]*)?/?>(?!\s*(?:"
            r"[,;\t|]|$))"
        ),
        "XML",
        _EXPORT,
    ),
    _ForeignForm(
        _begins(r"\{\\rtf"),
        "a document (RTF)",
        "copy the table from it into a spreadsheet and save that as CSV UTF-8",
    ),
    _ForeignForm(
        _begins(r"%!PS"),
        "a printed document (PostScript)",
        "find the table that it was made from",
    ),
    _ForeignForm(_begins(r"\\documentclass|\\begin\{"), "a document (LaTeX)", _EXPORT),
    _ForeignForm(_begins(r"BEGIN:(?:VCARD|VCALENDAR)"), "a list of contacts or dates", _EXPORT),
    _ForeignForm(_begins(r"@relation\b"), "a file of Weka (ARFF)", _EXPORT),
    _ForeignForm(_begins(r"HEADER RECORD\*{7}"), "a transport file of SAS", _EXPORT),
    _ForeignForm(
        _begins(r"ASCII SPSS PORT FILE"), "a portable file of SPSS", "save it as .sav"
    ),
    _ForeignForm(
        _begins(
            r"(?:(?:--[^\n]*\n|/\*.*?\*/;?|#[^\n]*\n)\s*)*(?:"
            r"(?:create|drop|alter|truncate|lock)\s+(?:or\s+replace\s+)?(?:temporary\s+)?(?:table|tables|"
            r"database|schema|type|view)\b|"
            r"insert\s+(?:ignore\s+)?into\s+\S+\s*(?:\(|values\b)|set\s+[@\w.]+\s*(?:=|to\b)|begin(?:\s+"
            r"transaction)?;|"
            r"pragma\s+\w+\s*=|use\s+\S+;)|(?:--[^\n]*\n\s*)*--[^\n]*\bdump\b"
        ),
        "statements of a database (SQL)",
        _EXPORT,
    ),
    _ForeignForm(_begins(r"%YAML\b|---[ \t]*\r?\n"), "YAML", _EXPORT),
)
_FLAGS_DOTALL = re.compile(r"/\*.*?\*/;?", re.DOTALL)
_YAML_LINE = re.compile(
    r"\s*(?:-\s+)?(?:\"[^\"]+\"|'[^']+'|[\w .-]+):(?:\s.*)?|\s*-\s+\S.*|\s*#.*"
)
_YAML_KEY = re.compile(r"\s*(?:-\s+)?[\w.-]+:(?:\s.*)?")
_DELIMITERS = re.compile(r"[,;\t|]")


def text_of(head: bytes) -> str:
    """The beginning of a file as text, whatever its encoding; damage is replaced."""
    if head.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return head.decode("utf-16", "replace")
    # In UTF-16, little-endian, each second byte of ASCII text is zero.
    if head[1:64:2].count(0) * 2 > len(head[1:64:2]):
        return head.decode("utf-16-le", "replace")
    return head.decode("utf-8-sig", "replace")


def is_json(head: bytes) -> bool:
    """Whether a text begins as JSON does: with an object, or a list of values."""
    return _JSON.match(text_of(head)) is not None


def refuse_other_texts(head: bytes, *, instead_of: str) -> None:
    """Refuses a text that is recognisably something else than a table, or JSON. Raises TableError."""
    text = _FLAGS_DOTALL.sub("", text_of(head))
    if _JSON.match(text):
        raise TableError(f"this is JSON, not {instead_of}", repair="name it .json or .jsonl")
    for form in _FORMS:
        if form.start.match(text):
            raise TableError(f"this is {form.what}, not {instead_of}", repair=form.repair)
    if _is_yaml(text):
        raise TableError(f"this is YAML, not {instead_of}", repair=_EXPORT)


def _is_yaml(text: str) -> bool:
    """Lines of keys and values alone, with nothing in them that could stand between cells."""
    # The head of a longer file may cut its last line.
    lines = [
        line for line in text.splitlines()[: None if len(text) < 400 else -1] if line.strip()
    ]
    keys = sum(_YAML_KEY.fullmatch(line) is not None for line in lines)
    plain = not any(_DELIMITERS.search(line) for line in lines)
    return keys >= 2 and plain and all(_YAML_LINE.fullmatch(line) for line in lines)
