"""Databases: several tables that keys connect, described, released together and drawn."""

from __future__ import annotations

from http import HTTPStatus
from typing import Any

from django.http import FileResponse, Http404
from django.http.response import HttpResponseBase
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from synthweb.accounts.permissions import Need
from synthweb.api import descriptions
from synthweb.api.authentication import caller, require_recent_sign_in
from synthweb.api.idempotency import idempotent, key_of
from synthweb.api.renderers import ZipRenderer
from synthweb.api.schema import refuses
from synthweb.api.serializers.databases import (
    DatabaseSerializer,
    NewDatabaseRunSerializer,
    NewTableSerializer,
    ReleasedTableSerializer,
    TablesQuerySerializer,
)
from synthweb.api.serializers.datasets import StatementQuerySerializer
from synthweb.api.serializers.runs import RunSerializer
from synthweb.api.views.runs import ACCEPTED
from synthweb.datasets.models import Dataset
from synthweb.datasets.selectors import database_tables, dataset_for, newest_database
from synthweb.datasets.services import databases as describing
from synthweb.releases import databases as released
from synthweb.releases import selectors
from synthweb.releases.downloads import attached, file_name
from synthweb.releases.models import Release
from synthweb.releases.slots import Slot
from synthweb.runs import databases, errors, services


class DatabaseView(APIView):
    """The tables below a dataset."""

    @extend_schema(
        operation_id="database_retrieve", responses=DatabaseSerializer, tags=["datasets"]
    )
    def get(self, request: Request, code: str) -> Response:
        """The database below a dataset, for its stewards: its tables, the description in force, and the check
        of its keys."""
        root = dataset_for(caller(request), code, Need.DESCRIBE)
        return Response(DatabaseSerializer(_database(root)).data)

    @extend_schema(
        operation_id="database_add_table",
        request=NewTableSerializer,
        responses={201: DatabaseSerializer},
        tags=["datasets"],
    )
    @refuses(409)
    @idempotent
    def post(self, request: Request, code: str) -> Response:
        """Make another dataset a table of the database below this one, whose budget pays for both. 409 for
        one that has a budget of its own, or is in a database already."""
        root = dataset_for(caller(request), code, Need.DESCRIBE)
        wanted = NewTableSerializer(data=request.data)
        wanted.is_valid(raise_exception=True)
        table = dataset_for(caller(request), wanted.validated_data["dataset"], Need.DESCRIBE)
        describing.add_table(actor=caller(request), root=root, dataset=table)
        return Response(DatabaseSerializer(_database(root)).data, status=HTTPStatus.CREATED)


class DatabaseDocumentView(APIView):
    """The description of a whole database."""

    @extend_schema(
        operation_id="database_update",
        parameters=[StatementQuerySerializer],
        request=OpenApiTypes.OBJECT,
        responses={201: DatabaseSerializer},
        tags=["datasets"],
    )
    @idempotent
    def put(self, request: Request, code: str) -> Response:
        """Declare a whole DATABASE.json as public knowledge, with the columns of each table written out, and
        have the keys checked by a worker. Tables are found by their names. `?because=` says where the facts
        are written."""
        root = dataset_for(caller(request), code, Need.DESCRIBE)
        query = StatementQuerySerializer(data=request.query_params.dict())
        query.is_valid(raise_exception=True)
        describing.bring_document(
            actor=caller(request),
            root=root,
            document=descriptions.an_object(request.data),
            **query.validated_data,
        )
        services.request_keys_check(root=root, actor=caller(request))
        return Response(DatabaseSerializer(_database(root)).data, status=HTTPStatus.CREATED)


class DatabaseRunsView(APIView):
    """Releases of a whole database."""

    @extend_schema(
        operation_id="database_release",
        request=NewDatabaseRunSerializer,
        responses={202: ACCEPTED},
        tags=["datasets"],
    )
    @refuses(409)
    @idempotent
    def post(self, request: Request, code: str) -> Response:
        """Ask for a release of all tables below a dataset. Holds its price at once; 409 if the budget has
        less left, or while the keys are not checked."""
        root = dataset_for(caller(request), code, Need.SPEND)
        require_recent_sign_in(request)
        wanted = NewDatabaseRunSerializer(data=request.data)
        wanted.is_valid(raise_exception=True)
        asked = wanted.validated_data
        run = services.submit(
            databases.DatabaseRequest(
                dataset=root, epsilon=asked["epsilon"], delta=asked["delta"]
            ),
            steward=caller(request),
            name=asked["name"],
            request_key=key_of(request),
        )
        body = RunSerializer(run, context={"request": request}).data
        return Response(
            body, status=HTTPStatus.ACCEPTED, headers={"Location": str(body["url"])}
        )


class ReleasedTablesView(APIView):
    """The tables of a released database."""

    @extend_schema(
        operation_id="releases_tables",
        responses=ReleasedTableSerializer(many=True),
        tags=["releases"],
    )
    def get(self, request: Request, code: str) -> Response:
        """A hundred synthetic rows of each table of a released database; 404 for a release of one table."""
        look = released.look_of(_release(request, code))
        tables = [{"name": name, **table} for name, table in look.items()]
        return Response(ReleasedTableSerializer(tables, many=True).data)


class ReleasedFileView(APIView):
    """The tables of a released database as one file."""

    renderer_classes = [ZipRenderer]

    @extend_schema(
        operation_id="releases_tables_zip",
        parameters=[TablesQuerySerializer],
        responses={(200, ZipRenderer.media_type): OpenApiTypes.BINARY},
        tags=["releases"],
    )
    @refuses(409)
    def get(self, request: Request, code: str) -> HttpResponseBase:
        """All tables of a released database in one archive, as CSV or Parquet with the SQL that creates them,
        drawn with your own seed: the same each time."""
        release = _release(request, code)
        query = TablesQuerySerializer(data=_numbers(request.query_params.dict()))
        query.is_valid(raise_exception=True)
        form = query.validated_data["kind"]
        units = released.units_of(release, query.validated_data.get("rows"))
        with Slot(caller(request).pk):
            file = released.write(user=caller(request), release=release, units=units, form=form)
        released.note_download(user=caller(request), release=release, units=units, form=form)
        name = file_name(release, what=f"tables-{form}", ending="zip")
        return attached(FileResponse(file, content_type=ZipRenderer.media_type), name)


def _numbers(query: dict[str, Any]) -> dict[str, Any]:
    """An address has texts alone; strict fields take whole numbers."""
    return {
        name: int(text) if name == "rows" and text.isdecimal() and len(text) < 10 else text
        for name, text in query.items()
    }


def _release(request: Request, code: str) -> Release:
    release = selectors.release_for(caller(request), code, Need.SAMPLE, tables="any")
    if not released.is_database(release):
        raise Http404
    return release


def _database(root: Dataset) -> dict[str, object]:
    version, problem, keys = newest_database(root), "", "unchecked"
    try:
        check = databases.latest_check(root)
    except errors.NotReady as missing:
        problem, check = str(missing), None
    if check is not None:
        keys = check.state
        problem = str((check.failure or {}).get("text", ""))
    return {
        "tables": database_tables(root),
        "version": None if version is None else version.number,
        "document": None if version is None else version.document,
        "keys": keys,
        "problem": problem,
    }
