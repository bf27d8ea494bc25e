"""Until when tables, noisy answers and releases are kept: set for a dataset, and listed for everybody who may
see it."""

from __future__ import annotations

from http import HTTPStatus

from django import forms
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _
from django.views.decorators.http import require_GET, require_http_methods

from synthweb.accounts.http import SignedInRequest
from synthweb.accounts.permissions import Need
from synthweb.datasets import selectors
from synthweb.datasets import services as datasets
from synthweb.lib.errors import Refused
from synthweb.lib.saved_meanwhile import MergedForm
from synthweb.pages import table_pages
from synthweb.runs import retention

COSTS = {
    retention.TABLE: _(
        "No new release and no comparison with the real table can be made. Spent budget stays spent."
    ),
    retention.ANSWERS: _(
        "Several plausible tables, counts from noisy answers and a new fit cannot be made any more. "
        "Measuring them again costs budget."
    ),
    retention.RELEASES: _(
        "Nobody draws or downloads rows any more, shares and public links end. Receipts stay, and budget "
        "is not given back."
    ),
}
"""What each deletion costs."""


class DayInput(forms.DateInput):
    """A calendar of the browser."""

    input_type = "date"

    def __init__(self) -> None:
        # The only form that the browser's field takes.
        super().__init__(format="%Y-%m-%d")


class RetentionForm(MergedForm):
    """The last days; empty: no end."""

    table_until = forms.DateField(
        required=False,
        label=_("The table is kept until"),
        help_text=COSTS[retention.TABLE],
        widget=DayInput(),
    )
    answers_until = forms.DateField(
        required=False,
        label=_("Noisy answers of its runs are kept until"),
        help_text=COSTS[retention.ANSWERS],
        widget=DayInput(),
    )
    releases_until = forms.DateField(
        required=False,
        label=_("Its releases are kept until"),
        help_text=COSTS[retention.RELEASES],
        widget=DayInput(),
    )


@login_required
@require_GET
def index(request: SignedInRequest) -> HttpResponse:
    """The page of tables to delete, by day."""
    leaving = retention.upcoming(selectors.datasets_of(request.user, deleted=True))
    context = {
        "rows": [(one, COSTS[one.what]) for one in leaving],
        "crumbs": [("", gettext("Retention"))],
    }
    return render(request, "pages/retention_list.html", context)


@require_http_methods(["GET", "HEAD", "POST"])
@login_required
def dataset(request: SignedInRequest, code: str) -> HttpResponse:
    """Set the last days of one dataset."""
    chosen = selectors.dataset_for(request.user, code, Need.SHARE)
    stored = {name: getattr(chosen, name) for name in RetentionForm.base_fields}
    form = RetentionForm(request.POST if request.method == "POST" else None, stored=stored)
    if form.is_bound and form.is_valid():
        days = form.cleaned_data
        try:
            datasets.set_retention(
                actor=request.user,
                dataset=chosen,
                table=days["table_until"],
                answers=days["answers_until"],
                releases=days["releases_until"],
            )
        except Refused as refused:
            form.add_error(refused.field or None, f"{refused}.")
        else:
            messages.success(request, gettext("The days are saved."))
            return redirect("pages:retention")
    context = {
        "dataset": chosen,
        "form": form,
        "crumbs": table_pages.crumbs(chosen, gettext("Retention")),
    }
    status = HTTPStatus.UNPROCESSABLE_ENTITY if form.is_bound else HTTPStatus.OK
    return render(request, "pages/retention.html", context, status=status)
