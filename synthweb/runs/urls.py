"""Addresses of runs, and of the two screens that start one from a dataset or a release."""

from __future__ import annotations

from django.urls import path

from synthweb.runs import (
    check_views,
    database_views,
    filling_views,
    learn_views,
    link_views,
    validation_views,
    views,
)

app_name = "runs"
urlpatterns = [
    path("runs/", views.index, name="index"),
    path("runs/notice/", views.notice, name="notice"),
    path("runs/seen/", views.seen, name="seen"),
    path("runs/<slug:code>/", views.run, name="run"),
    path("runs/<slug:code>/choices.json", views.choices, name="choices"),
    path("runs/<slug:code>/cancel/", views.cancel, name="cancel"),
    path("runs/<slug:code>/resume/", views.resume, name="resume"),
    path("datasets/<slug:code>/releases/new/", views.new, name="new"),
    path("datasets/<slug:code>/releases/new/estimate/", views.preview, name="estimate"),
    path("datasets/<slug:code>/learn/", learn_views.learn, name="learn"),
    path("datasets/<slug:code>/tables/", database_views.tables, name="tables"),
    path("datasets/<slug:code>/tables/document/", database_views.bring, name="bring-database"),
    path("datasets/<slug:code>/tables/check/", database_views.check_keys, name="check-keys"),
    path("datasets/<slug:code>/tables/lookups/", database_views.add_lookup, name="add-lookup"),
    path(
        "datasets/<slug:code>/tables/lookups/<int:number>/remove/",
        database_views.remove_lookup,
        name="remove-lookup",
    ),
    path(
        "datasets/<slug:code>/tables/<slug:table>/remove/",
        database_views.remove_table,
        name="remove-table",
    ),
    path("datasets/<slug:code>/tables/release/", database_views.new, name="new-database"),
    path("datasets/<slug:code>/links/new/", link_views.propose, name="propose-link"),
    path("datasets/<slug:code>/filled-counts/new/", filling_views.ask, name="ask-filled"),
    path("filled-counts/", filling_views.index, name="filled-counts"),
    path("filled-counts/<slug:code>/", filling_views.counts, name="filled"),
    path("filled-counts/<slug:code>/approve/", filling_views.approve, name="approve-filled"),
    path("filled-counts/<slug:code>/refuse/", filling_views.refuse, name="refuse-filled"),
    path("filled-counts/<slug:code>/withdraw/", filling_views.withdraw, name="withdraw-filled"),
    path(
        "filled-counts/<slug:code>/counts.<slug:kind>", filling_views.file, name="filled-file"
    ),
    path("links/", link_views.index, name="links"),
    path("links/join/", link_views.join, name="join-link"),
    path("links/<slug:code>/", link_views.link, name="link"),
    path("links/<slug:code>/invite/", link_views.invite, name="invite-link"),
    path("links/<slug:code>/start/", link_views.start, name="start-link"),
    path("links/<slug:code>/withdraw/", link_views.withdraw, name="withdraw-link"),
    path("links/<slug:code>/release/", link_views.give, name="give-release"),
    path("links/<slug:code>/tables.zip", link_views.tables, name="link-tables"),
    path("links/<slug:code>/files/<slug:name>.json", link_views.file, name="link-file"),
    path("releases/<slug:code>/report/", views.report, name="report"),
    path("releases/<slug:code>/paid/new/", check_views.new, name="check"),
    path("releases/<slug:code>/validation/new/", validation_views.new, name="validate"),
    path("releases/<slug:code>/validation/allow/", validation_views.grant, name="allow"),
    path(
        "releases/<slug:code>/validation/<slug:allowance>/end/",
        validation_views.revoke,
        name="end-allowance",
    ),
    path(
        "releases/<slug:code>/validation/<slug:validation>/receipt.json",
        validation_views.receipt,
        name="validation-receipt",
    ),
    path("releases/<slug:code>/expected/making/", views.ranges, name="ranges"),
    path("releases/<slug:code>/marginals/making/", views.counts, name="counts"),
    path("releases/<slug:code>/implicates/making/", views.implicates, name="implicates"),
]
