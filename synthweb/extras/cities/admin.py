"""Cities in the administration: to read, never to change."""

from __future__ import annotations

from django.contrib import admin

from synthweb.accounts.admin import ReadOnlyAdmin
from synthweb.extras.cities.models import CityBuild, CityExport


@admin.register(CityBuild)
class CityBuildAdmin(ReadOnlyAdmin):
    organisation_path = "organisation"
    list_display = ["code", "name", "state", "created_by", "created_at"]
    list_filter = ["state"]
    list_select_related = ["created_by"]
    ordering = ["-created_at"]
    exclude = ["areas", "archive", "database"]


@admin.register(CityExport)
class CityExportAdmin(ReadOnlyAdmin):
    organisation_path = "city__organisation"
    list_display = ["city", "form"]
    list_filter = ["form"]
    list_select_related = ["city"]
    exclude = ["content"]
    ordering = ["-pk"]
