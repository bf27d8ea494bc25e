"""Templates of descriptions: list, keep, apply."""

from __future__ import annotations

from http import HTTPStatus
from typing import Any

from drf_spectacular.utils import extend_schema
from rest_framework.mixins import ListModelMixin
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView
from rest_framework.viewsets import GenericViewSet

from synthweb.accounts.permissions import Need
from synthweb.api.authentication import caller
from synthweb.api.idempotency import idempotent
from synthweb.api.serializers.datasets import BroughtSerializer
from synthweb.api.serializers.templates import (
    ApplySerializer,
    NewTemplateSerializer,
    TemplateSerializer,
)
from synthweb.datasets import selectors, services
from synthweb.datasets.models import DescriptionTemplate


class TemplatesViewSet(ListModelMixin, GenericViewSet[DescriptionTemplate]):
    """Confirmed descriptions under a name, for other tables of the organisation."""

    queryset = DescriptionTemplate.objects.none()
    serializer_class = TemplateSerializer

    def get_queryset(self) -> Any:
        return selectors.templates_of(caller(self.request))

    @extend_schema(
        request=NewTemplateSerializer, responses={201: TemplateSerializer}, tags=["datasets"]
    )
    @idempotent
    def create(self, request: Request) -> Response:
        """Keep a confirmed description under a name."""
        asked = NewTemplateSerializer(data=request.data)
        asked.is_valid(raise_exception=True)
        data = asked.validated_data
        version = selectors.domain_version_for(
            caller(request), data["dataset"], data["number"], Need.DESCRIBE
        )
        made = services.save_template(actor=caller(request), version=version, name=data["name"])
        return Response(TemplateSerializer(made).data, status=HTTPStatus.CREATED)


class ApplyTemplateView(APIView):
    """A template for one table."""

    @extend_schema(
        operation_id="domain_draft_template",
        request=ApplySerializer,
        responses=BroughtSerializer,
        tags=["datasets"],
    )
    def post(self, request: Request, code: str) -> Response:
        """Take a template into the draft: nothing is confirmed by it and no budget is touched. A template of
        which a column is not in the table is refused (422)."""
        dataset = selectors.dataset_for(caller(request), code, Need.DESCRIBE)
        asked = ApplySerializer(data=request.data)
        asked.is_valid(raise_exception=True)
        template = selectors.template_for(caller(request), asked.validated_data["template"])
        replaces = asked.validated_data["replaces"]
        brought = services.apply_template(
            actor=caller(request), dataset=dataset, template=template, replaces=replaces
        )
        return Response(BroughtSerializer(brought).data)
