"""Figures of single columns with the bands that the noise leaves."""

from __future__ import annotations

from django.contrib.auth.decorators import login_required
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext_lazy as _
from django.views.decorators.gzip import gzip_page
from django.views.decorators.http import require_GET

from synthweb.accounts.http import SignedInRequest
from synthweb.accounts.permissions import Need
from synthweb.releases import (
    expected,
    screens,
    selectors,
)
from synthweb.releases.tabs import Card


@gzip_page  # as of a look
@login_required
@require_GET
def expected_ranges(request: SignedInRequest, code: str) -> HttpResponse:
    """Figures of single columns with the bands that the noise leaves, from model and receipt alone."""
    release = selectors.release_for(request.user, code, Need.SAMPLE)
    page = expected.page(release)
    if page is None:
        return redirect("runs:ranges", code)
    context = screens.frame(request.user, release, card="expected") | {"expected": page}
    return render(request, "releases/cards/expected.html", context)


CARD = Card(
    key="expected",
    tab="quality",
    order=10,
    title=_("Expected ranges"),
    about=_(
        "How far figures of each column may be from those of the real table, because of the noise."
    ),
    view=expected_ranges,
    shows=expected.shows,
)
