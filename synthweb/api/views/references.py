"""Public reference tables: list, bring, read, use, delete."""

from __future__ import annotations

import hashlib
from http import HTTPStatus
from typing import Any

from django.http import HttpResponse
from django.http.response import HttpResponseBase
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiResponse, extend_schema
from rest_framework.mixins import ListModelMixin
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView
from rest_framework.viewsets import GenericViewSet

from synthweb.accounts.permissions import Need
from synthweb.accounts.selectors import require
from synthweb.api import filters, idempotency, parsers
from synthweb.api.authentication import caller
from synthweb.api.filters import Filtered
from synthweb.api.receiving import body_of
from synthweb.api.serializers.references import (
    FileQuerySerializer,
    NewReferenceSerializer,
    ReferenceSerializer,
    ReferenceVersionSerializer,
    TakenSerializer,
    UseSerializer,
)
from synthweb.datasets.selectors import dataset_for
from synthweb.lib.bodies import takes_table
from synthweb.references import applying, records, selectors, services
from synthweb.references.models import ReferenceTable
from synthweb.references.stored import codes_of

BODY = {"text/csv": OpenApiTypes.BINARY, "application/gzip": OpenApiTypes.BINARY}


@takes_table
class ReferencesViewSet(Filtered, ListModelMixin, GenericViewSet[ReferenceTable]):
    """Reference tables of the caller's organisation."""

    queryset = ReferenceTable.objects.none()
    query = filters.ReferenceQuery
    serializer_class = ReferenceSerializer
    parser_classes = [parsers.CsvParser, parsers.GzipParser]

    def get_queryset(self) -> Any:
        return selectors.references_of(caller(self.request))

    @extend_schema(
        parameters=[NewReferenceSerializer], request=BODY, responses={201: ReferenceSerializer}
    )
    def create(self, request: Request) -> Response:
        """Declare a file public and keep what it says. A file that is, or was, the table of a dataset is
        refused (422)."""
        require(caller(request), Need.UPLOAD)
        asked = NewReferenceSerializer(data=request.query_params)
        asked.is_valid(raise_exception=True)
        data = asked.validated_data
        file = _file(request, asked)

        def act() -> Response:
            made = services.add(
                actor=caller(request), name=data["name"], published=data["published"], file=file
            )
            return Response(ReferenceSerializer(made).data, status=HTTPStatus.CREATED)

        # A plain digest is enough: this file is public, unlike a table (`receiving`).
        return idempotency.once(request, act, content=hashlib.sha256(file.data).hexdigest())

    create.takes_key = True  # type: ignore[attr-defined]


class ReferenceView(APIView):
    """One reference table."""

    @extend_schema(
        operation_id="reference_retrieve", responses=ReferenceSerializer, tags=["references"]
    )
    def get(self, request: Request, code: str) -> Response:
        """Its versions, the newest first."""
        return Response(
            ReferenceSerializer(selectors.reference_for(caller(request), code)).data
        )

    @extend_schema(
        operation_id="reference_destroy",
        responses={
            204: OpenApiResponse(description="Descriptions keep what they took from it.")
        },
        tags=["references"],
    )
    def delete(self, request: Request, code: str) -> Response:
        """Forget it with all its versions."""
        table = selectors.reference_for(caller(request), code)
        require(caller(request), Need.UPLOAD)
        services.delete(actor=caller(request), reference=table)
        return Response(status=HTTPStatus.NO_CONTENT)


@takes_table
class VersionsView(APIView):
    """Versions of a reference table."""

    parser_classes = [parsers.CsvParser, parsers.GzipParser]

    @extend_schema(
        operation_id="reference_version_create",
        parameters=[FileQuerySerializer],
        request=BODY,
        responses={201: ReferenceVersionSerializer},
        tags=["references"],
    )
    def post(self, request: Request, code: str) -> Response:
        """Bring another file of it. The versions before it stay; the very same file is refused (409)."""
        table = selectors.reference_for(caller(request), code)
        require(caller(request), Need.UPLOAD)
        asked = FileQuerySerializer(data=request.query_params)
        asked.is_valid(raise_exception=True)
        file = _file(request, asked)

        def act() -> Response:
            made = services.add_version(actor=caller(request), reference=table, file=file)
            return Response(ReferenceVersionSerializer(made).data, status=HTTPStatus.CREATED)

        return idempotency.once(request, act, content=hashlib.sha256(file.data).hexdigest())

    post.takes_key = True  # type: ignore[attr-defined]


class ContentView(APIView):
    """What a version says."""

    @extend_schema(
        operation_id="reference_content",
        responses={
            (200, "application/json"): OpenApiTypes.OBJECT,
            (200, "text/csv"): OpenApiTypes.BINARY,
        },
        tags=["references"],
    )
    def get(self, request: Request, code: str, number: int) -> HttpResponseBase:
        """Codes, and in the same order their points, weights and parts; of a table of records, its CSV."""
        version = selectors.version_for(caller(request), code, number)
        if version.has_records:
            return HttpResponse(
                records.file_of(version), content_type="text/csv; charset=utf-8"
            )
        return Response(codes_of(version).to_json())


class UseView(APIView):
    """A reference table for one column."""

    @extend_schema(
        operation_id="domain_draft_reference",
        request=UseSerializer,
        responses=TakenSerializer,
        tags=["datasets"],
    )
    def post(self, request: Request, code: str) -> Response:
        """Take points and partitions into the draft, and values where none are listed: nothing is confirmed
        by it and no budget is touched. A declared value that the table lacks is refused (422)."""
        dataset = dataset_for(caller(request), code, Need.DESCRIBE)
        asked = UseSerializer(data=request.data)
        asked.is_valid(raise_exception=True)
        data = dict(asked.validated_data)
        version = selectors.version_for(
            caller(request), data.pop("reference"), data.pop("version", None)
        )
        if data["column"] in applying.places_of(dataset):
            number = applying.use_for_place(
                actor=caller(request),
                dataset=dataset,
                version=version,
                place=data["column"],
                weights=data["weights"],
            )
            return Response({"taken": [f"{number:,} points"]})
        taken = applying.use(
            actor=caller(request),
            dataset=dataset,
            version=version,
            selection=applying.Selection(**data),
        )
        return Response({"taken": taken})


def _file(request: Request, asked: FileQuerySerializer) -> services.Brought:
    """The body, in memory; one byte too many is enough to refuse it."""
    stream, _ = body_of(request, "file")
    return services.Brought(
        data=stream.read(services.MOST_BYTES + 1),
        word=asked.validated_data["word"],
        roles=asked.roles,
        has_records=asked.has_records,
    )
