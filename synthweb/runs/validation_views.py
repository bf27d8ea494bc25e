"""Pages on which analysts have results validated on the real table, and on which allowances for that are
granted and ended."""

from __future__ import annotations

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpResponse, JsonResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from synth_engine.errors import InputError, PrivacyError
from synthweb.accounts.http import SignedInRequest
from synthweb.accounts.permissions import Need
from synthweb.ledger.amounts import Amount, decimal_text
from synthweb.lib.errors import Refused
from synthweb.releases import paid, screens, selectors
from synthweb.releases.model_cache import model_of
from synthweb.releases.models import Release
from synthweb.runs import validation_page, validations
from synthweb.runs.check_form import CheckForm
from synthweb.runs.check_views import CheckPrice, form_fault, request_key
from synthweb.runs.checks import CheckRequest
from synthweb.runs.estimate import Bar
from synthweb.runs.models import SynthesisRun
from synthweb.runs.validation_forms import AllowanceForm
from synthweb.runs.validations import AllowanceUse


@login_required
@require_GET
def index(request: SignedInRequest, code: str) -> HttpResponse:
    """Allowances and validations: an analyst's own, or those of everybody for who oversees them."""
    release = selectors.release_for(request.user, code)
    context = screens.frame(request.user, release, card="validation") | {
        "page": validation_page.page_of(request.user, release),
        "oversees": validations.oversees(request.user),
        "may_allow": selectors.may(request.user, release, Need.ALLOW),
        "may_void": selectors.may(request.user, release, Need.SHARE),
        "may_validate": bool(
            selectors.may(request.user, release, Need.VALIDATE)
            and validations.usable_by(request.user, release)
        ),
    }
    return render(request, "runs/validation.html", context)


@login_required
@require_GET
def allowances(request: SignedInRequest, code: str) -> HttpResponse:
    """Allowances with their use, to grant and to end, for stewards and custodians."""
    release = selectors.release_for(request.user, code, Need.ALLOW)
    return _allowances(request, release, AllowanceForm(release=release))


@login_required
@require_POST
def grant(request: SignedInRequest, code: str) -> HttpResponse:
    """Grant an allowance, for stewards and custodians."""
    release = selectors.release_for(request.user, code, Need.ALLOW)
    form = AllowanceForm(request.POST, release=release)
    if form.is_valid():
        try:
            validations.grant(
                actor=request.user,
                release=release,
                amount=form.cleaned_data["amount"],
                until=form.cleaned_data["until"],
                analyst=form.cleaned_data["analyst"],
                note=form.cleaned_data["note"],
            )
        except Refused as refused:
            field = refused.field if refused.field in form.fields else None
            form.add_error(field, str(refused))
        else:
            messages.success(request, _("The allowance is open."))
            return redirect("releases:allowances", code)
    return _allowances(request, release, form, status=422)


@login_required
@require_POST
def revoke(request: SignedInRequest, code: str, allowance: str) -> HttpResponse:
    """End an allowance, for stewards and custodians."""
    release = selectors.release_for(request.user, code, Need.ALLOW)
    validations.revoke(
        actor=request.user, allowance=validations.allowance_of(release, allowance)
    )
    messages.success(request, _("The allowance is ended. What was measured stays."))
    return redirect("releases:allowances", code)


@login_required
@require_http_methods(["GET", "POST"])
def new(request: SignedInRequest, code: str) -> HttpResponse:
    """Figures to choose; then what they cost of the analyst's allowance; spent by the second button alone."""
    release = selectors.release_for(request.user, code, Need.VALIDATE)
    context = screens.frame(
        request.user, release, card="validation", leaf=_("Validate a result")
    ) | {"action": reverse("runs:validate", args=[code]), "is_validation": True}
    usable = validations.usable_by(request.user, release)
    if not usable:
        missing = _(
            "You have no open allowance for this release. Ask its data steward for one."
        )
        return render(request, "runs/check.html", context | {"missing": missing})
    form = CheckForm(
        request.POST if request.method == "POST" else None,
        domain=model_of(release.code).domain,
        **_begun(usable),
    )
    price = _price(request, form, release) if form.is_bound and form.is_valid() else None
    confirmed = price is not None and form.cleaned_data["confirmed"] == price.digest
    if price and confirmed and _submit(request, form, release):
        messages.success(
            request, _("The validation waits for a worker. Its answers will be shown here.")
        )
        return redirect("releases:validation", code)
    return render(request, "runs/check.html", context | {"form": form, "price": price})


@login_required
@require_GET
def receipt(request: SignedInRequest, code: str, validation: str) -> HttpResponse:
    """The receipt of a validation, for its analyst and for stewards."""
    release = selectors.release_for(request.user, code)
    check = validations.answered_for(request.user, release, validation)
    response = JsonResponse(paid.receipt_of(check), json_dumps_params={"indent": 1})
    response["Content-Disposition"] = f'attachment; filename="receipt-{check.code}.json"'
    return response


def _allowances(
    request: SignedInRequest, release: Release, form: AllowanceForm, *, status: int = 200
) -> HttpResponse:
    context = screens.frame(request.user, release, card="allowances") | {
        "page": validation_page.page_of(request.user, release),
        "form": form,
        "oversees": True,
        "may_allow": True,
    }
    return render(request, "runs/allowances.html", context, status=status)


def _begun(usable: list[AllowanceUse]) -> dict[str, str | bool]:
    """What the form begins with: no figure, because each of them costs precision, and what the first
    allowance can pay."""
    begun: dict[str, str | bool] = {"every_column": False, "pairs": False, "delta": "0"}
    use = usable[0]
    if not use.left.epsilon:
        # Under zCDP a loss is typed as ε and δ, and priced as ρ.
        return begun | {"epsilon": "0.05", "delta": "1e-9"}
    return begun | {"epsilon": decimal_text("epsilon", use.left.epsilon)}


def _price(request: SignedInRequest, form: CheckForm, release: Release) -> CheckPrice | None:
    """The price beside what an allowance has left; errors go to the form, which keeps what was typed."""
    asked: CheckRequest = form.cleaned_data["request"]
    try:
        asks = validations.Validation(release=release, request=asked, analyst=request.user)
        proposal = asks.propose()
        use = validations.require_covering(request.user, release, proposal.price)
    except (InputError, PrivacyError, Refused) as error:
        form_fault(form, error)
        return None
    plan = proposal.plan
    return CheckPrice(
        bars=tuple(_bars(use, proposal.price)),
        sentence=plan.sentence,
        precision=plan.precision(),
        figures=tuple(paid.asked_in_words(figure, plan.domain) for figure in asked.figures),
        distances=len(plan.distances),
        digest=plan.digest,
    )


def _bars(use: AllowanceUse, price: Amount) -> list[Bar]:
    """The allowance before and after: what other people spend of the budget is not in it."""
    return [
        Bar(
            unit=unit,
            cap=getattr(use.granted, unit),
            held=0,
            charged=getattr(use.used, unit),
            planned=getattr(price, unit),
        )
        for unit in use.counted
        if getattr(use.granted, unit)
    ]


def _submit(request: SignedInRequest, form: CheckForm, release: Release) -> SynthesisRun | None:
    """The run; or nothing and the reason in the form."""
    asked: CheckRequest = form.cleaned_data["request"]
    try:
        return validations.submit(
            analyst=request.user,
            release=release,
            request=asked,
            request_key=request_key(form.cleaned_data["request_key"], release, asked),
        )
    except (InputError, PrivacyError, Refused) as error:
        form_fault(form, error)
        return None
