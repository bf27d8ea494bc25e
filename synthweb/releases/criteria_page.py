"""The criteria of a release, which were fixed before its run, and what private and paid figures say of
each."""

from __future__ import annotations

from dataclasses import dataclass, replace

from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from synth_engine.domain import Domain
from synth_engine.errors import InputError
from synth_engine.evaluation import criteria
from synth_engine.evaluation.criteria import Criterion, CriterionRange, Verdict
from synth_engine.evaluation.figure_origins import ExpectedRange, PaidFigure
from synth_engine.evaluation.paid_figures import CheckedResult
from synthweb.lib.number_format import grouped, share
from synthweb.releases import expected, marginals, paid
from synthweb.releases.model_cache import model_of
from synthweb.releases.models import Release

VERDICTS: dict[Verdict, str | Promise] = {
    "met": gettext_lazy("met"),
    "not-met": gettext_lazy("not met"),
    "cannot-tell": gettext_lazy("cannot be told"),
}


@dataclass(frozen=True, kw_only=True)
class CriterionLine:
    """One criterion as people read it. private, paid: verdicts, empty where there is no such figure; the
    ranges behind them."""

    stated: str
    private: str
    private_verdict: str
    private_range: str = ""
    private_figure: ExpectedRange | None = None
    paid: str = ""
    paid_verdict: str = ""
    paid_range: str = ""
    paid_figure: PaidFigure | None = None


@dataclass(frozen=True, kw_only=True)
class CriteriaPage:
    """All criteria of a release. waits: whether a worker has yet to gather the noisy answers."""

    lines: tuple[CriterionLine, ...]
    waits: bool


def criteria_of(release: Release) -> tuple[Criterion, ...]:
    """As they were stated."""
    return tuple(Criterion.from_json(each) for each in release.criteria)


def in_words(criterion: Criterion, domain: Domain) -> str:
    """What has to hold, as a sentence without its full stop. domain: of the release."""
    asked = criterion.asked
    if criterion.at_least is not None:
        return _("%(figure)s is at least %(least)s") % {
            "figure": paid.asked_in_words(asked, domain),
            "least": share(float(criterion.at_least)),
        }
    if criterion.most is None:
        return _("Every count of %(columns)s of at least %(least)s is within %(within)s") % {
            "columns": " × ".join(asked.columns),
            "least": grouped(asked.least),
            "within": share(float(asked.within)),
        }
    most = share(float(criterion.most))
    if asked.kind == "mean-distance":
        return _("The mean distance of all pairs of columns is at most %(most)s") % {
            "most": most
        }
    if asked.kind == "ks":
        return _("The Kolmogorov–Smirnov distance of %(columns)s is at most %(most)s") % {
            "columns": asked.columns[0],
            "most": most,
        }
    return _("The distance of %(columns)s is at most %(most)s") % {
        "columns": " × ".join(asked.columns),
        "most": most,
    }


def page_of(release: Release) -> CriteriaPage:
    """What the page shows. The caller authorised."""
    stated = criteria_of(release)
    waits = not marginals.is_ready(release) or expected.are_errors_pending(release)
    return CriteriaPage(lines=tuple(_line(release, each) for each in stated), waits=waits)


def _line(release: Release, criterion: Criterion) -> CriterionLine:
    private, measured = _private(release, criterion), _paid(release, criterion)
    private_verdict = criteria.verdict_of_private(criterion, private)
    line = CriterionLine(
        stated=in_words(criterion, model_of(release.code).domain),
        private=str(VERDICTS[private_verdict]),
        private_verdict=private_verdict,
    )
    if private is not None:
        ends = (private.expected.low, private.expected.high)
        line = replace(
            line,
            private_range=_range(criterion, *ends, private.cells),
            private_figure=private.expected,
        )
    if measured is not None:
        paid_verdict = criteria.verdict_of_paid(criterion, measured)
        ends = (measured.figure.low, measured.figure.high)
        line = replace(
            line,
            paid=str(VERDICTS[paid_verdict]),
            paid_verdict=paid_verdict,
            paid_range=_range(criterion, *ends, measured.cells),
            paid_figure=measured.figure,
        )
    return line


def _private(release: Release, criterion: Criterion) -> CriterionRange | None:
    """The figure by the noisy answers; None where they do not say it, or are not gathered."""
    if criterion.asked.kind == "mean-distance":
        errors = expected.errors_of(release)
        return None if errors is None else CriterionRange(expected=errors.pairs, cells=0)
    try:
        return criteria.private_figure(marginals.published_of(release), criterion)
    except (marginals.NotGathered, InputError):
        return None


def _paid(release: Release, criterion: Criterion) -> CheckedResult | None:
    """The newest answer of a check about this very figure, of those that are not void."""
    wanted = criterion.asked
    for check in paid.checks_of(release):
        if paid.void_of(check) is not None:
            continue
        for asked, result in paid.results_of(check):
            same_columns = set(asked.columns) == set(wanted.columns)
            same_target = asked.kind != "auc" or asked.columns[0] == wanted.columns[0]
            same_rest = (asked.least, asked.within, asked.codes) == (
                wanted.least,
                wanted.within,
                wanted.codes,
            )
            if asked.kind == wanted.kind and same_columns and same_target and same_rest:
                return result
    return None


def _range(criterion: Criterion, low: float, high: float, cells: int) -> str:
    if criterion.asked.kind == "counts":
        ends = f"{grouped(round(low))} – {grouped(round(high))}"
        return _("%(ends)s of %(cells)s counts") % {"ends": ends, "cells": grouped(cells)}
    return f"{share(low)} – {share(high)}"
