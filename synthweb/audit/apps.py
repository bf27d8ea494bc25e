"""The lowest app of the house puts up what the library needs at start."""

from __future__ import annotations

from django.apps import AppConfig
from django.core import checks
from django.db.models.signals import post_migrate, pre_migrate


class AuditConfig(AppConfig):
    name = "synthweb.audit"

    def ready(self) -> None:
        from synthweb.lib import (
            append_only,
            application_role,
            installation_format,
        )  # has a model class: importable once all apps are loaded

        pre_migrate.connect(
            installation_format.note_before_migrate,
            sender=self,
            dispatch_uid="installation_format.note",
        )
        post_migrate.connect(
            append_only.install_after_migrate, dispatch_uid="append_only.install"
        )
        # of one app alone: post_migrate comes once for each, after the last migration of all of them
        post_migrate.connect(
            application_role.grant_after_migrate,
            sender=self,
            dispatch_uid="application_role.grant",
        )
        checks.register(installation_format.check_format, checks.Tags.database)
        checks.register(append_only.check_triggers, checks.Tags.database)
