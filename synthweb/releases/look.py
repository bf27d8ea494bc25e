"""The first page of a release: a hundred synthetic rows, and what is in each column, from the model alone.

Everybody sees the same rows: their seed is public and follows from the release. A worker draws them once,
when the release is published or when somebody first opens the page of an older one, and stores them with the
histograms: no page reads the model.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import pandas as pd

from synth_engine import codec
from synth_engine.domain import Attribute, Domain, ScaleBins
from synth_engine.evaluation import expected as ranges
from synth_engine.evaluation import (
    expected_quality,
    expected_relations,
    forecast,
    model_distances,
    model_histograms,
    model_pairs,
)
from synth_engine.evaluation.expected import ExpectedColumn
from synth_engine.evaluation.expected_errors import ExpectedErrors
from synth_engine.evaluation.expected_quality import ExpectedQuality
from synth_engine.evaluation.figure_origins import ModelFigure, SyntheticRow
from synth_engine.evaluation.model_histograms import HistogramBar, ModelHistogram
from synth_engine.models.model import SCHEMA, Model
from synth_engine.tables import Drawing
from synthweb.datasets.domain_cache import domain_of
from synthweb.ledger.models import Rule
from synthweb.lib.number_format import shortened
from synthweb.releases import expected, quality_facts, tables
from synthweb.releases.expected import FigureLine
from synthweb.releases.models import FirstLook, Release

VERSION = f"look/6, {SCHEMA}"
"""Of what is stored: rows of another version, or of another schema of models, are drawn again."""
ROWS = 100
MAX_COLUMNS = 100
"""Columns of one page: a table with more has further pages."""
MAX_CELL_CHARACTERS = 200
MAX_VALUES_CHARACTERS = 400
Prepared = Literal["nothing", "rows", "all"]
"""rows: without the expected errors beside them."""


@dataclass(frozen=True, kw_only=True)
class ColumnError:
    """The expected error of a column: how close, the deviation as a text, and the bands of its figures."""

    word: str
    deviation: str
    lines: tuple[FigureLine, ...]


@dataclass(frozen=True, kw_only=True)
class LookColumn:
    """One column: its place, what the description says of it, and what the model holds.

    values: bounds or the declared list. missing: how a missing value is written, empty where none can be.
    unit: the signs around its numbers, if the description states some. error: None before the expected ranges
    are computed.
    """

    index: int
    name: str
    kind: str
    values: str
    missing: str
    unit: str
    is_number: bool
    histogram: ModelHistogram | None
    error: ColumnError | None


@dataclass(frozen=True, kw_only=True)
class Look:
    """All columns, all rows in the order in which they were drawn, and the expected quality once it is
    computed."""

    columns: tuple[LookColumn, ...]
    rows: tuple[SyntheticRow, ...]
    quality: ExpectedQuality | None


@dataclass(frozen=True, kw_only=True)
class LookSummary:
    """What lists say of a release: how many columns a sample has, and the expected quality once it is
    computed."""

    columns: int
    quality: ExpectedQuality | None


def summary_of(release: Release) -> LookSummary | None:
    """None before a worker prepared the first page. The release comes from a selector, which has this at
    hand."""
    stored = getattr(release, "first_look", None)
    if stored is None:
        return None
    return LookSummary(columns=stored.columns, quality=quality_of(stored))


def seed_of(release: Release) -> str:
    """The public seed of the first rows: whoever draws a hundred rows with it gets the same."""
    return f"first rows of {release.code}"


def look_of(release: Release) -> Look | None:
    """What the page shows; None before a worker has drawn it. The caller authorised."""
    stored = _stored(release)
    return None if stored is None else _read(stored)


def document_of(release: Release) -> dict[str, Any] | None:
    """What a worker drew and read of the model, as it is stored; None before it has. The caller
    authorised."""
    stored = _stored(release)
    return None if stored is None else stored.document


def prepared(release: Release) -> Prepared:
    """How much of the page a worker has stored."""
    stored = _stored(release)
    if stored is None:
        return "nothing"
    return "all" if stored.ranges_version == ranges.VERSION else "rows"


def draw(release: Release) -> FirstLook:
    """The first rows and the histograms for `store`. It takes a second: for a worker alone."""
    model = Model.from_json(release.model)
    document = _document(model, seed=seed_of(release))
    document["facts"] = quality_facts.document_of(release, model)
    return FirstLook(
        release=release,
        version=VERSION,
        columns=len(document["columns"]),
        document=document,
    )


def store(first_look: FirstLook) -> None:
    """Keep what was drawn."""
    FirstLook.objects.update_or_create(
        release=first_look.release,
        defaults={
            "version": first_look.version,
            "columns": first_look.columns,
            "document": first_look.document,
            "errors": None,
            "quality": None,
            "ranges_version": "",
        },
    )


def store_errors(release: Release, columns: Sequence[ExpectedColumn]) -> None:
    """Keep the expected ranges in words beside the rows."""
    domain = Domain.from_json(release.model["domain"])
    FirstLook.objects.filter(release=release, version=VERSION).update(
        errors=_errors(columns, domain),
        quality=dataclasses.asdict(ExpectedQuality.of(columns)),
        ranges_version=ranges.VERSION,
    )
    store_relations(release, expected.errors_of(release))


def store_relations(release: Release, errors: ExpectedErrors | None) -> None:
    """Keep the word of the relations beside that of the columns: first from the noise of the receipt, then
    from the expected errors as well."""
    stored = _stored(release)
    if stored is None or stored.quality is None:
        return
    pairs = stored.document["pairs"]
    known = {"related": pairs["related"], "pairs": len(pairs["dependence"])}
    relations = None if errors is None else errors.relations
    domain, rows = Domain.from_json(release.model["domain"]), release.rows
    level = expected_relations.level_of(
        **known,
        lost=None if relations is None else relations.estimate.value,
        distance=expected_relations.measured_distance(
            domain, release.receipt["calls"], rows=rows
        ),
        weakest=forecast.weakest_relations(
            domain_of(release.domain_version),
            release.receipt,
            rows=rows,
            rule="zcdp" if release.account.rule == Rule.ZCDP else "basic",
        ),
    )
    FirstLook.objects.filter(pk=stored.pk).update(
        quality=stored.quality | known | {"relations": level}
    )


def _stored(release: Release) -> FirstLook | None:
    return FirstLook.objects.filter(release=release, version=VERSION).first()


def _errors(columns: Sequence[ExpectedColumn], domain: Domain) -> dict[str, Any]:
    return {
        column.name: {
            "word": expected_quality.word_of(column),
            "deviation": _deviation(expected_quality.deviation_of(column)),
            "lines": [
                dataclasses.asdict(line)
                for line in expected.lines_of(domain.attribute(column.name), column)
            ],
        }
        for column in columns
    }


def _deviation(deviation: float | None) -> str:
    """In hundredths: of records, or of a standard deviation."""
    return "" if deviation is None else f"{100 * deviation:.2g}"


def _document(model: Model, *, seed: str) -> dict[str, Any]:
    """The look of a model as plain values."""
    domain = model.domain
    frame = _first_rows(model, seed=seed)
    texts = codec.as_text(domain, frame)
    columns = [each for each in domain.table_columns if each.name in texts]
    cells = [_cells(texts[each.name], frame[each.name]) for each in columns]
    ranks = [_ranks(domain.written_like(each), frame[each.name]) for each in columns]
    modelled = {each.name: each for each in domain.modelled}
    records = model_pairs.generated(model, seed=seed)
    dependences = model_pairs.dependence(model, records)
    return {
        "columns": [_column(each, model, modelled.get(each.name), domain) for each in columns],
        "cells": [list(row) for row in zip(*cells, strict=True)],
        "ranks": [list(row) for row in zip(*ranks, strict=True)],
        "pairs": {
            "columns": model_pairs.names_of(model),
            "dependence": [round(each.nmi, model_pairs.DECIMALS) for each in dependences],
            "related": sum(each.is_real for each in dependences),
            "together": [int(each.is_real) for each in dependences],
        },
        "curves": model_distances.of_records(domain, records),
    }


def _first_rows(model: Model, *, seed: str) -> pd.DataFrame:
    draw = Drawing(model=model, rows=ROWS, seed=seed)
    return pd.concat(list(draw.blocks()), ignore_index=True)


def _cells(texts: pd.Series, values: pd.Series) -> list[str | None]:
    """Texts of a column as a file has them, the longest cut; None where a value is missing."""
    return [
        None if missing else shortened(str(text), most=MAX_CELL_CHARACTERS)
        for text, missing in zip(texts.tolist(), values.isna().tolist(), strict=True)
    ]


def _ranks(attribute: Attribute, column: pd.Series) -> list[int]:
    """The rank of each value, equal for equal ones: by size where values have one, by place where they are
    listed in an order, else by text. Missing values come last."""
    if attribute.is_comparable:
        keys = pd.Series(attribute.comparable(column))
    elif attribute.ordered:
        places = {label: place for place, label in enumerate(attribute.value_labels)}
        keys = column.map(places)
    else:
        keys = column.map(lambda value: str(value).casefold(), na_action="ignore")
    ranks = keys.reset_index(drop=True).rank(method="dense", na_option="bottom")
    return [int(rank) for rank in ranks.tolist()]


def _column(
    attribute: Attribute, model: Model, modelled: Attribute | None, domain: Domain
) -> dict[str, Any]:
    described = tables.describe(attribute)
    if isinstance(attribute, ScaleBins):
        # The bounds of what can be learned are no fact about the column.
        described |= {"kind": attribute.of, "values": ""}
    histogram = None if modelled is None else model_histograms.of_column(model, modelled)
    return {
        "name": attribute.name,
        "kind": described["kind"],
        "values": shortened(str(described["values"]), most=MAX_VALUES_CHARACTERS),
        "missing": described["missing"],
        "unit": " ".join(attribute.written.units),
        "number": domain.written_like(attribute).holds_numbers,
        "histogram": None if histogram is None else _histogram_document(histogram),
    }


def _histogram_document(histogram: ModelHistogram) -> dict[str, Any]:
    return {
        "bars": [[bar.label, bar.share.value] for bar in histogram.bars],
        "more": histogram.more,
        "missing": None if histogram.missing is None else histogram.missing.value,
    }


def _read(stored: FirstLook) -> Look:
    document, errors = stored.document, stored.errors or {}
    return Look(
        columns=tuple(
            LookColumn(
                index=index,
                name=column["name"],
                kind=column["kind"],
                values=column["values"],
                missing=column["missing"],
                unit=column["unit"],
                is_number=column["number"],
                histogram=_read_histogram(column["histogram"]),
                error=_read_error(errors.get(column["name"])),
            )
            for index, column in enumerate(document["columns"])
        ),
        rows=tuple(
            SyntheticRow(cells=tuple(cells), ranks=tuple(ranks))
            for cells, ranks in zip(document["cells"], document["ranks"], strict=True)
        ),
        quality=quality_of(stored),
    )


def quality_of(stored: FirstLook) -> ExpectedQuality | None:
    """How close the columns are expected to be; None before it is computed."""
    return None if stored.quality is None else ExpectedQuality(**stored.quality)


def quality_with_relations(
    release: Release, columns: Sequence[ExpectedColumn]
) -> ExpectedQuality:
    """How close these columns are expected to be, with the stored word of their relations. The caller
    authorised."""
    stored = _stored(release)
    known = None if stored is None else quality_of(stored)
    return ExpectedQuality.of(columns) if known is None else known


def _read_error(document: Mapping[str, Any] | None) -> ColumnError | None:
    if document is None:
        return None
    return ColumnError(
        word=document["word"],
        deviation=document["deviation"],
        lines=tuple(FigureLine(**line) for line in document["lines"]),
    )


def _read_histogram(document: Mapping[str, Any] | None) -> ModelHistogram | None:
    if document is None:
        return None
    missing = document["missing"]
    return ModelHistogram(
        bars=tuple(
            HistogramBar(label=label, share=ModelFigure(value=share))
            for label, share in document["bars"]
        ),
        more=document["more"],
        missing=None if missing is None else ModelFigure(value=missing),
    )


def chosen_rows(
    look: Look, *, words: str, column: int | None, sort: int | None, falls: bool
) -> Sequence[SyntheticRow]:
    """The rows that contain the words, in one column or in any, sorted by one column; missing values come
    last."""
    wanted = words.casefold()
    rows = [row for row in look.rows if _contains(row, wanted, column)]
    if sort is None:
        return rows
    rows.sort(key=lambda row: row.ranks[sort], reverse=falls)
    # A stable sort: rows with a value stay in their order.
    rows.sort(key=lambda row: row.cells[sort] is None)
    return rows


def _contains(row: SyntheticRow, words: str, column: int | None) -> bool:
    cells = row.cells if column is None else (row.cells[column],)
    return not words or any(cell is not None and words in cell.casefold() for cell in cells)
