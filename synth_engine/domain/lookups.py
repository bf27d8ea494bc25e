"""Public look-up tables of a database: lists, such as countries or kinds of goods, to which columns refer by
a key.

A look-up table is public: no row of it is protected, nothing of it is measured, and it is written beside
generated tables as it is. A column that refers to it is an ordinary column whose declared values are keys of
the list, so every generated reference resolves.
"""

from __future__ import annotations

import csv
import io
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, cast

from synth_engine.domain.document import MAX_BYTES
from synth_engine.errors import DomainError
from synth_engine.kinds.attribute import OTHER, Attribute
from synth_engine.kinds.categorical import Categorical
from synth_engine.kinds.fields import Fields
from synth_engine.strict_json import JsonObject

MAX_LOOKUPS = 20
FILES_OF_LOOKUPS = "lookup-"
"""How the names of their files begin in what is written."""
MAX_CELLS = 1_000_000
"""Cells of one look-up table."""


@dataclass(frozen=True, kw_only=True)
class ReferringColumn:
    """A column of a table that holds keys of a look-up table."""

    table: str
    column: str

    def __str__(self) -> str:
        return f"{self.table}.{self.column}"


@dataclass(frozen=True, kw_only=True)
class Lookup:
    """One look-up table.

    columns: its header. key: the one of them with a different text in each row. rows: texts, one for each
    column; an empty text is a missing value, but in the key. references: the columns that refer to it.
    """

    name: str
    key: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    references: tuple[ReferringColumn, ...]

    def __post_init__(self) -> None:
        self._check_header()
        self._check_rows()
        if not self.references:
            raise self.error(
                "no column refers to it",
                repair='name those that do as "references": ["TABLE.COLUMN"]',
            )
        if len(set(self.references)) != len(self.references):
            raise self.error("a column refers to it twice", repair="name each once")

    def _check_header(self) -> None:
        if not self.name or not self.name.isprintable():
            raise DomainError("a look-up table has no usable name", repair="give it one")
        if not all(self.columns) or len(set(self.columns)) != len(self.columns):
            raise self.error(
                "a column has no name, or the name of another one",
                repair="give each column a name of its own",
            )
        if self.key not in self.columns:
            raise self.error(
                "its key is none of its columns",
                repair="name the column to whose values other tables refer",
                column=self.key,
            )

    def _check_rows(self) -> None:
        if not 0 < len(self.rows) * len(self.columns) <= MAX_CELLS:
            raise self.error(
                f"it has no row, or more than {MAX_CELLS:,} cells",
                repair="give the rows that columns refer to",
            )
        for number, row in enumerate(self.rows, start=1):
            if len(row) != len(self.columns):
                raise self.error(
                    f"row {number} has {len(row)} cells, and the header {len(self.columns)}",
                    repair="give each row a cell for each column",
                )
        keys = self.keys
        repeated = sum(many > 1 for many in Counter(keys).values())
        if repeated or not all(keys):
            raise self.error(
                "a key is empty, or occurs in two rows",
                repair="give each row a key of its own",
                column=self.key,
            )

    def error(self, rule: str, *, repair: str, column: str | None = None) -> DomainError:
        """A refusal that names the look-up table."""
        return DomainError(f"look-up table {self.name!r}: {rule}", repair=repair, column=column)

    @cached_property
    def keys(self) -> tuple[str, ...]:
        """The key of each row."""
        at = self.columns.index(self.key)
        return tuple(row[at] for row in self.rows)

    def check_reference(self, reference: ReferringColumn, attribute: Attribute) -> None:
        """Refuses a column of which generated values could be no key."""
        if not isinstance(attribute, Categorical):
            raise self.error(
                f"{reference} refers to it, and is no list of categories",
                repair="describe the column by the list of its values",
                column=reference.column,
            )
        values = attribute.values + ((OTHER,) if attribute.has_other else ())
        lacking = len(set(values) - set(self.keys))
        if lacking:
            raise self.error(
                f"{lacking:,} of {len(values):,} declared values of {reference} are none of its keys",
                repair=f"add rows with these keys, {OTHER!r} included where other values are retained, or "
                "declare keys alone",
                column=reference.column,
            )

    def to_json(self) -> JsonObject:
        document = {
            "name": self.name,
            "key": self.key,
            "references": [str(each) for each in self.references],
            "columns": list(self.columns),
            "rows": [list(row) for row in self.rows],
        }
        return cast(JsonObject, document)


