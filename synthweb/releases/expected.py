"""Expected ranges of a release for its pages and REST: figures of its model with bands from the noise of its
receipt.

Nothing but these two released documents goes in, so whoever may draw samples may see all of it. A worker
computes them, once a release; pages and REST read what it stored.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache

from django.utils.translation import gettext, gettext_noop

from synth_engine.domain import Attribute
from synth_engine.evaluation import expected, expected_errors
from synth_engine.evaluation.expected import ExpectedColumn, ExpectedFigure
from synth_engine.evaluation.expected_errors import ExpectedErrors
from synth_engine.evaluation.figure_origins import ExpectedRange
from synth_engine.evaluation.scale_text import is_moment, number_text, span_text, text_of
from synth_engine.evaluation.thousands import grouped
from synth_engine.models.model import Model
from synthweb.lib.number_format import share
from synthweb.releases import whiskers
from synthweb.releases.model_cache import model_of
from synthweb.releases.models import ExpectedRanges, Release
from synthweb.releases.whiskers import ChartedFigure, WhiskerChart

KEPT = 1_000
"""Answers to whether a release has columns with ranges, in the memory of a process."""
_LABELS = {
    "mean": gettext_noop("Mean"),
    "standard_deviation": gettext_noop("Standard deviation"),
    "quantile_5": gettext_noop("5 % quantile"),
    "quantile_25": gettext_noop("25 % quantile"),
    "median": gettext_noop("Median"),
    "quantile_75": gettext_noop("75 % quantile"),
    "quantile_95": gettext_noop("95 % quantile"),
    "missing": gettext_noop("Missing"),
}


@dataclass(frozen=True, kw_only=True)
class FigureLine:
    """One figure as people read it."""

    label: str
    estimate: str
    low: str
    high: str


@dataclass(frozen=True, kw_only=True)
class ColumnLines:
    """The figures of one column, and their picture where there is something to draw."""

    name: str
    lines: tuple[FigureLine, ...]
    chart: WhiskerChart | None


@dataclass(frozen=True, kw_only=True)
class ExpectedPage:
    """Columns with bands, and the names of those without. errors: of single columns and of pairs, none where
    they are not estimated. pending: whether a worker is to estimate them."""

    columns: tuple[ColumnLines, ...]
    without: tuple[str, ...]
    level: int
    errors: tuple[FigureLine, ...]
    pending: bool


def shows(release: Release) -> bool:
    """Whether the method counted columns, so that their noise can be followed."""
    return _counted_columns(release.code)


# A receipt never changes, so that an answer stays right as long as the process lives.
@lru_cache(maxsize=KEPT)
def _counted_columns(code: str) -> bool:
    receipt = Release.objects.values_list("receipt", flat=True).get(code=code)
    return any(
        call["query"]["verb"] in ("measure", "intervals") and call["query"].get("clique")
        for call in receipt["calls"]
    )


def compute_columns(
    release: Release, *, progress: Callable[[float], None]
) -> list[ExpectedColumn]:
    """The expected ranges of every column, from two released documents. It takes seconds: for a worker
    alone."""
    return expected.expected_columns(
        Model.from_json(release.model), release.receipt["calls"], progress=progress
    )


def compute_errors(
    release: Release, *, progress: expected_errors.Progress
) -> ExpectedErrors | None:
    """The expected errors, from two released documents; None where they are not estimated. It takes as long
    as the run of the release: for a worker alone."""
    model = Model.from_json(release.model)
    plan = expected_errors.plan_of(model.domain, release.receipt)
    return None if plan is None else expected_errors.simulated(model, plan, progress=progress)


def store_columns(release: Release, columns: Sequence[ExpectedColumn]) -> None:
    """Keep the ranges; the errors are still to come."""
    ExpectedRanges.objects.update_or_create(
        release=release,
        defaults={
            "version": expected.VERSION,
            "columns": expected.to_json(columns),
            "errors": None,
            "errors_pending": True,
        },
    )


def store_errors(release: Release, errors: ExpectedErrors | None) -> None:
    """Keep the errors beside the ranges."""
    ExpectedRanges.objects.filter(release=release, version=expected.VERSION).update(
        errors=expected_errors.to_json(errors), errors_pending=False
    )


def _stored(release: Release) -> ExpectedRanges | None:
    return ExpectedRanges.objects.filter(release=release, version=expected.VERSION).first()


def columns_of(release: Release) -> list[ExpectedColumn] | None:
    """The stored ranges of every column; None before a worker has computed them. The caller authorised."""
    stored = _stored(release)
    return None if stored is None else expected.from_json(stored.columns)


def errors_of(release: Release) -> ExpectedErrors | None:
    """The stored errors; None where they are not estimated, or not yet. The caller authorised."""
    stored = _stored(release)
    return None if stored is None else expected_errors.from_json(stored.errors)


def are_errors_pending(release: Release) -> bool:
    """Whether the ranges are stored, and the errors beside them are not yet. The caller authorised."""
    stored = _stored(release)
    return stored is not None and stored.errors_pending


def page(release: Release) -> ExpectedPage | None:
    """What the tab shows; None before a worker has computed it."""
    columns = columns_of(release)
    if columns is None:
        return None
    domain = model_of(release.code).domain
    return ExpectedPage(
        columns=tuple(
            _column(domain.attribute(column.name), column)
            for column in columns
            if column.figures
        ),
        without=tuple(column.name for column in columns if not column.figures),
        level=round(100 * expected.LEVEL),
        errors=error_lines(release),
        pending=are_errors_pending(release),
    )


def _column(attribute: Attribute, column: ExpectedColumn) -> ColumnLines:
    lines = lines_of(attribute, column)
    charted = [
        ChartedFigure(
            figure=figure,
            label=line.label,
            estimate=line.estimate,
            low=line.low,
            high=line.high,
        )
        for figure, line in zip(column.figures, lines, strict=True)
    ]
    return ColumnLines(name=column.name, lines=lines, chart=whiskers.chart_of(charted))


def lines_of(attribute: Attribute, column: ExpectedColumn) -> tuple[FigureLine, ...]:
    """The figures of a column as people read them."""
    return tuple(_line(attribute, figure) for figure in column.figures)


def error_lines(release: Release) -> tuple[FigureLine, ...]:
    """The expected errors in words; nothing where there are none."""
    errors = errors_of(release)
    if errors is None:
        return ()
    return tuple(
        FigureLine(
            label=label,
            estimate=share(band.estimate.value),
            low=share(band.low),
            high=share(band.high),
        )
        for label, band in (
            (gettext("Single columns"), errors.columns),
            (gettext("Pairs of columns"), errors.pairs),
        )
    )


def _line(attribute: Attribute, figure: ExpectedFigure) -> FigureLine:
    band = figure.expected
    numbers = (band.estimate.value, band.low, band.high)
    if figure.key in ("missing", "share"):
        texts = [f"{_rounded(100 * value, _width(band) * 100)} %" for value in numbers]
        label = (
            gettext(_LABELS[figure.key])
            if figure.key in _LABELS
            else gettext("Records with %(value)s") % {"value": figure.value}
        )
    else:
        texts = [_text(attribute, figure.key, value, _width(band)) for value in numbers]
        label = gettext(_LABELS[figure.key])
    return FigureLine(label=label, estimate=texts[0], low=texts[1], high=texts[2])


def _width(band: ExpectedRange) -> float:
    return band.high - band.low


def _text(attribute: Attribute, key: str, value: float, width: float) -> str:
    if is_moment(attribute):
        write = span_text if key == "standard_deviation" else text_of
        return write(attribute, value)
    if key in ("mean", "standard_deviation"):
        return _rounded(value, width)
    return number_text(value)


def _rounded(value: float, width: float) -> str:
    """A number with the decimals that a band of this width leaves: two significant digits of the width."""
    if width <= 0:
        return number_text(value)
    decimals = min(max(1 - math.floor(math.log10(width)), 0), 9)
    return grouped(value, f",.{decimals}f")
