"""Datasets: upload, follow, describe."""

from __future__ import annotations

from collections.abc import Mapping
from http import HTTPStatus
from typing import Any

from django.db import transaction
from django.http import Http404
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiResponse, extend_schema
from rest_framework.mixins import ListModelMixin
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView
from rest_framework.viewsets import GenericViewSet

from synth_engine import dictionaries
from synth_engine.domain import Domain
from synth_engine.formats import MEDIA_TYPES, Dialect
from synthweb.accounts.permissions import Need
from synthweb.accounts.selectors import organisation_of, require
from synthweb.api import descriptions, filters, idempotency
from synthweb.api.authentication import caller
from synthweb.api.filters import Filtered
from synthweb.api.receiving import FILES, received
from synthweb.api.schema import refuses
from synthweb.api.serializers.datasets import (
    BroughtSerializer,
    DatasetSerializer,
    DomainVersionSerializer,
    FormSerializer,
    ImportQuerySerializer,
    NameSerializer,
    StatementQuerySerializer,
    UploadSerializer,
)
from synthweb.datasets import sealed_names, selectors, services
from synthweb.datasets.models import Dataset, DomainVersion
from synthweb.datasets.services import documents
from synthweb.lib.bodies import takes_table
from synthweb.runs import services as runs

ACCEPTED = OpenApiResponse(
    DatasetSerializer,
    description="Encrypted and stored. Follow `Location` until `status` is `ready` or `refused`.",
)


@takes_table
class DatasetsViewSet(Filtered, ListModelMixin, GenericViewSet[Dataset]):
    """Tables of the caller's organisation, for stewards, custodians and auditors."""

    queryset = Dataset.objects.none()
    query = filters.DatasetQuery
    serializer_class = DatasetSerializer
    parser_classes = FILES

    def get_queryset(self) -> Any:
        require(caller(self.request), Need.VIEW)
        # Deleted datasets are listed for those alone who filter by that state.
        deleted = self.request.query_params.get("state") == Dataset.Status.DELETED
        return selectors.datasets_of(caller(self.request), deleted=deleted).select_related(
            "coverage__account"
        )

    @extend_schema(
        parameters=[UploadSerializer],
        request=dict.fromkeys(MEDIA_TYPES, OpenApiTypes.BINARY),
        responses={202: ACCEPTED},
    )
    @refuses(507)
    def create(self, request: Request) -> Response:
        """Upload a table as the body of the request. It is encrypted while it streams in; a worker reads it
        then."""
        # Before the body: whoever may not upload does not send a table first.
        require(caller(request), Need.UPLOAD)
        facts = UploadSerializer(data=request.query_params)
        facts.is_valid(raise_exception=True)
        with received(request) as (intake, digest):
            return idempotency.once(
                request,
                lambda: self._store(request, intake, facts.validated_data),
                content=digest,
            )

    # The body is a stream: `once` is called when it is in
    create.takes_key = True  # type: ignore[attr-defined]

    @transaction.atomic
    def _store(
        self, request: Request, intake: services.Intake, facts: dict[str, Any]
    ) -> Response:
        """The dataset and its job appear together, or neither does."""
        dataset = services.store_upload(
            steward=caller(request),
            organisation=organisation_of(caller(request)),
            upload=intake,
            **facts,
        )
        return to_be_read(request, dataset)


def _answered(dataset: Dataset, facts: Mapping[str, Any], *, sent: set[str]) -> Dialect:
    """A form as it was sent. A question that it does not answer stays open, with its guess."""
    before = sealed_names.form_of(dataset) or Dialect()
    asked = [one for one in before.asked if one not in sent]
    first_line_moved = any(
        one in sent and facts[one] != getattr(before, one)
        for one in ("skip", "delimiter", "quote")
    )
    if "header" not in sent and "header" not in asked and first_line_moved and dataset.dialect:
        asked.append("header")  # the guess was about another line
    open_guesses = {one: getattr(before, one) for one in asked}
    confirmed = before.marks_confirmed or not sent.isdisjoint(("decimal", "thousands"))
    return Dialect.from_json(
        {
            **facts,
            **open_guesses,
            "names": tuple(facts["names"]),
            "asked": tuple(asked),
            "said": confirmed,
        }
    )


