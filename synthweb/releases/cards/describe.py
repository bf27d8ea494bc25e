"""Name and description of a release, for stewards."""

from __future__ import annotations

from django.contrib.auth.decorators import login_required
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext_lazy as _
from django.views.decorators.http import require_http_methods

from synthweb.accounts.http import SignedInRequest
from synthweb.accounts.permissions import Need
from synthweb.releases import screens, selectors, services
from synthweb.releases.forms import DescribeForm
from synthweb.releases.tabs import Card


@login_required
@require_http_methods(["GET", "POST"])
def describe(request: SignedInRequest, code: str) -> HttpResponse:
    """Give a release a name, and tell analysts what it is about."""
    release = selectors.release_for(request.user, code, Need.SHARE)
    form = DescribeForm(
        request.POST or None, stored={"name": release.name, "description": release.description}
    )
    if request.method == "POST" and form.is_valid():
        services.describe(actor=request.user, release=release, **form.cleaned_data)
        return redirect("releases:describe", code)
    context = screens.frame(request.user, release, card="describe") | {"form": form}
    return render(request, "releases/cards/describe.html", context)


CARD = Card(
    key="describe",
    tab="share",
    order=20,
    title=_("Name and description"),
    about=_("What the release is called, and what analysts should know."),
    view=describe,
    need=Need.SHARE,
)
