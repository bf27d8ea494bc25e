"""Define how a file is written as a whole: a public fact, by which a sample can be written as the file came
in.

How the cells of one column are written is a fact of that column (`kinds.cell_form`), as the format of a date
is.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal

from synth_engine.domain.constraints import ORIGINS
from synth_engine.errors import DomainError, TableError
from synth_engine.formats import DELIMITERS, ENCODINGS, QUOTES, Dialect, Marks
from synth_engine.kinds.attribute import Attribute
from synth_engine.kinds.facts import Provenance
from synth_engine.kinds.fields import Fields
from synth_engine.strict_json import JsonObject

Quoting = Literal["needed", "texts", "all"]
QUOTING: dict[str, str] = {
    "needed": "cells that need them",
    "texts": "cells that are no numbers",
    "all": "every cell",
}
LINE_ENDS = {"lf": "\n", "crlf": "\r\n"}


@dataclass(frozen=True, kw_only=True)
class FileForm:
    """How a file is written. quote: empty for no quotation marks. quoting: around which cells they stand.
    line_end: a key of `LINE_ENDS`. header: whether the first line names the columns. decimal, thousands: the
    marks of numbers; a column says by itself whether it has marks between thousands."""

    encoding: str = "utf-8"
    delimiter: str = ","
    quote: str = '"'
    quoting: Quoting = "needed"
    line_end: str = "lf"
    header: bool = True
    decimal: str = "."
    thousands: str = ""
    provenance: Provenance = "declared"

    def __post_init__(self) -> None:
        choices: tuple[tuple[str, object, Sequence[str]], ...] = (
            ("encoding", self.encoding, list(ENCODINGS)),
            ("delimiter", self.delimiter, list(DELIMITERS)),
            ("quote", self.quote, list(QUOTES)),
            ("quoting", self.quoting, list(QUOTING)),
            ("line_end", self.line_end, list(LINE_ENDS)),
            ("provenance", self.provenance, ORIGINS),
        )
        for key, value, known in choices:
            if value not in known:
                named = ", ".join(repr(one) for one in known)
                raise DomainError(
                    f"{key} of the form of the file", repair=f"use one of {named}"
                )
        try:
            self.dialect(())
        except TableError as error:
            raise DomainError(error.rule, repair=error.repair) from None
        if not self.quote and self.delimiter in (self.decimal, self.thousands):
            raise DomainError(
                "numbers have the delimiter of the file, and there are no quotation marks",
                repair="state the quotation mark of the file",
            )

    def check(self, attributes: Sequence[Attribute]) -> None:
        """Refuses declared texts that a file of this form cannot hold. Errors: DomainError naming the
        column."""
        for attribute in attributes:
            texts = (attribute.name, *(attribute.missing or ()), *attribute.declared_texts)
            if not all(map(self._can_hold, texts)):
                raise attribute.error(
                    "a name, value or missing marker that the declared form of the file cannot hold",
                    repair="state another encoding, delimiter or quotation mark of the file",
                )

    def _can_hold(self, text: str) -> bool:
        try:
            text.encode(self.encoding)
        except UnicodeEncodeError:
            return False
        # Between blanks several are one delimiter, so that an empty cell would be lost.
        return bool(self.quote) or not (
            any(sign in text for sign in (self.delimiter, "\n", "\r"))
            or (self.delimiter == " " and not text)
        )

    @property
    def marks(self) -> Marks:
        """How numbers are marked."""
        return Marks(decimal=self.decimal, thousands=self.thousands)

    def dialect(self, attributes: Sequence[Attribute]) -> Dialect:
        """The dialect in which a file of this form with these columns is read."""
        units = dict.fromkeys(unit for one in attributes for unit in one.written.units)
        return Dialect(
            encoding=self.encoding,
            delimiter=self.delimiter,
            quote=self.quote,
            header=self.header,
            decimal=self.decimal,
            thousands=self.thousands,
            units=tuple(units),
            names=() if self.header else tuple(one.name for one in attributes),
            literal=not self.quote,
            escape="none",
            marks_confirmed=True,
        )

    @classmethod
    def of_dialect(cls, dialect: Dialect) -> FileForm:
        """The form of a file that is read in this dialect. Line ends and quoting are as usual: reading does
        not tell."""
        return cls(
            encoding=dialect.encoding,
            delimiter=dialect.delimiter or ",",
            quote=dialect.quote,
            header=dialect.header,
            decimal=dialect.decimal,
            thousands=dialect.thousands,
        )

    def to_json(self) -> JsonObject:
        return asdict(self)


def parse(document: object) -> FileForm | None:
    """Read the form of a file from JSON; None for none. Errors: DomainError."""
    if document is None:
        return None
    if not isinstance(document, Mapping):
        raise DomainError("file is no object", repair="see docs/domain.schema.json")
    fields = Fields(document)
    fields.only(*FileForm.__dataclass_fields__, "why")
    given: dict[str, Any] = {
        key: fields.boolean(key) if key == "header" else fields.text(key)
        for key in FileForm.__dataclass_fields__
        if key in document
    }
    return FileForm(**given)
