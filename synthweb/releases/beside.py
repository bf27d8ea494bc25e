"""Two to four releases side by side: one line a column with the histograms of their models, what is expected
of columns and of relations, and maps of how dependent their columns are, with the differences.

Everything comes from stored first looks and expected ranges, which are made from models and receipts alone.
Nothing is compared with real data here, so whoever may draw from all of these releases may see the page.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from statistics import fmean
from typing import Any

from django.core.paginator import Page, Paginator
from django.db.models import QuerySet
from django.http import QueryDict
from django.urls import reverse
from django.utils.translation import gettext_noop as _

from synth_engine import mechanisms
from synth_engine.evaluation import expected as ranges
from synth_engine.evaluation import expected_errors, model_pairs, pair_cards
from synth_engine.evaluation.cards import Card
from synth_engine.evaluation.expected_quality import ExpectedQuality, deviation_of
from synth_engine.evaluation.model_histograms import ModelHistogram
from synth_engine.evaluation.model_pairs import Pairs
from synth_engine.evaluation.thumbnails import model_thumbnail
from synth_engine.kinds import KINDS
from synthweb.accounts.models import User
from synthweb.lib import codes, number_format
from synthweb.lib.language import translated
from synthweb.releases import look, model_relations, selectors
from synthweb.releases.look import ColumnError, LookColumn
from synthweb.releases.models import ExpectedRanges, Release

MOST = 4
LETTERS = "ABCD"
"""What the releases are called on the page: their names are too long for the heads of narrow columns."""
CHOICES = 100
"""Releases that a list offers, the newest first."""
COLUMNS_A_PAGE = 50
WAITING = _("not computed yet")
"""What stands in the cells of a release of which a worker has yet to prepare the first look."""
MOST_POINTS = 50
WIDTH, HEIGHT = 560, 220
MOST_PAIRS = 10
"""Pairs that the list beside a map has."""
LEFT, RIGHT, TOP, BOTTOM = 48, 16, 12, 32
"""Margins of the chart, for its axes."""


@dataclass(frozen=True, kw_only=True)
class Side:
    """One of the releases. error: the mean expected deviation of its columns, empty before it is computed.
    The release has `looked` of `selectors.with_look`."""

    letter: str
    release: Release
    method: str
    columns: int
    quality: ExpectedQuality | None
    error: str
    without: str
    """The query of the page without this release."""


@dataclass(frozen=True, kw_only=True)
class SideCell:
    """A column in one release. picture: its histogram as SVG, empty without one. span: from where to where
    its bars go."""

    letter: str
    column: LookColumn
    picture: str
    span: str

    @property
    def error(self) -> ColumnError | None:
        return self.column.error


@dataclass(frozen=True, kw_only=True)
class SideRow:
    """A column in every release: None where a release does not have it, WAITING where that is not known yet.
    differs: the releases describe it differently."""

    name: str
    cells: tuple[SideCell | str | None, ...]
    differs: bool


@dataclass(frozen=True, kw_only=True)
class ChartPoint:
    """A release in the chart. letter: empty for one that is not on the page. error, lost: the expected error
    of its columns and the share of relations that is lost, as people read them, and `share` and `lost_share`
    as numbers; x, y: its place in the picture."""

    letter: str
    name: str
    address: str
    epsilon: str
    error: str
    share: float
    lost: str
    lost_share: float
    x: float
    y: float


@dataclass(frozen=True, kw_only=True)
class Tick:
    """A mark of an axis: its place in the picture, and what is written there."""

    at: float
    text: str


@dataclass(frozen=True, kw_only=True)
class ErrorChart:
    """The expected quality of columns and of relations, of the releases on the page and the others of the
    same tables. without: letters of releases on the page of which one of both is not known."""

    points: tuple[ChartPoint, ...]
    without: tuple[str, ...]
    across: tuple[Tick, ...]
    upward: tuple[Tick, ...]
    width: int = WIDTH
    height: int = HEIGHT
    left: int = LEFT
    right: int = WIDTH - RIGHT
    top: int = TOP
    bottom: int = HEIGHT - BOTTOM


@dataclass(frozen=True, kw_only=True)
class PairMap:
    """A map of pairs of columns: of one release, or of the difference of two. most: the pairs with the
    largest values. is_first: whether it is shown at the start."""

    label: str
    card: Card
    most: tuple[tuple[str, str], ...]
    is_difference: bool
    is_first: bool = False


@dataclass(frozen=True, kw_only=True)
class SideBySide:
    """What the page shows.

    unknown: codes that name no release which this person may draw from. too_many: more than four were asked
    for. choices: code and name of releases to choose from. query: of the releases on the page, for links to
    further columns.
    """

    sides: tuple[Side, ...]
    page: Page[SideRow] | None
    differing: tuple[str, ...]
    partial: tuple[str, ...]
    chart: ErrorChart | None
    maps: tuple[PairMap, ...]
    """Of the columns that all releases have; none before every model is drawn from."""
    unknown: tuple[str, ...]
    too_many: bool
    choices: tuple[tuple[str, str], ...]
    chosen: tuple[str, ...]
    query: str


def page_of(user: User, query: QueryDict) -> SideBySide:
    """The page for an address: `release` once for each release, `page` for further columns."""
    asked = tuple(dict.fromkeys(code for code in query.getlist("release") if code))
    allowed = selectors.to_draw_from(user)
    wanted = [codes.of_text(code) for code in asked]
    named = selectors.with_look(allowed.filter(code__in=wanted))
    allowed_by_code = {each.code: each for each in named}
    releases = [allowed_by_code[code] for code in asked if code in allowed_by_code][:MOST]
    chosen = tuple(each.code for each in releases)
    looks = [look.look_of(each) for each in releases]
    rows = _rows([None if shown is None else shown.columns for shown in looks])
    expectations = _expected_of(releases)
    sides = tuple(
        _side(
            letter,
            release,
            columns=0 if shown is None else len(shown.columns),
            quality=None if shown is None else shown.quality,
            error=_error_text(expectations.get(release.code)),
            chosen=chosen,
        )
        for letter, release, shown in zip(LETTERS, releases, looks, strict=False)
    )
    return SideBySide(
        sides=sides,
        page=Paginator(rows, COLUMNS_A_PAGE).get_page(query.get("page")) if rows else None,
        differing=tuple(row.name for row in rows if row.differs),
        partial=tuple(row.name for row in rows if None in row.cells),
        chart=_chart(allowed, sides),
        maps=_maps([model_relations.pairs_of(each) for each in releases]),
        unknown=tuple(code for code in asked if code not in allowed_by_code),
        too_many=len(allowed_by_code) > MOST,
        choices=tuple(
            (each.code, f"{each.name} · {each.code}") for each in _offered(allowed, releases)
        ),
        chosen=chosen + ("",) * (MOST - len(chosen)),
        query=_query(chosen),
    )


def _offered(allowed: QuerySet[Release], releases: Sequence[Release]) -> Iterable[Release]:
    """The newest ones, and those on the page wherever they stand."""
    newest = list(allowed[:CHOICES])
    known = {each.code for each in newest}
    return [*newest, *(each for each in releases if each.code not in known)]


def _side(
    letter: str,
    release: Release,
    *,
    columns: int,
    quality: ExpectedQuality | None,
    error: str,
    chosen: Sequence[str],
) -> Side:
    titles = {one["id"]: one["title"] for one in mechanisms.describe()}
    return Side(
        letter=letter,
        release=release,
        method=titles.get(release.mechanism, release.mechanism),
        columns=columns,
        quality=quality,
        error=error,
        without=_query([code for code in chosen if code != release.code]),
    )


def _query(chosen: Iterable[str]) -> str:
    query = QueryDict(mutable=True)
    query.setlist("release", list(chosen))
    return query.urlencode()


def _rows(sides: Sequence[Sequence[LookColumn] | None]) -> list[SideRow]:
    """Every column of any side, in the order of the first side that has it. sides: None where a worker has
    yet to prepare the first look."""
    by_name = [
        None if columns is None else {column.name: column for column in columns}
        for columns in sides
    ]
    names = dict.fromkeys(name for columns in by_name for name in columns or ())
    return [
        _row(name, [WAITING if columns is None else columns.get(name) for columns in by_name])
        for name in names
    ]


def _row(name: str, columns: Sequence[LookColumn | str | None]) -> SideRow:
    present = [column for column in columns if not isinstance(column, str | None)]
    facts = {(column.kind, column.values, column.unit, column.missing) for column in present}
    order = _order_of_values(present)
    return SideRow(
        name=name,
        cells=tuple(
            column if isinstance(column, str | None) else _cell(letter, column, order)
            for letter, column in zip(LETTERS, columns, strict=False)
        ),
        differs=len(facts) > 1,
    )


def _order_of_values(columns: Sequence[LookColumn]) -> tuple[str, ...]:
    """The labels of all bars in one order, so that a bar stands for the same value in each picture; none for
    scales, whose bars are intervals of each model's own."""
    if not all(KINDS[column.kind].lists_values for column in columns):
        return ()
    histograms = [column.histogram for column in columns if column.histogram is not None]
    return tuple(dict.fromkeys(bar.label for each in histograms for bar in each.bars))


