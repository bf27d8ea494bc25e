"""Pages of the ledger: accounts, requests and decisions. Every first line fetches and authorises."""

from __future__ import annotations

from django.conf import settings
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.core.paginator import Paginator
from django.forms import Form
from django.http import HttpResponse, HttpResponseBase
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.translation import gettext
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET, require_POST, require_safe

from synthweb.accounts import services as people
from synthweb.accounts.http import SignedInRequest
from synthweb.accounts.permissions import Need
from synthweb.accounts.reauthentication import confirmed
from synthweb.accounts.selectors import can, organisation_of, require
from synthweb.datasets import services as datasets
from synthweb.datasets.selectors import dataset_for
from synthweb.ledger import (
    chain,
    downloads,
    export,
    filters,
    forms,
    log_access,
    screens,
    selectors,
    services,
    yearly_limits,
)
from synthweb.ledger.models import BudgetAccount, BudgetRequest
from synthweb.lib import fragments
from synthweb.lib.errors import Refused

ENTRIES_A_PAGE = 50


@require_safe
@login_required
def index(request: SignedInRequest) -> HttpResponse:
    return _index(request)


def _index(request: SignedInRequest, *, rho_form: forms.RhoForm | None = None) -> HttpResponse:
    """The list of accounts. rho_form: a form that was not accepted."""
    accounts = selectors.accounts_for(request.user).prefetch_related("coverages__dataset")
    waiting = selectors.requests_for(request.user).filter(state=BudgetRequest.State.OPEN)
    page = Paginator(accounts, ENTRIES_A_PAGE).get_page(request.GET.get("page"))
    context: dict[str, object] = {
        "page": page,
        "waiting": waiting,
        "lines": [screens.account_line(account) for account in page],
    }
    context |= {
        "reads_all": selectors.reads_all(request.user),
        "audits": log_access.may_read_all(request.user),
    }
    context["sees_real_rows"] = can(request.user, Need.OPENINGS)
    context |= screens.rho_policy(organisation_of(request.user))
    if can(request.user, Need.GRANT) and not settings.RHO:
        context["rho_form"] = rho_form or forms.RhoForm(initial={"rho": context["rho"]})
    status = 422 if rho_form else 200
    return render(request, "ledger/index.html", context, status=status)


@require_POST
@login_required
def rho_policy(request: SignedInRequest) -> HttpResponse:
    """Set the one ρ of all columns of unknown values that the organisation describes from now on."""
    require(request.user, Need.GRANT)
    form = forms.RhoForm(request.POST)
    if not form.is_valid():
        return _index(request, rho_form=form)
    people.set_rho(custodian=request.user, rho=form.cleaned_data["rho"])
    messages.success(
        request, _("It holds for every description that is confirmed from now on.")
    )
    return redirect("ledger:index")


@require_safe
@never_cache
@login_required
def account(request: SignedInRequest, code: str) -> HttpResponse:
    budget_account = selectors.account_for(request.user, code)
    narrow = filters.EntryFilter(request.GET, account=budget_account)
    page = Paginator(narrow.narrow(selectors.entries_for(request.user, code)), ENTRIES_A_PAGE)
    context = screens.account_page(
        budget_account,
        narrow,
        page.get_page(request.GET.get("page")),
        request.GET.get("delta", ""),
    )
    context |= screens.limits_of(budget_account, decides=can(request.user, Need.GRANT))
    context["sees_history"] = can(request.user, Need.OPENINGS)
    context["waiting"] = selectors.requests_for(request.user).filter(
        account=budget_account, state=BudgetRequest.State.OPEN
    )
    return render(request, "ledger/account.html", context)


@require_POST
@login_required
def yearly_limit(request: SignedInRequest, code: str) -> HttpResponse:
    """Set what runs may take of an account in a calendar year."""
    account = _decided_account(request, code)
    form = forms.YearlyLimitForm(request.POST, account=account)
    if form.is_valid():
        yearly_limits.set_yearly_limit(custodian=request.user, account=account, most=form.most)
        messages.success(request, _("The limit applies to every run from now on."))
        return redirect("ledger:account", code)
    return _account_again(request, account, year=form)


@require_POST
@login_required
def earmark(request: SignedInRequest, code: str) -> HttpResponse:
    """Set aside a part of an account."""
    account = _decided_account(request, code)
    form = forms.EarmarkForm(request.POST, account=account)
    if form.is_valid():
        try:
            yearly_limits.earmark(
                custodian=request.user,
                account=account,
                amount=form.amount,
                purpose=form.cleaned_data["purpose"],
                use=form.cleaned_data["use"],
                ends_on=form.cleaned_data["ends_on"],
            )
            messages.success(request, _("It is set aside."))
            return redirect("ledger:account", code)
        except Refused as refusal:
            forms.add_refusal(form, refusal)
    return _account_again(request, account, earmark=form)


@require_POST
@login_required
def end_earmark(request: SignedInRequest, code: str, earmark: str) -> HttpResponse:
    """Free what was set aside."""
    account = _decided_account(request, code)
    yearly_limits.end_earmark(custodian=request.user, account=account, code=earmark)
    messages.success(request, _("Runs can hold it from now on."))
    return redirect("ledger:account", code)


def _decided_account(request: SignedInRequest, code: str) -> BudgetAccount:
    """An account that the person may read and decide about."""
    account = selectors.account_for(request.user, code)
    require(request.user, Need.GRANT)
    return account


def _account_again(
    request: SignedInRequest, account: BudgetAccount, **shown: Form
) -> HttpResponse:
    """The page of an account with a form that was not accepted."""
    narrow = filters.EntryFilter({}, account=account)
    page = Paginator(selectors.entries_for(request.user, account.code), ENTRIES_A_PAGE)
    context = screens.account_page(account, narrow, page.get_page(1), "")
    context |= screens.limits_of(account, decides=True, **shown)
    return render(request, "ledger/account.html", context, status=422)


