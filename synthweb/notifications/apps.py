"""Notifications as a Django app."""

from __future__ import annotations

from django.apps import AppConfig


class NotificationsConfig(AppConfig):
    name = "synthweb.notifications"
