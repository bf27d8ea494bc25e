"""Addresses of the screens that join several apps."""

from __future__ import annotations

from django.urls import path

from synthweb.pages import views

app_name = "pages"
urlpatterns = [
    path("", views.home, name="home"),
    path("datasets/<slug:code>/", views.dataset, name="dataset"),
    path("datasets/<slug:code>/runs/", views.dataset_runs, name="dataset-runs"),
    path("docs/", views.docs_index, name="docs"),
    path("docs/<path:slug>/", views.docs_page, name="docs-page"),
]
