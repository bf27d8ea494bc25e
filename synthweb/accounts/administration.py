"""Tells Django which admin site is ours; apart from `site`, because it is read before any model is loaded."""

from __future__ import annotations

from django.contrib.admin.apps import AdminConfig


class AdministrationConfig(AdminConfig):
    default_site = "synthweb.accounts.site.Administration"
