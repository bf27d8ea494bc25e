"""The release beside the real data, for stewards."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.contrib.auth.decorators import login_required
from django.http import Http404, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _
from django.views.decorators.cache import never_cache
from django.views.decorators.gzip import gzip_page
from django.views.decorators.http import require_GET

from synth_engine.evaluation import style, view
from synthweb.accounts.http import SignedInRequest
from synthweb.accounts.permissions import Need
from synthweb.datasets import selectors as datasets
from synthweb.datasets.models import Preview
from synthweb.lib.previews import limited
from synthweb.releases import (
    compare_page,
    database_views,
    databases,
    exact_criteria,
    maps,
    screens,
    selectors,
)
from synthweb.releases import workload_report as purposes
from synthweb.releases.models import Release
from synthweb.releases.tabs import Card


@login_required
@require_GET
@never_cache
@limited
def compare(request: SignedInRequest, code: str) -> HttpResponse:
    """Beside the real data, for stewards alone: the answer, and a list of checks; opening it is written to
    the audit log."""
    release = selectors.release_for(request.user, code, Need.COMPARE, tables="any")
    if databases.is_database(release):
        return database_views.compare(request, release)
    context = _context(request, release)
    if context is None:
        return redirect("runs:report", code)
    report = context["report"]
    context["page"] = compare_page.page_of(
        report, context["comparison"], request.GET, further=_further(context)
    )
    context["query"] = request.GET.urlencode()
    context["extras"] = screens.comparison_form(release, report=report)
    return render(request, "releases/cards/compare.html", context)


@login_required
@require_GET
@never_cache
@gzip_page  # megabytes of numbers and tables, beside nothing that somebody else can choose
@limited
def compare_all(request: SignedInRequest, code: str) -> HttpResponse:
    """Every check on one page, to print; opening it is written to the audit log."""
    if request.GET:
        # A page repeats its address, and what is compressed beside real figures tells of them by its length.
        return redirect("releases:compare-all", code)
    release = selectors.release_for(request.user, code, Need.COMPARE)
    context = _context(request, release, leaf=gettext("Every check"))
    if context is None:
        return redirect("runs:report", code)
    return render(request, "releases/cards/compare_all.html", context)


@login_required
@require_GET
@never_cache
@limited
def compare_part(request: SignedInRequest, code: str, key: str) -> HttpResponse:
    """One check, for its place in the list, or on a page of its own without scripts; opening it is written to
    the audit log."""
    release = selectors.release_for(request.user, code, Need.COMPARE)
    context = _context(request, release, leaf=gettext("A check"))
    if context is None:
        return redirect("runs:report", code)
    part = compare_page.section_of(context["comparison"], key, request.GET)
    if part is None and key not in _further(context):
        raise Http404("no such check")
    is_fragment = bool(request.headers.get("HX-Request"))
    page = "releases/_compare_part.html" if is_fragment else "releases/cards/compare_part.html"
    return render(
        request, page, context | {"part": part, "key": key, "is_fragment": is_fragment}
    )


def _context(
    request: SignedInRequest, release: Release, *, leaf: str = ""
) -> dict[str, Any] | None:
    """What every page of a comparison has; None where there is none. The caller authorised."""
    # Authorises again and writes the audit log before anything is decrypted.
    report = datasets.preview_for(
        request.user, release.dataset, Preview.Kind.REPORT, release.code
    )
    if report is None:
        return None
    frame = screens.frame(request.user, release, card="compare", leaf=leaf)
    return {
        **frame,
        **screens.compare(release),
        "report": report,
        "comparison": view.lay_out(report),
        "asked": purposes.asked(release, report),
        "exact": exact_criteria.lines_of(release, report),
        "commutes": any(each["cells"] for each in report.get("commutes", ())),
    }


def _further(context: Mapping[str, Any]) -> list[str]:
    """The checks that are no sections of the report."""
    comparison = context["comparison"]
    has = {
        "purpose": context["asked"],
        "criteria": context["exact"],
        "rows": comparison.rows,
        "left-out": comparison.left_out,
    }
    return [key for key, there in has.items() if there]


@login_required
@require_GET
@never_cache
@limited
def compare_map(request: SignedInRequest, code: str) -> HttpResponse:
    """The same beside the real data, for stewards alone; opening it is written to the audit log."""
    release = selectors.release_for(request.user, code, Need.COMPARE)
    report = datasets.preview_for(
        request.user, release.dataset, Preview.Kind.REPORT, release.code
    )
    page = None if report is None else maps.comparison(release, report, request.GET)
    if page is None:  # none, or without commutes
        return redirect("releases:compare", code)
    context = screens.frame(request.user, release, card="compare", leaf="Map") | {
        "page": page,
        "red": style.RED_WORDS,
    }
    return render(request, "releases/cards/map.html", context)


CARD = Card(
    key="compare",
    tab="quality",
    order=100,
    title=_("Compare with the real table"),
    about=_("Not private, for stewards. Opening it is written to the audit log."),
    view=compare,
    need=Need.COMPARE,
    of="both",
)
