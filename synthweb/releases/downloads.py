"""Files of releases and samples: made on the way out, never stored."""

from __future__ import annotations

import json
from collections.abc import Mapping
from http import HTTPStatus
from typing import Any

from django.contrib.auth.decorators import login_required
from django.http import (
    Http404,
    HttpResponse,
    HttpResponseBase,
    StreamingHttpResponse,
)
from django.shortcuts import render
from django.utils.text import slugify
from django.views.decorators.cache import cache_control
from django.views.decorators.http import require_GET

from synth_engine import codec
from synth_engine.errors import InputError
from synth_engine.verifier import standalone
from synthweb.accounts.http import SignedInRequest
from synthweb.accounts.permissions import Need
from synthweb.datasets import selectors as datasets
from synthweb.datasets.models import Preview
from synthweb.releases import (
    chain,
    groups,
    learned_domain,
    maps,
    paid,
    recreation,
    selectors,
    services,
    spool,
    tables,
    trees,
)
from synthweb.releases.models import Release, Sample
from synthweb.releases.slots import TooManyDrawings
from synthweb.releases.table_writers import FileFormat

_MEDIA: dict[FileFormat, tuple[str, str]] = {
    "parquet": ("application/vnd.apache.parquet", "parquet"),
    "xlsx": (codec.WORKBOOK_MEDIA_TYPE, "xlsx"),
}


def attached(response: HttpResponseBase, name: str) -> HttpResponseBase:
    """The response as a download of this name."""
    response["Content-Disposition"] = f'attachment; filename="{name}"'
    return response


def file_name(release: Release, *, what: str, ending: str) -> str:
    """A name of ASCII letters, digits and dashes whatever the release is called."""
    return name_of_file(slugify(release.name) or "release", what=what, ending=ending)


def name_of_file(name: str, *, what: str, ending: str) -> str:
    """The same of anything else that has a name."""
    return f"{slugify(name)[:60] or 'table'}-{what}.{ending}"


def csv_format(query: Mapping[str, str]) -> FileFormat:
    """The form of a CSV that an address asks for: `for=spreadsheets`, `as=declared`, else the clean one."""
    if query.get("as") == "declared":
        return "declared"
    return "spreadsheets" if query.get("for") == "spreadsheets" else "csv"


def _download(
    request: SignedInRequest,
    sample: Sample,
    format: FileFormat,
) -> HttpResponseBase:
    """A sample as a file, or the page that says that too many are being drawn."""
    try:
        pieces = spool.Download(sample, format=format, request=request)
    except InputError as error:
        raise Http404(error.rule) from None
    # Raised before the first byte goes out; afterwards there could be no page that says why.
    except TooManyDrawings as busy:
        return busy_page(request, busy)
    kind, ending = _MEDIA.get(format, (tables.csv_media_type(sample, format), "csv"))
    response = StreamingHttpResponse(pieces, content_type=kind)
    return attached(response, file_name(sample.release, what=sample.code, ending=ending))


def busy_page(request: SignedInRequest, busy: TooManyDrawings) -> HttpResponse:
    """The page that says that too many tables are being drawn, and when to come back."""
    page = render(
        request, "releases/busy.html", {"busy": busy}, status=HTTPStatus.TOO_MANY_REQUESTS
    )
    page["Retry-After"] = str(busy.wait)
    return page


@login_required
@require_GET
# A sample is made from its requester's own seed: no cache on the way, nor that of a shared
# browser, may hold it.
@cache_control(private=True, no_store=True)
def sample_csv(request: SignedInRequest, code: str, sample_code: str) -> HttpResponseBase:
    sample = selectors.sample_for(request.user, sample_code, release_code=code)
    return _download(request, sample, csv_format(request.GET))


@login_required
@require_GET
@cache_control(private=True, no_store=True)
def sample_parquet(request: SignedInRequest, code: str, sample_code: str) -> HttpResponseBase:
    sample = selectors.sample_for(request.user, sample_code, release_code=code)
    return _download(request, sample, "parquet")


