"""Addresses of releases."""

from __future__ import annotations

from django.urls import URLPattern

app_name = "releases"
urlpatterns: list[URLPattern] = []
