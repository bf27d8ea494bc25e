"""The list of releases, releases side by side, and the address of a release itself. What its tabs show are
`cards`.

Every view's first line fetches and authorises.
"""

from __future__ import annotations

from django.contrib.auth.decorators import login_required
from django.http import HttpResponse, HttpResponseBase
from django.shortcuts import render
from django.views.decorators.gzip import gzip_page
from django.views.decorators.http import require_GET

from synthweb.accounts.http import SignedInRequest
from synthweb.releases import (
    beside,
    screens,
    selectors,
    signals,
    tabs,
)


@login_required
@require_GET
def index(request: SignedInRequest) -> HttpResponse:
    """Every release that this person may see, filtered, sorted and in pages."""
    asked = {name: request.GET.get(key, "") for name, key in screens.FILTERS}
    releases = selectors.releases_for(request.user, **asked)
    context = screens.release_list(request.user, releases, request.GET)
    return render(request, "releases/index.html", context)


@login_required
@require_GET
@gzip_page  # as of a look
def side_by_side(request: SignedInRequest) -> HttpResponse:
    """Two to four releases that this person may draw from, one line a column, from stored documents of models
    alone."""
    page = beside.page_of(request.user, request.GET)
    return render(request, "releases/side_by_side.html", {"page": page, "most": beside.MOST})


@login_required
@require_GET
def release(request: SignedInRequest, code: str) -> HttpResponseBase:
    """The first card of the release: its rows, or its receipt for whoever may not draw any."""
    release = selectors.release_for(request.user, code, tables="any")
    # `runs` marks the end of the run as seen; releases do not import the apps above them.
    signals.opened.send(sender=type(release), release=release, user=request.user)
    return tabs.front(request.user, release).view(request, code)
