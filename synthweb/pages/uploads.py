"""Uploading a table and following it until the worker has read it."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from http import HTTPStatus

from django.conf import settings
from django.contrib.auth.decorators import login_required
from django.db import transaction
from django.http import HttpResponse
from django.shortcuts import redirect, render, resolve_url
from django.urls import reverse
from django.utils.translation import gettext, gettext_noop
from django.views.decorators.csrf import csrf_exempt, csrf_protect
from django.views.decorators.http import require_http_methods, require_POST, require_safe
from django_htmx.http import HTMX_STOP_POLLING, HttpResponseClientRedirect

from synth_engine.errors import TableError
from synthweb.accounts.http import SignedInRequest
from synthweb.accounts.models import User
from synthweb.accounts.permissions import Need
from synthweb.accounts.selectors import organisation_of, require
from synthweb.datasets import grid, selectors, uploads
from synthweb.datasets import services as datasets
from synthweb.datasets.models import Dataset, Preview
from synthweb.datasets.services import resuming
from synthweb.datasets.table_forms import UploadForm
from synthweb.lib.bodies import takes_table
from synthweb.lib.errors import Conflict, Gone, InUse, sentence
from synthweb.pages import table_pages
from synthweb.runs import services as runs
from synthweb.runs.models import TableJob
from synthweb.runs.selectors import latest_job


@dataclass(frozen=True, kw_only=True)
class UploadStage:
    """One line of the stage list."""

    name: str
    state: str
    fraction: float = 0.0
    note: str = ""


STAGES = (
    ("wait", gettext_noop("Wait for a worker")),
    ("open", gettext_noop("Open the table, inside the worker")),
    ("read", gettext_noop("Read every row")),
    ("suggest", gettext_noop("Suggest a description")),
)


@takes_table
# Exempt on the outside only: the check reads the form, so it has to run inside, once the
# encrypting handler is in place. `_receive` is protected.
@csrf_exempt
@require_http_methods(["GET", "HEAD", "POST"])
@login_required
def new(request: SignedInRequest) -> HttpResponse:
    """Upload a table: encrypted while it comes in, then read by a worker."""
    require(request.user, Need.UPLOAD)
    with uploads.receiving(request):
        return _receive(request)


@csrf_protect
def _receive(request: SignedInRequest) -> HttpResponse:
    here, unfinished = _begun(request.user)
    form = (
        UploadForm(request.POST, request.FILES)
        if request.method == "POST"
        # All of it came in, and the page was left before it was stored: the form has it already.
        else UploadForm(initial={"upload": here})
    )
    root = _root(request)
    dataset = (
        _store(request, form, root=root)
        if request.method == "POST" and form.is_valid()
        else None
    )
    if dataset is None:
        status = HTTPStatus.UNPROCESSABLE_ENTITY if form.is_bound else HTTPStatus.OK
        template = (
            "datasets/_upload_form.html" if _in_place(request) else "datasets/upload.html"
        )
        return render(
            request,
            template,
            _page(form, root) | {"unfinished": unfinished},
            status=HTTPStatus.OK if _in_place(request) else status,
        )
    if _in_place(request):
        return HttpResponseClientRedirect(resolve_url("pages:upload-status", dataset.code))
    return redirect("pages:upload-status", dataset.code)


def _root(request: SignedInRequest) -> Dataset | None:
    """The dataset below which the table is to be a table of a database, as the address says."""
    code = request.GET.get("below", "")
    return selectors.dataset_for(request.user, code, Need.DESCRIBE) if code else None


def _store(
    request: SignedInRequest, form: UploadForm, *, root: Dataset | None
) -> Dataset | None:
    """The dataset, about to be read; None if the table was not taken, and the form says why."""
    try:
        if before := uploads.stored_before(request.user, form.cleaned_data):
            return before
        # Together: a dataset without its job would wait for a worker for ever.
        with (
            uploads.arrived(request.user, form.cleaned_data) as table,
            transaction.atomic(),
        ):
            dataset = datasets.store_upload(
                steward=request.user,
                organisation=organisation_of(request.user),
                name=form.cleaned_data["name"],
                description=form.cleaned_data["description"],
                upload=table.intake,
            )
            runs.request_ingest(dataset=dataset, actor=request.user)
            if root is not None:
                datasets.databases.add_table(actor=request.user, root=root, dataset=dataset)
            table.mark_stored(dataset)
            return dataset
    except (TableError, Gone) as error:
        form.forget_upload()
        form.add_error(uploads.FIELD, sentence(error))
    except (Conflict, InUse) as error:
        form.add_error(None, str(error))
    return None


@dataclass(frozen=True, kw_only=True)
class Unfinished:
    """An upload that may go on: how many bytes are here, of how many."""

    code: str
    begun_at: datetime
    here: int
    length: int
    expires_at: datetime


def _begun(user: User) -> tuple[str, list[Unfinished]]:
    """The code of the newest upload that is here as a whole, or nothing; and what this person may continue,
    the newest first."""
    begun = [
        Unfinished(
            code=upload.code,
            begun_at=upload.created_at,
            here=resuming.offset_of(upload),
            length=upload.length,
            expires_at=upload.expires_at,
        )
        for upload in selectors.uploads_of(user)
    ]
    whole = [upload.code for upload in begun if upload.here == upload.length]
    return next(iter(whole), ""), [upload for upload in begun if upload.here < upload.length]


def _page(form: UploadForm, root: Dataset | None) -> dict[str, object]:
    address = reverse("pages:upload")
    return {
        "form": form,
        "root": root,
        "max_bytes": settings.UPLOAD_MAX_BYTES,
        "address": address if root is None else f"{address}?below={root.code}",
        "press": gettext("Upload and encrypt"),
    }


@require_safe
@login_required
def status(request: SignedInRequest, code: str) -> HttpResponse:
    """How far the worker is with an upload; asks again by itself until the table is ready or refused."""
    dataset = selectors.dataset_for(request.user, code)
    job = latest_job(kind=TableJob.Kind.INGEST, dataset=dataset)
    busy = dataset.status == Dataset.Status.UPLOADED or (
        job is not None and job.state == job.State.WAITING
    )
    context = {
        "dataset": dataset,
        "busy": busy,
        "stages": _stages(job, busy=busy),
        "describes": selectors.may(request.user, dataset, Need.DESCRIBE),
        "refusal": selectors.refusal_for(request.user, dataset),
        "missing": selectors.missing_columns(dataset),
        "twins": selectors.same_content(dataset),
        **table_pages.form(
            # Opening it is logged: not while the page asks again every few seconds.
            dataset,
            None if busy else selectors.form_evidence(request.user, dataset),
        ),
    }
    if not _in_place(request):
        if not busy:
            context |= _first_lines(request.user, dataset)
        return render(request, "datasets/status.html", context)
    response = render(
        request,
        "datasets/_status.html",
        context,
        status=HTTPStatus.OK if busy else HTMX_STOP_POLLING,
    )
    if not busy:
        # The whole page has the first rows, below the red bar that belongs to them.
        response["HX-Refresh"] = "true"
    return response


def _first_lines(user: User, dataset: Dataset) -> dict[str, object]:
    """The table as it was read, for whoever may see real data; opening it is in the audit log."""
    if dataset.status != Dataset.Status.READY or not selectors.may(user, dataset, Need.REAL):
        return {}
    payload = selectors.preview_for(user, dataset, Preview.Kind.TABLE)
    if payload is None:
        return {}
    return {
        "payload": payload,
        "first_rows": grid.first_rows(payload),
        "total": len(payload["columns"]),
        "unfolded": True,
    }


@require_POST
@login_required
def read_again(request: SignedInRequest, code: str) -> HttpResponse:
    """Have the worker read a table once more, because its preview has expired."""
    dataset = selectors.dataset_for(request.user, code, Need.DESCRIBE)
    runs.request_ingest(dataset=dataset, actor=request.user)
    return redirect("pages:upload-status", dataset.code)


def _stages(job: TableJob | None, *, busy: bool) -> list[UploadStage]:
    names = [name for name, _ in STAGES]
    at = names.index(job.stage) if job is not None and job.stage in names else 0
    listed = [UploadStage(name=gettext_noop("Encrypt and store"), state="done", fraction=1.0)]
    for place, (_, title) in enumerate(STAGES):
        if not busy or place < at:
            listed.append(UploadStage(name=title, state="done", fraction=1.0))
        elif place == at and job is not None and place > 0:
            listed.append(UploadStage(name=title, state="running", fraction=job.progress))
        else:
            listed.append(
                UploadStage(
                    name=title, state="waiting", note="in the queue" if place == at else ""
                )
            )
    return listed


def _in_place(request: SignedInRequest) -> bool:
    return bool(getattr(request, "htmx", False))
