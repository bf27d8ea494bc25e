"""Pages of filled counts: ask, approve or refuse, and what is published. They are not private, and every page
says so."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import Http404, HttpResponse, JsonResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.translation import gettext
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from synth_engine.errors import InputError, PrivacyError
from synth_engine.mixing.policy import FillPlan
from synthweb.accounts import reauthentication
from synthweb.accounts import selectors as people
from synthweb.accounts.http import SignedInRequest
from synthweb.accounts.permissions import Need
from synthweb.datasets import selectors as datasets
from synthweb.lib.errors import Refused
from synthweb.lib.language import written_number
from synthweb.runs import errors, filling, filling_services, planning, screens
from synthweb.runs.filling_forms import DecisionForm, FillForm
from synthweb.runs.models import FilledCounts

Refusal = (InputError, PrivacyError, Refused)
State = FilledCounts.State
PAGE_GROUPS = 200
"""Groups that the page lists; the files have all of them."""


@dataclass(frozen=True, kw_only=True)
class PlanFacts:
    """A plan as people read it. share: in per cent."""

    digest: str
    by: tuple[str, ...]
    groups: int
    least_records: int
    share: float
    least_days: int
    day: str
    contributor: str

    @classmethod
    def of(cls, plan: FillPlan) -> PlanFacts:
        return cls(
            digest=plan.digest,
            by=plan.by,
            groups=plan.groups,
            least_records=plan.policy.least_records,
            share=float(plan.policy.largest_share),
            least_days=plan.policy.least_days,
            day=plan.day or "",
            contributor=plan.contributor or "",
        )


@login_required
@require_GET
def index(request: SignedInRequest) -> HttpResponse:
    """The filled counts of the organisation."""
    context = {"counts": filling.counts_for(request.user)}
    return render(request, "runs/filled_counts.html", context)


@login_required
@require_http_methods(["GET", "POST"])
@never_cache
def ask(request: SignedInRequest, code: str) -> HttpResponse:
    """Groups and policy; then what that means, and the request by the last button alone."""
    dataset = datasets.dataset_for(request.user, code, Need.SPEND)
    context: dict[str, Any] = screens.frame(
        dataset,
        (reverse("runs:filled-counts"), gettext("Filled counts")),
        ("", gettext("Ask for filled counts")),
    )
    try:
        planning.basis(dataset)
    except errors.NotReady as missing:
        return render(request, "runs/not_ready.html", context | {"missing": missing})
    form = FillForm(request.POST if request.method == "POST" else None, dataset=dataset)
    if form.is_valid():
        try:
            asked = form.request
            proposal = filling.propose(asked)
            # Confirmed is the digest of a plan: what changed after it was shown is shown again.
            if request.POST.get("confirmed") == proposal.plan.digest:
                counts = filling_services.ask(
                    steward=request.user,
                    request=asked,
                    plan_sha256=proposal.plan.digest,
                    name=form.cleaned_data["name"],
                    purpose=form.cleaned_data["purpose"],
                )
                return redirect("runs:filled", counts.code)
            context |= {"proposal": proposal, "facts": PlanFacts.of(proposal.plan)}
        except Refusal as error:
            form.add_error(None, _words(error))
    status = 422 if form.errors else 200
    return render(
        request, "runs/ask_filled_counts.html", context | {"form": form}, status=status
    )


@login_required
@require_GET
@never_cache
def counts(request: SignedInRequest, code: str) -> HttpResponse:
    """One request with what became of it."""
    return _page(request, filling.counts_of(request.user, code))


def _page(
    request: SignedInRequest, row: FilledCounts, *, form: DecisionForm | None = None
) -> HttpResponse:
    private, price = filling.alternative_of(row)
    groups = [] if row.counts is None else row.counts["groups"]
    sees_dataset = people.can(request.user, Need.VIEW)
    context = {
        "counts": row,
        "facts": PlanFacts.of(filling.plan_of(row)),
        "private": private,
        "price": written_number(price.text(row.account.rule)),
        "groups": groups[:PAGE_GROUPS],
        "more": len(groups) - PAGE_GROUPS,
        "sees_dataset": sees_dataset,
        "may_decide": filling.may_decide(request.user, row),
        "needs_two": filling.needs_two(row),
        "may_withdraw": row.state == State.ASKED
        and datasets.may(request.user, row.dataset, Need.SPEND),
        "form": form or DecisionForm(),
        "crumbs": [
            (reverse("runs:filled-counts"), gettext("Filled counts")),
            ("", row.name),
        ],
    }
    status = 422 if form is not None else 200
    return render(request, "runs/filled_counts_of.html", context, status=status)


@login_required
@require_POST
@reauthentication.confirmed
def approve(request: SignedInRequest, code: str) -> HttpResponse:
    """Have the counts taken: from here on no guarantee of the table holds."""
    row = filling.counts_of(request.user, code, Need.GRANT)
    form = DecisionForm(request.POST)
    if not form.is_valid():
        return _page(request, row, form=form)
    try:
        decided = filling_services.approve(
            custodian=request.user,
            counts=row,
            plan_sha256=request.POST.get("plan", ""),
            reason=form.cleaned_data["reason"],
        )
    except Refusal as error:
        form.add_error(None, _words(error))
        return _page(request, row, form=form)
    messages.success(
        request,
        _("Approved. A worker writes it to the ledger before it reads a row.")
        if decided.state == State.APPROVED
        else _("Your approval is recorded. Another custodian has to approve the same."),
    )
    return redirect("runs:filled", code)


@login_required
@require_POST
def refuse(request: SignedInRequest, code: str) -> HttpResponse:
    """Refuse a request, with a reason."""
    row = filling.counts_of(request.user, code, Need.GRANT)
    form = DecisionForm(request.POST)
    if not form.is_valid():
        return _page(request, row, form=form)
    try:
        filling_services.refuse(
            custodian=request.user, counts=row, reason=form.cleaned_data["reason"]
        )
    except Refused as error:
        form.add_error(None, str(error))
        return _page(request, row, form=form)
    return redirect("runs:filled", code)


@login_required
@require_POST
def withdraw(request: SignedInRequest, code: str) -> HttpResponse:
    """Take a request back before it is approved."""
    row = filling.counts_of(request.user, code, Need.SPEND)
    try:
        filling_services.withdraw(steward=request.user, counts=row)
        messages.success(request, _("The request is withdrawn. Nothing was read."))
    except Refused as error:
        messages.error(request, str(error))
    return redirect("runs:filled", code)


@login_required
@require_GET
@never_cache
def file(request: SignedInRequest, code: str, kind: str) -> HttpResponse:
    """The published counts, as JSON or CSV."""
    row = filling.counts_of(request.user, code)
    if row.counts is None or kind not in ("json", "csv"):
        raise Http404("no such file of these counts")
    if kind == "json":
        response: HttpResponse = JsonResponse(row.counts, json_dumps_params={"indent": 1})
    else:
        response = HttpResponse(
            filling.csv_of(row.counts), content_type="text/csv; charset=utf-8"
        )
    response["Content-Disposition"] = f'attachment; filename="filled-counts-{row.code}.{kind}"'
    return response


def _words(error: InputError | PrivacyError | Refused) -> str:
    return error.text if isinstance(error, InputError) else str(error)
