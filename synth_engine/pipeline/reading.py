"""What is read of a table before a run: by its steward, or of its form alone."""

from __future__ import annotations

import contextlib
import gzip
import hashlib
import zlib
from collections.abc import Iterator
from pathlib import Path

from synth_engine import readers
from synth_engine.domain import Domain
from synth_engine.errors import (
    SpecError,
)
from synth_engine.formats import Dialect, Kind
from synth_engine.pipeline.sealing import Progress, guarded, nobody_watches, sealed
from synth_engine.references import PublicTable
from synth_engine.sources import opening
from synth_engine.sources import snapshot as snapshots
from synth_engine.sources.snapshot import SnapshotSource
from synth_engine.steward import ingest as reading
from synth_engine.strict_json import JsonObject


@sealed
def detect(path: Path | str, *, kind: Kind | None = None) -> Dialect | None:
    """Guess how a CSV is written, from its content, for its steward to look at; None for other kinds of
    files."""
    return readers.detect(path, kind=kind)


@sealed
def encodings(path: Path | str, *, kind: Kind | None = None) -> dict[str, list[str]]:
    """The encodings that the bytes of a delimited text allow, the likeliest first, with words of the table in
    each: for its steward alone."""
    return readers.encodings(path, kind=kind)


@sealed
def evidence(path: Path | str, *, kind: Kind | None = None, dialect: Dialect) -> JsonObject:
    """Return what a steward, and nobody else, looks at to answer the open questions about the form: `lines`,
    the first ones of the table as cells, and `words`, as `encodings` gives them."""
    words = readers.encodings(path, kind=kind) if "encoding" in dialect.asked else {}
    return {"lines": readers.first_lines(path, kind=kind, dialect=dialect), "words": words}


@sealed
def ingest(
    path: Path | str,
    *,
    kind: Kind | None = None,
    dialect: Dialect | None = None,
    progress: Progress = nobody_watches,
) -> reading.ReadingDocument:
    """Return what the steward, and nobody else, sees of a table: columns, suggestions with hints and
    questions, unique columns, preview, rows, line_count, dialect, notes. Raises TableError for a table that
    is not well formed."""
    return reading.read(path, kind=kind, dialect=dialect, progress=guarded(progress)).to_json()


@sealed
def require_columns(
    path: Path | str,
    *,
    domain: Domain,
    kind: Kind | None = None,
    dialect: Dialect | None = None,
) -> None:
    """Raises TableError for a table without a column that the domain needs. It reads the header and no row,
    so that it may be asked before anything is charged."""
    opening.require_columns(path, domain, kind=kind, dialect=dialect)


@sealed
def require_vouched(
    path: Path | str, *, kind: Kind | None = None, dialect: Dialect | None = None
) -> None:
    """Raises TableError for a workbook with results of formulas for which nobody vouches. It reads rows, so
    what it says is for the steward alone, before anything is charged; a file that the web application stores
    has been read like this at its upload."""
    readers.require_vouched(path, kind=kind, dialect=dialect)


@sealed
def require_another_file(path: Path | str, prior: PublicTable) -> None:
    """Raises SpecError if the public table is the very file that is to be protected, packed or not. It
    compares digests and reads no row, so that it may be asked before anything is charged."""
    digests = set()
    with Path(path).open("rb") as file:
        digests.add(hashlib.file_digest(file, "sha256").hexdigest())
    with contextlib.suppress(OSError, EOFError, zlib.error), gzip.open(path) as file:
        digests.add(hashlib.file_digest(file, "sha256").hexdigest())
    if prior.source.sha256 in digests:
        raise SpecError(
            "the public table is the table that is to be protected",
            repair="take a table from where anybody can get it, or leave it out",
        )


@contextlib.contextmanager
def snapshot(source: SnapshotSource, *, progress: Progress = nobody_watches) -> Iterator[Path]:
    """A copy of a table that lies elsewhere, encrypted at rest, for the time of the block: a Parquet file
    that this process can read. Nothing is spent by it. Raises InputError, TableError where the source refuses
    or goes away."""
    with contextlib.ExitStack() as stack:
        yield _taken(stack, source, progress)


@sealed
def _taken(stack: contextlib.ExitStack, source: SnapshotSource, progress: Progress) -> Path:
    # Sealed by itself: what a database's library raises has frames with rows.
    return stack.enter_context(snapshots.taken(source, progress=guarded(progress)))
