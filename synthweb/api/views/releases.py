"""Releases: what is shared with the caller or was made in their organisation, its receipt, samples and
grants."""

from __future__ import annotations

from http import HTTPStatus
from typing import Any

from django.db.models import F
from django.http import Http404, HttpResponse, StreamingHttpResponse
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, OpenApiResponse, extend_schema
from rest_framework.exceptions import ValidationError
from rest_framework.mixins import ListModelMixin
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView
from rest_framework.viewsets import GenericViewSet

from synth_engine.errors import InputError
from synth_engine.evaluation import expected as ranges
from synth_engine.evaluation import expected_quality
from synth_engine.row_selection import RowSelection
from synthweb.accounts.models import Role
from synthweb.accounts.permissions import Need
from synthweb.accounts.selectors import holders_of
from synthweb.api import filters
from synthweb.api.authentication import caller
from synthweb.api.filters import Filtered
from synthweb.api.idempotency import idempotent
from synthweb.api.renderers import ParquetRenderer, PythonRenderer, WorkbookRenderer
from synthweb.api.serializers.datasets import NameSerializer
from synthweb.api.serializers.releases import (
    ColumnSerializer,
    EditionSerializer,
    ExpectedColumnSerializer,
    ExpectedErrorsSerializer,
    FirstRowsSerializer,
    GrantSerializer,
    MarksSerializer,
    NewEditionSerializer,
    NewGrantSerializer,
    NewLicenceSerializer,
    NewSampleSerializer,
    NodeSerializer,
    OneReleaseSerializer,
    ReleaseSerializer,
    SampleSerializer,
    VerificationSerializer,
)
from synthweb.api.views.release_jobs import come_back, derived_later
from synthweb.lib.errors import Conflict, sentence
from synthweb.releases import (
    chain,
    expected,
    look,
    receipt_facts,
    recreation,
    selectors,
    services,
    spool,
    tables,
)
from synthweb.releases.licences import LicenceChoice
from synthweb.releases.models import Edition, Release, ReleaseGrant, Sample
from synthweb.releases.network import network_of
from synthweb.releases.screens import check
from synthweb.releases.table_writers import FileFormat
from synthweb.runs import selectors as run_selectors
from synthweb.runs import services as run_services
from synthweb.runs.models import RangesJob

FOR_SPREADSHEETS = OpenApiParameter(
    "for_spreadsheets",
    bool,
    description="true: an apostrophe before texts that a spreadsheet would run as a formula. Changes those "
    "values.",
)

AS_DECLARED = OpenApiParameter(
    "as_declared",
    bool,
    description="true: in the form that the description states for the file, with its encoding, delimiter, "
    "marks of numbers and dates as they came in. Not together with for_spreadsheets.",
)


IN_PROGRESS = derived_later("A worker computes them.")


