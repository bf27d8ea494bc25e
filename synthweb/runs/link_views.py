"""Pages of links of tables of two organisations: propose, accept, start, withdraw, and what both sketches
say."""

from __future__ import annotations

from typing import Any

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import FileResponse, Http404, HttpResponse, JsonResponse
from django.http.response import HttpResponseBase
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.translation import gettext
from django.utils.translation import gettext as _
from django.views.decorators.cache import cache_control, never_cache
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from synth_engine.errors import InputError, PrivacyError
from synthweb.accounts import reauthentication
from synthweb.accounts import selectors as people
from synthweb.accounts.http import SignedInRequest
from synthweb.accounts.permissions import Need
from synthweb.datasets import selectors as datasets
from synthweb.datasets.models import Dataset
from synthweb.ledger.protection import Protection
from synthweb.lib.errors import Refused
from synthweb.releases.downloads import attached, busy_page
from synthweb.releases.slots import Slot, TooManyDrawings
from synthweb.runs import errors, joined_tables, link_services, linking, planning, screens
from synthweb.runs.estimate import takes_large_share
from synthweb.runs.link_forms import ChosenDatasetForm, InvitationForm, ProposeForm, SideForm
from synthweb.runs.link_page import AgreementFacts, EstimatePage, LinkPrice, columns_of
from synthweb.runs.linking import SeenLink
from synthweb.runs.models import Link, LinkSide
from synthweb.runs.validation_page import state_in_words

Refusal = (InputError, PrivacyError, Refused)
State = Link.State


@login_required
@require_GET
def index(request: SignedInRequest) -> HttpResponse:
    """The links of the organisation."""
    organisation = people.organisation_of(request.user)
    links = [linking.seen_by(link, organisation) for link in linking.links_for(request.user)]
    context = {"links": links, "may_join": people.can(request.user, Need.SPEND)}
    return render(request, "runs/links.html", context)


# --- propose ------------------------------------------------------------------------------------------------
@login_required
@require_http_methods(["GET", "POST"])
@never_cache
def propose(request: SignedInRequest, code: str) -> HttpResponse:
    """The terms on which a dataset is counted; then the invitation, which is shown once."""
    dataset = datasets.dataset_for(request.user, code, Need.SPEND)
    context: dict[str, Any] = screens.frame(
        dataset, (reverse("runs:links"), gettext("Links")), ("", gettext("Propose a link"))
    )
    try:
        planning.basis(dataset)
    except errors.NotReady as missing:
        return render(request, "runs/not_ready.html", context | {"missing": missing})
    form = ProposeForm(request.POST if request.method == "POST" else None, dataset=dataset)
    if form.is_valid():
        try:
            link, token = link_services.propose(
                steward=request.user, offer=form.offer, terms=form.terms
            )
            return _link_page(request, linking.link_for(request.user, link.code), token=token)
        except Refusal as error:
            form.add_error(None, _words(error))
    status = 422 if form.errors else 200
    return render(request, "runs/propose_link.html", context | {"form": form}, status=status)


@login_required
@require_POST
@never_cache
def invite(request: SignedInRequest, code: str) -> HttpResponse:
    """Another invitation; the one before opens nothing any more."""
    seen = linking.link_for(request.user, code, Need.SPEND)
    try:
        token = link_services.invite_again(actor=request.user, seen=seen)
    except Refused as error:
        messages.error(request, str(error))
        return redirect("runs:link", code)
    return _link_page(request, seen, token=token)


