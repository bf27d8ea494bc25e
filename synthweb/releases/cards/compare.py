"""The release beside the real data, for stewards."""

from __future__ import annotations

from django.contrib.auth.decorators import login_required
from django.http import HttpResponse
from django.shortcuts import redirect, render
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
    database_views,
    databases,
    exact_criteria,
    maps,
    screens,
    selectors,
)
from synthweb.releases import workload_report as purposes
from synthweb.releases.tabs import Card


@login_required
@require_GET
@never_cache
@gzip_page  # megabytes of numbers and tables; nothing of an address is repeated in them
@limited
def compare(request: SignedInRequest, code: str) -> HttpResponse:
    """Beside the real data, for stewards alone; opening it is written to the audit log."""
    release = selectors.release_for(request.user, code, Need.COMPARE, tables="any")
    if databases.is_database(release):
        return database_views.compare(request, release)
    context = screens.frame(request.user, release, card="compare") | screens.compare(release)
    # Authorises again and writes the audit log before anything is decrypted.
    report = datasets.preview_for(
        request.user, release.dataset, Preview.Kind.REPORT, release.code
    )
    if report is None:
        return redirect("runs:report", code)
    context |= {
        "comparison": view.lay_out(report),
        "asked": purposes.asked(release, report),
        "exact": exact_criteria.lines_of(release, report),
    }
    context["extras"] = screens.comparison_form(release, report=report)
    context["commutes"] = any(each["cells"] for each in report.get("commutes", ()))
    return render(request, "releases/cards/compare.html", context)


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
