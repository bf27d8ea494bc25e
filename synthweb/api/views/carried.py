"""What a program carries away of a release: the report, metadata, the bundle and the noisy tables, as the tab
Download has them."""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Callable, Mapping
from typing import Any

from django.http import HttpResponse, HttpResponseBase, StreamingHttpResponse
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.viewsets import GenericViewSet

from synth_engine.evaluation import noisy_tables
from synthweb.accounts.permissions import Need
from synthweb.api.authentication import caller
from synthweb.api.renderers import ParquetRenderer, ZipRenderer
from synthweb.api.schema import refuses
from synthweb.api.views.marginals import GATHERED_LATER, counts_in_progress
from synthweb.api.views.release_jobs import come_back, derived_later
from synthweb.api.views.releases import IN_PROGRESS, ranges_in_progress
from synthweb.lib.errors import Conflict
from synthweb.releases import bundle, marginals, metadata, plausible, report, selectors, tables
from synthweb.releases.downloads import attached, file_name
from synthweb.releases.models import Release
from synthweb.releases.report import ReleaseReport
from synthweb.runs import selectors as run_selectors
from synthweb.runs import services as run_services
from synthweb.runs.models import ImplicatesJob

MADE_LATER = derived_later("A worker makes the tables, once a release.")


class CarriedViewSet(GenericViewSet[Release]):
    """Files of a release, from released documents alone. Each address has the one renderer of its kind."""

    queryset = Release.objects.none()
    lookup_field = "code"
    # Counted by `throttling` apart from other requests: each file is made on the way out.
    makes_files = True

    @extend_schema(
        operation_id="releases_report_html",
        responses={(200, "text/html"): OpenApiTypes.STR, 202: IN_PROGRESS},
        tags=["releases"],
    )
    @refuses(409)
    def report_html(self, request: Request, code: str) -> HttpResponseBase:
        """The report as one HTML file that opens without a network: purpose, guarantee, method, quality,
        limits, receipt and citation. `Repr-Digest` has its SHA-256. 202 before a worker has drawn the first
        rows."""
        return self._of_report(
            request,
            code,
            lambda facts: report.html(facts).encode(),
            kind="text/html; charset=utf-8",
            name="report.html",
        )

    @extend_schema(
        operation_id="releases_report_json",
        responses={200: OpenApiTypes.OBJECT, 202: IN_PROGRESS},
        tags=["releases"],
    )
    @refuses(409)
    def report_json(self, request: Request, code: str) -> HttpResponseBase:
        """The facts of the report for programs. `Repr-Digest` has the SHA-256 of the answer. 202 before a
        worker has drawn the first rows."""
        return self._of_report(
            request,
            code,
            lambda facts: _json(facts.to_json()),
            kind="application/json",
            name="report.json",
        )

    @extend_schema(
        operation_id="releases_datacite",
        responses={200: OpenApiTypes.OBJECT, 202: IN_PROGRESS},
        tags=["releases"],
    )
    @refuses(409)
    def datacite(self, request: Request, code: str) -> HttpResponseBase:
        """The fields of DataCite 4.5 that a DOI is registered with. Croissant metadata are in the bundle,
        with the digest of its table. `Repr-Digest` has the SHA-256 of the answer. 202 before a worker has
        drawn the first rows."""
        return self._of_report(
            request,
            code,
            lambda facts: _json(metadata.datacite(facts)),
            kind="application/json",
            name="datacite.json",
        )

    @extend_schema(
        operation_id="releases_bundle",
        responses={(200, ZipRenderer.media_type): OpenApiTypes.BINARY, 202: IN_PROGRESS},
        tags=["releases"],
    )
    @refuses(409)
    def bundle_zip(self, request: Request, code: str) -> HttpResponseBase:
        """One archive of a table drawn with a public seed, its receipt, model, report, dictionary and
        metadata, with the SHA-256 of each file: `python verify_receipt.py bundle.zip` checks it as a whole.
        202 before a worker has drawn the first rows."""
        release = selectors.release_for(caller(request), code, Need.SAMPLE)
        facts = report.of(release)
        if facts is None:
            return ranges_in_progress(request, release)
        name = file_name(release, what="bundle", ending="zip")
        pieces = bundle.Bundle(
            release, facts, user=caller(request), archive=name, request=request._request
        )
        return attached(
            StreamingHttpResponse(pieces, content_type=ZipRenderer.media_type), name
        )

    @extend_schema(
        operation_id="releases_implicates",
        responses={(200, ZipRenderer.media_type): OpenApiTypes.BINARY, 202: MADE_LATER},
        tags=["releases"],
    )
    @refuses(409)
    def implicates_zip(self, request: Request, code: str) -> HttpResponseBase:
        """Several plausible tables, each of another truth that could have given the noisy answers, as CSV and
        Parquet in one archive. `Repr-Digest` has its SHA-256. 202 before a worker has made them; 409 where it
        cannot."""
        release = selectors.release_for(caller(request), code, Need.SAMPLE)
        content = plausible.archive_of(release)
        if content is None:
            return _implicates_in_progress(request, release)
        response = HttpResponse(content, content_type=ZipRenderer.media_type)
        response["Repr-Digest"] = repr_digest(content)
        return attached(response, file_name(release, what="plausible-tables", ending="zip"))

    @extend_schema(
        operation_id="releases_noisy_csv",
        responses={(200, "text/csv"): OpenApiTypes.STR, 202: GATHERED_LATER},
        tags=["releases"],
    )
    @refuses(409)
    def noisy_csv(self, request: Request, code: str) -> HttpResponseBase:
        """The tables that were counted with noise as CSV, a row for each cell, with σ, the standard deviation
        of its noise. 202 before a worker has gathered them."""
        release = selectors.release_for(caller(request), code, Need.SAMPLE)
        try:
            published = marginals.published_of(release)
        except marginals.NotGathered:
            return counts_in_progress(request, release)
        response = StreamingHttpResponse(
            tables.noisy_lines(published), content_type="text/csv; charset=utf-8"
        )
        return attached(response, file_name(release, what="noisy-tables", ending="csv"))

    @extend_schema(
        operation_id="releases_noisy_parquet",
        responses={
            (200, ParquetRenderer.media_type): OpenApiTypes.BINARY,
            202: GATHERED_LATER,
        },
        tags=["releases"],
    )
    @refuses(409)
    def noisy_parquet(self, request: Request, code: str) -> HttpResponseBase:
        """The same tables as Parquet."""
        release = selectors.release_for(caller(request), code, Need.SAMPLE)
        try:
            published = marginals.published_of(release)
        except marginals.NotGathered:
            return counts_in_progress(request, release)
        response = StreamingHttpResponse(
            noisy_tables.parquet_pieces(published.tables, published.domain),
            content_type=ParquetRenderer.media_type,
        )
        return attached(response, file_name(release, what="noisy-tables", ending="parquet"))

    def _of_report(
        self,
        request: Request,
        code: str,
        content_of: Callable[[ReleaseReport], bytes],
        *,
        kind: str,
        name: str,
    ) -> HttpResponseBase:
        """A file that follows from the facts of the report, with its digest; 202 before there are any."""
        release = selectors.release_for(caller(request), code, Need.SAMPLE)
        facts = report.of(release)
        if facts is None:
            return ranges_in_progress(request, release)
        content = content_of(facts)
        response = HttpResponse(content, content_type=kind)
        response["Repr-Digest"] = repr_digest(content)
        what, _, ending = name.partition(".")
        return attached(response, file_name(release, what=what, ending=ending))


def _implicates_in_progress(request: Request, release: Release) -> Response:
    """202: a worker is asked to make plausible tables; 409 if it cannot."""
    job = run_selectors.latest_of_release(ImplicatesJob, release)
    if job is not None and job.state == ImplicatesJob.State.FAILED:
        raise Conflict(
            str((job.failure or {}).get("text") or "The plausible tables could not be made"),
            repair="ask for them again on the tab Download of the release",
        )
    return come_back(request, run_services.request_implicates(release=release))


def repr_digest(content: bytes) -> str:
    """The SHA-256 of a body as the header Repr-Digest states it (RFC 9530)."""
    return f"sha-256=:{base64.b64encode(hashlib.sha256(content).digest()).decode()}:"


def _json(document: Mapping[str, Any]) -> bytes:
    return json.dumps(document, indent=2, ensure_ascii=False).encode()
