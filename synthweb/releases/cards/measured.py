"""What was counted together."""

from __future__ import annotations

from django.contrib.auth.decorators import login_required
from django.http import HttpResponse
from django.shortcuts import render
from django.utils.translation import gettext_lazy as _
from django.views.decorators.gzip import gzip_page
from django.views.decorators.http import require_GET

from synthweb.accounts.http import SignedInRequest
from synthweb.accounts.permissions import Need
from synthweb.releases import (
    findings,
    measurements,
    screens,
    selectors,
)
from synthweb.releases.tabs import Card


@gzip_page  # as of a look
@login_required
@require_GET
def measured(request: SignedInRequest, code: str) -> HttpResponse:
    """Which columns were counted together, how finely and with how much noise, for whoever may see the
    release."""
    release = selectors.release_for(request.user, code)
    shown = measurements.measured(release) if measurements.shows(release) else None
    context = screens.frame(request.user, release, card="measured") | {
        "measured": shown,
        "triples": findings.triples(release),
        "larger_groups": findings.larger_groups(release),
    }
    return render(request, "releases/cards/measured.html", context)


CARD = Card(
    key="measured",
    tab="quality",
    order=60,
    title=_("What was counted together"),
    about=_("Groups of columns, how finely they were counted, and the noise of a cell."),
    view=measured,
    need=Need.VIEW,
    shows=measurements.shows,
)
