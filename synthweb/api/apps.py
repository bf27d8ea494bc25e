"""REST as a Django app."""

from __future__ import annotations

import importlib

from django.apps import AppConfig


class ApiConfig(AppConfig):
    """Loads the OpenAPI extensions, which register themselves by being imported."""

    name = "synthweb.api"

    def ready(self) -> None:
        # Not at the top of this module: it imports models, which can be done once all apps are
        # loaded.
        importlib.import_module("synthweb.api.schema")