@require_GET
@never_cache
@login_required
def chain_status(request: SignedInRequest, code: str) -> HttpResponse:
    account = selectors.account_for(request.user, code)
    # A fragment of its own: replaying a long chain takes longer than a page should.
    context = {"verdict": chain.verify(account), "brief": "brief" in request.GET}
    crumbs = [
        (reverse("ledger:index"), gettext("Budget")),
        (reverse("ledger:account", args=[code]), account.name),
    ]
    return fragments.render_fragment(
        request,
        "ledger/_chain.html",
        context,
        title=gettext("Chain of %(name)s") % {"name": account.name},
        crumbs=crumbs,
    )


@require_GET
@never_cache
@login_required
def entries(request: SignedInRequest, code: str, kind: str) -> HttpResponseBase:
    account = selectors.account_for(request.user, code)
    narrow = filters.EntryFilter(request.GET, account=account)
    if not narrow.is_valid():
        return downloads.refused(narrow)
    chosen = narrow.narrow(selectors.entries_for(request.user, code))
    return export.of_entries(account, chosen, kind=kind, filters=narrow.chosen)


@never_cache
@login_required
def ask(request: SignedInRequest, dataset_code: str) -> HttpResponse:
    dataset = dataset_for(request.user, dataset_code, Need.SPEND)
    if (waiting := screens.before_asking(dataset)) is not None:
        return render(request, "ledger/not_yet.html", {"dataset": dataset, **waiting})
    # From the address: cut to the length of an amount, and checked as what is typed.
    wanted = {
        name: request.GET[name][:40] for name in ("epsilon", "delta") if request.GET.get(name)
    }
    proposing = "propose" in request.POST
    form = (
        # Nothing is checked yet: the answers stand, and what follows from them is shown.
        forms.AskForm(dataset=dataset, initial=request.POST.dict())
        if proposing
        else forms.AskForm(request.POST or None, dataset=dataset, initial=wanted)
    )
    if proposing and fragments.asked_by_page(request):
        return render(request, "ledger/_proposal.html", {"form": form})
    if (
        request.method == "POST"
        and not proposing
        and form.is_valid()
        and (budget_request := _ask(request, form, dataset_code))
    ):
        messages.success(
            request,
            _("A custodian will see your request and decide; you will find the answer here."),
        )
        return redirect("ledger:request", budget_request.code)
    return render(
        request,
        "ledger/ask.html",
        {"dataset": dataset, "form": form, **screens.asking(dataset, form)},
    )


@require_safe
@never_cache
@login_required
def budget_request(request: SignedInRequest, code: str) -> HttpResponse:
    budget_request = selectors.request_for(request.user, code)
    return render(
        request, "ledger/request.html", screens.deciding(request.user, budget_request)
    )


@require_POST
@login_required
@confirmed
def grant(request: SignedInRequest, code: str) -> HttpResponse:
    budget_request = selectors.request_for(request.user, code, need=Need.GRANT)
    form = forms.GrantForm(request.POST, budget_request=budget_request)
    if form.is_valid():
        decision = {
            "custodian": request.user,
            "request": budget_request,
            **form.decision,
        }
        try:
            # A cap cannot be taken back, so it is asked for twice.
            if "confirmed" not in request.POST:
                granted = services.rehearse_grant(**decision)
                return render(
                    request,
                    "ledger/confirm_grant.html",
                    screens.confirming(budget_request, form) | {"first": not granted},
                )
            entry = services.grant(**decision)
            if entry is None:
                messages.success(
                    request,
                    _("Your approval is recorded. Another custodian has to approve the same."),
                )
                return redirect("ledger:request", code)
            messages.success(
                request,
                _("Granted: entry %(sequence)s of %(name)s.")
                % {"sequence": entry.sequence, "name": entry.account.name},
            )
            return redirect("ledger:account", entry.account.code)
        except Refused as refusal:
            forms.add_refusal(form, refusal)
    return render(
        request,
        "ledger/request.html",
        # Nothing was granted: the form is shown again and contains the reason.
        screens.deciding(request.user, budget_request, grant=form),
        status=422,
    )


@require_POST
@login_required
def refuse(request: SignedInRequest, code: str) -> HttpResponse:
    budget_request = selectors.request_for(request.user, code, need=Need.GRANT)
    form = forms.RefuseForm(request.POST)
    if form.is_valid():
        try:
            services.refuse(
                custodian=request.user,
                request=budget_request,
                reason=form.cleaned_data["reason"],
            )
            return redirect("ledger:request", budget_request.code)
        except Refused as refusal:
            forms.add_refusal(form, refusal)
    return render(
        request,
        "ledger/request.html",
        screens.deciding(request.user, budget_request, refuse=form),
        status=422,
    )


def _ask(
    request: SignedInRequest, form: forms.AskForm, dataset_code: str
) -> BudgetRequest | None:
    dataset = dataset_for(request.user, dataset_code, Need.SPEND)
    if records := form.cleaned_data["stated"]:
        datasets.state_records(actor=request.user, dataset=dataset, records=records)
    try:
        return services.request_budget(
            steward=request.user,
            dataset=dataset,
            terms=services.Terms(
                rule=form.cleaned_data["rule"],
                amount=form.cleaned_data["amount"],
                releases=form.cleaned_data["releases"],
                rhythm=form.cleaned_data["rhythm"],
                readers=form.cleaned_data["readers"],
            ),
            reason=form.cleaned_data["reason"],
            account=form.chosen,
        )
    except Refused as refusal:
        forms.add_refusal(form, refusal)
        return None
