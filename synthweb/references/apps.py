"""Reference tables as a Django app."""

from __future__ import annotations

from typing import Any

from django.apps import AppConfig


class ReferencesConfig(AppConfig):
    """Looks at every table that arrives: what was called public is not to be protected."""

    name = "synthweb.references"

    def ready(self) -> None:
        from synthweb.datasets.signals import arriving

        arriving.connect(_looked_at, dispatch_uid="references.arriving")


def _looked_at(*, organisation: Any, content_key: str, **_rest: Any) -> None:
    from synthweb.references import (
        services,
    )  # has model classes: importable once all apps are loaded

    services.require_not_public(content_key, organisation=organisation)
