"""The page Look as templates need it: the columns and rows that the address asks for, with pictures and
links."""

from __future__ import annotations

from dataclasses import dataclass

from django.http import QueryDict
from django.utils.translation import gettext as _

from synth_engine.evaluation.expected_quality import ExpectedQuality
from synth_engine.evaluation.figure_origins import SyntheticRow
from synth_engine.evaluation.thumbnails import model_thumbnail
from synthweb.lib.language import translated
from synthweb.lib.pagination import query_with, words_of
from synthweb.releases import look
from synthweb.releases.look import LookColumn
from synthweb.releases.models import Release


@dataclass(frozen=True, kw_only=True)
class LookHead:
    """The head of one column. picture: its histogram as SVG, empty without one. query: what follows the ? to
    sort by it. sorted: ascending, descending or empty."""

    column: LookColumn
    picture: str
    query: str
    sorted: str


@dataclass(frozen=True, kw_only=True)
class LookCell:
    """A cell of a synthetic row. text: None where the value is missing."""

    text: str | None
    is_number: bool


@dataclass(frozen=True, kw_only=True)
class LookPage:
    """heads: of the columns on this page. rows: the cells of these columns, of the rows that were asked for.
    names: of all columns, with their places. pages: texts and queries of the other columns of a wide table;
    the current one has no query."""

    heads: tuple[LookHead, ...]
    rows: tuple[tuple[LookCell, ...], ...]
    names: tuple[tuple[int, str], ...]
    pages: tuple[tuple[str, str], ...]
    columns: int
    sample_rows: int
    words: str
    within: str
    sort: str
    seed: str
    quality: ExpectedQuality | None


def page_of(release: Release, query: QueryDict) -> LookPage | None:
    """What the page shows for an address; what the address says wrongly changes nothing. None before a worker
    has drawn the rows. The caller authorised."""
    shown = look.look_of(release)
    if shown is None:
        return None
    count = len(shown.columns)
    words = words_of(query)
    within = _place(query.get("in", ""), count)
    asked = query.get("sort", "")
    sort, falls = _place(asked.removeprefix("-"), count), asked.startswith("-")
    rows = look.chosen_rows(shown, words=words, column=within, sort=sort, falls=falls)
    starts = range(0, count, look.MAX_COLUMNS)
    first = min((_place(query.get("from", ""), count) or 0), max(count - 1, 0))
    first -= first % look.MAX_COLUMNS
    columns = shown.columns[first : first + look.MAX_COLUMNS]
    return LookPage(
        heads=tuple(_head(each, query, sort=sort, falls=falls) for each in columns),
        rows=tuple(_cells(row, columns) for row in rows),
        names=tuple((each.index, each.name) for each in shown.columns),
        pages=tuple(_pages(query, starts, count=count, first=first))
        if count > look.MAX_COLUMNS
        else (),
        columns=count,
        sample_rows=len(shown.rows),
        words=words,
        within="" if within is None else str(within),
        sort="" if sort is None else asked,
        seed=look.seed_of(release),
        quality=shown.quality,
    )


def _cells(row: SyntheticRow, columns: tuple[LookColumn, ...]) -> tuple[LookCell, ...]:
    """The cells of a row in some columns."""
    return tuple(
        LookCell(text=row.cells[column.index], is_number=column.is_number) for column in columns
    )


def _pages(query: QueryDict, starts: range, *, count: int, first: int) -> list[tuple[str, str]]:
    """Texts and queries of parts of the columns."""
    return [
        (
            _("columns %(first)s to %(last)s")
            % {"first": start + 1, "last": min(start + look.MAX_COLUMNS, count)},
            "" if start == first else query_with(query, {"from": str(start)}),
        )
        for start in starts
    ]


def _head(column: LookColumn, query: QueryDict, *, sort: int | None, falls: bool) -> LookHead:
    here = column.index == sort
    turn = "-" if here and not falls else ""
    histogram = column.histogram
    return LookHead(
        column=column,
        picture=""
        if histogram is None or not histogram.bars
        else model_thumbnail(
            [bar.share.value for bar in histogram.bars],
            words=f"{column.name}: {translated(histogram.words)}",
        ),
        query=query_with(query, {"sort": f"{turn}{column.index}"}),
        sorted=("descending" if falls else "ascending") if here else "",
    )


def _place(text: str, count: int) -> int | None:
    """The place of a column that an address names; None for anything else."""
    if not text.isascii() or not text.isdigit() or len(text) > 9:
        return None
    return int(text) if int(text) < count else None
