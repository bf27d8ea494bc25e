"""Addresses of public links, below /public/. Whoever has the token may open them."""

from __future__ import annotations

from django.urls import path

from synthweb.releases import visits

app_name = "public"
urlpatterns = [
    path("<slug:token>/", visits.release, name="release"),
    path("<slug:token>/report.html", visits.report_html, name="report"),
    path("<slug:token>/bundle.zip", visits.bundle_zip, name="bundle"),
    path("<slug:token>/table.csv", visits.table_csv, name="table"),
]
