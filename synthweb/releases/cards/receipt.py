"""The receipt, and its verification."""

from __future__ import annotations

from django.contrib.auth.decorators import login_required
from django.http import HttpResponse
from django.shortcuts import render
from django.utils.translation import gettext_lazy as _
from django.views.decorators.http import require_GET

from synthweb.accounts.http import SignedInRequest
from synthweb.accounts.permissions import Need
from synthweb.releases import (
    chain,
    databases,
    evidence,
    screens,
    selectors,
    signals,
)
from synthweb.releases.tabs import Card


@login_required
@require_GET
def receipt(request: SignedInRequest, code: str) -> HttpResponse:
    """The receipt in words and numbers."""
    release = selectors.release_for(request.user, code, tables="any")
    if databases.is_database(release):
        signals.opened.send(sender=type(release), release=release, user=request.user)
        context = screens.frame(request.user, release, card="receipt") | {
            "receipt": release.receipt,
            "verdict": screens.check(release),
            "evidence": evidence.of(request.user, release),
            "looked": chain.is_after_looking(release),
        }
        return render(request, "releases/cards/database_receipt.html", context)
    context = screens.frame(request.user, release, card="receipt") | screens.receipt(
        request.user, release, request.GET
    )
    return render(request, "releases/cards/receipt.html", context)


@login_required
@require_GET
def verification(request: SignedInRequest, code: str) -> HttpResponse:
    """Recompute the guarantee here and now from the receipt's calls."""
    release = selectors.release_for(request.user, code)
    context = {
        "verdict": screens.check(release),
        "release": release,
        "evidence": evidence.of(request.user, release),
    }
    if request.headers.get("HX-Request"):
        return render(request, "releases/_verdict.html", context)
    context |= screens.frame(request.user, release, card="receipt") | screens.receipt(
        request.user, release, request.GET
    )
    return render(request, "releases/cards/receipt.html", context)


CARD = Card(
    key="receipt",
    tab="receipt",
    order=10,
    title=_("Receipt"),
    about=_("What an outsider could learn, and what it was spent on."),
    view=receipt,
    need=Need.VIEW,
    of="both",
)
