"""Notifications as a Django app."""

from __future__ import annotations

from django.apps import AppConfig


class NotificationsConfig(AppConfig):
    name = "synthweb.notifications"

    def ready(self) -> None:
        from synthweb.accounts import signals
        from synthweb.notifications import about_accounts

        signals.account_changed.connect(about_accounts.changed, dispatch_uid=__name__)
        signals.reset_requested.connect(about_accounts.reset_requested, dispatch_uid=__name__)
