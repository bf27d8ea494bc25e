"""Addresses of the screens that join several apps."""

from __future__ import annotations

from django.urls import path, register_converter

from synthweb.lib import codes
from synthweb.pages import lifecycle, publication_plans, retention, uploads, views

register_converter(codes.Converter, "code")

app_name = "pages"
urlpatterns = [
    path("", views.home, name="home"),
    path("datasets/upload/", uploads.new, name="upload"),
    path("datasets/<code:code>/upload/", uploads.status, name="upload-status"),
    path("datasets/<code:code>/upload/again/", uploads.read_again, name="read-again"),
    path("datasets/<code:code>/settings/", lifecycle.settings, name="settings"),
    path("datasets/<code:code>/settings/form/", lifecycle.form, name="form"),
    path("datasets/<code:code>/settings/form/answer/", lifecycle.answer, name="form-answer"),
    path("datasets/<code:code>/replace/", lifecycle.replace, name="replace"),
    path("datasets/<code:code>/replace/back/", lifecycle.back, name="go-back"),
    path(
        "datasets/<code:code>/replace/erase-earlier/",
        lifecycle.erase_earlier,
        name="erase-earlier",
    ),
    path("datasets/<code:code>/delete/", lifecycle.delete, name="delete"),
    path("datasets/<code:code>/retention/", retention.dataset, name="dataset-retention"),
    path("datasets/<code:code>/", views.dataset, name="dataset"),
    path("datasets/<code:code>/runs/", views.dataset_runs, name="dataset-runs"),
    path("ledger/requests/<slug:code>/accuracy/", views.accuracy, name="accuracy"),
    path("ledger/accounts/<slug:code>/plans/new/", publication_plans.new, name="new-plan"),
    path("ledger/accounts/<slug:code>/plans/<slug:plan>/", publication_plans.plan, name="plan"),
    path(
        "ledger/accounts/<slug:code>/plans/<slug:plan>/years.csv",
        publication_plans.years_file,
        name="plan-years",
    ),
    path(
        "ledger/accounts/<slug:code>/plans/<slug:plan>/change/",
        publication_plans.change,
        name="change-plan",
    ),
    path("retention/", retention.index, name="retention"),
    path("log-read/", views.mark_log_read, name="mark-log-read"),
    path("search/", views.search, name="search"),
    path("docs/", views.docs_index, name="docs"),
    path("docs/<path:slug>/", views.docs_page, name="docs-page"),
]