@login_required
@require_GET
@cache_control(private=True, no_store=True)
def sample_xlsx(request: SignedInRequest, code: str, sample_code: str) -> HttpResponseBase:
    sample = selectors.sample_for(request.user, sample_code, release_code=code)
    return _download(request, sample, "xlsx")


@login_required
@require_GET
@cache_control(private=True, no_store=True)
def sample_receipt(request: SignedInRequest, code: str, sample_code: str) -> HttpResponseBase:
    sample = selectors.sample_for(request.user, sample_code, release_code=code)
    return json_file(
        chain.receipt_of_sample(sample),
        file_name(sample.release, what=f"{sample.code}-receipt", ending="json"),
    )


@login_required
@require_GET
@cache_control(private=True, no_store=True)
def check_receipt(request: SignedInRequest, code: str, check_code: str) -> HttpResponseBase:
    """The receipt of figures that were measured with budget."""
    release = selectors.release_for(request.user, code, Need.SAMPLE)
    check = paid.check_of(release, check_code)
    return json_file(
        paid.receipt_of(check),
        file_name(release, what=f"{check.code}-receipt", ending="json"),
    )


@login_required
@require_GET
@cache_control(private=True, no_store=True)
def tree_csv(request: SignedInRequest, code: str) -> HttpResponseBase:
    """One table of the page of a tree, whole: `what` says which, the rest is as on the page."""
    release = selectors.release_for(request.user, code, Need.SAMPLE)
    what = request.GET.get("what", "depths")
    lines = trees.lines(release, what, request.GET)
    if lines is None:
        raise Http404("the model of this release has no such table")
    response = StreamingHttpResponse(
        tables.stream_lines(lines), content_type="text/csv; charset=utf-8"
    )
    return attached(response, file_name(release, what=f"tree-{what}", ending="csv"))


@login_required
@require_GET
@cache_control(private=True, no_store=True)
def groups_csv(request: SignedInRequest, code: str) -> HttpResponseBase:
    """The published table of groups, whole."""
    release = selectors.release_for(request.user, code, Need.SAMPLE)
    lines = groups.lines(release)
    if lines is None:
        raise Http404("the method of this release publishes no groups")
    response = StreamingHttpResponse(
        tables.stream_lines(lines), content_type="text/csv; charset=utf-8"
    )
    return attached(response, file_name(release, what="groups", ending="csv"))


@login_required
@require_GET
@cache_control(private=True, no_store=True)
def map_csv(request: SignedInRequest, code: str, sheet: str) -> HttpResponseBase:
    """The whole table behind a figure of commutes, as chosen on the page."""
    release = selectors.release_for(request.user, code, Need.SAMPLE)
    return _sheet(maps.page(release, request.GET), sheet, release, what="map")


@login_required
@require_GET
@cache_control(private=True, no_store=True)
def compare_map_csv(request: SignedInRequest, code: str, sheet: str) -> HttpResponseBase:
    """The same beside the real table: not private; every download is audited."""
    release = selectors.release_for(request.user, code, Need.COMPARE)
    report = datasets.preview_for(
        request.user, release.dataset, Preview.Kind.REPORT, release.code
    )
    page = None if report is None else maps.comparison(release, report, request.GET)
    # The file leaves the application, so its name has to say what the page around it said.
    return _sheet(page, sheet, release, what="NOT-PRIVATE-map")


def _sheet(
    page: maps.MapsPage | None, sheet: str, release: Release, *, what: str
) -> HttpResponseBase:
    if page is None or sheet not in page.sheets:
        raise Http404("no such table, or it has expired")
    rows = tables.stream_lines(maps.lines(page.sheets[sheet]))
    response = StreamingHttpResponse(rows, content_type="text/csv; charset=utf-8")
    return attached(response, file_name(release, what=f"{what}-{sheet}", ending="csv"))


