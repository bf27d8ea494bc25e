"""The comparison of a synthetic table with the real one, for its steward alone: it is *not differentially
private*."""

from __future__ import annotations

import dataclasses
import functools
import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypedDict

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from synth_engine import codec, mechanisms
from synth_engine.constraints import counting
from synth_engine.domain import Domain, Weak, WeakBasket
from synth_engine.errors import (
    DomainError,
)
from synth_engine.evaluation import report as comparison
from synth_engine.evaluation import trees
from synth_engine.evaluation.figures import texts
from synth_engine.evaluation.tallies import CodedTable
from synth_engine.evaluation.trees import OccupiedCells
from synth_engine.formats import Dialect, Kind
from synth_engine.hierarchy import StringHierarchy
from synth_engine.models import blocks as model_blocks
from synth_engine.models import group_sizes
from synth_engine.models.model import Model
from synth_engine.models.trees import factory
from synth_engine.pipeline.sealing import Progress, as_stage, guarded, nobody_watches, sealed
from synth_engine.privacy.unit import PrivacyUnit
from synth_engine.room import counts
from synth_engine.room.rows import Rows
from synth_engine.sources import opening
from synth_engine.steward import exact_counts, raw_cells
from synth_engine.steward import ingest as reading
from synth_engine.strict_json import JsonObject
from synth_engine.values.strings import Strings

REPORT_ROWS = comparison.MAX_ROWS


@sealed
def report(
    path: Path | str,
    *,
    model: Model,
    rows: int,
    seed: str,
    kind: Kind | None = None,
    dialect: Dialect | None = None,
    described: Domain | None = None,
    progress: Progress = nobody_watches,
) -> JsonObject:
    """The steward's comparison of a sample with the real table, under what is known of it, or was learned:
    *not differentially private*. described: as it was before anything was learned, which says how texts are
    read."""
    progress = guarded(progress)
    domain = model.domain
    progress("draw-table", 0.0)
    # Drawing and refining records takes longest of all, so that it happens once.
    coded_blocks = list(model.sample_blocks(rows, seed=seed))
    codes = model_blocks.together(coded_blocks)
    ends = model.group_ends(rows, seed=seed)
    blocks = counted(
        mechanisms.draw_blocks(model, rows, seed, codes=coded_blocks),
        rows=rows,
        progress=progress,
    )
    first_block = next(blocks)
    generated = codec.count_generated(domain, itertools.chain([first_block], blocks))
    synthetic = CodedTable(
        codes=codes,
        domain=domain,
        sizes_of_groups=None
        if ends is None
        else group_sizes.counted(ends, most=domain.unit.max_records),
        of_texts=_synthetic_texts(model, rows, seed),
        of_values=generated.columns,
        of_pairs=generated.pairs,
    )
    unenforced = model.unconstrained.sample(rows, seed=seed) if domain.constraints else codes
    form: _Form = {"kind": kind, "dialect": dialect}
    texts_of = _text_reading(model, described)
    table = open_file(path, domain=domain, progress=progress, texts_of=texts_of, **form)
    first = codec.as_text(domain, first_block.head(REPORT_ROWS))
    shown = [name for name in domain.columns if name in first]
    tallies = (
        comparison.tally(table, progress=progress),
        comparison.tally(synthetic, progress=as_stage("count-synthetic", progress)),
    )
    progress("compare-figures", 0.0)
    return comparison.compare(
        *tallies,
        domain,
        fits=_fits(table),
        rows=comparison.SampleRows(
            real=_first_rows(path, domain=domain, **form),
            synthetic=_records(shown, first[shown].to_numpy().tolist()),
        ),
        unenforced=counting.count_violations(unenforced.__getitem__, domain=domain),
    )


