"""Tells Django which admin site is ours; apart from `site`, because it is read before any model is loaded."""

from __future__ import annotations

from typing import Any

from django.contrib import admin
from django.contrib.admin.apps import SimpleAdminConfig
from django.contrib.admin.checks import check_admin_app, check_dependencies
from django.core import checks


class AdministrationConfig(SimpleAdminConfig):
    """Its pages are loaded with the addresses (`synthweb.urls`): workers show none."""

    default_site = "synthweb.accounts.site.Administration"

    def ready(self) -> None:
        checks.register(check_dependencies, checks.Tags.admin)
        checks.register(_check_pages, checks.Tags.admin)


def _check_pages(app_configs: Any, **kwargs: Any) -> list[checks.CheckMessage]:
    """Those of Django, of all pages."""
    admin.autodiscover()
    messages: list[checks.CheckMessage] = check_admin_app(app_configs, **kwargs)
    return messages
