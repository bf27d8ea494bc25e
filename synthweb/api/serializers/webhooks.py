"""Webhooks as JSON."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers

from synthweb.api.serializers.strict import Choice, StrictSerializer, Text
from synthweb.notifications import addresses
from synthweb.notifications.models import CHOSEN, URL_LENGTH, Delivery, Webhook


class WebhookSerializer(serializers.ModelSerializer[Webhook]):
    """An address that is called with what its owner is notified of."""

    events = serializers.ListField(child=serializers.CharField())

    class Meta:
        model = Webhook
        fields = ["code", "url", "events", "created_at", "failing_since", "disabled_at"]
        extra_kwargs = {
            "failing_since": {"help_text": "null: the last delivery arrived."},
            "disabled_at": {"help_text": "When it was switched off; null: it is on."},
        }


class RegisteredWebhookSerializer(WebhookSerializer):
    """A webhook with its secret, which is in this one answer."""

    secret = serializers.CharField(help_text="The key of the signatures of its deliveries.")

    class Meta(WebhookSerializer.Meta):
        fields = [*WebhookSerializer.Meta.fields, "secret"]


class NewWebhookSerializer(StrictSerializer):
    """A webhook to register."""

    url = Text(max_length=URL_LENGTH, help_text="https, and a host with a public address.")
    events = serializers.ListField(
        child=Choice(choices=[event.value for event in CHOSEN]),
        allow_empty=False,
        max_length=len(CHOSEN),
    )

    def validate_url(self, url: str) -> str:
        addresses.require_allowed_form(url)
        return url


class DeliverySerializer(serializers.Serializer[Any]):
    """A test on its way."""

    id = serializers.CharField(
        source="notification.code", help_text="The id that the delivery has."
    )
    state = serializers.ChoiceField(choices=Delivery.State.choices)