@sealed
def compare(
    path: Path | str,
    synthetic_path: Path | str,
    *,
    domain: Domain,
    model: Model | None = None,
    dialect: Dialect | None = None,
    progress: Progress = nobody_watches,
) -> JsonObject:
    """The same of two files, the second of which claims to be synthetic. `dialect` is the form of the real
    one. model: by which the second was generated; the tables are then compared under its description, and the
    texts that it learned are counted. Errors: DomainError where model and description have other columns."""
    described = domain
    if model is not None:
        domain = _domain_of(model, described)
    for attribute in domain.undeclared:
        if isinstance(attribute, WeakBasket):
            raise attribute.error(
                "the items to be compared are not known", repair='list them: kind "basket"'
            )
    public = without_units(domain)
    progress = guarded(progress)
    reading_of_texts = None if model is None else _text_reading(model, described)
    real = open_file(
        path, domain=domain, dialect=dialect, progress=progress, texts_of=reading_of_texts
    )
    written = None if reading_of_texts is None else reading_of_texts.of_written()
    synthetic = open_file(synthetic_path, domain=public, progress=progress, texts_of=written)
    tallies = (
        comparison.tally(real, progress=progress),
        comparison.tally(synthetic, progress=as_stage("count-synthetic", progress)),
    )
    progress("compare-figures", 0.0)
    return comparison.compare(
        *tallies,
        domain,
        fits=_fits(real),
        rows=comparison.SampleRows(
            real=_first_rows(path, domain=domain, dialect=dialect),
            synthetic=_first_rows(synthetic_path, domain=domain),
        ),
    )


def counted(
    blocks: Iterator[pd.DataFrame], *, rows: int, progress: Progress
) -> Iterator[pd.DataFrame]:
    """The blocks of a table of so many rows; progress counts their rows."""
    done = 0
    for block in blocks:
        done += len(block)
        progress("draw-table", done / max(1, rows))
        yield block


def without_units(domain: Domain) -> Domain:
    """The description of a synthetic file: its records belong to nobody, one a row."""
    return dataclasses.replace(domain, unit=PrivacyUnit(), repeats=None)


def _domain_of(model: Model, described: Domain) -> Domain:
    """The description in a model, which has learned what the one before the run left open."""
    if model.domain.columns != described.columns:
        raise DomainError(
            "the model has other columns than the description",
            repair="give the model and the description of one release",
        )
    return model.domain


def open_file(
    path: Path | str,
    *,
    domain: Domain,
    progress: Progress,
    kind: Kind | None = None,
    dialect: Dialect | None = None,
    texts_of: _TextReading | None = None,
) -> _RoomTable:
    """The rows of a file as a source of exact tables, hence marked as not private. texts_of: how its texts
    are counted."""
    # One reading of the file serves all descriptions of its columns.
    rows, *text_rows = opening.open_tables(
        path,
        [domain, *(texts_of.domains if texts_of else ())],
        kind=kind,
        dialect=dialect,
        progress=progress,
    )
    return _RoomTable(
        rows,
        of_texts=texts_of.count(text_rows) if texts_of else (),
        cells=raw_cells.count_raw_columns(
            path,
            domain,
            kind=kind,
            dialect=dialect,
            progress=as_stage("read-values", progress),
        ),
    )


class _RoomTable:
    """Rows of the room as a source of exact counts, which are confidential."""

    private = False

    def __init__(
        self,
        rows: Rows,
        *,
        of_texts: Sequence[OccupiedCells] = (),
        cells: codec.RawTable,
    ) -> None:
        self.domain = rows.domain
        self.records = rows.total
        self.contingency = functools.partial(counts.contingency, rows)
        self.occupied_cells = functools.partial(exact_counts.occupied_cells, rows)
        self.distances = functools.partial(exact_counts.distances, rows)
        self.commutes = functools.partial(exact_counts.commutes, rows)
        self.occupied = functools.partial(exact_counts.occupied, rows)
        self.breaking = functools.partial(exact_counts.count_violations, rows)
        self._rows, self._of_texts, self._cells = rows, of_texts, cells

    def group_sizes(self) -> NDArray[np.int64] | None:
        return None if self.domain.grouped is None else counts.group_sizes(self._rows)

    def texts(self) -> Sequence[OccupiedCells]:
        return self._of_texts

    def raw_columns(self) -> Mapping[str, codec.RawColumn]:
        return self._cells.columns

    def raw_pairs(self) -> codec.RawPairs:
        return self._cells.pairs


