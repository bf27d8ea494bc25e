"""What a reader carries away of a release: the page of its files, the report, metadata, the bundle, figures
of the receipt."""

from __future__ import annotations

from django.contrib.auth.decorators import login_required
from django.http import HttpResponse, HttpResponseBase, StreamingHttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.cache import cache_control
from django.views.decorators.http import require_GET

from synth_engine.evaluation import noisy_tables
from synthweb.accounts.http import SignedInRequest
from synthweb.accounts.permissions import Need
from synthweb.releases import (
    bundle,
    call_sums,
    look,
    marginals,
    metadata,
    plausible,
    report,
    screens,
    selectors,
    tables,
)
from synthweb.releases.downloads import attached, busy_page, file_name, json_file
from synthweb.releases.slots import TooManyDrawings


@login_required
@require_GET
def files(request: SignedInRequest, code: str) -> HttpResponse:
    """Everything that can be carried away, with a word on each; what the report needs is prepared
    meanwhile."""
    release = selectors.release_for(request.user, code, Need.SAMPLE)
    prepared = look.prepared(release)
    context = screens.frame(request.user, release, card="files") | {
        "has_report": prepared != "nothing",
        "lacks": "" if prepared == "all" else "rows" if prepared == "nothing" else "ranges",
        "seed": bundle.seed_of(release),
        "rows": release.sample_rows,
        "core": release.receipt["digest"],
        "archive": file_name(release, what="bundle", ending="zip"),
        "has_counts": marginals.is_ready(release),
        "has_plausible": plausible.is_ready(release),
        "plausible_number": plausible.NUMBER,
    }
    return render(request, "releases/cards/files.html", context)


@login_required
@require_GET
@cache_control(private=True, no_store=True)
def report_html(request: SignedInRequest, code: str) -> HttpResponseBase:
    """The report as one file that opens without a network."""
    release = selectors.release_for(request.user, code, Need.SAMPLE)
    facts = report.of(release)
    if facts is None:
        return redirect("releases:files", code)
    response = HttpResponse(report.html(facts), content_type="text/html; charset=utf-8")
    return attached(response, file_name(release, what="report", ending="html"))


@login_required
@require_GET
@cache_control(private=True, no_store=True)
def report_json(request: SignedInRequest, code: str) -> HttpResponseBase:
    """The facts of the report for programs."""
    release = selectors.release_for(request.user, code, Need.SAMPLE)
    facts = report.of(release)
    if facts is None:
        return redirect("releases:files", code)
    return json_file(facts.to_json(), file_name(release, what="report", ending="json"))


@login_required
@require_GET
@cache_control(private=True, no_store=True)
def datacite_json(request: SignedInRequest, code: str) -> HttpResponseBase:
    """The fields that a DOI is registered with."""
    release = selectors.release_for(request.user, code, Need.SAMPLE)
    facts = report.of(release)
    if facts is None:
        return redirect("releases:files", code)
    return json_file(
        metadata.datacite(facts), file_name(release, what="datacite", ending="json")
    )


@login_required
@require_GET
@cache_control(private=True, no_store=True)
def bundle_zip(request: SignedInRequest, code: str) -> HttpResponseBase:
    """Table, receipt, model, report and metadata as one archive that the verifier checks as a whole."""
    release = selectors.release_for(request.user, code, Need.SAMPLE)
    facts = report.of(release)
    if facts is None:
        return redirect("releases:files", code)
    name = file_name(release, what="bundle", ending="zip")
    try:
        pieces = bundle.Bundle(release, facts, user=request.user, archive=name, request=request)
    except TooManyDrawings as busy:
        return busy_page(request, busy)
    return attached(StreamingHttpResponse(pieces, content_type="application/zip"), name)


@login_required
@require_GET
@cache_control(private=True, no_store=True)
def implicates_zip(request: SignedInRequest, code: str) -> HttpResponseBase:
    """Several plausible tables as one archive; a worker makes them first."""
    release = selectors.release_for(request.user, code, Need.SAMPLE)
    content = plausible.archive_of(release)
    if content is None:
        return redirect("releases:files", code)
    response = HttpResponse(content, content_type="application/zip")
    return attached(response, file_name(release, what="plausible-tables", ending="zip"))


@login_required
@require_GET
def loss_csv(request: SignedInRequest, code: str) -> HttpResponseBase:
    """What the calls cost by kind, as a table."""
    release = selectors.release_for(request.user, code)
    rows = tables.stream_lines(call_sums.lines(call_sums.of_receipt(release.receipt)))
    response = StreamingHttpResponse(rows, content_type="text/csv; charset=utf-8")
    return attached(response, file_name(release, what="privacy-loss", ending="csv"))


@login_required
@require_GET
def loss_svg(request: SignedInRequest, code: str) -> HttpResponseBase:
    """What the calls cost by kind, as a figure."""
    release = selectors.release_for(request.user, code)
    response = HttpResponse(
        call_sums.bar(call_sums.of_receipt(release.receipt)), content_type="image/svg+xml"
    )
    return attached(response, file_name(release, what="privacy-loss", ending="svg"))


@login_required
@require_GET
@cache_control(private=True, no_store=True)
def noisy_csv(request: SignedInRequest, code: str) -> HttpResponseBase:
    """The noisy tables of a release with the standard deviation of their noise; a worker gathers them
    first."""
    release = selectors.release_for(request.user, code, Need.SAMPLE)
    try:
        published = marginals.published_of(release)
    except marginals.NotGathered:
        return redirect("runs:counts", code)
    response = StreamingHttpResponse(
        tables.noisy_lines(published), content_type="text/csv; charset=utf-8"
    )
    return attached(response, file_name(release, what="noisy-tables", ending="csv"))


@login_required
@require_GET
@cache_control(private=True, no_store=True)
def noisy_parquet(request: SignedInRequest, code: str) -> HttpResponseBase:
    """The same as Parquet."""
    release = selectors.release_for(request.user, code, Need.SAMPLE)
    try:
        published = marginals.published_of(release)
    except marginals.NotGathered:
        return redirect("runs:counts", code)
    pieces = noisy_tables.parquet_pieces(published.tables, published.domain)
    response = StreamingHttpResponse(pieces, content_type="application/vnd.apache.parquet")
    return attached(response, file_name(release, what="noisy-tables", ending="parquet"))