class ReleaseViewSet(Filtered, ListModelMixin, GenericViewSet[Release]):
    """Releases, newest first: for an analyst those shared with them, else all of the organisation."""

    queryset = Release.objects.none()
    query = filters.ReleaseQuery
    serializer_class = ReleaseSerializer
    lookup_field = "code"
    write_scope = "share"

    def get_queryset(self) -> Any:
        releases = selectors.releases_for(caller(self.request)).select_related("domain_version")
        annotations = {
            "sentence": F("receipt__guarantee__sentence"),
            "relation": F("receipt__relation"),
        }
        # The receipts themselves stay in the database.
        releases = selectors.with_sharing(releases, caller(self.request))
        return releases.annotate(**annotations).order_by("-created_at", "-pk")

    @extend_schema(responses=OneReleaseSerializer)
    def retrieve(self, request: Request, code: str) -> Response:
        """One release with its guarantee, and what there is to say of its tree."""
        return self._one(selectors.release_for(caller(request), code, tables="any"))

    @extend_schema(responses=OpenApiTypes.OBJECT)
    def receipt(self, request: Request, code: str) -> Response:
        """The receipt: every mechanism call, the marks that were added later, and a signature over all of it;
        `python -m synth_engine verify` recomputes the guarantee from it."""
        return Response(
            chain.receipt_of(selectors.release_for(caller(request), code, tables="any"))
        )

    @extend_schema(responses=MarksSerializer)
    def marks(self, request: Request, code: str) -> Response:
        """The chain of marks beside the receipt, and its latest head, signed: `verify --head` compares a
        receipt with it."""
        release = selectors.release_for(caller(request), code)
        marks = {
            "core": receipt_facts.of(release)["digest"],
            "marks": chain.marks_of(release),
            "head": chain.head_of(release),
        }
        return Response(MarksSerializer(marks).data)

    @extend_schema(request=NameSerializer, responses=OneReleaseSerializer)
    def describe(self, request: Request, code: str) -> Response:
        """Give it the name and description that analysts read."""
        release = selectors.release_for(caller(request), code, Need.SHARE)
        wanted = NameSerializer(data=request.data)
        wanted.is_valid(raise_exception=True)
        words = {
            "name": release.name,
            "description": release.description,
            **wanted.validated_data,
        }
        return self._one(services.describe(actor=caller(request), release=release, **words))

    @extend_schema(request=NewLicenceSerializer, responses=OneReleaseSerializer)
    def license(self, request: Request, code: str) -> Response:
        """State under which licence the release may be passed on, or that none is stated. Its receipt stays
        as it is."""
        release = selectors.release_for(caller(request), code, Need.SHARE)
        wanted = NewLicenceSerializer(data=request.data)
        wanted.is_valid(raise_exception=True)
        given = wanted.validated_data
        given["licence"] = LicenceChoice(given["licence"])
        return self._one(
            services.license_release(actor=caller(request), release=release, **given)
        )

    def _one(self, release: Release) -> Response:
        return Response(
            OneReleaseSerializer(release, context=self.get_serializer_context()).data
        )

    @extend_schema(responses=NodeSerializer(many=True))
    def network(self, request: Request, code: str) -> Response:
        """Which columns each column is drawn from, in the order of drawing; 404 where the method has no
        network."""
        network = network_of(selectors.release_for(caller(request), code))
        if network is None:
            raise Http404
        return Response(NodeSerializer(network.lines, many=True).data)

    @extend_schema(responses={200: ExpectedColumnSerializer(many=True), 202: IN_PROGRESS})
    def expected(self, request: Request, code: str) -> Response:
        """Figures of each column of the real table, as the model has them, with the band that the noise
        leaves. From the model and the receipt alone: it costs no budget. 202 before a worker has computed
        them, which it does when the release is published: ask the same address again."""
        release = selectors.release_for(caller(request), code, Need.SAMPLE)
        columns = expected.columns_of(release)
        if columns is None:
            return ranges_in_progress(request, release)
        return Response(ExpectedColumnSerializer(ranges.to_json(columns), many=True).data)

    @extend_schema(responses={200: ExpectedErrorsSerializer, 202: IN_PROGRESS})
    def expected_errors(self, request: Request, code: str) -> Response:
        """How far the release is expected to be from the real table: how close each column is, and the mean
        distances of single columns and of pairs of columns with their bands. From the model and the receipt
        alone: it costs no budget."""
        release = selectors.release_for(caller(request), code, Need.SAMPLE)
        columns = expected.columns_of(release)
        if columns is None or expected.are_errors_pending(release):
            return ranges_in_progress(request, release)
        errors = expected.errors_of(release)
        document = {
            "single_columns": None if errors is None else errors.columns,
            "pairs": None if errors is None else errors.pairs,
            "relations": None if errors is None else errors.relations,
            "quality": look.quality_with_relations(release, columns),
            "columns": [
                {
                    "name": column.name,
                    "word": expected_quality.word_of(column),
                    "deviation": expected_quality.deviation_of(column),
                }
                for column in columns
            ],
        }
        return Response(ExpectedErrorsSerializer(document).data)

    @extend_schema(responses={200: FirstRowsSerializer, 202: IN_PROGRESS})
    def first_rows(self, request: Request, code: str) -> Response:
        """A hundred synthetic rows, and what the model holds of each column: the tab Look. Nothing is
        charged, and everybody gets the same rows. 202 before a worker has drawn them, which it does when the
        release is published."""
        release = selectors.release_for(caller(request), code, Need.SAMPLE)
        shown = look.look_of(release)
        if shown is None:
            return ranges_in_progress(request, release)
        document = {
            "seed": look.seed_of(release),
            "columns": shown.columns,
            "rows": [row.cells for row in shown.rows],
        }
        return Response(FirstRowsSerializer(document).data)

    @extend_schema(responses=OpenApiTypes.OBJECT)
    def model(self, request: Request, code: str) -> Response:
        """The model as the document that `python -m synth_engine sample` draws tables from, the same bytes as
        here for the same rows and seed."""
        return Response(selectors.release_for(caller(request), code, Need.SAMPLE).model)

    @extend_schema(responses={(200, PythonRenderer.media_type): OpenApiTypes.STR})
    def recreate(self, request: Request, code: str) -> HttpResponse:
        """A program that draws the first rows again on your own machine: it downloads receipt and model,
        verifies the receipt, and uses the public seed."""
        release = selectors.release_for(caller(request), code, Need.SAMPLE)
        text = recreation.program(release, server=f"{request.scheme}://{request.get_host()}")
        media_type = f"{PythonRenderer.media_type}; charset=utf-8"
        return HttpResponse(text, content_type=media_type)

    @extend_schema(responses=VerificationSerializer)
    def verification(self, request: Request, code: str) -> Response:
        """What our own copy of the verifier says to the receipt. Better ask one of your own."""
        return Response(
            VerificationSerializer(
                check(selectors.release_for(caller(request), code, tables="any"))
            ).data
        )


