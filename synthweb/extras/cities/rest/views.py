"""Synthetic cities from releases that you may draw from: post-processing, which costs nothing."""

from __future__ import annotations

from http import HTTPStatus

from django.db import transaction
from django.http import HttpResponse, HttpResponseBase
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from synthweb.api.authentication import caller
from synthweb.api.idempotency import idempotent
from synthweb.api.renderers import SqliteRenderer, SqlRenderer, ZipRenderer
from synthweb.api.schema import refuses
from synthweb.extras.cities import selectors as cities
from synthweb.extras.cities import services
from synthweb.extras.cities.rest.serializers import CitySerializer, NewCitySerializer
from synthweb.extras.cities.selectors import CityDocuments
from synthweb.extras.cities.views import answer_export, answer_file


class CitiesView(APIView):
    """The cities of a person."""

    write_scope = "read"

    @extend_schema(
        operation_id="cities_list", responses=CitySerializer(many=True), tags=["cities"]
    )
    def get(self, request: Request) -> Response:
        """Your cities, newest first."""
        mine = cities.cities_for(caller(request))
        return Response(CitySerializer(mine, many=True).data)

    @extend_schema(
        operation_id="cities_generate",
        request=NewCitySerializer,
        responses={202: CitySerializer},
        tags=["cities"],
    )
    @refuses(409, 422)
    @idempotent
    def post(self, request: Request) -> Response:
        """Have a city generated from a specification, the CSV of its areas, and a release for each source. It
        costs nothing. 422 by table, field and rule for a city that cannot be; 404 for a release that you may
        not draw from."""
        asked = NewCitySerializer(data=request.data)
        asked.is_valid(raise_exception=True)
        data = asked.validated_data
        before = (
            None if data["before"] is None else cities.city_of(caller(request), data["before"])
        )
        documents = CityDocuments(
            specification=data["specification"],
            areas=data["areas"].encode(),
            descriptions=data["descriptions"],
            releases=data["releases"],
        )
        # Checked before it is kept: a city that is refused leaves no draft.
        with transaction.atomic():
            build = services.draft(user=caller(request), documents=documents, before=before)
            started = services.start(user=caller(request), build=build)
        return Response(CitySerializer(started).data, status=HTTPStatus.ACCEPTED)


class CityView(APIView):
    """One city."""

    write_scope = "read"

    @extend_schema(operation_id="cities_retrieve", responses=CitySerializer, tags=["cities"])
    def get(self, request: Request, code: str) -> Response:
        """One of your cities: how far it is, and its receipt once it is generated."""
        return Response(CitySerializer(cities.city_of(caller(request), code)).data)

    @extend_schema(operation_id="cities_delete", responses={204: None}, tags=["cities"])
    @refuses(409)
    def delete(self, request: Request, code: str) -> Response:
        """Delete a city with its files; 409 while it is generated, or where another one grew from it."""
        services.delete(user=caller(request), build=cities.city_of(caller(request), code))
        return Response(status=HTTPStatus.NO_CONTENT)


class CityArchiveView(APIView):
    """All tables."""

    renderer_classes = [ZipRenderer]

    @extend_schema(
        operation_id="cities_tables_zip",
        responses={(200, ZipRenderer.media_type): OpenApiTypes.BINARY},
        tags=["cities"],
    )
    @refuses(409)
    def get(self, request: Request, code: str) -> HttpResponse:
        """The tables of a generated city as Parquet, their DDL and the receipt in one archive; 404 before it
        is generated, 409 where a release is not shared with you any more."""
        return _file(request, code, "zip")


class CitySqliteView(APIView):
    """All tables as one database."""

    renderer_classes = [SqliteRenderer]

    @extend_schema(
        operation_id="cities_sqlite",
        responses={(200, SqliteRenderer.media_type): OpenApiTypes.BINARY},
        tags=["cities"],
    )
    @refuses(409)
    def get(self, request: Request, code: str) -> HttpResponse:
        """The tables of a generated city as one SQLite file, with keys and references; 404 and 409 as for
        `tables.zip`."""
        return _file(request, code, "sqlite")


class CityDdlView(APIView):
    """The SQL that creates the tables."""

    renderer_classes = [SqlRenderer]

    @extend_schema(
        operation_id="cities_ddl",
        responses={(200, SqlRenderer.media_type): OpenApiTypes.STR},
        tags=["cities"],
    )
    @refuses(409)
    def get(self, request: Request, code: str) -> HttpResponse:
        """The SQL that creates the tables of a generated city, with keys and references; 404 and 409 as for
        `tables.zip`."""
        return _file(request, code, "sql")


class CityMatsimView(APIView):
    """A city for MATSim."""

    renderer_classes = [ZipRenderer]

    @extend_schema(
        operation_id="cities_matsim",
        responses={(200, ZipRenderer.media_type): OpenApiTypes.BINARY},
        tags=["cities"],
    )
    @refuses(409)
    def get(self, request: Request, code: str) -> HttpResponseBase:
        """Population, facilities and households of a generated city as MATSim reads them, with its receipt,
        in one archive; 404 where the specification says nothing of `simulation`, and before it is generated;
        409 as for `tables.zip`."""
        return _export(request, code, "matsim")


class CityPopulationSimView(APIView):
    """A city for PopulationSim and ActivitySim."""

    renderer_classes = [ZipRenderer]

    @extend_schema(
        operation_id="cities_populationsim",
        responses={(200, ZipRenderer.media_type): OpenApiTypes.BINARY},
        tags=["cities"],
    )
    @refuses(409)
    def get(self, request: Request, code: str) -> HttpResponseBase:
        """Synthetic households, persons and areas of a generated city in the files of PopulationSim, with its
        receipt, in one archive; 404 and 409 as for `matsim.zip`."""
        return _export(request, code, "populationsim")


def _export(request: Request, code: str, form: str) -> HttpResponseBase:
    user = caller(request)
    return answer_export(user, cities.city_of(user, code), form)


def _file(request: Request, code: str, kind: str) -> HttpResponse:
    user = caller(request)
    return answer_file(user, cities.city_of(user, code), kind)
