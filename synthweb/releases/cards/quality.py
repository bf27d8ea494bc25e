"""What a release is good for: a sentence, and what it rests on."""

from __future__ import annotations

from django.contrib.auth.decorators import login_required
from django.http import HttpResponse
from django.shortcuts import render
from django.utils.translation import gettext_lazy as _
from django.views.decorators.http import require_GET

from synthweb.accounts.http import SignedInRequest
from synthweb.accounts.permissions import Need
from synthweb.releases import look, quality, quality_page, screens, selectors
from synthweb.releases.tabs import Card


@login_required
@require_GET
def good_for(request: SignedInRequest, code: str) -> HttpResponse:
    """What the release is good for, from what was released alone, for everybody who may draw samples."""
    release = selectors.release_for(request.user, code, Need.SAMPLE)
    answer = quality.answer_of(release)
    context = screens.frame(request.user, release, card="quality") | {
        "answer": answer,
        "columns": answer and quality_page.columns_of(release, answer, request.GET),
        "figures": answer and quality_page.figures_of(release),
        "lacks": "rows" if look.prepared(release) == "nothing" else "ranges",
    }
    return render(request, "releases/cards/quality.html", context)


CARD = Card(
    key="quality",
    tab="quality",
    order=5,
    title=_("What it is good for"),
    about=_("Counts, averages, relations and groups, in a sentence."),
    view=good_for,
)
