"""Addresses of releases, below /releases/."""

from __future__ import annotations

from django.urls import path

from synthweb.releases import (
    carried,
    database_views,
    downloads,
    links,
    repaired_views,
    views,
)
from synthweb.releases.cards import compare, paid, receipt, samples, share
from synthweb.releases.tabs import registered

app_name = "releases"
urlpatterns = [
    path("", views.index, name="index"),
    path("verify_receipt.py", downloads.verifier, name="verifier"),
    path("public-links/", links.index, name="public-links"),
    path("public-links/allow/", links.allow, name="allow-public-links"),
    path("side-by-side/", views.side_by_side, name="side-by-side"),
    path("<slug:code>/", views.release, name="release"),
    *(path(f"<slug:code>/{card.key}/", card.view, name=card.key) for card in registered()),
    path("<slug:code>/database/schema.sql", database_views.schema, name="database-schema"),
    path(
        "<slug:code>/database/tables.<slug:form>",
        database_views.download,
        name="database-download",
    ),
    path("<slug:code>/recreate.py", downloads.recreate, name="recreate"),
    path(
        "<slug:code>/paid/<slug:check_code>/receipt.json",
        downloads.check_receipt,
        name="check-receipt",
    ),
    path("<slug:code>/paid/<slug:check_code>/void/", paid.void_check, name="void-check"),
    path("<slug:code>/groups.csv", downloads.groups_csv, name="groups-csv"),
    path("<slug:code>/tree.csv", downloads.tree_csv, name="tree-csv"),
    path("<slug:code>/map/<slug:sheet>.csv", downloads.map_csv, name="map-csv"),
    path("<slug:code>/compare/all/", compare.compare_all, name="compare-all"),
    path("<slug:code>/compare/part/<slug:key>/", compare.compare_part, name="compare-part"),
    path("<slug:code>/compare/map/", compare.compare_map, name="compare-map"),
    path(
        "<slug:code>/compare/map/<slug:sheet>.csv",
        downloads.compare_map_csv,
        name="compare-map-csv",
    ),
    path("<slug:code>/compare/report.json", downloads.compare_json, name="compare-json"),
    path("<slug:code>/samples/<slug:sample_code>/", samples.sample, name="sample"),
    path(
        "<slug:code>/samples/<slug:sample_code>/progress/",
        samples.sample_progress,
        name="sample-progress",
    ),
    path(
        "<slug:code>/samples/<slug:sample_code>/table.csv",
        downloads.sample_csv,
        name="sample-csv",
    ),
    path(
        "<slug:code>/samples/<slug:sample_code>/table.parquet",
        downloads.sample_parquet,
        name="sample-parquet",
    ),
    path(
        "<slug:code>/samples/<slug:sample_code>/table.xlsx",
        downloads.sample_xlsx,
        name="sample-xlsx",
    ),
    path(
        "<slug:code>/samples/<slug:sample_code>/receipt.json",
        downloads.sample_receipt,
        name="sample-receipt",
    ),
    path(
        "<slug:code>/repaired/<slug:repaired_code>/",
        repaired_views.table,
        name="repaired-table",
    ),
    path(
        "<slug:code>/repaired/<slug:repaired_code>/table.csv",
        repaired_views.csv,
        name="repaired-csv",
    ),
    path(
        "<slug:code>/repaired/<slug:repaired_code>/table.parquet",
        repaired_views.parquet,
        name="repaired-parquet",
    ),
    path(
        "<slug:code>/repaired/<slug:repaired_code>/receipt.json",
        repaired_views.receipt,
        name="repaired-receipt",
    ),
    path(
        "<slug:code>/repaired/<slug:repaired_code>/delete/",
        repaired_views.delete,
        name="delete-repaired",
    ),
    path("<slug:code>/description.json", downloads.description_json, name="description-json"),
    path(
        "<slug:code>/description/<slug:edition>.json",
        downloads.edition_json,
        name="edition-json",
    ),
    path("<slug:code>/dictionary.json", downloads.dictionary_json, name="dictionary-json"),
    path("<slug:code>/dictionary.csv", downloads.dictionary_csv, name="dictionary-csv"),
    path("<slug:code>/public-links/", links.make, name="make-public-link"),
    path(
        "<slug:code>/public-links/<slug:link>/revoke/", links.revoke, name="revoke-public-link"
    ),
    path("<slug:code>/licence/", share.licence, name="licence"),
    path("<slug:code>/share/<int:grant>/revoke/", share.revoke, name="revoke"),
    path("<slug:code>/receipt/verification/", receipt.verification, name="verification"),
    path("<slug:code>/receipt/loss.csv", carried.loss_csv, name="loss-csv"),
    path("<slug:code>/receipt/loss.svg", carried.loss_svg, name="loss-svg"),
    path("<slug:code>/report.html", carried.report_html, name="report-html"),
    path("<slug:code>/report.json", carried.report_json, name="report-json"),
    path("<slug:code>/datacite.json", carried.datacite_json, name="datacite"),
    path("<slug:code>/bundle.zip", carried.bundle_zip, name="bundle"),
    path("<slug:code>/implicates.zip", carried.implicates_zip, name="implicates"),
    path("<slug:code>/marginals.csv", carried.noisy_csv, name="noisy-csv"),
    path("<slug:code>/marginals.parquet", carried.noisy_parquet, name="noisy-parquet"),
    path("<slug:code>/receipt.json", downloads.receipt_json, name="receipt-json"),
    path(
        "<slug:code>/bought/<slug:purchase>/receipt.json",
        downloads.purchase_receipt,
        name="purchase-receipt",
    ),
    path("<slug:code>/marks-head.json", downloads.marks_head, name="marks-head"),
]
