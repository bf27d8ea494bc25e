"""Figures that were measured with budget."""

from __future__ import annotations

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _
from django.views.decorators.http import require_GET, require_POST

from synthweb.accounts.http import SignedInRequest
from synthweb.accounts.permissions import Need
from synthweb.datasets import selectors as datasets
from synthweb.lib.errors import Refused
from synthweb.releases import (
    paid,
    screens,
    selectors,
    services,
)
from synthweb.releases.tabs import Card


@login_required
@require_GET
def paid_figures(request: SignedInRequest, code: str) -> HttpResponse:
    """Figures that were measured with budget, for whoever may draw samples."""
    release = selectors.release_for(request.user, code, Need.SAMPLE)
    context = screens.frame(request.user, release, card="paid") | {
        "page": paid.page_of(release),
        "may_spend": datasets.may(request.user, release.dataset, Need.SPEND),
        "may_void": selectors.may(request.user, release, Need.SHARE),
    }
    return render(request, "releases/cards/paid.html", context)


@login_required
@require_POST
def void_check(request: SignedInRequest, code: str, check_code: str) -> HttpResponse:
    """State that the figures of a check or of a validation are not to be used, for stewards."""
    release = selectors.release_for(request.user, code, Need.SHARE)
    check = paid.any_check_of(release, check_code)
    try:
        services.void_check(
            actor=request.user, check=check, reason=request.POST.get("reason", "")
        )
    except Refused as refused:
        messages.error(request, str(refused))
    else:
        messages.success(request, gettext("The figures are void. What they cost stays spent."))
    return redirect("releases:validation" if check.is_validation else "releases:paid", code)


CARD = Card(
    key="paid",
    tab="quality",
    order=40,
    title=_("Paid figures"),
    about=_("What was measured on the real table afterwards, with noise and budget."),
    view=paid_figures,
)
