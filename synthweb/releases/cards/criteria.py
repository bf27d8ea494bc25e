"""What had to hold, stated before the run."""

from __future__ import annotations

from django.contrib.auth.decorators import login_required
from django.http import HttpResponse
from django.shortcuts import render
from django.utils.translation import gettext_lazy as _
from django.views.decorators.http import require_GET

from synthweb.accounts.http import SignedInRequest
from synthweb.accounts.permissions import Need
from synthweb.datasets import selectors as datasets
from synthweb.releases import (
    criteria_page,
    screens,
    selectors,
)
from synthweb.releases.tabs import Card


@login_required
@require_GET
def criteria(request: SignedInRequest, code: str) -> HttpResponse:
    """What had to hold, as it was stated before the run, and what private and paid figures say of it."""
    release = selectors.release_for(request.user, code, Need.SAMPLE)
    context = screens.frame(request.user, release, card="criteria") | {
        "page": criteria_page.page_of(release),
        "may_spend": datasets.may(request.user, release.dataset, Need.SPEND),
    }
    return render(request, "releases/cards/criteria.html", context)


CARD = Card(
    key="criteria",
    tab="quality",
    order=20,
    title=_("Criteria"),
    about=_("What had to hold, stated before the run, and whether it does."),
    view=criteria,
    shows=lambda release: bool(release.criteria),
)
