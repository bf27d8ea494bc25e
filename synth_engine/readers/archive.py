"""What an Excel workbook unpacks to, looked at before it is opened.

It is a ZIP archive of XML and may unpack to anything, so it is unpacked once for nothing, piece by piece. Whoever opens
it holds the whole rectangle around the cells of a sheet in memory and ends the process where there is not enough.
"""

from __future__ import annotations

import re
import zipfile
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import BinaryIO, NoReturn, cast
from xml.parsers import expat

from synth_engine import formats
from synth_engine.errors import TableError
from synth_engine.readers.source import Limits

MOST_UNPACKED = 2**29  # bytes of an archive; it is held in memory
MOST_CELLS = 20_000_000  # of the rectangle around all cells of a sheet, which is held in memory, empty cells and all
UNUSABLE = "not an Excel workbook that can be read"
_PIECE = 2**20
_PLACE = re.compile(r"([A-Z]{1,3})([1-9][0-9]{0,6})")
_ROW = re.compile(r"[1-9][0-9]{0,6}")
_CELLS = b"sheetData"  # what holds the cells; without it nothing is read from a part
_XML = (".xml", ".rels")


def look_through(path: Path, *, limits: Limits) -> None:
    """How much a workbook unpacks to, how far cells reach, and whether some show an error. Errors: TableError."""
    left = min(MOST_UNPACKED, limits.plain_bytes)
    try:
        with zipfile.ZipFile(path) as archive:
            for entry in archive.infolist():
                with archive.open(entry) as file:
                    left -= _Part(entry.filename).read(cast(BinaryIO, file), most=left)
    except (OSError, EOFError, LookupError, MemoryError, RuntimeError, ValueError, zipfile.BadZipFile, zlib.error):
        _refuse()  # damaged, or a part has a password or an encoding of its own


class _Part:
    """One part of the archive. Which of them are sheets is said in others, so each is read as if it were one. A sheet
    that is no sound XML might be read in another way later, so it is refused; a picture is left alone."""

    def __init__(self, name: str) -> None:
        self._is_xml = name.lower().endswith(_XML)
        self._sound = True
        self._row = self._column = self._height = self._width = 0
        self._parser = expat.ParserCreate()
        self._parser.StartElementHandler = self._start
        self._parser.StartDoctypeDeclHandler = lambda *_: _refuse()  # a workbook has no entities of its own

    def read(self, file: BinaryIO, *, most: int) -> int:
        """How many bytes it is."""
        size, tail = 0, b""
        while data := file.read(_PIECE):
            size += len(data)
            if size > most:
                raise TableError("the file unpacks to more than is allowed", repair="upload a smaller table")
            self._feed(data)
            if not self._sound and (self._is_xml or _CELLS in tail + data):
                _refuse()
            tail = data[-len(_CELLS) :]
        self._feed(b"", last=True)
        if not self._sound and self._is_xml:
            _refuse()
        return size

    def _feed(self, data: bytes, *, last: bool = False) -> None:
        if self._sound:
            try:
                self._parser.Parse(data, last)
            except expat.ExpatError:
                self._sound = False

    def _start(self, name: str, attributes: Mapping[str, str]) -> None:
        match name.rpartition(":")[2]:
            case "row":
                self._row, self._column = self._number(attributes.get("r")), 0
            case "c":
                self._cell(attributes)

    def _number(self, text: str | None) -> int:
        if text is not None and not _ROW.fullmatch(text):
            _refuse()
        return self._row + 1 if text is None else int(text)

    def _cell(self, attributes: Mapping[str, str]) -> None:
        """A cell without a place follows the one before it."""
        if attributes.get("t") == "e":
            raise TableError(
                "a cell that shows an error, like #N/A or #DIV/0!", repair="mend its formula, or clear the cell"
            )
        place = attributes.get("r")
        found = _PLACE.fullmatch(place) if place is not None else None
        if place is not None and found is None:
            _refuse()
        self._column = self._column + 1 if found is None else _letters(found[1])
        self._width = max(self._width, self._column)
        self._height = max(self._height, self._row, int(found[2]) if found else 0)
        if self._width * self._height > MOST_CELLS:
            raise TableError("cells far from each other", repair="delete what stands far below or beside the table")


def _letters(letters: str) -> int:
    number = 0
    for letter in letters:
        number = 26 * number + ord(letter) - 64
    return number


def _refuse() -> NoReturn:
    raise TableError(UNUSABLE, repair=formats.SAVE_AS_CSV)
