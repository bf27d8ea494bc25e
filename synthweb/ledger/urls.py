"""Addresses of ledger."""

from __future__ import annotations

from django.urls import URLPattern

app_name = "ledger"
urlpatterns: list[URLPattern] = []
