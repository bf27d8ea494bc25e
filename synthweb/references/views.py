"""Pages of public reference tables: the list, one table, bringing one, using one for a column."""

from __future__ import annotations

from http import HTTPStatus
from typing import Any, cast

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.core.paginator import Paginator
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext
from django.utils.translation import gettext as _
from django.views.decorators.csrf import csrf_exempt, csrf_protect
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from synth_engine.errors import InputError
from synthweb.accounts.http import SignedInRequest
from synthweb.accounts.models import User
from synthweb.accounts.permissions import Need
from synthweb.accounts.selectors import can, require
from synthweb.datasets.models import Dataset
from synthweb.datasets.selectors import dataset_for
from synthweb.lib import codes
from synthweb.lib.bodies import takes_table
from synthweb.lib.errors import Refused
from synthweb.references import applying, receiving, screens, selectors, services
from synthweb.references.forms import FileForm, NewForm, UseForm
from synthweb.references.models import ReferenceTable

PAGE = 25


@require_safe
@login_required
def index(request: SignedInRequest) -> HttpResponse:
    """Every reference table of the organisation."""
    page = Paginator(selectors.references_of(request.user), PAGE).get_page(
        request.GET.get("page")
    )
    context = {
        "page": page,
        "rows": [screens.listed(table) for table in page],
        "brings": can(request.user, Need.UPLOAD),
        "crumbs": [*screens.crumbs()[:1], ("", gettext("Reference tables"))],
    }
    return render(request, "references/index.html", context)


@require_safe
@login_required
def detail(request: SignedInRequest, code: str) -> HttpResponse:
    """One version, the newest unless a number is asked for."""
    table = selectors.reference_for(request.user, code)
    text = request.GET.get("version", "")
    # A longer number is no version, and might not fit into an integer of the database.
    number = int(text) if text.isascii() and text.isdigit() and len(text) < 7 else None
    version = selectors.version_for(request.user, code, number)
    return render(
        request, "references/detail.html", screens.detail(request.user, table, version)
    )


@takes_table
# Exempt on the outside only: the check reads the form, so it has to run inside, once the
# handler for larger files is in place. `_receive` is protected.
@csrf_exempt
@require_http_methods(["GET", "HEAD", "POST"])
@login_required
def new(request: SignedInRequest) -> HttpResponse:
    """Bring a reference table."""
    require(request.user, Need.UPLOAD)
    receiving.receive(request)
    return _receive(request, None)


@takes_table
@csrf_exempt
@require_http_methods(["GET", "HEAD", "POST"])
@login_required
def add_version(request: SignedInRequest, code: str) -> HttpResponse:
    """Bring another file of one."""
    table = selectors.reference_for(request.user, code)
    require(request.user, Need.UPLOAD)
    receiving.receive(request)
    return _receive(request, table)


@csrf_protect
def _receive(request: SignedInRequest, table: ReferenceTable | None) -> HttpResponse:
    kind = NewForm if table is None else FileForm
    form = kind(request.POST, request.FILES) if request.method == "POST" else kind()
    if form.is_bound and form.is_valid():
        try:
            made = _bring(request.user, table, form)
        except (InputError, Refused) as error:
            text = str(error)
            form.add_error(
                None,
                _("%(text)s. Nothing was kept.") % {"text": f"{text[0].upper()}{text[1:]}"},
            )
        else:
            messages.success(
                request,
                _("“%(name)s” can be used for any dataset of your organisation.")
                % {"name": made.name},
            )
            return redirect("references:detail", made.code)
    here = ("", "New") if table is None else ("", f"New version of {table.name}")
    context = {"form": form, "table": table, "crumbs": screens.crumbs(here)}
    status = HTTPStatus.UNPROCESSABLE_ENTITY if form.is_bound else HTTPStatus.OK
    return render(request, "references/bring.html", context, status=status)


def _bring(me: User, table: ReferenceTable | None, form: FileForm) -> ReferenceTable:
    if table is not None:
        return services.add_version(actor=me, reference=table, file=form.brought).reference
    data = form.cleaned_data
    return services.add(
        actor=me, name=data["name"], published=data["published"], file=form.brought
    )


@require_POST
@login_required
def delete(request: SignedInRequest, code: str) -> HttpResponse:
    """Forget a reference table; descriptions keep their copies."""
    table = selectors.reference_for(request.user, code)
    require(request.user, Need.UPLOAD)
    services.delete(actor=request.user, reference=table)
    messages.success(
        request,
        _("“%(name)s” is deleted; descriptions keep what they took from it.")
        % {"name": table.name},
    )
    return redirect("references:index")


@require_http_methods(["GET", "HEAD", "POST"])
@login_required
def use(request: SignedInRequest, dataset_code: str) -> HttpResponse:
    """Choose a reference table for a column of a draft, see what fits, and take it."""
    dataset = dataset_for(request.user, dataset_code, Need.DESCRIBE)
    if request.method != "POST":
        context = screens.using(request.user, dataset, cast(Any, request.GET))
        return render(request, "references/use.html", context)
    try:
        summary = _take(request, dataset)
    except (InputError, Refused) as error:
        context = screens.using(request.user, dataset, cast(Any, request.POST), error=error)
        return render(
            request, "references/use.html", context, status=HTTPStatus.UNPROCESSABLE_ENTITY
        )
    messages.success(
        request,
        _("Copied into the draft: %(summary)s. Nothing is confirmed yet.")
        % {"summary": summary},
    )
    if applying.totals_want_another_relation(dataset):
        messages.warning(
            request,
            _(
                "Public totals are the same in neighbouring tables only if one record is replaced: choose "
                "“Replace one” and one record a person on the describe page, under “Whom the releases "
                "protect”, before you confirm."
            ),
        )
    return redirect("references:use", dataset.code)


def _take(request: SignedInRequest, dataset: Dataset) -> str:
    me = request.user
    code = codes.of_text(request.POST.get("reference", ""))
    if not selectors.references_of(me).filter(code=code).exists():
        raise Refused(
            "no reference table is chosen", repair="choose one of the list", field="reference"
        )
    version = selectors.version_for(me, code)
    form = UseForm(request.POST, partitions=tuple(version.partitions))
    if not form.is_valid():
        raise Refused(
            "the choice is not sound", repair="choose again", field=next(iter(form.errors))
        )
    data = form.cleaned_data
    if data["column"] in applying.places_of(dataset):
        number = applying.use_for_place(
            actor=me,
            dataset=dataset,
            version=version,
            place=data["column"],
            weights=data["weights"],
        )
        return f"{number:,} points of the place {data['column']}"
    summary = applying.use(
        actor=me,
        dataset=dataset,
        version=version,
        selection=applying.Selection(
            column=data["column"],
            level=data["level"],
            partitions=data["partitions"],
            weights=data["weights"],
            floor=data["floor"] or 0.0,
            totals=data["totals"],
        ),
    )
    return f"{', '.join(summary)} of {data['column']}"


@require_POST
@login_required
def forget(request: SignedInRequest, dataset_code: str) -> HttpResponse:
    """Take points and partitions of a column off a draft."""
    dataset = dataset_for(request.user, dataset_code, Need.DESCRIBE)
    applying.forget(
        actor=request.user, dataset=dataset, column=request.POST.get("column", "")[:200]
    )
    messages.success(request, _("Taken off the draft."))
    return redirect("references:use", dataset.code)
