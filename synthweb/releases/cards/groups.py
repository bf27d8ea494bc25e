"""The published table of groups."""

from __future__ import annotations

from django.contrib.auth.decorators import login_required
from django.http import HttpResponse
from django.shortcuts import render
from django.utils.translation import gettext_lazy as _
from django.views.decorators.http import require_GET

from synthweb.accounts.http import SignedInRequest
from synthweb.accounts.permissions import Need
from synthweb.releases import groups as published
from synthweb.releases import (
    screens,
    selectors,
)
from synthweb.releases.tabs import Card


@login_required
@require_GET
def groups(request: SignedInRequest, code: str) -> HttpResponse:
    """The published table of groups with noisy counts, the largest first."""
    release = selectors.release_for(request.user, code, Need.SAMPLE)
    context = screens.frame(request.user, release, card="groups") | {
        "page": published.page(release)
    }
    return render(request, "releases/cards/groups.html", context)


CARD = Card(
    key="groups",
    tab="quality",
    order=80,
    title=_("Groups"),
    about=_("The published table of groups with noisy counts."),
    view=groups,
    shows=published.shows,
)
