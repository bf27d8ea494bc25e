"""An Excel workbook (.xlsx) as a ZIP archive of XML parts, read within bounds.

The archive may unpack to anything, so its own directory is looked at first: what it says that its parts
unpack to is an upper bound of what is ever unpacked. The work of parsing is bounded as well: an archive may
have so many XML elements and no more, in proportion to its size on disk. Both refuse a small file that would
keep its reader busy.
"""

from __future__ import annotations

import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from types import TracebackType
from typing import NoReturn
from xml.parsers import expat

from synth_engine import formats
from synth_engine.errors import TableError
from synth_engine.formats.damage import DAMAGED
from synth_engine.readers.source import Limits

MOST_UNPACKED = 2**29  # bytes of all parts
MOST_PARTS = 10_000
FREE_BYTES, BYTES_PER_BYTE = 2**25, 60  # a sheet unpacks to ten or twenty times its size
FREE_ELEMENTS, ELEMENTS_PER_BYTE = (
    500_000,
    1,
)  # a cell takes two elements, and more than two bytes
UNUSABLE = "not an Excel workbook that can be read"
_PIECE = 2**18
_PACKINGS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
_LOCKED = 1  # the flag of a part with a password
_NOT_PARSED: tuple[type[Exception], ...] = (expat.ExpatError, *DAMAGED)

Start = Callable[[str, dict[str, str]], None]
End = Callable[[str], None]
Text = Callable[[str], None]


class Archive:
    """The parts of a workbook by name. `unpacked` counts the bytes and `elements` the XML elements looked at
    so far."""

    def __init__(self, path: Path, *, limits: Limits) -> None:
        """Opens the archive and looks at its directory alone. Raises TableError for one that is damaged or
        too large."""
        self.unpacked = self.elements = 0
        try:
            self._zip = zipfile.ZipFile(path)
            packed = path.stat().st_size
        except DAMAGED:
            refuse()
        self._most_elements = FREE_ELEMENTS + ELEMENTS_PER_BYTE * packed
        self._sizes = self._checked_sizes(
            most=min(MOST_UNPACKED, limits.plain_bytes), packed=packed
        )

    def _checked_sizes(self, *, most: int, packed: int) -> dict[str, int]:
        entries = self._zip.infolist()
        sizes = {entry.filename: entry.file_size for entry in entries}
        plain = all(
            entry.compress_type in _PACKINGS and not entry.flag_bits & _LOCKED
            for entry in entries
        )
        # Of two parts with one name, programs disagree on which of them counts.
        if len(entries) > MOST_PARTS or len(sizes) < len(entries) or not plain:
            refuse()
        total = sum(sizes.values())
        if total > most:
            raise TableError(
                "the file unpacks to more than is allowed", repair="upload a smaller table"
            )
        if total > FREE_BYTES + BYTES_PER_BYTE * packed:
            _refuse_swollen()
        return sizes

    def __enter__(self) -> Archive:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._zip.close()

    def has(self, name: str) -> bool:
        """Whether there is a part of this name."""
        return name in self._sizes

    def parse(
        self, name: str, *, start: Start, end: End, text: Text | None = None
    ) -> Iterator[float]:
        """Parses a part, piece by piece, and calls back as expat does, with names of elements without their
        prefix. After each piece the share of the part that is done, 0 to 1. Raises TableError for a part that
        is no sound XML, has entities of its own, or more elements than are allowed."""
        parser = expat.ParserCreate()
        parser.buffer_text = True
        local: dict[str, str] = {}

        def started(prefixed: str, attributes: dict[str, str]) -> None:
            self.elements += 1
            if self.elements > self._most_elements:
                _refuse_swollen()
            plain = local.get(prefixed)
            if plain is None:
                plain = local[prefixed] = prefixed.rpartition(":")[2]
            start(plain, attributes)

        parser.StartElementHandler = started
        parser.EndElementHandler = lambda prefixed: end(local[prefixed])
        if text is not None:
            parser.CharacterDataHandler = text
        # A document type may declare entities that expand without bound, or that name other
        # files.
        parser.StartDoctypeDeclHandler = lambda *_: refuse()
        try:
            with self._zip.open(name) as part:
                while data := part.read(_PIECE):
                    self.unpacked += len(data)
                    parser.Parse(data, False)
                    yield part.tell() / max(1, self._sizes[name])
            parser.Parse(b"", True)
        except _NOT_PARSED:
            refuse()
        yield 1.0


def refuse() -> NoReturn:
    """The refusal of an archive that is no workbook."""
    raise TableError(UNUSABLE, repair=formats.SAVE_AS_CSV) from None


def _refuse_swollen() -> NoReturn:
    raise TableError(
        "the workbook has far more cells, most of them empty, than its size allows for",
        repair="copy the table alone into a new workbook, or save the sheet as CSV",
    ) from None
