"""The app that knows people; it also puts up the installation's own checks."""

from __future__ import annotations

from django.apps import AppConfig


class AccountsConfig(AppConfig):
    name = "synthweb.accounts"

    def ready(self) -> None:
        from synthweb import checks  # noqa: F401 - importing it registers them