def _fits(table: _RoomTable) -> dict[str, codec.Fit]:
    """Return how the cells of each column fit its description."""
    return {name: raw.fit for name, raw in table.raw_columns().items() if raw.fit is not None}


def _synthetic_texts(model: Model, rows: int, seed: str) -> list[OccupiedCells]:
    """Count how often the model generates each text; nothing for a model that is no tree of texts."""
    if (tree := factory.texts(model.tree)) is None:
        return []
    written = model.written(rows, seed=seed)
    return [texts.count_texts(tree.hierarchy, *column) for column in written.values()]


@dataclass(frozen=True, kw_only=True)
class _TextReading:
    """Descriptions under which a column of texts is read in order to count its texts and how they were read.

    `declared`: with the declared rules for case and characters, truncated by unit. `whole`: the same for all
    records. `as_written`: for all records and without rules.
    """

    hierarchy: StringHierarchy
    declared: Domain
    whole: Domain
    as_written: Domain

    @property
    def domains(self) -> tuple[Domain, Domain, Domain]:
        """All of them, in the order of the rows that `count` takes."""
        return self.declared, self.whole, self.as_written

    def of_written(self) -> _TextReading:
        """How the texts of a synthetic file are counted: as they are, all of them."""
        return dataclasses.replace(self, declared=self.as_written, whole=self.as_written)

    def count(self, rows: Sequence[Rows]) -> list[OccupiedCells]:
        """Records by text, and how many were read in which way."""
        declared, whole, as_written = rows
        column = self.hierarchy.columns[0]
        outside, missing = exact_counts.unread(whole, column)
        fitting = whole.total - outside - missing
        written = as_written.total - sum(exact_counts.unread(as_written, column))
        cells = trees.aggregate(
            self.hierarchy, *exact_counts.occupied(declared, self.hierarchy)
        )
        read = {
            "as written": written,
            "changed": fitting - written,
            "outside": outside,
            "missing": missing,
        }
        return [dataclasses.replace(cells, read=read)]


def _text_reading(model: Model, described: Domain | None) -> _TextReading | None:
    """Return how the texts of a tree of texts are counted in the real table; None for another model."""
    if (tree := factory.texts(model.tree)) is None:
        return None
    strings = tree.hierarchy
    plain = Strings(strings.alphabet, strings.shortest, strings.longest)
    values = _declared_texts(described, columns=tree.columns)
    values = plain if values is None else values
    declared, as_written = (_text_domain(model, strings, each) for each in (values, plain))
    return _TextReading(
        hierarchy=strings,
        declared=declared,
        whole=dataclasses.replace(declared, unit=PrivacyUnit()),
        as_written=dataclasses.replace(as_written, unit=PrivacyUnit()),
    )


def _text_domain(model: Model, strings: StringHierarchy, values: Strings) -> Domain:
    """The column of texts alone, as one of unknown texts of this set."""
    known = model.domain.attribute(strings.columns[0])
    column = Weak(
        name=known.name,
        values=values,
        missing=known.missing,
        outside="other",
        provenance=known.facts["kind"],
    )
    return Domain(attributes=(column,), unit=model.domain.unit, relation=model.domain.relation)


def _declared_texts(described: Domain | None, *, columns: Sequence[str]) -> Strings | None:
    """The texts of the first of these columns that was described as one of unknown texts."""
    for attribute in () if described is None else described.undeclared:
        if attribute.name in columns and isinstance(attribute, Weak):
            return attribute.values if isinstance(attribute.values, Strings) else None
    return None


class _Form(TypedDict):
    """The form of a file, as arguments of the readers."""

    kind: Kind | None
    dialect: Dialect | None


def _first_rows(
    path: Path | str,
    *,
    domain: Domain,
    kind: Kind | None = None,
    dialect: Dialect | None = None,
) -> list[dict[str, object]]:
    return _records(
        domain.columns, reading.head(path, domain.columns, kind=kind, dialect=dialect)
    )


def _records(columns: Sequence[str], rows: list[list[str]]) -> list[dict[str, object]]:
    return [dict(zip(columns, row, strict=True)) for row in rows]
