"""REST as a Django app."""

from __future__ import annotations

import importlib

from django.apps import AppConfig


class ApiConfig(AppConfig):
    """Loads the OpenAPI extensions, which register themselves by being imported."""

    name = "synthweb.api"

    def ready(self) -> None:
        importlib.import_module("synthweb.api.schema")
