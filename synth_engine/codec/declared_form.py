"""Write a table in the declared form of its file: delimiter, quotation marks, line ends, encoding, and the
form of cells.

A missing value is written by the first declared marker, or by its own where markers are separate. Read in the
dialect of the form, the cells give the codes of the table (`FileForm.dialect`).
"""

from __future__ import annotations

import codecs
import csv
import io
from collections.abc import Callable, Iterable, Sequence
from typing import Literal

import pandas as pd

from synth_engine.codec.markers import write_markers
from synth_engine.domain import Domain, FileForm
from synth_engine.domain.file_form import LINE_ENDS

_QUOTING: dict[str, Literal[0, 1, 2]] = {
    "needed": csv.QUOTE_MINIMAL,
    "texts": csv.QUOTE_NONNUMERIC,
    "all": csv.QUOTE_ALL,
}


class _Number(float):
    """A number as it is written. `csv` puts no quotation marks around numbers, and writes them by `str`."""

    def __new__(cls, text: str) -> _Number:
        number = super().__new__(cls)
        number.text = text
        return number

    text: str

    def __str__(self) -> str:
        return self.text

    __repr__ = __str__


class DeclaredFormWriter:
    """Writes the blocks of one table one after another. `harmless`: what makes a text safe for a
    spreadsheet."""

    def __init__(
        self, domain: Domain, *, harmless: Callable[[str], str] = lambda text: text
    ) -> None:
        self._domain = domain
        self._form = domain.file or FileForm()
        self._harmless = harmless
        # One encoder for the whole table, so that a byte order mark is written once. What a run
        # has learned may be outside of an old encoding; it must not end a download half-way.
        self._encoder = codecs.getincrementalencoder(self._form.encoding)("replace")

    def header(self) -> bytes:
        """The first line, or nothing where the form has none."""
        names = [attribute.name for attribute in self._domain.table_columns]
        return self._lines([[self._harmless(name) for name in names]] * self._form.header)

    def block(self, frame: pd.DataFrame) -> bytes:
        """The lines of some rows."""
        columns = [
            self._cells(column.name, frame)
            for column in self._domain.table_columns
            if column.name in frame
        ]
        return self._lines(zip(*columns, strict=True))

    def _cells(self, name: str, frame: pd.DataFrame) -> Sequence[object]:
        column = frame[name]
        attribute = self._domain.written_like(self._domain.attribute(name))
        texts = attribute.write_as_declared(column, self._form.marks)
        texts = write_markers(texts, attribute, frame)
        written = texts.map({text: self._safe(text) for text in texts.unique()}).tolist()
        if not attribute.holds_numbers or self._form.quoting != "texts":
            return written
        missing = column.isna().to_numpy()
        return [
            text if gone else _Number(text) for text, gone in zip(written, missing, strict=True)
        ]

    def _safe(self, text: str) -> str:
        """A text that a cell of the form can hold: without quotation marks, texts that were made up or
        learned have blanks for delimiters and line ends."""
        if not self._form.quote:
            for sign in {self._form.delimiter, "\n", "\r"} - {" "}:
                text = text.replace(sign, " ")
        return self._harmless(text)

    def _lines(self, rows: Iterable[Iterable[object]]) -> bytes:
        form, text = self._form, io.StringIO(newline="")
        quoting = _QUOTING[form.quoting] if form.quote else csv.QUOTE_NONE
        writer = csv.writer(
            text,
            delimiter=form.delimiter,
            quotechar=form.quote or None,
            quoting=quoting,
            lineterminator=LINE_ENDS[form.line_end],
        )
        writer.writerows(rows)
        return self._encoder.encode(text.getvalue())
