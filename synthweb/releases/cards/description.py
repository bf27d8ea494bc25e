"""The model as a document."""

from __future__ import annotations

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _
from django.views.decorators.http import require_http_methods

from synth_engine.errors import InputError
from synthweb.accounts.http import SignedInRequest
from synthweb.accounts.permissions import Need
from synthweb.lib.errors import Refused
from synthweb.releases import (
    screens,
    selectors,
    services,
)
from synthweb.releases.forms import (
    EditionForm,
)
from synthweb.releases.tabs import Card


@login_required
@require_http_methods(["GET", "POST"])
def description(request: SignedInRequest, code: str) -> HttpResponse:
    """The model as a document to be read and kept; stewards bring one back that they edited."""
    posted = request.method == "POST"
    release = selectors.release_for(request.user, code, Need.SHARE if posted else Need.SAMPLE)
    form = EditionForm(request.POST, request.FILES) if posted else EditionForm()
    if posted and form.is_valid():
        try:
            edition = services.keep_edition(
                actor=request.user, release=release, **form.cleaned_data
            )
            messages.success(
                request, gettext("Kept. Samples of it say that it was edited, and by whom.")
            )
            return redirect(
                f"{reverse('releases:samples', args=[code])}?edition={edition.code}"
            )
        except (InputError, Refused) as error:
            form.add_error("document", getattr(error, "text", str(error)))
    context = screens.frame(request.user, release, card="description") | {"form": form}
    context |= {"editions": selectors.editions_of(release)}
    return render(
        request, "releases/cards/description.html", context, status=422 if form.errors else 200
    )


CARD = Card(
    key="description",
    tab="download",
    order=30,
    title=_("Model"),
    about=_("The model as a document to be read and kept, and edited ones."),
    view=description,
)
