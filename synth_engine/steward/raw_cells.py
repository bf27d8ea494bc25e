"""Exact counts of real cells, for the steward's report alone."""

from __future__ import annotations

from pathlib import Path

from synth_engine import codec, readers
from synth_engine.domain import Domain
from synth_engine.formats import Dialect, Kind
from synth_engine.readers import Progress
from synth_engine.sources import opening


def count_raw_columns(
    path: Path | str,
    domain: Domain,
    *,
    kind: Kind | None = None,
    dialect: Dialect | None = None,
    progress: Progress = readers.silent,
) -> codec.RawTable:
    """Counts the uncoded cells of each column, how they fit its description, and how two columns go together,
    over all rows of the table.

    Exact counts of real cells: not private, for the data steward's report alone. Raises
    TableError as `open_table` does."""
    opening.require_form(path, kind=kind, dialect=dialect)
    wanted = opening.columns_needed(domain)
    marks = None if dialect is None else dialect.marks
    header = readers.columns(path, kind=kind, dialect=dialect, mode="total")
    counters = {
        attribute.name: codec.RawCounter(attribute, marks=marks)
        for attribute in domain.attributes
        # Identifiers are not among the columns that a description needs.
        if codec.is_counted(attribute) and attribute.name in header
    }
    pairs = codec.RawPairCounter(domain, marks=marks)
    for block in readers.blocks(
        path,
        kind=kind,
        dialect=dialect,
        options=readers.ReadOptions(
            wanted=list(dict.fromkeys([*wanted, *counters])), progress=progress, mode="total"
        ),
    ):
        opening.require_names(wanted, names=block)
        times = codec.repetitions(domain, block, marks=marks)
        for name, counter in counters.items():
            counter.add(block[name], times=times)
        pairs.add(block, times=times)
    return codec.RawTable(
        {name: counter.finish() for name, counter in counters.items()}, pairs.finish()
    )