class DatasetViewSet(GenericViewSet[Dataset]):
    """One of them."""

    queryset = Dataset.objects.none()
    serializer_class = DatasetSerializer
    lookup_field = "code"

    @extend_schema(responses=DatasetSerializer)
    def retrieve(self, request: Request, code: str) -> Response:
        """State of one dataset; for a refused upload, what to mend."""
        return Response(self.get_serializer(selectors.dataset_for(caller(request), code)).data)

    @extend_schema(request=NameSerializer, responses=DatasetSerializer)
    def rename(self, request: Request, code: str) -> Response:
        """Give it another name or description."""
        dataset = selectors.dataset_for(caller(request), code, Need.DESCRIBE)
        wanted = NameSerializer(data=request.data)
        wanted.is_valid(raise_exception=True)
        words = {
            "name": dataset.name,
            "description": dataset.description,
            **wanted.validated_data,
        }
        return Response(
            self.get_serializer(
                services.rename(actor=caller(request), dataset=dataset, **words)
            ).data
        )

    @extend_schema(
        responses={
            204: OpenApiResponse(
                description="Erased; what others rely on stays, and no budget returns."
            )
        }
    )
    @refuses(409)
    def destroy(self, request: Request, code: str) -> Response:
        """Erase the table and everything made of it for its steward. Ledger, releases and receipts stay. 409
        while a run is open."""
        dataset = selectors.dataset_for(caller(request), code, Need.DESCRIBE)
        services.delete(actor=caller(request), dataset=dataset)
        return Response(status=HTTPStatus.NO_CONTENT)

    @extend_schema(request=FormSerializer, responses={202: ACCEPTED})
    @idempotency.idempotent
    @transaction.atomic
    def form(self, request: Request, code: str) -> Response:
        """Say how the CSV is written. A worker reads it again."""
        dataset = selectors.dataset_for(caller(request), code, Need.DESCRIBE)
        serializer = FormSerializer(data=request.data)
        serializer.is_valid(raise_exception=True)
        dialect = _answered(dataset, serializer.validated_data, sent=set(request.data))
        return to_be_read(
            request,
            services.set_dialect(actor=caller(request), dataset=dataset, dialect=dialect),
        )

    @extend_schema(request=None, responses=DatasetSerializer)
    @idempotency.idempotent
    def go_back(self, request: Request, code: str) -> Response:
        """Give up a file that was refused and return to the one before it."""
        dataset = selectors.dataset_for(caller(request), code, Need.DESCRIBE)
        return Response(
            self.get_serializer(services.go_back(actor=caller(request), dataset=dataset)).data
        )

    @extend_schema(request=None, responses=DatasetSerializer)
    @idempotency.idempotent
    def erase_earlier(self, request: Request, code: str) -> Response:
        """Erase the files of earlier versions that are kept for comparisons with their releases. 409 if there
        is none, or while a run is open."""
        dataset = selectors.dataset_for(caller(request), code, Need.DESCRIBE)
        erased = services.erase_earlier(actor=caller(request), dataset=dataset)
        return Response(self.get_serializer(erased).data)

    @extend_schema(request=None, responses={202: ACCEPTED})
    def read_again(self, request: Request, code: str) -> Response:
        """Have a worker read the table once more, because its preview has expired."""
        return to_be_read(request, selectors.dataset_for(caller(request), code, Need.DESCRIBE))


@takes_table
class FileViewSet(GenericViewSet[Dataset]):
    """The file of a dataset."""

    queryset = Dataset.objects.none()
    serializer_class = DatasetSerializer
    parser_classes = FILES

    @extend_schema(
        request=dict.fromkeys(MEDIA_TYPES, OpenApiTypes.BINARY), responses={202: ACCEPTED}
    )
    @refuses(507)
    def replace(self, request: Request, code: str) -> Response:
        """Upload a corrected file: a version of the same dataset, under the same budget. 409 while a run is
        open."""
        dataset = selectors.dataset_for(caller(request), code, Need.DESCRIBE)
        with received(request) as (intake, digest):
            return idempotency.once(
                request, lambda: self._replace(request, dataset, intake), content=digest
            )

    replace.takes_key = True  # type: ignore[attr-defined]

    @transaction.atomic
    def _replace(self, request: Request, dataset: Dataset, intake: services.Intake) -> Response:
        changed = services.replace_file(actor=caller(request), dataset=dataset, upload=intake)
        return to_be_read(request, changed)


def to_be_read(request: Request, dataset: Dataset) -> Response:
    """202: a worker is asked to read it; where to follow that."""
    runs.request_ingest(dataset=dataset, actor=caller(request))
    return accepted(request, dataset)


