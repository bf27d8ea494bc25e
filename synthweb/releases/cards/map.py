"""How far records go, on maps."""

from __future__ import annotations

from django.contrib.auth.decorators import login_required
from django.http import HttpResponse
from django.shortcuts import render
from django.utils.translation import gettext_lazy as _
from django.views.decorators.http import require_GET

from synthweb.accounts.http import SignedInRequest
from synthweb.accounts.permissions import Need
from synthweb.releases import (
    maps,
    screens,
    selectors,
)
from synthweb.releases.tabs import Card


@login_required
@require_GET
def map_of(request: SignedInRequest, code: str) -> HttpResponse:
    """How far records go, on maps, from the model alone."""
    release = selectors.release_for(request.user, code, Need.SAMPLE)
    context = screens.frame(request.user, release, card="map") | {
        "page": maps.page(release, request.GET)
    }
    return render(request, "releases/cards/map.html", context)


CARD = Card(
    key="map",
    tab="look",
    order=20,
    title=_("Map"),
    about=_("How far records go, and between which places."),
    view=map_of,
    shows=maps.shows,
)