def read_lookup(entry: Any, folder: Path | None) -> Lookup:
    """A look-up table from JSON. Its columns and rows are written out, or are the CSV `file` in a folder.
    Errors: DomainError."""
    if not isinstance(entry, Mapping):
        raise DomainError("a look-up table is no JSON object", repair="see docs/relational.md")
    fields = Fields(entry)
    fields.only("name", "key", "references", "file", "columns", "rows")
    name = fields.text("name")
    if ("file" in entry) == ("rows" in entry):
        raise DomainError(
            f"look-up table {name!r}: it has rows and a file, or neither",
            repair='give "columns" and "rows", or the path of a CSV file as "file"',
        )
    if "file" in entry:
        columns, rows = _read_csv(name, fields.text("file"), folder)
    else:
        columns, rows = fields.texts("columns") or (), _rows(name, fields.list("rows"))
    return Lookup(
        name=name,
        key=fields.text("key"),
        columns=columns,
        rows=rows,
        references=tuple(
            read_referring_column(name, text) for text in fields.texts("references") or ()
        ),
    )


def _rows(name: str, entries: list[Any]) -> tuple[tuple[str, ...], ...]:
    if not all(
        isinstance(row, list) and all(isinstance(cell, str) for cell in row) for row in entries
    ):
        raise DomainError(
            f"look-up table {name!r}: a row is no list of texts",
            repair='write each cell as a text, such as "1", and an empty one as ""',
        )
    return tuple(map(tuple, entries))


def read_referring_column(name: str, text: str) -> ReferringColumn:
    """TABLE.COLUMN. Errors: DomainError naming the look-up table."""
    table, dot, column = text.partition(".")
    if not (table and dot and column):
        raise DomainError(
            f"look-up table {name!r}: a reference names no column of a table",
            repair='write "TABLE.COLUMN"',
        )
    return ReferringColumn(table=table, column=column)


def _read_csv(
    name: str, file: str, folder: Path | None
) -> tuple[tuple[str, ...], tuple[tuple[str, ...], ...]]:
    if folder is None:
        raise DomainError(
            f"look-up table {name!r}: its rows are in a file, which does not come with the description",
            repair='write them out as "columns" and "rows"',
        )
    path = folder / file
    try:
        if path.stat().st_size > MAX_BYTES:
            raise DomainError(
                f"look-up table {name!r}: its file is larger than {MAX_BYTES:,} bytes",
                repair="leave out columns and rows that nothing refers to",
            )
        return parse_csv(name, path.read_text("utf-8-sig"))
    except (OSError, UnicodeDecodeError):
        raise DomainError(
            f"look-up table {name!r}: its file cannot be read as text",
            repair="check its path and rights, and save it as UTF-8",
        ) from None


def parse_csv(name: str, text: str) -> tuple[tuple[str, ...], tuple[tuple[str, ...], ...]]:
    """Header and rows of a public CSV with commas. Errors: DomainError."""
    try:
        lines = [
            tuple(line)
            for line in csv.reader(io.StringIO(text, newline=""), strict=True)
            if line
        ]
    except csv.Error:
        lines = []
    if not lines:
        raise DomainError(
            f"look-up table {name!r}: its file is no CSV with a header",
            repair="separate cells by commas, and put names of columns first",
        )
    return lines[0], tuple(lines[1:])
