"""With whom a release is shared, its licence and public links."""

from __future__ import annotations

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _
from django.views.decorators.http import require_http_methods, require_POST

from synthweb.accounts.http import SignedInRequest
from synthweb.accounts.permissions import Need
from synthweb.lib.errors import Refused
from synthweb.releases import (
    screens,
    selectors,
    services,
)
from synthweb.releases.forms import (
    LicenceForm,
    ShareForm,
)
from synthweb.releases.licences import LicenceChoice
from synthweb.releases.tabs import Card


@login_required
@require_http_methods(["GET", "POST"])
def share(request: SignedInRequest, code: str) -> HttpResponse:
    """With whom a release is shared; hand it to another analyst."""
    release = selectors.release_for(request.user, code, Need.SHARE, tables="any")
    form = ShareForm(request.POST or None, release=release)
    if request.method == "POST" and form.is_valid():
        try:
            grant = services.share(
                actor=request.user, release=release, analyst=form.cleaned_data["analyst"]
            )
            messages.success(
                request, gettext("Shared with %(analyst)s.") % {"analyst": grant.analyst}
            )
            return redirect("releases:share", code)
        except Refused as error:
            form.add_error("analyst", str(error))
    context = screens.share(request.user, release) | {"form": form}
    return render(request, "releases/cards/share.html", context)


@login_required
@require_POST
def licence(request: SignedInRequest, code: str) -> HttpResponse:
    """State under which licence a release may be passed on."""
    release = selectors.release_for(request.user, code, Need.SHARE, tables="any")
    form = LicenceForm(request.POST, release=release)
    if form.is_valid():
        words = form.cleaned_data
        try:
            services.license_release(
                actor=request.user,
                release=release,
                licence=LicenceChoice(words["licence"]),
                text=words["text"],
                address=words["address"],
            )
            messages.success(request, gettext("The licence is stated from now on."))
            return redirect("releases:share", code)
        except Refused as error:
            form.add_error(error.field or None, str(error))
    context = screens.share(request.user, release) | {"licence_form": form}
    return render(request, "releases/cards/share.html", context, status=422)


@login_required
@require_POST
def revoke(request: SignedInRequest, code: str, grant: int) -> HttpResponse:
    """Take a release back from an analyst."""
    release = selectors.release_for(request.user, code, Need.SHARE, tables="any")
    # Among the grants of this release: the number of another one's is a 404.
    taken = services.revoke(
        actor=request.user, grant=get_object_or_404(selectors.grants_of(release), pk=grant)
    )
    messages.success(
        request,
        gettext("%(analyst)s can no longer open it. What was downloaded stays with them.")
        % {"analyst": taken.analyst},
    )
    return redirect("releases:share", code)


CARD = Card(
    key="share",
    tab="share",
    order=10,
    title=_("People, licence, public link"),
    about=_("Who has this release, and how it may be passed on."),
    view=share,
    need=Need.SHARE,
    of="both",
)
