"""A hundred synthetic rows and what is in each column."""

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
    databases,
    look_page,
    screens,
    selectors,
    signals,
)
from synthweb.releases.tabs import Card


@login_required
@require_GET
@gzip_page  # thousands of synthetic cells; a token of a form is masked by another number in each answer
def look(request: SignedInRequest, code: str) -> HttpResponse:
    """A hundred synthetic rows and what is in each column: the first page for everybody who may draw
    samples."""
    release = selectors.release_for(request.user, code, Need.SAMPLE, tables="any")
    if databases.is_database(release):
        return redirect("releases:database", code)
    signals.opened.send(sender=type(release), release=release, user=request.user)
    context = (
        screens.frame(request.user, release, card="look")
        | screens.look(release)
        | {"page": look_page.page_of(release, request.GET)}
    )
    return render(request, "releases/cards/look.html", context)


CARD = Card(
    key="look",
    tab="look",
    order=10,
    title=_("Rows"),
    about=_("A hundred synthetic rows, and what is in each column."),
    view=look,
)
