"""The tree of the model."""

from __future__ import annotations

from django.contrib.auth.decorators import login_required
from django.http import HttpResponse
from django.shortcuts import render
from django.utils.translation import gettext_lazy as _
from django.views.decorators.http import require_GET

from synthweb.accounts.http import SignedInRequest
from synthweb.accounts.permissions import Need
from synthweb.releases import (
    screens,
    selectors,
    trees,
)
from synthweb.releases.tabs import Card


@login_required
@require_GET
def tree(request: SignedInRequest, code: str) -> HttpResponse:
    """The tree of the model: its depths, maps of its places, beginnings of its texts, its classes."""
    release = selectors.release_for(request.user, code, Need.SAMPLE)
    context = screens.frame(request.user, release, card="tree") | {
        "page": trees.page(release, request.GET),
        "at": request.GET.get("at", ""),
    }
    return render(
        request, "releases/cards/tree.html", context | {"query": request.GET.urlencode()}
    )


CARD = Card(
    key="tree",
    tab="quality",
    order=90,
    title=_("Tree"),
    about=_("How deep the model goes, and where records are."),
    view=tree,
    shows=trees.has_tree,
)