# --- accept -------------------------------------------------------------------------------------------------
@login_required
@require_http_methods(["GET", "POST"])
@never_cache
def join(request: SignedInRequest) -> HttpResponse:
    """Three steps on one page: the invitation, the dataset, and its columns with their price; accepted by the
    last button alone."""
    people.require(request.user, Need.SPEND)
    posted = request.POST if request.method == "POST" else None
    context: dict[str, Any] = {"form": InvitationForm(posted)}
    if posted is None or not context["form"].is_valid():
        return _join_page(request, context)
    token = context["form"].cleaned_data["invitation"].strip()
    try:
        link, left = link_services.invited(user=request.user, token=token)
    except Http404:
        context["form"].add_error(
            "invitation",
            _(
                "This invitation opens no link: it was replaced, accepted or withdrawn, or is your own."
            ),
        )
        return _join_page(request, context)
    choice = ChosenDatasetForm(
        posted if "dataset" in posted else None, datasets=_own_datasets(request)
    )
    context |= {"token": token, "link": link, "left": _offered(left), "choice": choice}
    if not choice.is_valid():
        return _join_page(request, context)
    dataset = datasets.dataset_for(request.user, choice.cleaned_data["dataset"], Need.SPEND)
    side = SideForm(posted if "texts" in posted else None, dataset=dataset)
    context |= {"side": side, "dataset": dataset}
    return _accept(request, context, token=token)


def _accept(request: SignedInRequest, context: dict[str, Any], *, token: str) -> HttpResponse:
    """The price of what is offered, and the acceptance once that was seen."""
    side: SideForm = context["side"]
    if not side.is_valid():
        return _join_page(request, context)
    try:
        agreed, proposal = linking.preview(context["link"], side.offer, steward=request.user)
        price = LinkPrice.of(proposal, agreed)
        context |= {"price": price, "agreed": AgreementFacts.of(agreed)}
        # Confirmed is the digest of an agreement: what changed after it was shown is shown again.
        if request.POST.get("confirmed") == price.digest and not price.lacking:
            if takes_large_share(price.bars) and (question := reauthentication.ask(request)):
                return question
            link = link_services.accept(
                steward=request.user, token=token, offer=side.offer, agreement=price.digest
            )
            messages.success(
                request,
                _(
                    "The link is agreed. The other side starts it; until then either can withdraw."
                ),
            )
            return redirect("runs:link", link.code)
    except Refusal as error:
        side.add_error(None, _words(error))
    return _join_page(request, context)


def _join_page(request: SignedInRequest, context: dict[str, Any]) -> HttpResponse:
    failed = any(context[name].errors for name in ("form", "choice", "side") if name in context)
    return render(request, "runs/join_link.html", context, status=422 if failed else 200)


def _own_datasets(request: SignedInRequest) -> list[Dataset]:
    """Datasets of the organisation that are described and have a budget."""
    mine = datasets.datasets_of(request.user).filter(
        coverage__isnull=False, domain_versions__isnull=False
    )
    return list(mine.distinct())


def _offered(left: LinkSide) -> dict[str, Any]:
    """What the side that proposes shows of itself."""
    known = {each.name: each for each in linking.linkable(left.dataset)}
    return {
        "organisation": left.dataset.organisation.name,
        "texts": left.texts,
        "columns": columns_of([known[name] for name in left.columns if name in known]),
        "epsilon": left.epsilon,
        "protection": Protection.of_version(left.domain_version).sentence(),
    }


# --- one link -----------------------------------------------------------------------------------------------
@login_required
@require_GET
@never_cache
def link(request: SignedInRequest, code: str) -> HttpResponse:
    """One link as the caller's organisation sees it."""
    return _link_page(request, linking.link_for(request.user, code))


def _link_page(request: SignedInRequest, seen: SeenLink, *, token: str = "") -> HttpResponse:
    may_act = datasets.may(request.user, seen.own.dataset, Need.SPEND)
    link = seen.link
    context: dict[str, Any] = {
        "seen": seen,
        "link": link,
        "token": token,
        "may_act": may_act,
        "may_withdraw": may_act and link.state in Link.UNSPENT,
        "agreed": None
        if link.agreement is None
        else AgreementFacts.of(linking.agreement_of(link)),
        "estimate": EstimatePage.of(link),
        "runs": [(run, state_in_words(run.state)) for run in linking.runs_seen(seen)],
        "paid_from": linking.paid_from(seen.own),
        "givable": list(joined_tables.givable(seen)) if may_act else [],
        "missing_sides": joined_tables.missing_sides(seen),
        "crumbs": [(reverse("runs:links"), gettext("Links")), ("", link.name)],
    }
    if may_act and link.state == State.ACCEPTED and seen.side == "left":
        context |= _price_of(seen)
    return render(request, "runs/link.html", context)