@login_required
@require_GET
@cache_control(private=True, no_store=True)
def compare_json(request: SignedInRequest, code: str) -> HttpResponseBase:
    """The steward's comparison as it was made: real data, not private; every download is audited."""
    release = selectors.release_for(request.user, code, Need.COMPARE)
    report = datasets.preview_for(
        request.user, release.dataset, Preview.Kind.REPORT, release.code
    )
    if report is None:
        raise Http404("no comparison, or it has expired")
    for entry in report.get("commutes", ()):
        entry.pop("cells", None)  # the real table itself, but for its names
    return json_file(report, file_name(release, what="NOT-PRIVATE-comparison", ending="json"))


@login_required
@require_GET
def receipt_json(request: SignedInRequest, code: str) -> HttpResponseBase:
    release = selectors.release_for(request.user, code, tables="any")
    return json_file(
        chain.receipt_of(release), file_name(release, what="receipt", ending="json")
    )


@login_required
@require_GET
def purchase_receipt(request: SignedInRequest, code: str, purchase: str) -> HttpResponseBase:
    """The receipt of an earlier run that learned columns of the release, by its digest."""
    release = selectors.release_for(request.user, code)
    return json_file(
        learned_domain.receipt_of_purchase(release, purchase),
        file_name(release, what=f"purchase-{purchase[:8]}", ending="json"),
    )


@login_required
@require_GET
@cache_control(private=True, no_store=True)
def marks_head(request: SignedInRequest, code: str) -> HttpResponseBase:
    """Where the chain of marks ends now, signed: to be compared with receipts."""
    release = selectors.release_for(request.user, code)
    head = chain.head_of(release)
    if head is None:
        raise Http404("this installation has no key to sign with")
    return json_file(head, file_name(release, what="marks-head", ending="json"))


@login_required
@require_GET
def verifier(_request: SignedInRequest) -> HttpResponseBase:
    """The program that recomputes receipts with nothing but Python."""
    return attached(
        HttpResponse(standalone.text(), content_type="text/x-python; charset=utf-8"),
        standalone.NAME,
    )


@login_required
@require_GET
def recreate(request: SignedInRequest, code: str) -> HttpResponseBase:
    """The program that draws the first rows again."""
    release = selectors.release_for(request.user, code, Need.SAMPLE)
    text = recreation.program(release, server=f"{request.scheme}://{request.get_host()}")
    return attached(
        HttpResponse(text, content_type="text/x-python; charset=utf-8"),
        recreation.file_name(release),
    )


@login_required
@require_GET
def description_json(request: SignedInRequest, code: str) -> HttpResponseBase:
    """The model of the release as a document for people."""
    release = selectors.release_for(request.user, code, Need.SAMPLE)
    try:
        document = services.description_of(release)
    except InputError as error:  # a model without columns that could be described one by one
        raise Http404(str(error)) from error
    return json_file(document, file_name(release, what="description", ending="json"))


@login_required
@require_GET
def edition_json(request: SignedInRequest, code: str, edition: str) -> HttpResponseBase:
    """One that somebody edited."""
    release = selectors.release_for(request.user, code, Need.SAMPLE)
    document = services.description_of(selectors.edition_for(release, edition))
    return json_file(document, file_name(release, what="EDITED-description", ending="json"))


@login_required
@require_GET
def dictionary_json(request: SignedInRequest, code: str) -> HttpResponseBase:
    release = selectors.release_for(request.user, code)
    return json_file(
        tables.data_dictionary(release), file_name(release, what="dictionary", ending="json")
    )


@login_required
@require_GET
def dictionary_csv(request: SignedInRequest, code: str) -> HttpResponseBase:
    release = selectors.release_for(request.user, code)
    response = HttpResponse(
        tables.dictionary_csv(release), content_type="text/csv; charset=utf-8"
    )
    return attached(response, file_name(release, what="dictionary", ending="csv"))


def json_file(document: Any, name: str) -> HttpResponseBase:
    """A document as a JSON file of this name."""
    text = json.dumps(document, indent=2, ensure_ascii=False)
    return attached(HttpResponse(text, content_type="application/json"), name)