def accepted(request: Request, dataset: Dataset) -> Response:
    """202: a worker reads it; where to follow that."""
    body = DatasetSerializer(dataset, context={"request": request}).data
    return Response(body, status=HTTPStatus.ACCEPTED, headers={"Location": str(body["url"])})


class DomainView(APIView):
    """The public description of a dataset."""

    @extend_schema(
        operation_id="domain_retrieve", responses=DomainVersionSerializer, tags=["datasets"]
    )
    def get(self, request: Request, code: str) -> Response:
        """The description in force, the one confirmed last; 404 before the first."""
        version = selectors.current_domain(selectors.dataset_for(caller(request), code))
        if version is None:
            raise Http404
        return Response(_described(request, version))

    @extend_schema(
        operation_id="domain_update",
        parameters=[StatementQuerySerializer],
        request=OpenApiTypes.OBJECT,
        responses={201: DomainVersionSerializer},
        tags=["datasets"],
    )
    @idempotency.idempotent
    def put(self, request: Request, code: str) -> Response:
        """Declare a whole DOMAIN.json as public knowledge: a new immutable version. Facts that are merely
        suggested by the data are refused (422): set their provenance to `declared` if they are public.
        `?because=` says where the facts are written; it is kept with the description. A list of values that
        holds nothing besides what was read from the table needs a statement of its own, `?lists_because=`."""
        dataset = selectors.dataset_for(caller(request), code, Need.DESCRIBE)
        query = StatementQuerySerializer(data=request.query_params.dict())
        query.is_valid(raise_exception=True)
        document = descriptions.checked(request.data)
        version = services.declare_domain(
            actor=caller(request),
            dataset=dataset,
            document=document,
            **query.validated_data,
        )
        return Response(_described(request, version), status=HTTPStatus.CREATED)


def _described(request: Request, version: DomainVersion) -> dict[str, object]:
    """A description as its reader may see it."""
    return dict(DomainVersionSerializer(version, context={"request": request}).data)


class DomainVersionView(APIView):
    """The descriptions that there have been."""

    @extend_schema(
        operation_id="domain_version", responses=DomainVersionSerializer, tags=["datasets"]
    )
    def get(self, request: Request, code: str, number: int) -> Response:
        """One confirmed description by its number."""
        return Response(
            _described(request, selectors.domain_version_for(caller(request), code, number))
        )


class DraftView(APIView):
    """The draft: all that is typed and confirmed so far."""

    @extend_schema(
        operation_id="domain_draft", responses=OpenApiTypes.OBJECT, tags=["datasets"]
    )
    @refuses(422)
    def get(self, request: Request, code: str) -> Response:
        """The draft as a DOMAIN.json, for its stewards; nothing that was only suggested by the data. 422
        where what is typed so far is no description."""
        return Response(
            documents.draft_document(
                selectors.dataset_for(caller(request), code, Need.DESCRIBE)
            )
        )

    @extend_schema(
        operation_id="domain_draft_import",
        parameters=[ImportQuerySerializer],
        request=OpenApiTypes.OBJECT,
        responses=BroughtSerializer,
        tags=["datasets"],
    )
    def post(self, request: Request, code: str) -> Response:
        """Take a DOMAIN.json, a Frictionless Table Schema or a data dictionary into the draft; which one it
        is shows by itself. Nothing is confirmed by it and no budget is touched. What is described already
        stays, unless `?replaces=true`."""
        dataset = selectors.dataset_for(caller(request), code, Need.DESCRIBE)
        asked = ImportQuerySerializer(data=request.query_params.dict())
        asked.is_valid(raise_exception=True)
        document = descriptions.an_object(request.data)
        brought = services.import_document(
            actor=caller(request), dataset=dataset, document=document, **asked.validated_data
        )
        return Response(BroughtSerializer(brought).data)


class TableSchemaView(APIView):
    """Descriptions for other programs."""

    @extend_schema(
        operation_id="domain_table_schema", responses=OpenApiTypes.OBJECT, tags=["datasets"]
    )
    def get(self, request: Request, code: str, number: int) -> Response:
        """One confirmed description as a Frictionless Table Schema of the tables that releases give."""
        version = selectors.domain_version_for(caller(request), code, number)
        return Response(dictionaries.to_schema(Domain.from_json(version.document)))