def ranges_in_progress(request: Request, release: Release) -> Response:
    """202: a worker is asked for the first rows, expected ranges and errors; 409 if it failed on them."""
    job = run_selectors.latest_of_release(RangesJob, release)
    if job is not None and job.state == RangesJob.State.FAILED:
        raise Conflict(
            "The first rows or the expected ranges and errors of this release could not be computed",
            repair="ask for them again under Look, or under Quality, Expected ranges, of the release",
        )
    return come_back(request, run_services.request_ranges(release=release))


class DictionaryView(APIView):
    """What the columns of every sample of a release mean."""

    @extend_schema(
        operation_id="releases_dictionary",
        responses=ColumnSerializer(many=True),
        tags=["releases"],
    )
    def get(self, request: Request, code: str) -> Response:
        """A line for each column, from the public description."""
        release = selectors.release_for(caller(request), code)
        return Response(ColumnSerializer(tables.data_dictionary(release), many=True).data)


class DescriptionView(APIView):
    """The model of a release as a document for people."""

    @extend_schema(
        operation_id="releases_description", responses=OpenApiTypes.OBJECT, tags=["releases"]
    )
    def get(self, request: Request, code: str) -> Response:
        """Every share beside its label; to be kept, read, edited, and sampled from with the command line."""
        return Response(
            services.description_of(selectors.release_for(caller(request), code, Need.SAMPLE))
        )


class EditionViewSet(ListModelMixin, GenericViewSet[Edition]):
    """Edited descriptions of a release, newest first: marked as edited wherever they are used."""

    queryset = Edition.objects.none()
    serializer_class = EditionSerializer
    write_scope = "share"

    def get_queryset(self) -> Any:
        return selectors.editions_of(
            selectors.release_for(caller(self.request), self.kwargs["code"], Need.SAMPLE)
        )

    @extend_schema(request=NewEditionSerializer, responses={201: EditionSerializer})
    @idempotent
    def create(self, request: Request, code: str) -> Response:
        """Keep an edited description; it is checked, and what is wrong is said with column, rule and repair
        (422)."""
        release = selectors.release_for(caller(request), code, Need.SHARE)
        wanted = NewEditionSerializer(data=request.data)
        wanted.is_valid(raise_exception=True)
        edition = services.keep_edition(
            actor=caller(request), release=release, **wanted.validated_data
        )
        return Response(self.get_serializer(edition).data, status=HTTPStatus.CREATED)

    @extend_schema(responses=OpenApiTypes.OBJECT)
    def retrieve(self, request: Request, code: str, edition: str) -> Response:
        """One of them as a document."""
        release = selectors.release_for(caller(request), code, Need.SAMPLE)
        return Response(services.description_of(selectors.edition_for(release, edition)))


