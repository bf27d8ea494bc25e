"""The figures of a release that were measured with budget, for its page and REST: what was asked, the value,
its interval.

They come from noisy answers that were paid for, under receipts of their own: whoever may draw samples may see
them.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.db.models import Q, QuerySet
from django.http import Http404
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from synth_engine import verifier
from synth_engine.domain import Domain
from synth_engine.errors import SynthError
from synth_engine.evaluation import marginals, paid_figures
from synth_engine.evaluation.figure_origins import PaidFigure
from synth_engine.evaluation.paid_figures import CheckedResult
from synth_engine.plans.release_check import CheckedFigure
from synth_engine.privacy import receipt as receipts
from synthweb.lib import codes
from synthweb.lib.number_format import grouped, share
from synthweb.releases import chain
from synthweb.releases.interval_chart import Charted, IntervalChart, chart_of
from synthweb.releases.model_cache import model_of
from synthweb.releases.models import CheckMark, PaidCheck, Release

SHOWN_CELLS = 200
"""Of a marginal, on a page; REST has all of them."""
SHOWN_VALUES = 3


@dataclass(frozen=True, kw_only=True)
class PaidCell:
    """The count of one cell of a marginal. texts: its values, in the order of the columns."""

    texts: tuple[str, ...]
    value: str
    interval: str
    figure: PaidFigure


@dataclass(frozen=True, kw_only=True)
class PaidGroup:
    """One of the worst groups. words: its columns with their values, for people. synthetic: records of the
    table that is checked."""

    columns: tuple[str, ...]
    texts: tuple[str, ...]
    words: str
    synthetic: int
    figure: PaidFigure


@dataclass(frozen=True, kw_only=True)
class PaidLine:
    """One figure as people read it, and as it is. cells: of a marginal, the first ones; more: how many are
    left out."""

    asked: str
    value: str
    interval: str
    figure: PaidFigure
    cells: tuple[PaidCell, ...] = ()
    more: int = 0


@dataclass(frozen=True, kw_only=True)
class CheckVoid:
    """That the figures of a check are not to be used, and why. at: when it was said, in UTC, as ISO 8601."""

    reason: str
    by: str
    at: str


@dataclass(frozen=True, kw_only=True)
class PaidCheckPart:
    """One check on the page. charts: its pictures. is_proved: whether the verifier accepts its receipt. void:
    why its figures are not to be used; None while they are. outside: whether exact counts of the same table
    were published."""

    code: str
    by: str
    at: str
    sentence: str
    lines: tuple[PaidLine, ...]
    charts: tuple[IntervalChart, ...]
    is_proved: bool
    after_looking: bool
    outside: bool
    void: CheckVoid | None


@dataclass(frozen=True, kw_only=True)
class PaidPage:
    """All checks of a release, the newest first."""

    checks: tuple[PaidCheckPart, ...]


def checks_of(release: Release) -> QuerySet[PaidCheck]:
    """The checks of a release that stewards asked for, newest first; validations are their analyst's. The
    caller authorised."""
    checks = PaidCheck.objects.filter(release=release, is_validation=False)
    return (
        checks.select_related("created_by")
        .prefetch_related("marks__created_by")
        .order_by("-created_at", "-pk")
    )


def check_of(release: Release, code: str) -> PaidCheck:
    """One of them; Http404 if the release has none of this code. The caller authorised."""
    check = checks_of(release).filter(code=codes.of_text(code)).first()
    if check is None:
        raise Http404("no such check")
    return check


def any_check_of(release: Release, code: str) -> PaidCheck:
    """A check of a release by its own code, or a validation by its; Http404 if there is none. The caller
    authorised."""
    text = codes.of_text(code)
    checks = PaidCheck.objects.filter(Q(code=text) | Q(run_code=text), release=release)
    if (check := checks.first()) is None:
        raise Http404("no such check")
    return check


def void_of(check: PaidCheck) -> CheckVoid | None:
    """Why the figures of a check are not to be used; None while they are."""
    for mark in check.marks.all():
        if mark.kind == CheckMark.Kind.VOID:
            by = "" if mark.created_by is None else mark.created_by.username
            return CheckVoid(reason=mark.reason, by=by, at=mark.created_at.isoformat())
    return None


def receipt_of(check: PaidCheck) -> receipts.Receipt:
    """The receipt of a check, with its marks, signed."""
    return chain.signed(receipts.with_marks(check.receipt, chain.marks_of_check(check)))


def page_of(release: Release) -> PaidPage:
    """What the page shows. The caller authorised."""
    return PaidPage(checks=tuple(part_of(check) for check in checks_of(release)))


def results_of(check: PaidCheck) -> list[tuple[CheckedFigure, CheckedResult]]:
    """What was asked, each with its answer."""
    return [
        (CheckedFigure.from_json(each["asked"]), CheckedResult.from_json(each["answer"]))
        for each in check.figures
    ]


def part_of(check: PaidCheck) -> PaidCheckPart:
    """One check on a page. The caller authorised."""
    return PaidCheckPart(
        code=check.code,
        by=check.created_by.username,
        at=f"{check.created_at:%Y-%m-%d %H:%M}",
        sentence=check.receipt["guarantee"]["sentence"],
        lines=lines_of(check),
        charts=charts_of(check),
        is_proved=is_proved(check.receipt),
        after_looking=bool(check.receipt["chosen_after_looking"]),
        outside=receipts.is_outside(
            receipts.with_marks(check.receipt, [mark.document for mark in check.marks.all()])
        ),
        void=void_of(check),
    )


def lines_of(check: PaidCheck) -> tuple[PaidLine, ...]:
    """The figures of a check as people read them. The caller authorised."""
    domain = model_of(check.release.code).domain
    return tuple(_line(asked, result, domain) for asked, result in results_of(check))


def is_proved(receipt: Mapping[str, Any]) -> bool:
    """Whether the verifier accepts a receipt."""
    try:
        verifier.verify(receipt)
    except SynthError:
        return False
    return True


def asked_in_words(asked: CheckedFigure, domain: Domain) -> str:
    """What a figure is, as a noun phrase. domain: of the release, which has the values of counts."""
    columns = " × ".join(asked.columns)
    match asked.kind:
        case "distance":
            return _("Distance of %(columns)s") % {"columns": columns}
        case "mean-distance":
            return _("Mean distance of all pairs of %(columns)s") % {
                "columns": ", ".join(asked.columns)
            }
        case "auc" | "accuracy":
            return _classified_in_words(asked, domain)
        case "worst-groups":
            return _worst_in_words(asked)
        case "ks":
            return _("Kolmogorov–Smirnov distance of %(columns)s") % {"columns": columns}
        case "marginal":
            return _("Counts of %(columns)s in the real table") % {"columns": columns}
        case "count":
            values = "; ".join(
                f"{name} = {_values(marginals.labels_of(domain, name), codes_of_one)}"
                for name, codes_of_one in zip(asked.columns, asked.codes, strict=True)
            )
            return _("Records of the real table with %(values)s") % {"values": values}
    return _("Counts of %(columns)s within %(within)s, of those of at least %(least)s") % {
        "columns": columns,
        "within": share(float(asked.within)),
        "least": grouped(asked.least),
    }


def _classified_in_words(asked: CheckedFigure, domain: Domain) -> str:
    target, *predictors = asked.columns
    words = {
        "target": f"{target} = {_values(marginals.labels_of(domain, target), asked.codes[0])}",
        "columns": ", ".join(predictors),
    }
    if asked.kind == "auc":
        return (
            _("Area under the curve (AUC) of a classifier of %(target)s by %(columns)s") % words
        )
    return _("Accuracy of a classifier of %(target)s by %(columns)s") % words


def _worst_in_words(asked: CheckedFigure) -> str:
    words = {"columns": ", ".join(asked.columns), "tables": asked.tables}
    if asked.size == 1:
        return (
            ngettext(
                "Worst groups of one column, largest difference in one of %(columns)s",
                "Worst groups of one column, largest difference in %(tables)s of %(columns)s",
                asked.tables,
            )
            % words
        )
    return (
        ngettext(
            "Worst groups of two columns, largest difference in one pair of %(columns)s",
            "Worst groups of two columns, largest difference in %(tables)s pairs of %(columns)s",
            asked.tables,
        )
        % words
    )


def _values(labels: Sequence[str], chosen: Sequence[int]) -> str:
    """The values of some codes: a range where they are neighbours, else the first of them."""
    if len(chosen) > SHOWN_VALUES and chosen[-1] - chosen[0] == len(chosen) - 1:
        return f"{labels[chosen[0]]} .. {labels[chosen[-1]]}"
    listed = ", ".join(labels[code] for code in chosen[:SHOWN_VALUES])
    if len(chosen) <= SHOWN_VALUES:
        return listed
    more = len(chosen) - SHOWN_VALUES
    return _("%(values)s and %(more)s more") % {"values": listed, "more": grouped(more)}


def _line(asked: CheckedFigure, result: CheckedResult, domain: Domain) -> PaidLine:
    value, interval = _in_words(result.figure, unit=result.unit, cells=result.cells)
    cells = tuple(itertools.islice(cells_of(asked, result, domain), SHOWN_CELLS))
    return PaidLine(
        asked=asked_in_words(asked, domain),
        value=value,
        interval=interval,
        figure=result.figure,
        cells=cells,
        more=len(result.table) - len(cells),
    )


def groups_of(result: CheckedResult, domain: Domain) -> Iterator[PaidGroup]:
    """The worst groups with their values; none of other figures."""
    for group in result.groups:
        texts = tuple(
            marginals.labels_of(domain, name)[code]
            for name, code in zip(group.columns, group.codes, strict=True)
        )
        yield PaidGroup(
            columns=group.columns,
            texts=texts,
            words="; ".join(
                f"{name} = {text}" for name, text in zip(group.columns, texts, strict=True)
            ),
            synthetic=round(group.synthetic.value),
            figure=group.real,
        )


def charts_of(check: PaidCheck) -> tuple[IntervalChart, ...]:
    """Pictures of the figures of a check: those of classifiers, distances, and worst groups. The caller
    authorised."""
    domain = model_of(check.release.code).domain
    results = results_of(check)

    def of_kinds(*kinds: str) -> list[Charted]:
        return [
            Charted(label=asked_in_words(asked, domain), figure=result.figure)
            for asked, result in results
            if asked.kind in kinds
        ]

    charts = []
    if classified := of_kinds("auc", "accuracy"):
        name, title = (
            f"classifiers-{check.code}",
            _("Classifiers trained on the synthetic table"),
        )
        charts.append(chart_of(name, title, classified, write=share, most=1.0, guess=0.5))
    if distances := of_kinds("distance", "mean-distance", "ks"):
        name, title = f"distances-{check.code}", _("Distances from the real table")
        charts.append(chart_of(name, title, distances, write=share))
    for number, (asked, result) in enumerate(results):
        groups = [
            Charted(label=each.words, figure=each.figure, synthetic=each.synthetic)
            for each in groups_of(result, domain)
        ]
        if groups:
            name, title = f"groups-{number}-{check.code}", asked_in_words(asked, domain)
            charts.append(
                chart_of(name, title, groups, write=lambda value: grouped(round(value)))
            )
    return tuple(charts)


def cells_of(asked: CheckedFigure, result: CheckedResult, domain: Domain) -> Iterator[PaidCell]:
    """The cells of a marginal with their values, the last column fastest; none of other figures."""
    if not result.table:
        return
    labels = [marginals.labels_of(domain, name) for name in asked.columns]
    for texts, figure in zip(itertools.product(*labels), result.table, strict=True):
        value, interval = _in_words(figure, unit=result.unit, cells=result.cells)
        yield PaidCell(texts=texts, value=value, interval=interval, figure=figure)


def _in_words(figure: PaidFigure, *, unit: str, cells: int) -> tuple[str, str]:
    """The value and the interval of a figure as people read them."""
    ends = (figure.low, figure.high)
    if unit == paid_figures.SHARE:
        return share(figure.value), " – ".join(share(end) for end in ends)
    interval = " – ".join(grouped(round(end)) for end in ends)
    if unit == paid_figures.RECORDS:
        return grouped(round(figure.value)), interval
    of = _("%(number)s of %(cells)s")
    value = of % {"number": grouped(round(figure.value)), "cells": grouped(cells)}
    return value, interval
