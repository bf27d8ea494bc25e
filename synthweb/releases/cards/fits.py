"""Regressions with intervals."""

from __future__ import annotations

from django.contrib.auth.decorators import login_required
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.translation import gettext_lazy as _
from django.views.decorators.http import require_GET

from synthweb.accounts.http import SignedInRequest
from synthweb.accounts.permissions import Need
from synthweb.releases import fits as regressions
from synthweb.releases import marginals, screens, selectors
from synthweb.releases.downloads import busy_page
from synthweb.releases.slots import TooManyDrawings
from synthweb.releases.tabs import Card


@login_required
@require_GET
def fits(request: SignedInRequest, code: str) -> HttpResponse:
    """A regression of one column on others with intervals, from noisy answers alone."""
    release = selectors.release_for(request.user, code, Need.SAMPLE)
    try:
        page = regressions.page_of(release, request.GET, person=request.user.pk)
    except TooManyDrawings as busy:
        return busy_page(request, busy)
    except marginals.NotGathered:
        making = reverse("runs:counts", args=[code])
        return redirect(f"{making}?{request.GET.urlencode()}")
    context = screens.frame(request.user, release, card="fits") | {"page": page}
    return render(request, "releases/cards/fits.html", context)


CARD = Card(
    key="fits",
    tab="quality",
    order=35,
    title=_("Regressions"),
    about=_("Coefficients of a regression, with intervals that include the noise of privacy."),
    view=fits,
)
"""Regressions of a release with intervals."""
