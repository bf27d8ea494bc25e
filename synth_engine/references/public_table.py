"""A public table of records, beside which noisy answers are read: last year's release, or the survey of
another state."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from synth_engine.errors import SpecError, TableError
from synth_engine.references.base import ReferenceSource
from synth_engine.references.sheet import MOST_BYTES, ReferenceSheet, read_sheet, unpacked
from synth_engine.strict_json import JsonObject

LONGEST_TEXT = 1_000


@dataclass(frozen=True, kw_only=True)
class OwnRelease:
    """A receipt of an earlier release, of which a public table was drawn: the digest of its core, and its
    guarantee."""

    core: str
    guarantee: str


@dataclass(frozen=True, kw_only=True, eq=False)
class PublicTable:
    """The cells of a public file. published: where anybody can get it, in somebody's words; renamed: for
    columns of a description, what the file calls them; release: of a table drawn from an earlier release of
    the same people."""

    sheet: ReferenceSheet
    source: ReferenceSource
    published: str
    renamed: Mapping[str, str] = field(default_factory=dict)
    release: OwnRelease | None = None

    def __post_init__(self) -> None:
        for text, what in ((self.published, "place"), (self.source.name, "name")):
            if not (0 < len(text.strip()) <= LONGEST_TEXT and text.isprintable()):
                raise SpecError(
                    f"a public table needs a {what} of up to {LONGEST_TEXT:,} printable letters",
                    repair="say where anybody can get it",
                )
        for name in self.renamed.values():
            if name not in self.sheet.names:
                raise TableError(
                    "the public table has no such column",
                    repair="take its name from the header",
                    column=name,
                )

    @property
    def records(self) -> int:
        return len(self.sheet)

    def cells_of(self, column: str) -> Sequence[str] | None:
        """The cells of a column of the description; None if the file has no such column."""
        return self.sheet.cells.get(self.renamed.get(column, column))

    def statement(self, *, columns: Sequence[str]) -> JsonObject:
        """What a receipt says of it. columns: those that are shared."""
        own: JsonObject = {}
        if self.release is not None:
            own = {"release": {"core": self.release.core, "guarantee": self.release.guarantee}}
        return {
            **self.source.to_json(),
            "published": self.published,
            "records": self.records,
            "columns": list(columns),
            **own,
        }


def load_public_table(
    path: Path,
    *,
    published: str,
    renamed: Mapping[str, str] | None = None,
    release: OwnRelease | None = None,
) -> PublicTable:
    """Read a CSV, plain or packed with gzip, from this machine. Errors: TableError, SpecError."""
    try:
        with path.open("rb") as file:
            text = unpacked(file.read(MOST_BYTES + 1))
    except OSError:
        raise TableError(
            "the public table cannot be read", repair="check its path and rights"
        ) from None
    return PublicTable(
        sheet=read_sheet(text, wanted=read_sheet(text).names),
        source=ReferenceSource(
            name=path.name, version="1", sha256=hashlib.sha256(text).hexdigest()
        ),
        published=published,
        renamed=renamed or {},
        release=release,
    )
