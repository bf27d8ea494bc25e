"""Deliveries in the administration: to read, never to change. Secrets of webhooks are not shown."""

from __future__ import annotations

from django.contrib import admin

from synthweb.accounts.admin import PeopleAdmin
from synthweb.notifications.models import Delivery, Webhook


@admin.register(Delivery)
class DeliveryAdmin(PeopleAdmin):
    organisation_path = "notification__user__memberships__organisation"
    list_display = [
        "event",
        "user",
        "channel",
        "state",
        "attempts",
        "problem",
        "status",
        "due_at",
    ]
    list_filter = ["channel", "state", "problem"]
    list_select_related = ["notification__user"]
    fields = [
        "event",
        "user",
        "channel",
        "state",
        "attempts",
        "problem",
        "status",
        "due_at",
        "finished_at",
    ]

    @admin.display
    def event(self, delivery: Delivery) -> str:
        return delivery.notification.event

    @admin.display
    def user(self, delivery: Delivery) -> str:
        return delivery.notification.user.get_username()


@admin.register(Webhook)
class WebhookAdmin(PeopleAdmin):
    organisation_path = "user__memberships__organisation"
    list_display = ["user", "url", "created_at", "failing_since", "disabled_at"]
    fields = ["user", "url", "events", "created_at", "failing_since", "disabled_at"]
