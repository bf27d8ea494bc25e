"""The page that asks for figures of a release to be measured with budget: choices, then price and precision,
then the run."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from typing import Any

from django.contrib.auth.decorators import login_required
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.translation import gettext
from django.views.decorators.http import require_http_methods

from synth_engine.errors import InputError, PrivacyError
from synth_engine.plans.release_check import Precision
from synth_engine.privacy.loss import plain
from synthweb.accounts import reauthentication
from synthweb.accounts.http import SignedInRequest
from synthweb.accounts.permissions import Need
from synthweb.ledger import selectors as ledger
from synthweb.ledger.amounts import Shortfall
from synthweb.lib.errors import Refused
from synthweb.releases import criteria_page, paid, screens, selectors
from synthweb.releases.model_cache import model_of
from synthweb.releases.models import Release
from synthweb.runs import checks, errors, planning, services
from synthweb.runs.check_form import CheckForm
from synthweb.runs.checks import CheckRequest
from synthweb.runs.criteria_fields import classifier_text
from synthweb.runs.estimate import Bar, bars_of, takes_large_share
from synthweb.runs.figure_fields import PER_CENT
from synthweb.runs.models import SynthesisRun
from synthweb.runs.screens import suggested_check


@dataclass(frozen=True, kw_only=True)
class CheckPrice:
    """What a check would cost and say, before anything is spent."""

    bars: tuple[Bar, ...]
    sentence: str
    precision: Precision
    figures: tuple[str, ...]
    distances: int
    digest: str

    @property
    def price(self) -> Bar:
        """The currency that the button names."""
        return self.bars[0]

    @property
    def lacking(self) -> tuple[Shortfall, ...]:
        """Every currency that runs out."""
        return tuple(bar.lacks for bar in self.bars if bar.lacks)


@login_required
@require_http_methods(["GET", "POST"])
def new(request: SignedInRequest, code: str) -> HttpResponse:
    """Figures to choose; then what they cost and how precise they will be; spent by the second button
    alone."""
    release = selectors.release_for(request.user, code, Need.SPEND)
    context = screens.frame(
        request.user, release, card="paid", leaf=gettext("Measure figures")
    ) | {"action": reverse("runs:check", args=[code])}
    try:
        _, account = planning.basis(release.dataset)
    except errors.NotReady as missing:
        return render(request, "runs/check.html", context | {"missing": missing})
    form = CheckForm(
        request.POST if request.method == "POST" else None,
        domain=model_of(release.code).domain,
        **suggested_check(ledger.balance(account)),
        **_begun(request, release),
    )
    price = _price(form, release) if form.is_bound and form.is_valid() else None
    # Confirmed is the digest of a plan: what changed after the price was shown is priced again.
    confirmed = price is not None and form.cleaned_data["confirmed"] == price.digest
    if price and not price.lacking and confirmed:
        if takes_large_share(price.bars) and (question := reauthentication.ask(request)):
            return question
        if run := _submit(request, form, release):
            return redirect("runs:run", run.code)
    return render(request, "runs/check.html", context | {"form": form, "price": price})


def _begun(request: SignedInRequest, release: Release) -> dict[str, Any]:
    """What the form begins with to measure the criteria of the release, if the address asks for them."""
    if request.GET.get("figures") != "criteria":
        return {}
    stated = [criterion.asked for criterion in criteria_page.criteria_of(release)]
    counts = next((asked for asked in stated if asked.kind == "counts"), None)
    of_counts = (
        {}
        if counts is None
        else {
            "counted": ", ".join(counts.columns),
            "least": str(counts.least),
            "within": plain(counts.within * PER_CENT),
        }
    )
    tables = [", ".join(asked.columns) for asked in stated if asked.kind == "distance"]
    return of_counts | {
        "every_column": False,
        "pairs": any(asked.kind == "mean-distance" for asked in stated),
        "groups": "\n".join(tables),
        "classifiers": "\n".join(
            classifier_text(asked, model_of(release.code).domain)
            for asked in stated
            if asked.kind == "auc"
        ),
        "ks": ", ".join(asked.columns[0] for asked in stated if asked.kind == "ks"),
    }


def _price(form: CheckForm, release: Release) -> CheckPrice | None:
    """The price of what is chosen; errors go to the form, which keeps what was typed."""
    asked: CheckRequest = form.cleaned_data["request"]
    try:
        proposal = checks.ReleaseCheck(release=release, request=asked).propose()
    except (InputError, PrivacyError, Refused) as error:
        form_fault(form, error)
        return None
    plan = proposal.plan
    return CheckPrice(
        bars=bars_of(proposal),
        sentence=plan.sentence,
        precision=plan.precision(),
        figures=tuple(paid.asked_in_words(figure, plan.domain) for figure in asked.figures),
        distances=len(plan.distances),
        digest=plan.digest,
    )


def _submit(request: SignedInRequest, form: CheckForm, release: Release) -> SynthesisRun | None:
    """The run; or nothing and the reason in the form."""
    asked: CheckRequest = form.cleaned_data["request"]
    try:
        return services.submit(
            checks.ReleaseCheck(release=release, request=asked),
            steward=request.user,
            request_key=request_key(form.cleaned_data["request_key"], release, asked),
        )
    except (InputError, PrivacyError, Refused) as error:
        form_fault(form, error)
        return None


def form_fault(form: CheckForm, error: InputError | PrivacyError | Refused) -> None:
    """Have the form say why what it asks for is refused."""
    form.add_error(None, error.text if isinstance(error, InputError) else str(error))


def request_key(key: str, release: Release, asked: CheckRequest) -> str:
    """Of this press of the button: the same form sent again is the same request."""
    figures = [figure.to_json() for figure in asked.figures]
    request = [key, release.code, figures, str(asked.epsilon), str(asked.delta)]
    canonical = json.dumps(request, sort_keys=True)
    return hashlib.sha256(canonical.encode()).hexdigest() if key else ""
