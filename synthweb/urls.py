"""Addresses of synthweb: each app owns its own; `pages` has the screens that join several."""

from __future__ import annotations

from django.contrib import admin
from django.urls import include, path

urlpatterns = [
    path("admin/", admin.site.urls),
]