def _cell(letter: str, column: LookColumn, order: Sequence[str]) -> SideCell:
    histogram = column.histogram
    if histogram is None or not histogram.bars:
        return SideCell(letter=letter, column=column, picture="", span="")
    return SideCell(
        letter=letter,
        column=column,
        picture=model_thumbnail(
            _shares(histogram, order),
            words=f"{letter}, {column.name}: {translated(histogram.words)}",
        ),
        span="" if order else _span(histogram),
    )


def _shares(histogram: ModelHistogram, order: Sequence[str]) -> list[float]:
    shares = {bar.label: bar.share.value for bar in histogram.bars}
    return [shares.get(label, 0.0) for label in order or shares]


def _span(histogram: ModelHistogram) -> str:
    first, last = histogram.bars[0].label, histogram.bars[-1].label
    start, end = first.split(" to ")[0], last.split(" to ")[-1]
    return start if start == end else f"{start} – {end}"


@dataclass(frozen=True, kw_only=True)
class Expected:
    """The expected quality of a release. error: the mean deviation of its columns; lost: the share of the
    dependence between columns that is lost, None where it is not known."""

    error: float
    lost: float | None


def _expected_of(releases: Iterable[Release]) -> dict[str, Expected]:
    """The expected quality of each release that has expected ranges, by code."""
    stored = ExpectedRanges.objects.filter(release__in=releases, version=ranges.VERSION)
    expectations = {}
    for each in stored.select_related("release__first_look"):
        deviations = [deviation_of(column) for column in ranges.from_json(each.columns)]
        known = [deviation for deviation in deviations if deviation is not None]
        if known:
            expectations[each.release.code] = Expected(
                error=fmean(known), lost=_lost(each.release, each.errors)
            )
    return expectations


