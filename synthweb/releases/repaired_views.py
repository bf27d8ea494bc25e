"""Pages of repaired tables: synthetic rows of a release that meet public totals. The first line of each
fetches and authorises."""

from __future__ import annotations

from collections.abc import Iterable
from http import HTTPStatus
from typing import Any

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpResponse, HttpResponseBase, StreamingHttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.cache import cache_control, never_cache
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from synth_engine.errors import InputError
from synthweb.accounts.http import SignedInRequest
from synthweb.accounts.permissions import Need
from synthweb.lib.errors import Refused
from synthweb.releases import repaired, screens, selectors, table_writers
from synthweb.releases.downloads import attached, busy_page, csv_format, file_name, json_file
from synthweb.releases.models import RepairedTable
from synthweb.releases.repaired import Form
from synthweb.releases.repaired_forms import RepairForm
from synthweb.releases.slots import TooManyDrawings

MEDIA: dict[Form, str] = {
    "csv": "text/csv; charset=utf-8",
    "parquet": "application/vnd.apache.parquet",
}
USUAL_ROWS = 10_000


@login_required
@require_http_methods(["GET", "POST"])
@never_cache
def index(request: SignedInRequest, code: str) -> HttpResponse:
    """The repaired tables of a release; a steward makes another one."""
    posted = request.method == "POST"
    release = selectors.release_for(request.user, code, Need.SHARE if posted else Need.SAMPLE)
    rows = min(release.sample_rows or USUAL_ROWS, USUAL_ROWS)
    begun = {
        "rows": rows,
        "way": RepairedTable.Way.WEIGHTS,
        "totals": repaired.lines_of(release, request.GET.get("by", "")),
    }
    form = RepairForm(
        request.POST if posted else None, request.FILES if posted else None, initial=begun
    )
    if posted and form.is_valid():
        try:
            table = repaired.make(
                user=request.user, release=release, order=form.order, request=request
            )
            return redirect("releases:repaired-table", code, table.code)
        except TooManyDrawings as busy:
            return busy_page(request, busy)
        except InputError as error:
            form.add_error("totals", error.text)
        except Refused as error:
            form.add_error(None, str(error))
    context: dict[str, Any] = screens.frame(request.user, release, card="repaired") | {
        "form": form,
        "columns": repaired.columns_with_values(release),
        "by": request.GET.get("by", ""),
        "repaired_tables": repaired.repaired_of(release),
    }
    status = HTTPStatus.UNPROCESSABLE_ENTITY if form.errors else HTTPStatus.OK
    return render(request, "releases/cards/repaired.html", context, status=status)


@login_required
@require_GET
@never_cache
def table(request: SignedInRequest, code: str, repaired_code: str) -> HttpResponse:
    """One repaired table: whether it meets each of its totals, its receipt and its files."""
    release = selectors.release_for(request.user, code, Need.SAMPLE)
    shown = repaired.repaired_for(release, repaired_code)
    context = screens.frame(request.user, release, card="repaired", leaf=shown.name)
    return render(request, "releases/cards/repaired_table.html", context | {"repaired": shown})


@login_required
@require_GET
@cache_control(private=True, no_store=True)
def csv(request: SignedInRequest, code: str, repaired_code: str) -> HttpResponseBase:
    return answer_csv(
        _readable(request, code, repaired_code),
        for_spreadsheets=csv_format(request.GET) == "spreadsheets",
    )


@login_required
@require_GET
@cache_control(private=True, no_store=True)
def parquet(request: SignedInRequest, code: str, repaired_code: str) -> HttpResponseBase:
    return answer_parquet(_readable(request, code, repaired_code))


def _readable(request: SignedInRequest, code: str, repaired_code: str) -> RepairedTable:
    release = selectors.release_for(request.user, code, Need.SAMPLE)
    return repaired.repaired_for(release, repaired_code)


def answer_csv(repaired_table: RepairedTable, *, for_spreadsheets: bool) -> HttpResponseBase:
    """A repaired table as CSV; the caller authorised."""
    pieces: Iterable[bytes] | Iterable[str] = repaired.file_of(repaired_table, "csv")
    if for_spreadsheets:
        pieces = table_writers.for_spreadsheets(repaired.lines_of_csv(repaired_table))
    return _answer(repaired_table, pieces, form="csv")


def answer_parquet(repaired_table: RepairedTable) -> HttpResponseBase:
    """A repaired table as Parquet; the caller authorised."""
    return _answer(repaired_table, repaired.file_of(repaired_table, "parquet"), form="parquet")


def _answer(
    repaired_table: RepairedTable, pieces: Iterable[bytes] | Iterable[str], *, form: Form
) -> HttpResponseBase:
    response = StreamingHttpResponse(pieces, content_type=MEDIA[form])
    name = file_name(
        repaired_table.release, what=f"REPAIRED-{repaired_table.code}", ending=form
    )
    return attached(response, name)


@login_required
@require_GET
@cache_control(private=True, no_store=True)
def receipt(request: SignedInRequest, code: str, repaired_code: str) -> HttpResponseBase:
    """The receipt, which names that of the release."""
    release = selectors.release_for(request.user, code, Need.SAMPLE)
    shown = repaired.repaired_for(release, repaired_code)
    name = file_name(release, what=f"REPAIRED-{shown.code}-receipt", ending="json")
    return json_file(shown.receipt, name)


@login_required
@require_POST
def delete(request: SignedInRequest, code: str, repaired_code: str) -> HttpResponse:
    """Remove a repaired table with its files."""
    release = selectors.release_for(request.user, code, Need.SHARE)
    repaired.delete(user=request.user, table=repaired.repaired_for(release, repaired_code))
    messages.success(request, _("The repaired table is deleted."))
    return redirect("releases:repaired", code)
