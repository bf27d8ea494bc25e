"""The page that has undeclared columns learned once, for all later releases of a dataset: columns and a loss,
then the price, then the run."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from typing import Any

from django import forms
from django.contrib.auth.decorators import login_required
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _
from django.views.decorators.http import require_http_methods

from synth_engine.errors import InputError, PrivacyError
from synthweb.accounts import reauthentication
from synthweb.accounts.http import SignedInRequest
from synthweb.accounts.permissions import Need
from synthweb.datasets import selectors as datasets
from synthweb.datasets.domain_cache import domain_of
from synthweb.datasets.models import Dataset
from synthweb.ledger import selectors as ledger
from synthweb.lib.errors import Refused
from synthweb.runs import errors, planning, screens, services
from synthweb.runs.database_forms import DatabaseReleaseForm
from synthweb.runs.estimate import bars_of, takes_large_share
from synthweb.runs.models import SynthesisRun
from synthweb.runs.purchases import LearnProposal, LearnRequest

Refusal = (InputError, PrivacyError, Refused)


class LearnForm(DatabaseReleaseForm):
    """Which undeclared columns are learned, and for how much; all of them to begin with."""

    columns = forms.MultipleChoiceField(
        label=_("Columns to learn"), widget=forms.CheckboxSelectMultiple
    )

    def __init__(
        self, data: Mapping[str, Any] | None, *, undeclared: Sequence[str], **suggested: str
    ) -> None:
        super().__init__(data, **suggested)
        del self.fields["name"]
        columns = self.fields["columns"]
        columns.initial = list(undeclared)
        if isinstance(columns, forms.MultipleChoiceField):
            columns.choices = [(name, name) for name in undeclared]

    def request(self, dataset: Dataset) -> LearnRequest:
        """What is asked for, once it is valid."""
        asked = self.cleaned_data
        return LearnRequest(
            dataset=dataset,
            columns=asked["columns"],
            epsilon=asked["epsilon"],
            delta=asked["delta"],
        )


@login_required
@require_http_methods(["GET", "POST"])
def learn(request: SignedInRequest, code: str) -> HttpResponse:
    """Columns and a loss; then the price; spent by the second button alone."""
    dataset = datasets.dataset_for(request.user, code, Need.SPEND)
    context: dict[str, Any] = screens.frame(
        dataset,
        (reverse("datasets:describe", args=[code]), gettext("Describe")),
        ("", gettext("Learn privately")),
    )
    try:
        version, account = planning.basis(dataset)
    except errors.NotReady as missing:
        return render(request, "runs/not_ready.html", context | {"missing": missing})
    undeclared = [attribute.name for attribute in domain_of(version).undeclared]
    if not undeclared:
        return render(request, "runs/learn.html", context | {"version": version})
    posted = request.POST if request.method == "POST" else None
    suggested = screens.suggested_check(ledger.balance(account))
    form = LearnForm(posted, undeclared=undeclared, **suggested)
    proposal = _proposal(form, dataset) if form.is_valid() else None
    bars = () if proposal is None else bars_of(proposal)
    # Confirmed is the digest of a plan: what changed after the price was shown is priced again.
    if proposal is not None and form.cleaned_data["confirmed"] == proposal.plan.digest:
        if takes_large_share(bars) and (question := reauthentication.ask(request)):
            return question
        if run := _submit(request, form, dataset):
            return redirect("runs:run", run.code)
    context |= {
        "form": form,
        "proposal": proposal,
        "bars": bars,
        "lacking": [bar.lacks for bar in bars if bar.lacks],
    }
    return render(request, "runs/learn.html", context, status=422 if form.errors else 200)


def _proposal(form: LearnForm, dataset: Dataset) -> LearnProposal | None:
    """The plan and its price; errors go to the form, which keeps what was typed."""
    try:
        return form.request(dataset).propose()
    except Refusal as error:
        form.add_error(None, _words(error))
        return None


def _submit(request: SignedInRequest, form: LearnForm, dataset: Dataset) -> SynthesisRun | None:
    """The run; or nothing and the reason in the form."""
    asked = form.cleaned_data
    key = f"{asked['request_key']} {dataset.code} {asked['confirmed']}"
    try:
        return services.submit(
            form.request(dataset),
            steward=request.user,
            request_key=hashlib.sha256(key.encode()).hexdigest(),
        )
    except Refusal as error:
        form.add_error(None, _words(error))
        return None


def _words(error: InputError | PrivacyError | Refused) -> str:
    return error.text if isinstance(error, InputError) else str(error)
