"""Pages of public links for people who sign in: stewards make and end them, custodians switch all of them
off."""

from __future__ import annotations

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET, require_POST

from synthweb.accounts import selectors as people
from synthweb.accounts.http import SignedInRequest
from synthweb.accounts.permissions import Need
from synthweb.lib.errors import Refused
from synthweb.releases import public_links, screens, selectors
from synthweb.releases.forms import PublicLinkForm


@login_required
@require_GET
def index(request: SignedInRequest) -> HttpResponse:
    """Every public link of the organisation that opens something now, and the switch of its custodians."""
    people.require(request.user, Need.VIEW)
    organisation = people.organisation_of(request.user)
    context = {
        "links": public_links.links_in(organisation),
        "allowed": public_links.are_allowed(organisation),
        "may_switch": people.can(request.user, Need.GRANT),
        "crumbs": [(reverse("releases:index"), _("Releases")), ("", _("Public links"))],
    }
    return render(request, "releases/public_links.html", context)


@login_required
@require_POST
def allow(request: SignedInRequest) -> HttpResponse:
    """Switch the public links of the organisation on or off."""
    people.require(request.user, Need.GRANT)
    allowed = request.POST.get("allowed") == "yes"
    public_links.allow(
        actor=request.user, organisation=people.organisation_of(request.user), allowed=allowed
    )
    messages.success(
        request,
        _("Stewards can make public links.")
        if allowed
        else _("Public links are off: those that exist open nothing until they are on again."),
    )
    return redirect("releases:public-links")


@login_required
@require_POST
@never_cache
def make(request: SignedInRequest, code: str) -> HttpResponse:
    """Make a public link; its address is in this one answer and nowhere else."""
    release = selectors.release_for(request.user, code, Need.SHARE)
    form = PublicLinkForm(request.POST)
    made = None
    if form.is_valid():
        try:
            made = public_links.make(actor=request.user, release=release, **form.cleaned_data)
        except Refused as error:
            form.add_error(error.field, str(error))
    context = screens.share(request.user, release)
    if made is None:
        return render(
            request, "releases/cards/share.html", context | {"link_form": form}, status=422
        )
    address = reverse("public:release", args=[made.token])
    context["made_address"] = request.build_absolute_uri(address)
    return render(request, "releases/cards/share.html", context)


@login_required
@require_POST
def revoke(request: SignedInRequest, code: str, link: str) -> HttpResponse:
    """End a public link."""
    release = selectors.release_for(request.user, code, Need.SHARE)
    public_links.revoke(
        actor=request.user, link=get_object_or_404(public_links.links_of(release), code=link)
    )
    messages.success(
        request, _("The link opens nothing any more. What was downloaded stays where it is.")
    )
    return redirect("releases:share", code)
