"""Addresses of datasets."""

from __future__ import annotations

from django.urls import URLPattern

app_name = "datasets"
urlpatterns: list[URLPattern] = []
