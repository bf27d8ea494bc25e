"""Addresses of pages."""

from __future__ import annotations

from django.urls import URLPattern

app_name = "pages"
urlpatterns: list[URLPattern] = []