class SampleViewSet(Filtered, ListModelMixin, GenericViewSet[Sample]):
    """Tables drawn from a release: free, as many and as large as you like. Everybody sees their own."""

    queryset = Sample.objects.none()
    query = filters.SampleQuery
    serializer_class = SampleSerializer
    lookup_field = "code"
    # Drawing spends nothing and shows nothing that reading the release does not.
    write_scope = "read"

    def get_queryset(self) -> Any:
        release = selectors.release_for(caller(self.request), self.kwargs["code"], Need.SAMPLE)
        return selectors.samples_of(caller(self.request), release).select_related(
            "release", "requested_by"
        )

    @extend_schema(request=NewSampleSerializer, responses={201: SampleSerializer})
    @idempotent
    def create(self, request: Request, code: str) -> Response:
        """Draw a table of so many rows. The same release, rows and seed give the same bytes for ever; so does
        asking again without a seed. `selection`: which rows; 422 says which column
        and rule are wrong, or about how many such records the model has where they are too few."""
        release = selectors.release_for(caller(request), code, Need.SAMPLE)
        wanted = NewSampleSerializer(data=request.data)
        wanted.is_valid(raise_exception=True)
        code = wanted.validated_data.pop("edition", None)
        edition = selectors.edition_for(release, code) if code else None
        given = {
            "user": caller(request),
            "release": release,
            "edition": edition,
        } | wanted.validated_data
        if (document := given.pop("selection", None)) is None:
            sample = services.draw_sample(**given)
        else:
            sample = services.draw_selected(selection=RowSelection.from_json(document), **given)
        body = self.get_serializer(sample).data
        return Response(body, status=HTTPStatus.CREATED, headers={"Location": str(body["url"])})

    @extend_schema(responses=SampleSerializer)
    def retrieve(self, request: Request, code: str) -> Response:
        """One of your samples: rows, seed, and where to download it."""
        return Response(self.get_serializer(_sample(request, code)).data)

    @extend_schema(responses=OpenApiTypes.OBJECT)
    def receipt(self, request: Request, code: str) -> Response:
        """The receipt of this very table: that of its release with the rows and the commitment to the
        seed."""
        return Response(chain.receipt_of_sample(_sample(request, code)))


