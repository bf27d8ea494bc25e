"""Addresses of public reference tables."""

from __future__ import annotations

from django.urls import path

from synthweb.references import views

app_name = "references"
urlpatterns = [
    path("", views.index, name="index"),
    path("new/", views.new, name="new"),
    path("for/<slug:dataset_code>/", views.use, name="use"),
    path("for/<slug:dataset_code>/forget/", views.forget, name="forget"),
    path("<slug:code>/", views.detail, name="detail"),
    path("<slug:code>/version/", views.add_version, name="add-version"),
    path("<slug:code>/delete/", views.delete, name="delete"),
]
