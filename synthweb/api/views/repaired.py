"""Repaired tables: synthetic rows of a release that meet public totals. Post-processing, which costs
nothing."""

from __future__ import annotations

from http import HTTPStatus

from django.http import HttpResponseBase
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from synth_engine.mixing import repair
from synthweb.accounts.permissions import Need
from synthweb.api.authentication import caller
from synthweb.api.idempotency import idempotent
from synthweb.api.renderers import CsvRenderer, ParquetRenderer
from synthweb.api.schema import refuses
from synthweb.api.serializers.repaired import (
    NewRepairedTableSerializer,
    RepairedTableSerializer,
)
from synthweb.api.views.releases import FOR_SPREADSHEETS, is_true
from synthweb.releases import repaired, selectors
from synthweb.releases.models import RepairedTable
from synthweb.releases.repaired import RepairOrder
from synthweb.releases.repaired_views import answer_csv, answer_parquet


class RepairedTablesView(APIView):
    """The repaired tables of a release."""

    write_scope = "share"
    # Counted by `throttling` apart from other requests, because making one takes a processor.
    makes_files = True

    @extend_schema(
        operation_id="repaired_tables_list",
        responses=RepairedTableSerializer(many=True),
        tags=["releases"],
    )
    def get(self, request: Request, code: str) -> Response:
        """All of them, newest first, for everybody who may draw from the release."""
        release = selectors.release_for(caller(request), code, Need.SAMPLE)
        tables = repaired.repaired_of(release).select_related("release")
        return Response(RepairedTableSerializer(tables, many=True).data)

    @extend_schema(
        operation_id="repaired_tables_make",
        request=NewRepairedTableSerializer,
        responses={201: RepairedTableSerializer},
        tags=["releases"],
    )
    @refuses(409, 422)
    @idempotent
    def post(self, request: Request, code: str) -> Response:
        """Generate rows of a release and weigh, or repeat and leave out, them until they meet public totals;
        for stewards. Nothing is charged. 422 names the totals that cannot be met."""
        release = selectors.release_for(caller(request), code, Need.SHARE)
        asked = NewRepairedTableSerializer(data=request.data)
        asked.is_valid(raise_exception=True)
        data = asked.validated_data
        order = RepairOrder(
            name=data["name"],
            published=data["published"],
            totals=repair.totals_of_document(data["totals"]),
            way=data["way"],
            rows=data["rows"],
            seed=data["seed"],
        )
        made = repaired.make(
            user=caller(request), release=release, order=order, request=request._request
        )
        return Response(RepairedTableSerializer(made).data, status=HTTPStatus.CREATED)


class RepairedTableView(APIView):
    """One repaired table."""

    write_scope = "share"

    @extend_schema(
        operation_id="repaired_tables_retrieve",
        responses=RepairedTableSerializer,
        tags=["releases"],
    )
    def get(self, request: Request, code: str, repaired_code: str) -> Response:
        """Its totals and its receipt, which says whether each is met."""
        return Response(RepairedTableSerializer(_readable(request, code, repaired_code)).data)

    @extend_schema(
        operation_id="repaired_tables_delete", responses={204: None}, tags=["releases"]
    )
    def delete(self, request: Request, code: str, repaired_code: str) -> Response:
        """Delete it with its files; for stewards."""
        release = selectors.release_for(caller(request), code, Need.SHARE)
        table = repaired.repaired_for(release, repaired_code)
        repaired.delete(user=caller(request), table=table)
        return Response(status=HTTPStatus.NO_CONTENT)


class RepairedCsvView(APIView):
    """A repaired table as CSV."""

    renderer_classes = [CsvRenderer]

    @extend_schema(
        operation_id="repaired_tables_csv",
        responses={(200, CsvRenderer.media_type): OpenApiTypes.STR},
        parameters=[FOR_SPREADSHEETS],
        tags=["releases"],
    )
    def get(self, request: Request, code: str, repaired_code: str) -> HttpResponseBase:
        """The table as CSV (UTF-8, header line); rows with weights have them in the last column."""
        return answer_csv(
            _readable(request, code, repaired_code),
            for_spreadsheets=is_true(request, FOR_SPREADSHEETS.name),
        )


class RepairedParquetView(APIView):
    """A repaired table as Parquet."""

    renderer_classes = [ParquetRenderer]

    @extend_schema(
        operation_id="repaired_tables_parquet",
        responses={(200, ParquetRenderer.media_type): OpenApiTypes.BINARY},
        tags=["releases"],
    )
    def get(self, request: Request, code: str, repaired_code: str) -> HttpResponseBase:
        """The table as Parquet, with natural types; rows with weights have them in the last column."""
        return answer_parquet(_readable(request, code, repaired_code))


def _readable(request: Request, code: str, repaired_code: str) -> RepairedTable:
    release = selectors.release_for(caller(request), code, Need.SAMPLE)
    return repaired.repaired_for(release, repaired_code)
