"""Addresses of datasets. The overview of one dataset, its upload and its status join several apps: see
`pages`."""

from __future__ import annotations

from django.urls import path

from synthweb.datasets import views

app_name = "datasets"
urlpatterns = [
    path("", views.index, name="index"),
    path("templates/", views.templates, name="templates"),
    path("templates/<slug:code>/delete/", views.delete_template, name="delete-template"),
    path("<slug:code>/describe/template/", views.apply_template, name="apply-template"),
    path(
        "<slug:code>/domain/<int:number>/template/", views.save_template, name="save-template"
    ),
    path("<slug:code>/describe/", views.describe, name="describe"),
    path("<slug:code>/describe/lists/", views.lists, name="lists"),
    path("<slug:code>/describe/set/", views.told_of_set, name="set"),
    path("<slug:code>/describe/evidence/", views.evidence, name="evidence"),
    path("<slug:code>/describe/rule-values/", views.rule_values, name="rule-values"),
    path("<slug:code>/describe/point/", views.point, name="point"),
    path("<slug:code>/describe/import/", views.import_document, name="import"),
    path("<slug:code>/describe/DOMAIN.json", views.draft_file, name="draft-file"),
    path("<slug:code>/domain/<int:number>/", views.domain, name="domain"),
    path("<slug:code>/domain/<int:number>/DOMAIN.json", views.domain_file, name="domain-file"),
    path(
        "<slug:code>/domain/<int:number>/table-schema.json",
        views.table_schema_file,
        name="table-schema-file",
    ),
]
