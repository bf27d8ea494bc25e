"""What a steward does with a dataset after its upload: name it, replace its file, say its form, delete it."""

from __future__ import annotations

import json
from http import HTTPStatus
from typing import Any

from django.conf import settings as configured
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.db import transaction
from django.http import HttpResponse
from django.shortcuts import redirect, render, resolve_url
from django.urls import reverse
from django.utils.translation import gettext
from django.utils.translation import gettext as _
from django.views.decorators.csrf import csrf_exempt, csrf_protect
from django.views.decorators.http import require_http_methods, require_POST
from django_htmx.http import HttpResponseClientRedirect

from synth_engine.errors import TableError
from synth_engine.formats import Dialect
from synthweb.accounts.http import SignedInRequest
from synthweb.accounts.permissions import Need
from synthweb.datasets import sealed_names, selectors, uploads
from synthweb.datasets import services as datasets
from synthweb.datasets.hints import FORM_FACTS
from synthweb.datasets.models import Dataset
from synthweb.datasets.table_forms import DeleteForm, DialectForm, NameForm, TableFileForm
from synthweb.lib.bodies import takes_table
from synthweb.lib.errors import Conflict, Gone, InUse, sentence
from synthweb.pages import table_pages
from synthweb.runs import services as runs


@require_http_methods(["GET", "HEAD", "POST"])
@login_required
def settings(request: SignedInRequest, code: str) -> HttpResponse:
    """Name, description, file and its form; POST renames."""
    dataset = selectors.dataset_for(request.user, code, Need.DESCRIBE)
    if request.method != "POST":
        return render(request, "datasets/settings.html", table_pages.settings(dataset))
    form = NameForm(request.POST, stored=table_pages.names_of(dataset))
    if not form.is_valid():
        return _wrong(request, dataset, name_form=form)
    datasets.rename(actor=request.user, dataset=dataset, **form.cleaned_data)
    messages.success(request, _("Name and description are saved."))
    return redirect("pages:settings", dataset.code)


@require_POST
@login_required
def form(request: SignedInRequest, code: str) -> HttpResponse:
    """Say how the CSV is written, and have it read again."""
    dataset = selectors.dataset_for(request.user, code, Need.DESCRIBE)
    dialect_form = DialectForm.of(dataset, data=request.POST)
    if not dialect_form.is_valid():
        return _wrong(request, dataset, dialect_form=dialect_form)
    try:
        # Together: a dataset whose form has changed waits for a worker, and must have its job.
        with transaction.atomic():
            changed = datasets.set_dialect(
                actor=request.user, dataset=dataset, dialect=dialect_form.dialect
            )
            runs.request_ingest(dataset=changed, actor=request.user)
    except Conflict as conflict:
        dialect_form.add_error(None, f"{conflict}.")
        return _wrong(request, dataset, dialect_form=dialect_form, status=HTTPStatus.CONFLICT)
    return redirect("pages:upload-status", dataset.code)


@require_POST
@login_required
def answer(request: SignedInRequest, code: str) -> HttpResponse:
    """Answer one question about how the file is written, and have it read again."""
    dataset = selectors.dataset_for(request.user, code, Need.DESCRIBE)
    try:
        dialect = _answered(dataset, request.POST.get("form", ""))
        with transaction.atomic():
            changed = datasets.set_dialect(actor=request.user, dataset=dataset, dialect=dialect)
            runs.request_ingest(dataset=changed, actor=request.user)
    except (TableError, Conflict) as refused:
        messages.error(
            request, _("The file was not read again: %(refused)s.") % {"refused": refused}
        )
        return redirect("datasets:describe", dataset.code)
    return redirect("pages:upload-status", dataset.code)


def _answered(dataset: Dataset, text: str) -> Dialect:
    """The form of the file with one answer. Raises TableError for anything else."""
    try:
        facts = json.loads(text)
    except (ValueError, RecursionError):
        facts = None
    if not isinstance(facts, dict) or not facts or not set(facts) <= set(FORM_FACTS):
        raise TableError(
            "this is no answer about the form of the file",
            repair="choose one of the answers on the page",
        )
    before = sealed_names.form_of(dataset) or Dialect()
    return Dialect.from_json({**before.to_json(), **facts, "said": True})


@takes_table
# Exempt on the outside only: the check reads the form, so it has to run inside, once the
# encrypting handler is in place. `_replace` is protected.
@csrf_exempt
@require_http_methods(["GET", "HEAD", "POST"])
@login_required
def replace(request: SignedInRequest, code: str) -> HttpResponse:
    """Upload a corrected file: a version of the same dataset, under the same budget."""
    dataset = selectors.dataset_for(request.user, code, Need.DESCRIBE)
    with uploads.receiving(request):
        return _replace(request, dataset)