def _price_of(seen: SeenLink) -> dict[str, Any]:
    agreed = linking.agreement_of(seen.link)
    try:
        return {"price": LinkPrice.of(linking.SketchRequest(side=seen.own).propose(), agreed)}
    except Refusal as error:
        return {"problem": _words(error)}


@login_required
@require_POST
def start(request: SignedInRequest, code: str) -> HttpResponse:
    """Hold both prices and queue both sketches."""
    seen = linking.link_for(request.user, code, Need.SPEND)
    price = _price_of(seen).get("price") if seen.link.state == State.ACCEPTED else None
    if price and takes_large_share(price.bars) and (question := reauthentication.ask(request)):
        return question
    try:
        link_services.start(
            actor=request.user, seen=seen, agreement=request.POST.get("agreement", "")
        )
        messages.success(
            request,
            _("Both prices are held. A worker charges both before it opens either table."),
        )
    except Refusal as error:
        messages.error(request, _words(error))
    return redirect("runs:link", code)


@login_required
@require_POST
def withdraw(request: SignedInRequest, code: str) -> HttpResponse:
    """End the link before anything is spent."""
    seen = linking.link_for(request.user, code, Need.SPEND)
    try:
        link_services.withdraw(actor=request.user, seen=seen)
        messages.success(request, _("The link is withdrawn. Nothing was spent on either side."))
    except Refused as error:
        messages.error(request, str(error))
    return redirect("runs:link", code)


@login_required
@require_GET
@never_cache
def file(request: SignedInRequest, code: str, name: str) -> HttpResponse:
    """The agreement, the estimate, or what left the room of a side, as a file of the engine."""
    seen = linking.link_for(request.user, code)
    document = linking.file_of(seen, name)
    if document is None:
        raise Http404("no such file of this link")
    response = JsonResponse(document, json_dumps_params={"indent": 1})
    response["Content-Disposition"] = f'attachment; filename="{seen.link.code}-{name}.json"'
    return response


@login_required
@require_POST
def give(request: SignedInRequest, code: str) -> HttpResponse:
    """Choose the release that generates the table of one's own side."""
    seen = linking.link_for(request.user, code, Need.SHARE)
    try:
        joined_tables.give(actor=request.user, seen=seen, code=request.POST.get("release", ""))
        messages.success(
            request, _("The stewards of both sides may draw joined tables with this release.")
        )
    except Refusal as error:
        messages.error(request, _words(error))
    return redirect("runs:link", code)


@login_required
@require_GET
# Tables are generated with their reader's own seed: no cache on the way may hold them.
@cache_control(private=True, no_store=True)
def tables(request: SignedInRequest, code: str) -> HttpResponseBase:
    """Both synthetic tables with ids that join, and their record."""
    seen = linking.link_for(request.user, code, Need.SAMPLE)
    try:
        with Slot(request.user.pk):
            archive = joined_tables.write(user=request.user, seen=seen)
    except TooManyDrawings as busy:
        return busy_page(request, busy)
    except Refusal as error:
        messages.error(request, _words(error))
        return redirect("runs:link", code)
    joined_tables.note_download(user=request.user, seen=seen)
    response = FileResponse(archive, content_type="application/zip")
    return attached(response, f"link-{seen.link.code}-tables.zip")


def _words(error: InputError | PrivacyError | Refused) -> str:
    return error.text if isinstance(error, InputError) else str(error)
