"""Addresses of test data below /api/v1/."""

from __future__ import annotations

from django.urls import path

from synthweb.extras.scenarios.rest import views

urlpatterns = [
    path("scenarios/", views.ScenariosView.as_view(), name="scenario-list"),
    path("test-data/", views.DescribedTestDataView.as_view(), name="test-data"),
    path(
        "releases/<slug:code>/test-data/",
        views.TestDataView.as_view(),
        name="release-test-data",
    ),
]
