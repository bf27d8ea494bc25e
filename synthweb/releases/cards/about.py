"""The facts of a release: method, what it keeps, what was learned, its rules."""

from __future__ import annotations

from django.contrib.auth.decorators import login_required
from django.http import HttpResponse
from django.shortcuts import render
from django.utils.translation import gettext_lazy as _
from django.views.decorators.http import require_GET

from synthweb.accounts.http import SignedInRequest
from synthweb.accounts.permissions import Need
from synthweb.releases import screens, selectors
from synthweb.releases.tabs import Card


@login_required
@require_GET
def about(request: SignedInRequest, code: str) -> HttpResponse:
    """What it is made of, for whoever may see the release."""
    release = selectors.release_for(request.user, code)
    context = screens.frame(request.user, release, card="about") | screens.overview(release)
    return render(request, "releases/cards/about.html", context)


CARD = Card(
    key="about",
    tab="receipt",
    order=20,
    title=_("For the record"),
    about=_("Table, method, what it keeps, what was learned, rules and citation."),
    view=about,
    need=Need.VIEW,
)