@csrf_protect
def _replace(request: SignedInRequest, dataset: Dataset) -> HttpResponse:
    form = (
        TableFileForm(request.POST, request.FILES)
        if request.method == "POST"
        else TableFileForm()
    )
    if form.is_bound and form.is_valid() and _replaced(request, dataset, form):
        if _in_place(request):
            return HttpResponseClientRedirect(resolve_url("pages:upload-status", dataset.code))
        return redirect("pages:upload-status", dataset.code)
    context = table_pages.replacing(dataset) | {
        "form": form,
        "max_bytes": configured.UPLOAD_MAX_BYTES,
        "address": reverse("pages:replace", args=[dataset.code]),
        "press": gettext("Replace the file"),
    }
    if _in_place(request):
        # Status 200 also for a form with errors: htmx swaps in no response with an error
        # status.
        return render(request, "datasets/_upload_form.html", context)
    status = HTTPStatus.UNPROCESSABLE_ENTITY if form.is_bound else HTTPStatus.OK
    return render(request, "datasets/replace.html", context, status=status)


def _replaced(request: SignedInRequest, dataset: Dataset, form: TableFileForm) -> bool:
    """Whether the file was taken; if not, the form says why."""
    try:
        if uploads.stored_before(request.user, form.cleaned_data) is not None:
            return True
        with (
            uploads.arrived(request.user, form.cleaned_data) as table,
            transaction.atomic(),
        ):
            changed = datasets.replace_file(
                actor=request.user, dataset=dataset, upload=table.intake
            )
            runs.request_ingest(dataset=changed, actor=request.user)
            table.mark_stored(changed)
    except (TableError, Gone) as error:
        form.forget_upload()
        form.add_error(uploads.FIELD, sentence(error))
    except (Conflict, InUse) as conflict:
        form.add_error(None, sentence(conflict))
    return not form.errors


@require_POST
@login_required
def back(request: SignedInRequest, code: str) -> HttpResponse:
    """Give up a file that could not be read, and return to the one before it."""
    dataset = selectors.dataset_for(request.user, code, Need.DESCRIBE)
    try:
        restored = datasets.go_back(actor=request.user, dataset=dataset)
        messages.success(
            request,
            _("Version %(table_number)s of the table is in force again.")
            % {"table_number": restored.table_number},
        )
    except Conflict as conflict:
        messages.error(
            request,
            sentence(conflict),
        )
    return redirect("pages:settings", dataset.code)


@require_POST
@login_required
def erase_earlier(request: SignedInRequest, code: str) -> HttpResponse:
    """Erase earlier files that are kept for comparisons with releases."""
    dataset = selectors.dataset_for(request.user, code, Need.DESCRIBE)
    try:
        datasets.erase_earlier(actor=request.user, dataset=dataset)
        messages.success(request, _("The earlier files of the table were erased."))
    except Conflict as conflict:
        messages.error(request, sentence(conflict))
    return redirect("pages:settings", dataset.code)


@require_http_methods(["GET", "HEAD", "POST"])
@login_required
def delete(request: SignedInRequest, code: str) -> HttpResponse:
    """Say what goes and what stays; delete when the name is typed."""
    dataset = selectors.dataset_for(request.user, code, Need.DESCRIBE)
    form = DeleteForm(request.POST if request.method == "POST" else None, dataset=dataset)
    if form.is_bound and form.is_valid():
        try:
            datasets.delete(actor=request.user, dataset=dataset)
        except Conflict as conflict:
            form.add_error(None, sentence(conflict))
        else:
            messages.success(
                request,
                _("%(name)s is deleted: its table and everything made of it is erased.")
                % {"name": dataset.name},
            )
            return redirect("datasets:index")
    status = HTTPStatus.UNPROCESSABLE_ENTITY if form.is_bound else HTTPStatus.OK
    return render(
        request,
        "datasets/delete.html",
        table_pages.deleting(dataset) | {"form": form},
        status=status,
    )


def _wrong(
    request: SignedInRequest,
    dataset: Dataset,
    *,
    status: HTTPStatus = HTTPStatus.UNPROCESSABLE_ENTITY,
    **forms: Any,
) -> HttpResponse:
    """The same page with what was typed and what is wrong with it."""
    return render(
        request, "datasets/settings.html", table_pages.settings(dataset) | forms, status=status
    )


def _in_place(request: SignedInRequest) -> bool:
    return bool(getattr(request, "htmx", False))
