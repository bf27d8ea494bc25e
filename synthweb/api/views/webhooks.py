"""Webhooks of the caller, as the page Webhooks of their account has them."""

from __future__ import annotations

from http import HTTPStatus
from typing import Any

from drf_spectacular.utils import OpenApiResponse, extend_schema
from rest_framework.mixins import ListModelMixin
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.viewsets import GenericViewSet

from synthweb.api.authentication import caller
from synthweb.api.idempotency import idempotent
from synthweb.api.schema import refuses
from synthweb.api.serializers.webhooks import (
    DeliverySerializer,
    NewWebhookSerializer,
    RegisteredWebhookSerializer,
    WebhookSerializer,
)
from synthweb.notifications import selectors, services
from synthweb.notifications.models import Webhook


class WebhookViewSet(ListModelMixin, GenericViewSet[Webhook]):
    """Webhooks of the caller, the oldest first."""

    queryset = Webhook.objects.none()
    serializer_class = WebhookSerializer
    lookup_field = "code"
    # Of its own: a webhook goes on to call its address after the token that registered it has ended.
    write_scope = "webhooks"

    def get_queryset(self) -> Any:
        return selectors.webhooks_of(caller(self.request))

    @extend_schema(request=NewWebhookSerializer, responses={201: RegisteredWebhookSerializer})
    @refuses(409)
    @idempotent
    def create(self, request: Request) -> Response:
        """Register a webhook for some events. The answer has its secret, which no other answer has; 400 for
        an address that is not https or not public, 409 for more webhooks than a person can have."""
        wanted = NewWebhookSerializer(data=request.data)
        wanted.is_valid(raise_exception=True)
        webhook, _secret = services.register_webhook(
            user=caller(request), **wanted.validated_data
        )
        return Response(RegisteredWebhookSerializer(webhook).data, status=HTTPStatus.CREATED)

    def retrieve(self, request: Request, code: str) -> Response:
        """One webhook, and whether its deliveries arrive."""
        webhook = selectors.webhook_of(caller(request), code)
        return Response(WebhookSerializer(webhook).data)

    @extend_schema(
        responses={204: OpenApiResponse(description="Removed; nothing more is sent to it.")}
    )
    def destroy(self, request: Request, code: str) -> Response:
        """Remove a webhook with its deliveries; nothing more is sent to it."""
        webhook = selectors.webhook_of(caller(request), code)
        services.remove_webhook(user=caller(request), webhook=webhook)
        return Response(status=HTTPStatus.NO_CONTENT)

    @extend_schema(request=None, responses={202: DeliverySerializer})
    @idempotent
    def test(self, request: Request, code: str) -> Response:
        """Send a test to a webhook. `failing_since` of the webhook says later whether it arrived."""
        webhook = selectors.webhook_of(caller(request), code)
        delivery = services.test_webhook(user=caller(request), webhook=webhook)
        return Response(DeliverySerializer(delivery).data, status=HTTPStatus.ACCEPTED)

    @extend_schema(request=None, responses=WebhookSerializer)
    def enable(self, request: Request, code: str) -> Response:
        """Switch a webhook on again that was switched off because nothing arrived."""
        webhook = selectors.webhook_of(caller(request), code)
        services.enable_webhook(user=caller(request), webhook=webhook)
        webhook.refresh_from_db()
        return Response(WebhookSerializer(webhook).data)
