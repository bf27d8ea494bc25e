"""Addresses of the ledger and of the audit log."""

from __future__ import annotations

from django.urls import path, register_converter
from django.urls.converters import StringConverter

from synthweb.ledger import audit_log, downloads, views


class ExportKind(StringConverter):
    regex = "csv|json"


register_converter(ExportKind, "export_kind")

app_name = "ledger"
urlpatterns = [
    path("", views.index, name="index"),
    path("rho/", views.rho_policy, name="rho-policy"),
    path("audit/", audit_log.page, name="audit"),
    path("audit/entries.<export_kind:kind>", audit_log.page_entries, name="audit-entries"),
    path("audit/real-rows/", audit_log.real_rows, name="real-rows"),
    path(
        "audit/real-rows/entries.<export_kind:kind>",
        audit_log.real_rows_entries,
        name="real-rows-entries",
    ),
    path("audit/datasets/<slug:code>/", audit_log.of_dataset, name="history-dataset"),
    path(
        "audit/datasets/<slug:code>/entries.<export_kind:kind>",
        audit_log.of_dataset_entries,
        name="history-dataset-entries",
    ),
    path("audit/people/<str:username>/", audit_log.of_person, name="history-person"),
    path(
        "audit/people/<str:username>/entries.<export_kind:kind>",
        audit_log.of_person_entries,
        name="history-person-entries",
    ),
    path("audit/chain/", audit_log.chain_status, name="audit-chain"),
    path("audit/head.json", downloads.audit_head, name="audit-head"),
    path("audit/ledger-and-audit.json", downloads.everything, name="everything"),
    path("signing.pub", downloads.public_key, name="public-key"),
    path("verify_ledger.py", downloads.checker, name="checker"),
    path("ask/<slug:dataset_code>/", views.ask, name="ask"),
    path("requests/<slug:code>/", views.budget_request, name="request"),
    path("requests/<slug:code>/grant/", views.grant, name="grant"),
    path("requests/<slug:code>/refuse/", views.refuse, name="refuse"),
    path("accounts/<slug:code>/", views.account, name="account"),
    path("accounts/<slug:code>/yearly-limit/", views.yearly_limit, name="yearly-limit"),
    path("accounts/<slug:code>/earmark/", views.earmark, name="earmark"),
    path(
        "accounts/<slug:code>/earmarks/<slug:earmark>/end/",
        views.end_earmark,
        name="end-earmark",
    ),
    path("accounts/<slug:code>/chain/", views.chain_status, name="chain"),
    path("accounts/<slug:code>/head.json", downloads.head, name="head"),
    path("accounts/<slug:code>/entries.<export_kind:kind>", views.entries, name="entries"),
]
