"""Which columns are drawn from which."""

from __future__ import annotations

from django.contrib.auth.decorators import login_required
from django.http import HttpResponse
from django.shortcuts import render
from django.utils.translation import gettext_lazy as _
from django.views.decorators.http import require_GET

from synth_engine import mechanisms
from synthweb.accounts.http import SignedInRequest
from synthweb.accounts.permissions import Need
from synthweb.releases import network as networks
from synthweb.releases import (
    screens,
    selectors,
)
from synthweb.releases.tabs import Card


@login_required
@require_GET
def network(request: SignedInRequest, code: str) -> HttpResponse:
    """Which columns are drawn from which, for whoever may see the release."""
    release = selectors.release_for(request.user, code)
    context = screens.frame(request.user, release, card="network") | {
        "network": networks.network_of(release)
    }
    return render(request, "releases/cards/network.html", context)


CARD = Card(
    key="network",
    tab="quality",
    order=70,
    title=_("Network of columns"),
    about=_("Which columns are drawn from which."),
    view=network,
    need=Need.VIEW,
    shows=lambda release: mechanisms.traits(release.mechanism).has_network,
)
