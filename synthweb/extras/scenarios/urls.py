"""Addresses of test data; that of a release is its card's."""

from __future__ import annotations

from django.urls import path

from synthweb.extras.scenarios import views

app_name = "scenarios"
urlpatterns = [path("releases/test-data/", views.described_test_data, name="described")]
