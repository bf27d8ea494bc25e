"""Tables of counts with intervals."""

from __future__ import annotations

from django.contrib.auth.decorators import login_required
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.translation import gettext_lazy as _
from django.views.decorators.http import require_GET

from synthweb.accounts.http import SignedInRequest
from synthweb.accounts.permissions import Need
from synthweb.releases import marginals as counts
from synthweb.releases import (
    screens,
    selectors,
)
from synthweb.releases.downloads import busy_page
from synthweb.releases.slots import TooManyDrawings
from synthweb.releases.tabs import Card


@login_required
@require_GET
def marginals(request: SignedInRequest, code: str) -> HttpResponse:
    """Any table of counts of up to eight columns with intervals, from noisy answers and the model alone."""
    release = selectors.release_for(request.user, code, Need.SAMPLE)
    try:
        page = counts.page_of(release, request.GET, person=request.user.pk)
    except TooManyDrawings as busy:
        return busy_page(request, busy)
    except counts.NotGathered:
        making = reverse("runs:counts", args=[code])
        return redirect(f"{making}?{request.GET.urlencode()}")
    context = screens.frame(request.user, release, card="marginals") | {"page": page}
    return render(request, "releases/cards/marginals.html", context)


CARD = Card(
    key="marginals",
    tab="quality",
    order=30,
    title=_("Counts"),
    about=_("Any table of counts of up to eight columns, with intervals."),
    view=marginals,
)