def _lost(release: Release, errors: dict[str, Any] | None) -> float | None:
    """All of them where no columns go together in the model; else what the simulation of the release lost."""
    summary = look.summary_of(release)
    quality = None if summary is None else summary.quality
    if quality is not None and quality.pairs and not quality.related:
        return 1.0
    known = expected_errors.from_json(errors)
    if known is None or known.relations is None:
        return None
    return known.relations.estimate.value


def _chart(allowed: QuerySet[Release], sides: Sequence[Side]) -> ErrorChart | None:
    """The chart of the newest releases of the tables on the page; None before one of those on the page has a
    figure."""
    letters = {side.release.code: side.letter for side in sides}
    tables = {side.release.dataset_id for side in sides}
    others = allowed.filter(dataset__in=tables, expected_ranges__version=ranges.VERSION)
    known = {each.code: each for each in others[:MOST_POINTS]}
    known |= {side.release.code: side.release for side in sides}
    expectations = _expected_of(known.values())
    complete = {
        code: (each.error, each.lost)
        for code, each in expectations.items()
        if each.lost is not None
    }
    if not complete.keys() & letters.keys():
        return None
    chart = _plotted([(known[code], *both) for code, both in complete.items()], letters)
    without = tuple(letter for code, letter in letters.items() if code not in complete)
    return replace(chart, without=without)


