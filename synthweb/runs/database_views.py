"""Pages of databases for their stewards: how the tables are connected, the check of their keys, and a release
of all of them."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import Any

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpResponse, QueryDict
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.utils.translation import gettext
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_POST

from synth_engine.errors import InputError, PrivacyError
from synthweb.accounts import reauthentication
from synthweb.accounts.http import SignedInRequest
from synthweb.accounts.permissions import Need
from synthweb.datasets import selectors as datasets
from synthweb.datasets.models import Dataset, Preview
from synthweb.datasets.services import databases as describing
from synthweb.ledger import selectors as ledger
from synthweb.lib.errors import Refused
from synthweb.lib.previews import limited
from synthweb.runs import databases, errors, planning, release_plan, screens, services
from synthweb.runs.database_forms import (
    ConstraintsForm,
    DatabaseDocumentForm,
    DatabaseReleaseForm,
    KeysForm,
    LookupForm,
    bounds_text,
)
from synthweb.runs.databases import DatabaseProposal, DatabaseRequest
from synthweb.runs.estimate import Bar, bars_of, takes_large_share
from synthweb.runs.models import SynthesisRun

Refusal = (InputError, PrivacyError, Refused)


# --- how the tables are connected ---------------------------------------------------------------------------
@login_required
@require_http_methods(["GET", "POST"])
@never_cache
@limited
def tables(request: SignedInRequest, code: str) -> HttpResponse:
    """The tables of the database below a dataset: keys, maxima, order, constraints; and whether the keys
    hold."""
    root = _root_for(request, code)
    if root.code != code:
        return redirect("runs:tables", root.code)
    if request.method == "GET":
        return _shown(request, root)
    if not datasets.database_tables(root):
        return redirect("runs:tables", code)
    posted = request.POST
    forms, bounds = _connecting_forms(root, posted)
    problem = ""
    if all([*(form.is_valid() for form in forms), bounds.is_valid()]):
        try:
            describing.keep_keys(
                actor=request.user,
                root=root,
                facts={form.row.dataset.code: form.facts for form in forms},
                constraints=bounds.cleaned_data["bounds"],
            )
            if "confirm" in posted:
                _confirm(request, root)
            return redirect("runs:tables", code)
        except Refusal as error:
            problem = _words(error)
    return _shown(request, root, typed=(forms, bounds), problem=problem, status=422)


def _connecting_forms(
    root: Dataset, posted: QueryDict | None = None
) -> tuple[list[KeysForm], ConstraintsForm]:
    rows = datasets.database_tables(root)
    names = [row.facts.get("name", "") for row in rows]
    stored = bounds_text(rows[0].constraints) if rows else ""
    forms = [KeysForm(posted, row=row, names=names) for row in rows]
    return forms, ConstraintsForm(posted, initial={"bounds": stored})


def _shown(
    request: SignedInRequest,
    root: Dataset,
    *,
    typed: tuple[list[KeysForm], ConstraintsForm] | None = None,
    lookup: LookupForm | None = None,
    problem: str = "",
    status: int = 200,
) -> HttpResponse:
    """The page of all tables. typed, lookup: forms that were refused, with what was typed."""
    forms, bounds = typed or _connecting_forms(root)
    rows = datasets.database_tables(root)
    context = _page(request, root) | {
        "forms": forms,
        "bounds": bounds,
        "problem": problem,
        "document": DatabaseDocumentForm(),
        "lookups": rows[0].lookups if rows else [],
        "lookup": lookup or LookupForm(),
    }
    return render(request, "runs/tables.html", context, status=status)


def _confirm(request: SignedInRequest, root: Dataset) -> None:
    version = describing.confirm(actor=request.user, root=root)
    services.request_keys_check(root=root, actor=request.user)
    messages.success(
        request,
        _("Version %(number)s of the database is in force. A worker checks its keys now.")
        % {"number": version.number},
    )


@login_required
@require_POST
def bring(request: SignedInRequest, code: str) -> HttpResponse:
    """Take the description of the whole database from a file, columns of all tables included."""
    root = datasets.dataset_for(request.user, code, Need.DESCRIBE)
    form = DatabaseDocumentForm(request.POST, request.FILES)
    if not form.is_valid():
        for each in form.errors.values():
            messages.error(request, " ".join(map(str, each)))
        return redirect("runs:tables", code)
    try:
        version = describing.bring_document(actor=request.user, root=root, **form.cleaned_data)
        services.request_keys_check(root=root, actor=request.user)
        messages.success(
            request,
            _("Version %(number)s of the database is in force. A worker checks its keys now.")
            % {"number": version.number},
        )
    except Refusal as error:
        messages.error(
            request,
            _("This description cannot be used; nothing was changed. %(text)s.")
            % {"text": _words(error)},
        )
    return redirect("runs:tables", code)


@login_required
@require_POST
def check_keys(request: SignedInRequest, code: str) -> HttpResponse:
    """Have the keys checked again, after a corrected file."""
    root = datasets.dataset_for(request.user, code, Need.DESCRIBE)
    try:
        services.request_keys_check(root=root, actor=request.user)
    except Refused as error:
        messages.error(request, str(error))
    return redirect("runs:tables", code)


@login_required
@require_POST
def remove_table(request: SignedInRequest, code: str, table: str) -> HttpResponse:
    """Take a table out of the database; its dataset stays."""
    root = datasets.dataset_for(request.user, code, Need.DESCRIBE)
    dataset = get_object_or_404(Dataset, code=table, database_table__root=root)
    try:
        describing.remove_table(actor=request.user, root=root, dataset=dataset)
    except Refused as error:
        messages.error(request, str(error))
    return redirect("runs:tables", code)


@login_required
@require_POST
def add_lookup(request: SignedInRequest, code: str) -> HttpResponse:
    """Put a public look-up table beside the tables."""
    root = datasets.dataset_for(request.user, code, Need.DESCRIBE)
    form = LookupForm(request.POST, request.FILES)
    if form.is_valid():
        try:
            describing.add_lookup(actor=request.user, root=root, lookup=form.lookup)
            messages.success(
                request,
                _("The look-up table is on this page. It takes effect once you confirm."),
            )
            return redirect("runs:tables", code)
        except Refused as error:
            form.add_error(None, str(error))
    # What was typed stays; the file has to be chosen again.
    return _shown(request, root, lookup=form, status=422)


@login_required
@require_POST
def remove_lookup(request: SignedInRequest, code: str, number: int) -> HttpResponse:
    """Take a look-up table out of the database."""
    root = datasets.dataset_for(request.user, code, Need.DESCRIBE)
    try:
        describing.remove_lookup(actor=request.user, root=root, number=number)
    except Refused as error:
        messages.error(request, str(error))
    return redirect("runs:tables", code)


def _root_for(request: SignedInRequest, code: str) -> Dataset:
    """The root of the database that a dataset is in; itself where it is in none."""
    dataset = datasets.dataset_for(request.user, code, Need.DESCRIBE)
    return datasets.root_above(dataset) or dataset


def _page(request: SignedInRequest, root: Dataset) -> dict[str, Any]:
    """What the page says around the forms: the version in force, the check of the keys, and what it
    counted."""
    context = screens.frame(root, ("", gettext("Tables"))) | {
        "version": datasets.newest_database(root),
        "check": None,
        "faults": None,
    }
    if context["version"] is None:
        return context
    try:
        check = databases.latest_check(root)
    except errors.NotReady as missing:
        return context | {"missing": missing}
    context["check"] = check
    if check is not None and not check.is_open:
        # Opening it is in the audit log: it is counted from real rows.
        counted = datasets.preview_for(request.user, root, Preview.Kind.KEYS)
        context["faults"] = (counted or {}).get("tables")
    return context


def _words(error: InputError | PrivacyError | Refused) -> str:
    return error.text if isinstance(error, InputError) else str(error)


# --- a release of all tables --------------------------------------------------------------------------------
@dataclass(frozen=True, kw_only=True)
class DatabasePrice:
    """What a release of a database would cost and measure, before anything is spent."""

    bars: tuple[Bar, ...]
    sentence: str
    views: list[dict[str, Any]]
    digest: str

    @classmethod
    def of(cls, proposal: DatabaseProposal) -> DatabasePrice:
        outline: dict[str, Any] = proposal.plan.outline()
        return cls(
            bars=bars_of(proposal),
            sentence=outline["guarantee"],
            views=outline["views"],
            digest=proposal.plan.digest,
        )

    @property
    def price(self) -> Bar:
        """The currency that the button names."""
        return self.bars[0]

    @property
    def lacking(self) -> bool:
        """Whether the budget has too little of one."""
        return any(bar.lacks for bar in self.bars)


@login_required
@require_http_methods(["GET", "POST"])
@limited
def new(request: SignedInRequest, code: str) -> HttpResponse:
    """The loss of a release of all tables; then its price and what it measures; spent by the second button
    alone."""
    root = datasets.dataset_for(request.user, code, Need.SPEND)
    context: dict[str, Any] = screens.frame(
        root,
        (reverse("runs:tables", args=[code]), gettext("Tables")),
        ("", gettext("New release")),
    )
    try:
        _version, account = planning.basis(root)
        databases.require_version(root)
    except errors.NotReady as missing:
        return render(request, "runs/not_ready.html", context | {"missing": missing})
    posted = request.POST if request.method == "POST" else None
    form = DatabaseReleaseForm(
        posted, **screens.suggested_loss(ledger.balance(account), release_plan.plan_of(account))
    )
    price = _price(form, root) if form.is_valid() else None
    is_confirmed = price is not None and form.cleaned_data["confirmed"] == price.digest
    if price is not None and is_confirmed:
        if takes_large_share(price.bars) and (question := reauthentication.ask(request)):
            return question
        if run := _submit(request, form, root):
            return redirect("runs:run", run.code)
    context |= {"form": form, "price": price}
    status = 422 if form.errors else 200
    return render(request, "runs/new_database.html", context, status=status)


def _price(form: DatabaseReleaseForm, root: Dataset) -> DatabasePrice | None:
    """The price of what is typed; errors go to the form, which keeps it."""
    asked = form.cleaned_data
    try:
        return DatabasePrice.of(
            DatabaseRequest(
                dataset=root, epsilon=asked["epsilon"], delta=asked["delta"]
            ).propose()
        )
    except Refusal as error:
        form.add_error(None, _words(error))
        return None


def _submit(
    request: SignedInRequest, form: DatabaseReleaseForm, root: Dataset
) -> SynthesisRun | None:
    """The run; or nothing and the reason in the form."""
    asked = form.cleaned_data
    key = f"{asked['request_key']} {root.code} {asked['confirmed']} {asked['name']}"
    try:
        return services.submit(
            DatabaseRequest(dataset=root, epsilon=asked["epsilon"], delta=asked["delta"]),
            steward=request.user,
            name=asked["name"],
            request_key=hashlib.sha256(key.encode()).hexdigest(),
        )
    except Refusal as error:
        form.add_error(None, _words(error))
        return None
