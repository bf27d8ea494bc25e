"""Plans over years: the page of one, a new one, and a change of the years that are not over."""

from __future__ import annotations

from http import HTTPStatus

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpResponse, QueryDict
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.translation import gettext
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_safe

from synthweb.accounts.http import SignedInRequest
from synthweb.accounts.permissions import Need
from synthweb.accounts.reauthentication import confirmed
from synthweb.accounts.selectors import can, require
from synthweb.ledger import plan_years, publication_plans, selectors
from synthweb.ledger.forms import add_refusal
from synthweb.ledger.models import BudgetAccount, PublicationPlan
from synthweb.ledger.plan_forms import ChangePlanForm, PlanForm, PlannedYearsForm
from synthweb.lib.errors import Refused
from synthweb.pages import plan_page
from synthweb.releases import of_plans


@require_safe
@never_cache
@login_required
def plan(request: SignedInRequest, code: str, plan: str) -> HttpResponse:
    """Years, shares, what was taken and what was released."""
    chosen = publication_plans.plan_for(request.user, code, plan)
    context = plan_page.of_plan(request.user, chosen) | {
        "crumbs": _crumbs(chosen.account, chosen.name),
        "decides": can(request.user, Need.GRANT),
    }
    return render(request, "pages/plan.html", context)


@require_safe
@never_cache
@login_required
def years_file(request: SignedInRequest, code: str, plan: str) -> HttpResponse:
    """The years as a CSV."""
    chosen = publication_plans.plan_for(request.user, code, plan)
    content = of_plans.as_csv(chosen, of_plans.lines(request.user, chosen))
    answer = HttpResponse(content, content_type="text/csv; charset=utf-8")
    answer["Content-Disposition"] = f'attachment; filename="plan-{chosen.code}.csv"'
    return answer


@login_required
@require_http_methods(["GET", "POST"])
@confirmed
def new(request: SignedInRequest, code: str) -> HttpResponse:
    """Approve a plan. The address says which years have a line in the form."""
    account = selectors.account_for(request.user, code)
    require(request.user, Need.GRANT)
    years = PlannedYearsForm(request.GET or None)
    form = PlanForm(_sent(request), account=account, years=years.years)
    if request.method == "POST" and years.is_right and form.is_valid():
        try:
            made = publication_plans.approve(
                custodian=request.user, account=account, terms=form.terms
            )
            messages.success(request, _("The shares are set aside for the plan."))
            return redirect("pages:plan", code, made.code)
        except Refused as refusal:
            add_refusal(form, refusal)
    context = {
        "account": account,
        "years": years,
        "form": form,
        "crumbs": _crumbs(account, gettext("New plan over years")),
        **plan_page.free(account),
    }
    return render(request, "pages/new_plan.html", context, status=_status(form))


@login_required
@require_http_methods(["GET", "POST"])
@confirmed
def change(request: SignedInRequest, code: str, plan: str) -> HttpResponse:
    """Change the shares of years that are not over, and what becomes of what they leave."""
    chosen = publication_plans.plan_for(request.user, code, plan)
    require(request.user, Need.GRANT)
    account = chosen.account
    form = ChangePlanForm(_sent(request), account=account, years=plan_years.years_of(chosen))
    if request.method == "POST" and form.is_valid():
        try:
            publication_plans.change(custodian=request.user, plan=chosen, wanted=form.wanted)
            messages.success(request, _("The change applies from now on."))
            return redirect("pages:plan", code, chosen.code)
        except Refused as refusal:
            add_refusal(form, refusal)
    context = {
        "plan": chosen,
        "account": account,
        "form": form,
        "crumbs": _crumbs(account, gettext("Change the plan"), plan=chosen),
        **plan_page.free(account),
    }
    return render(request, "pages/change_plan.html", context, status=_status(form))


def _sent(request: SignedInRequest) -> QueryDict | None:
    """What was sent, also if it is nothing at all."""
    return request.POST if request.method == "POST" else None


def _status(form: PlanForm | ChangePlanForm) -> int:
    return HTTPStatus.UNPROCESSABLE_ENTITY if form.is_bound else HTTPStatus.OK


def _crumbs(
    account: BudgetAccount, here: str, *, plan: PublicationPlan | None = None
) -> list[tuple[str, str]]:
    above = [
        (reverse("ledger:index"), gettext("Budget")),
        (reverse("ledger:account", args=[account.code]), account.name),
    ]
    if plan is not None:
        above.append((reverse("pages:plan", args=[account.code, plan.code]), plan.name))
    return [*above, ("", here)]
