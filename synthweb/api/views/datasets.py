"""Datasets: upload, follow, describe."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from contextlib import contextmanager
from http import HTTPStatus
from typing import IO, Any, cast

from django.db import transaction
from django.http import Http404
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiResponse, extend_schema
from rest_framework.exceptions import ParseError
from rest_framework.mixins import ListModelMixin
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView
from rest_framework.viewsets import GenericViewSet

from synth_engine.formats import MEDIA_TYPES
from synthweb.accounts.models import Role
from synthweb.accounts.selectors import organisation_of, require_role
from synthweb.api import descriptions, filters, idempotency, parsers
from synthweb.api.authentication import caller
from synthweb.api.filters import Filtered
from synthweb.api.serializers.datasets import (
    DatasetSerializer,
    DomainVersionSerializer,
    UploadSerializer,
)
from synthweb.datasets import selectors, services
from synthweb.datasets.models import Dataset
from synthweb.datasets.selectors import Need
from synthweb.datasets.services.storing import cut_short
from synthweb.runs import services as runs

ACCEPTED = OpenApiResponse(
    DatasetSerializer,
    description="Encrypted and stored. Follow `Location` until `status` is `ready` or `refused`.",
)


class DatasetViewSet(Filtered, ListModelMixin, GenericViewSet[Dataset]):
    """Tables of the caller's organisation, for stewards, custodians and auditors."""

    queryset = Dataset.objects.none()
    query = filters.DatasetQuery
    serializer_class = DatasetSerializer
    parser_classes = [parsers.CsvParser, parsers.GzipParser, parsers.ParquetParser]
    lookup_field = "code"

    def get_queryset(self) -> Any:
        require_role(caller(self.request), *Need.VIEW.roles)
        return selectors.datasets_of(caller(self.request)).select_related("coverage__account")

    @extend_schema(responses=DatasetSerializer)
    def retrieve(self, request: Request, code: str) -> Response:
        """State of one dataset; for a refused upload, what to mend."""
        return Response(self.get_serializer(selectors.dataset_for(caller(request), code)).data)

    @extend_schema(
        parameters=[UploadSerializer],
        request=dict.fromkeys(MEDIA_TYPES, OpenApiTypes.BINARY),
        responses={202: ACCEPTED},
    )
    def create(self, request: Request) -> Response:
        """Upload a table as the body of the request. It is encrypted while it streams in; a worker reads it then."""
        require_role(caller(request), Role.STEWARD)
        facts = UploadSerializer(data=request.query_params)
        facts.is_valid(raise_exception=True)
        with _received(request) as (intake, digest):
            return idempotency.once(request, lambda: self._store(request, intake, facts.validated_data), content=digest)

    create.takes_key = True  # type: ignore[attr-defined]  # the body is a stream: `once` is called when it is in

    def _store(self, request: Request, intake: services.Intake, facts: dict[str, Any]) -> Response:
        """The dataset and its errand appear together, or neither does."""
        with transaction.atomic():
            dataset = services.store_upload(
                steward=caller(request), organisation=organisation_of(caller(request)), upload=intake, **facts
            )
            runs.request_ingest(dataset=dataset, actor=caller(request))
        body = self.get_serializer(dataset).data
        return Response(body, status=HTTPStatus.ACCEPTED, headers={"Location": str(body["url"])})


class DomainView(APIView):
    """The public description of a dataset."""

    @extend_schema(operation_id="domain_retrieve", responses=DomainVersionSerializer, tags=["datasets"])
    def get(self, request: Request, code: str) -> Response:
        """The description in force, the one confirmed last; 404 before the first."""
        version = selectors.current_domain(selectors.dataset_for(caller(request), code))
        if version is None:
            raise Http404
        return Response(DomainVersionSerializer(version).data)

    @extend_schema(
        operation_id="domain_update",
        request=OpenApiTypes.OBJECT,
        responses={201: DomainVersionSerializer},
        tags=["datasets"],
    )
    @idempotency.idempotent
    def put(self, request: Request, code: str) -> Response:
        """Declare a whole DOMAIN.json as public knowledge: a new immutable version. Facts that are merely suggested
        by the data are refused (422): set their provenance to `declared` if they are public."""
        dataset = selectors.dataset_for(caller(request), code, Need.DESCRIBE)
        document = descriptions.checked(request.data)
        version = services.declare_domain(actor=caller(request), dataset=dataset, document=document)
        return Response(DomainVersionSerializer(version).data, status=HTTPStatus.CREATED)


@contextmanager
def _received(request: Request) -> Iterator[tuple[services.Intake, str]]:
    """The body, taken in piece by piece, and the SHA-256 of it; discarded in the end unless it was kept."""
    length = request.META.get("CONTENT_LENGTH") or ""
    if not length.isdecimal() or int(length) == 0:
        raise ParseError("Send the table as the body of the request, with its length (Content-Length).")
    digest = hashlib.sha256()
    with services.Intake(parsers.kind_of(request.content_type)) as intake:
        for piece in parsers.pieces(cast(IO[bytes], request.data)):
            intake.receive(piece)
            digest.update(piece)
        if intake.size_bytes != int(length):
            raise cut_short()
        yield intake, digest.hexdigest()