class TableViewSet(GenericViewSet[Sample]):
    """A sample as a file, generated at every download and streamed. Each address has the one renderer of its
    kind."""

    queryset = Sample.objects.none()
    lookup_field = "code"
    # Counted by `throttling` apart from other requests, because drawing takes a processor.
    makes_files = True

    @extend_schema(
        responses={(200, "text/csv"): OpenApiTypes.STR},
        parameters=[FOR_SPREADSHEETS, AS_DECLARED],
    )
    def csv(self, request: Request, code: str) -> StreamingHttpResponse:
        """The table as CSV (UTF-8, header line, RFC 4180 quoting), or in the declared form of its file."""
        sample = _sample(request, code)
        safe, declared = is_true(request, "for_spreadsheets"), is_true(request, "as_declared")
        if safe and declared:
            raise ValidationError({"as_declared": "A file has one form; ask for one of both."})
        form: FileFormat = "spreadsheets" if safe else "declared" if declared else "csv"
        # Django's own request: its environment tells the download when the reader has left.
        download = spool.Download(sample, format=form, request=request._request)
        response = StreamingHttpResponse(
            download, content_type=tables.csv_media_type(sample, form)
        )
        response["Content-Disposition"] = (
            f'attachment; filename="{sample.release.code}-{sample.code}.csv"'
        )
        return response

    @extend_schema(responses={(200, ParquetRenderer.media_type): OpenApiTypes.BINARY})
    def parquet(self, request: Request, code: str) -> StreamingHttpResponse:
        """The table as Parquet, with natural types."""
        sample = _sample(request, code)
        download = spool.Download(sample, format="parquet", request=request._request)
        response = StreamingHttpResponse(download, content_type=ParquetRenderer.media_type)
        name = f"{sample.release.code}-{sample.code}.parquet"
        response["Content-Disposition"] = f'attachment; filename="{name}"'
        return response

    @extend_schema(responses={(200, WorkbookRenderer.media_type): OpenApiTypes.BINARY})
    def xlsx(self, request: Request, code: str) -> StreamingHttpResponse:
        """The table as an Excel workbook of one sheet: numbers and dates as such, and no text is a
        formula."""
        sample = _sample(request, code)
        try:
            download = spool.Download(sample, format="xlsx", request=request._request)
        except InputError as error:
            raise ValidationError({"rows": sentence(error)}) from None
        response = StreamingHttpResponse(download, content_type=WorkbookRenderer.media_type)
        name = f"{sample.release.code}-{sample.code}.xlsx"
        response["Content-Disposition"] = f'attachment; filename="{name}"'
        return response


class GrantViewSet(Filtered, ListModelMixin, GenericViewSet[ReleaseGrant]):
    """With whom a release is shared."""

    queryset = ReleaseGrant.objects.none()
    query = filters.GrantQuery
    serializer_class = GrantSerializer
    lookup_field = "username"
    write_scope = "share"

    def get_queryset(self) -> Any:
        return selectors.grants_of(
            selectors.release_for(
                caller(self.request), self.kwargs["code"], Need.SHARE, tables="any"
            )
        )

    @extend_schema(request=NewGrantSerializer, responses={201: GrantSerializer})
    @idempotent
    def create(self, request: Request, code: str) -> Response:
        """Share with an analyst of the organisation; sharing again changes nothing."""
        release = selectors.release_for(caller(request), code, Need.SHARE, tables="any")
        wanted = NewGrantSerializer(data=request.data)
        wanted.is_valid(raise_exception=True)
        # Among analysts of this organisation: other names are as
        # unknown as those that do not exist.
        analysts = holders_of(release.dataset.organisation, Role.ANALYST)
        analyst = analysts.filter(username=wanted.validated_data["analyst"]).first()
        if analyst is None:
            raise Conflict(
                "No analyst of the organisation has this name",
                repair="check it",
                field="analyst",
            )
        grant = services.share(actor=caller(request), release=release, analyst=analyst)
        return Response(self.get_serializer(grant).data, status=HTTPStatus.CREATED)

    @extend_schema(
        responses={
            204: OpenApiResponse(
                description="Taken back; what was downloaded stays downloaded."
            )
        }
    )
    def destroy(self, request: Request, code: str, username: str) -> Response:
        """Take a release back from an analyst."""
        release = selectors.release_for(caller(request), code, Need.SHARE, tables="any")
        grant = selectors.grants_of(release).filter(analyst__username=username).first()
        if grant is None:
            raise Http404
        services.revoke(actor=caller(request), grant=grant)
        return Response(status=HTTPStatus.NO_CONTENT)


def is_true(request: Request, name: str) -> bool:
    """true or false, and nothing that means as much; false if it is not said."""
    text = request.query_params.get(name, "false")
    if text not in ("true", "false"):
        raise ValidationError({name: "This is neither true nor false; write one of them."})
    return text == "true"


def _sample(request: Request, code: str) -> Sample:
    """A sample of the caller's own; who lost the release has lost its samples with it."""
    user = caller(request)
    own = (
        Sample.objects.filter(code=code, requested_by=user)
        .values_list("release__code", flat=True)
        .first()
    )
    if own is None:
        raise Http404
    return selectors.sample_for(user, code, release_code=own)
