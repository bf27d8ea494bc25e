"""The figures of a release that were measured with budget, for its page and REST: what was asked, the value, its interval.

They come from noisy answers that were paid for, under receipts of their own: whoever may draw samples may see them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from django.db.models import QuerySet
from django.http import Http404
from django.utils.translation import gettext as _

from synth_engine import verifier
from synth_engine.errors import SynthError
from synth_engine.evaluation import paid_figures
from synth_engine.evaluation.figure_origins import PaidFigure
from synth_engine.evaluation.paid_figures import CheckedResult
from synth_engine.plans.release_check import CheckedFigure
from synth_engine.privacy import receipt as receipts
from synthweb.lib import codes
from synthweb.lib.number_format import grouped, share
from synthweb.releases import chain
from synthweb.releases.models import PaidCheck, Release


@dataclass(frozen=True, kw_only=True)
class PaidLine:
    """One figure as people read it, and as it is."""

    asked: str
    value: str
    interval: str
    figure: PaidFigure


@dataclass(frozen=True, kw_only=True)
class PaidCheckPart:
    """One check on the page. is_proved: whether the verifier accepts its receipt."""

    code: str
    by: str
    at: str
    sentence: str
    lines: tuple[PaidLine, ...]
    is_proved: bool
    after_looking: bool


@dataclass(frozen=True, kw_only=True)
class PaidPage:
    """All checks of a release, the newest first."""

    checks: tuple[PaidCheckPart, ...]


def checks_of(release: Release) -> QuerySet[PaidCheck]:
    """The checks of a release, newest first; the caller authorised."""
    checks = PaidCheck.objects.filter(release=release).select_related("created_by")
    return checks.order_by("-created_at", "-pk")


def check_of(release: Release, code: str) -> PaidCheck:
    """One of them; Http404 if the release has none of this code. The caller authorised."""
    check = checks_of(release).filter(code=codes.of_text(code)).first()
    if check is None:
        raise Http404("no such check")
    return check


def receipt_of(check: PaidCheck) -> receipts.Receipt:
    """The receipt of a check, signed."""
    return chain.signed(receipts.with_marks(check.receipt, []))


def page_of(release: Release) -> PaidPage:
    """What the page shows. The caller authorised."""
    return PaidPage(checks=tuple(_part(check) for check in checks_of(release)))


def results_of(check: PaidCheck) -> list[tuple[CheckedFigure, CheckedResult]]:
    """What was asked, each with its answer."""
    return [
        (CheckedFigure.from_json(each["asked"]), CheckedResult.from_json(each["answer"]))
        for each in check.figures
    ]


def _part(check: PaidCheck) -> PaidCheckPart:
    return PaidCheckPart(
        code=check.code,
        by=check.created_by.username,
        at=f"{check.created_at:%Y-%m-%d %H:%M}",
        sentence=check.receipt["guarantee"]["sentence"],
        lines=tuple(_line(asked, result) for asked, result in results_of(check)),
        is_proved=_is_proved(check.receipt),
        after_looking=bool(check.receipt["chosen_after_looking"]),
    )


def _is_proved(receipt: Mapping[str, Any]) -> bool:
    try:
        verifier.verify(receipt)
    except SynthError:
        return False
    return True


def asked_in_words(asked: CheckedFigure) -> str:
    """What a figure is, as a noun phrase."""
    columns = " × ".join(asked.columns)
    match asked.kind:
        case "distance":
            return _("Distance of %(columns)s") % {"columns": columns}
        case "mean-distance":
            return _("Mean distance of all pairs of %(columns)s") % {
                "columns": ", ".join(asked.columns)
            }
    return _("Counts of %(columns)s within %(within)s, of those of at least %(least)s") % {
        "columns": columns,
        "within": share(float(asked.within)),
        "least": grouped(asked.least),
    }


def _line(asked: CheckedFigure, result: CheckedResult) -> PaidLine:
    figure = result.figure
    if result.unit == paid_figures.CELLS:
        of = _("%(number)s of %(cells)s")
        value = of % {"number": grouped(round(figure.value)), "cells": grouped(result.cells)}
        ends = [grouped(round(end)) for end in (figure.low, figure.high)]
    else:
        value, *ends = (share(each) for each in (figure.value, figure.low, figure.high))
    return PaidLine(
        asked=asked_in_words(asked), value=value, interval=" – ".join(ends), figure=figure
    )