def _plotted(
    measured: Sequence[tuple[Release, float, float]], letters: dict[str, str]
) -> ErrorChart:
    """Points by the error of columns, from 0, and by the share of relations that is lost, from 0 to all of
    them."""
    top = _round_top(max(error for _release, error, _lost in measured))

    def across(error: float) -> float:
        return round(LEFT + error / top * (WIDTH - LEFT - RIGHT), 1)

    def upward(lost: float) -> float:
        return round(HEIGHT - BOTTOM - lost * (HEIGHT - TOP - BOTTOM), 1)

    points = [
        ChartPoint(
            letter=letters.get(release.code, ""),
            name=release.name,
            address=reverse("releases:look", args=[release.code]),
            epsilon=f"{release.epsilon / 1e9:.3g}",
            error=number_format.share(error),
            share=error,
            lost=number_format.share(lost),
            lost_share=lost,
            x=across(error),
            y=upward(lost),
        )
        for release, error, lost in measured
    ]
    return ErrorChart(
        # Those on the page are drawn last, over the others.
        points=tuple(sorted(points, key=lambda point: (bool(point.letter), point.letter))),
        without=(),
        across=tuple(
            Tick(at=across(top * part), text=number_format.share(top * part))
            for part in (0.0, 0.5, 1.0)
        ),
        upward=tuple(
            Tick(at=upward(part), text=number_format.share(part)) for part in (0.0, 0.5, 1.0)
        ),
    )


def _error_text(known: Expected | None) -> str:
    return "" if known is None else number_format.share(known.error)


def _maps(sides: Sequence[Pairs | None]) -> tuple[PairMap, ...]:
    """Maps of the releases, then of the difference of each two."""
    known = [pairs for pairs in sides if pairs is not None]
    if len(known) < len(sides) or len(known) < 2:
        return ()
    columns = [dict.fromkeys(itertools.chain.from_iterable(pairs)) for pairs in known]
    names = [name for name in columns[0] if all(name in each for each in columns)]
    if len(names) < 2:
        return ()
    of_release = [_in_order(pairs, names) for pairs in known]
    largest = max(max(pairs.values()) for pairs in of_release)
    lettered = list(zip(LETTERS, of_release, strict=False))
    differences = {
        (a, b): {pair: second[pair] - first[pair] for pair in first}
        for (a, first), (b, second) in itertools.combinations(lettered, 2)
    }
    ones = (
        PairMap(
            label=letter,
            card=pair_cards.card_of_one(names, pairs, letter=letter, most=largest),
            most=_most(pairs, ".3f"),
            is_difference=False,
        )
        for letter, pairs in lettered
    )
    others = (
        PairMap(
            label=f"{b} − {a}",
            card=pair_cards.card_of_difference(names, pairs, letters=(a, b)),
            most=_most(pairs, "+.3f"),
            is_difference=True,
            is_first=(a, b) == tuple(LETTERS[:2]),
        )
        for (a, b), pairs in differences.items()
    )
    return (*ones, *others)


def _in_order(pairs: Pairs, names: Sequence[str]) -> Pairs:
    """The pairs of these columns; a release may describe them in another order."""
    return {
        (a, b): pairs[(a, b)] if (a, b) in pairs else pairs[(b, a)]
        for a, b in itertools.combinations(names, 2)
    }


def _most(pairs: Pairs, form: str) -> tuple[tuple[str, str], ...]:
    return tuple(
        (words, f"{value:{form}}") for words, value in model_pairs.strongest(pairs, MOST_PAIRS)
    )


def _round_top(error: float) -> float:
    """The end of the axis: the next 1, 2 or 5 times a power of ten."""
    power = 10.0 ** math.floor(math.log10(max(error, 1e-6)))
    return next(step * power for step in (1, 2, 5, 10) if step * power >= error)
