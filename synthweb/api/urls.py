"""REST: everything below /api/v1/. Addresses end in a slash; an unknown one is a problem document too."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from django.http import HttpResponseBase
from django.urls import include, path, re_path
from rest_framework.renderers import BaseRenderer, JSONRenderer

from synthweb.api import problems
from synthweb.api.renderers import (
    CsvRenderer,
    HtmlRenderer,
    ParquetRenderer,
    PythonRenderer,
    WorkbookRenderer,
    ZipRenderer,
)
from synthweb.api.views import (
    audit,
    budget,
    carried,
    databases,
    datasets,
    filling,
    fits,
    forecasts,
    links,
    marginals,
    paid,
    people,
    plans,
    purchases,
    reference,
    references,
    releases,
    repaired,
    runs,
    templates,
    uploads,
    validations,
    webhooks,
)
from synthweb.lib import extras

LIST: dict[str, Any] = {"get": "list"}
ONE: dict[str, Any] = {"get": "retrieve"}
# For a list that is given whole, and not narrowed.
WHOLE: dict[str, object] = {"pagination_class": None, "query": None}


def _whole(action: str) -> Callable[..., HttpResponseBase]:
    return releases.ReleaseViewSet.as_view({"get": action}, **WHOLE)


def _carried(
    action: str, renderer: type[BaseRenderer] = JSONRenderer
) -> Callable[..., HttpResponseBase]:
    return carried.CarriedViewSet.as_view({"get": action}, renderer_classes=[renderer])


def _table(action: str, renderer: type[BaseRenderer]) -> Callable[..., HttpResponseBase]:
    return releases.TableViewSet.as_view({"get": action}, renderer_classes=[renderer])


DATASET_URLS = [
    path(
        "",
        datasets.DatasetViewSet.as_view({**ONE, "patch": "rename", "delete": "destroy"}),
        name="dataset-detail",
    ),
    path("file/", datasets.FileViewSet.as_view({"put": "replace"}), name="dataset-file"),
    path("form/", datasets.DatasetViewSet.as_view({"put": "form"}), name="dataset-form"),
    path(
        "go-back/", datasets.DatasetViewSet.as_view({"post": "go_back"}), name="dataset-go-back"
    ),
    path(
        "erase-earlier/",
        datasets.DatasetViewSet.as_view({"post": "erase_earlier"}),
        name="dataset-erase-earlier",
    ),
    path(
        "read-again/",
        datasets.DatasetViewSet.as_view({"post": "read_again"}),
        name="dataset-read-again",
    ),
    path("history/", audit.AuditViewSet.as_view(LIST, part="dataset"), name="dataset-history"),
    path("tables/", databases.DatabaseView.as_view(), name="database"),
    path(
        "tables/document/", databases.DatabaseDocumentView.as_view(), name="database-document"
    ),
    path("tables/runs/", databases.DatabaseRunsView.as_view(), name="database-runs"),
    path("learned/", purchases.LearnedView.as_view(), name="dataset-learned"),
    path("domain/", datasets.DomainView.as_view(), name="dataset-domain"),
    path("domain/draft/", datasets.DraftView.as_view(), name="dataset-draft"),
    path(
        "domain/<int:number>/",
        datasets.DomainVersionView.as_view(),
        name="dataset-domain-version",
    ),
    path(
        "domain/<int:number>/table-schema/",
        datasets.TableSchemaView.as_view(),
        name="dataset-table-schema",
    ),
    path(
        "domain/draft/template/", templates.ApplyTemplateView.as_view(), name="apply-template"
    ),
    path("domain/draft/reference/", references.UseView.as_view(), name="use-reference"),
]
UPLOAD_URLS = [
    path("", uploads.UploadView.as_view(), name="upload-detail"),
    path("dataset/", uploads.FinishUploadView.as_view(), name="upload-dataset"),
    path("replace/", uploads.ReplaceByUploadView.as_view(), name="upload-replace"),
]
REFERENCE_URLS = [
    path("", references.ReferenceView.as_view(), name="reference-detail"),
    path("versions/", references.VersionsView.as_view(), name="reference-versions"),
    path("versions/<int:number>/", references.ContentView.as_view(), name="reference-content"),
]
BUDGET_REQUEST_URLS = [
    path("", budget.RequestViewSet.as_view(ONE), name="budget-request-detail"),
    path(
        "grant/", budget.RequestViewSet.as_view({"post": "grant"}), name="budget-request-grant"
    ),
    path(
        "refuse/",
        budget.RequestViewSet.as_view({"post": "refuse"}),
        name="budget-request-refuse",
    ),
]
ACCOUNT_URLS = [
    path("", budget.AccountViewSet.as_view(ONE), name="account-detail"),
    path("entries/", budget.EntryViewSet.as_view(LIST), name="account-entries"),
    path(
        "entries.json",
        audit.EntriesFileView.as_view({"get": "json"}),
        name="account-entries-json",
    ),
    path(
        "entries.csv", audit.EntriesCsvView.as_view({"get": "csv"}), name="account-entries-csv"
    ),
    path("head/", audit.HeadView.as_view(), name="account-head"),
    path("plans/", plans.PlansView.as_view(), name="account-plans"),
    path("plans/<slug:plan>/", plans.PlanView.as_view(), name="account-plan"),
]
RUN_URLS = [
    path("", runs.RunViewSet.as_view(ONE), name="run-detail"),
    path("cancel/", runs.RunViewSet.as_view({"post": "cancel"}), name="run-cancel"),
    path("resume/", runs.RunViewSet.as_view({"post": "resume"}), name="run-resume"),
    path("log/", runs.LogViewSet.as_view(LIST), name="run-log"),
]
RELEASE_URLS = [
    path(
        "", releases.ReleaseViewSet.as_view({**ONE, "patch": "describe"}), name="release-detail"
    ),
    path(
        "licence/", releases.ReleaseViewSet.as_view({"put": "license"}), name="release-licence"
    ),
    path("expected/", _whole("expected"), name="release-expected"),
    path("expected-errors/", _whole("expected_errors"), name="release-expected-errors"),
    path("first-rows/", _whole("first_rows"), name="release-first-rows"),
    path("model/", releases.ReleaseViewSet.as_view({"get": "model"}), name="release-model"),
    path(
        "recreate.py",
        releases.ReleaseViewSet.as_view(
            {"get": "recreate"}, renderer_classes=[PythonRenderer], **WHOLE
        ),
        name="release-recreate",
    ),
    path("fit/", fits.FitView.as_view(), name="release-fit"),
    path("marginals/", marginals.MarginalsView.as_view(), name="release-marginals"),
    path("marginals.csv", _carried("noisy_csv", CsvRenderer), name="release-noisy-csv"),
    path(
        "marginals.parquet",
        _carried("noisy_parquet", ParquetRenderer),
        name="release-noisy-parquet",
    ),
    path("report.html", _carried("report_html", HtmlRenderer), name="release-report-html"),
    path("report.json", _carried("report_json"), name="release-report-json"),
    path("datacite.json", _carried("datacite"), name="release-datacite"),
    path("tables/", databases.ReleasedTablesView.as_view(), name="release-tables"),
    path("tables.zip", databases.ReleasedFileView.as_view(), name="release-tables-zip"),
    path("bundle.zip", _carried("bundle_zip", ZipRenderer), name="release-bundle"),
    path("implicates.zip", _carried("implicates_zip", ZipRenderer), name="release-implicates"),
    path("criteria/", paid.CriteriaView.as_view(), name="release-criteria"),
    path("paid/", paid.PaidChecksView.as_view(), name="release-paid"),
    path("paid/price/", paid.PriceView.as_view(), name="release-paid-price"),
    path(
        "paid/<slug:check_code>/receipt/",
        paid.CheckReceiptView.as_view(),
        name="release-paid-receipt",
    ),
    path(
        "paid/<slug:check_code>/void/",
        paid.VoidCheckView.as_view(),
        name="release-paid-void",
    ),
    path("allowances/", validations.AllowancesView.as_view(), name="release-allowances"),
    path(
        "allowances/<slug:allowance>/",
        validations.AllowanceView.as_view(),
        name="release-allowance",
    ),
    path("validations/", validations.ValidationsView.as_view(), name="release-validations"),
    path(
        "validations/price/",
        validations.ValidationPriceView.as_view(),
        name="release-validations-price",
    ),
    path(
        "validations/<slug:validation>/",
        validations.ValidationView.as_view(),
        name="release-validation",
    ),
    path(
        "validations/<slug:validation>/receipt/",
        validations.ValidationReceiptView.as_view(),
        name="release-validation-receipt",
    ),
    path("network/", _whole("network"), name="release-network"),
    path(
        "verification/",
        releases.ReleaseViewSet.as_view({"get": "verification"}),
        name="release-verification",
    ),
    path(
        "receipt/", releases.ReleaseViewSet.as_view({"get": "receipt"}), name="release-receipt"
    ),
    path("marks/", releases.ReleaseViewSet.as_view({"get": "marks"}), name="release-marks"),
    path("dictionary/", releases.DictionaryView.as_view(), name="release-dictionary"),
    path("description/", releases.DescriptionView.as_view(), name="release-description"),
    path(
        "editions/",
        releases.EditionViewSet.as_view({**LIST, "post": "create"}),
        name="release-editions",
    ),
    path(
        "editions/<slug:edition>/", releases.EditionViewSet.as_view(ONE), name="release-edition"
    ),
    path(
        "samples/",
        releases.SampleViewSet.as_view({**LIST, "post": "create"}),
        name="release-samples",
    ),
    path("repaired/", repaired.RepairedTablesView.as_view(), name="release-repaired"),
    path(
        "repaired/<slug:repaired_code>/",
        repaired.RepairedTableView.as_view(),
        name="release-repaired-table",
    ),
    path(
        "repaired/<slug:repaired_code>/table.csv",
        repaired.RepairedCsvView.as_view(),
        name="release-repaired-csv",
    ),
    path(
        "repaired/<slug:repaired_code>/table.parquet",
        repaired.RepairedParquetView.as_view(),
        name="release-repaired-parquet",
    ),
    path(
        "grants/",
        releases.GrantViewSet.as_view({**LIST, "post": "create"}),
        name="release-grants",
    ),
    path(
        "grants/<str:username>/",
        releases.GrantViewSet.as_view({"delete": "destroy"}),
        name="release-grant",
    ),
]
FILLED_COUNTS_URLS = [
    path("", filling.FilledCountsView.as_view(), name="filled-counts-detail"),
    path("approve/", filling.ApproveCountsView.as_view(), name="filled-counts-approve"),
    path("refuse/", filling.RefuseCountsView.as_view(), name="filled-counts-refuse"),
    path("withdraw/", filling.WithdrawCountsView.as_view(), name="filled-counts-withdraw"),
]
LINK_URLS = [
    path("", links.LinkView.as_view(), name="link-detail"),
    path("invitation/", links.LinkInvitationView.as_view(), name="link-invitation"),
    path("start/", links.StartLinkView.as_view(), name="link-start"),
    path("withdraw/", links.WithdrawLinkView.as_view(), name="link-withdraw"),
    path("release/", links.LinkReleaseView.as_view(), name="link-release"),
    path("tables.zip", links.JoinedTablesView.as_view(), name="link-tables"),
    path("files/<slug:name>/", links.LinkFileView.as_view(), name="link-file"),
]
WEBHOOK_URLS = [
    path(
        "",
        webhooks.WebhookViewSet.as_view({**ONE, "delete": "destroy"}),
        name="webhook-detail",
    ),
    path("test/", webhooks.WebhookViewSet.as_view({"post": "test"}), name="webhook-test"),
    path("enable/", webhooks.WebhookViewSet.as_view({"post": "enable"}), name="webhook-enable"),
]
SAMPLE_URLS = [
    path("", releases.SampleViewSet.as_view(ONE), name="sample-detail"),
    path("receipt/", releases.SampleViewSet.as_view({"get": "receipt"}), name="sample-receipt"),
    path("table.csv", _table("csv", CsvRenderer), name="sample-csv"),
    path("table.parquet", _table("parquet", ParquetRenderer), name="sample-parquet"),
    path("table.xlsx", _table("xlsx", WorkbookRenderer), name="sample-xlsx"),
]

app_name = "api"
urlpatterns = [
    path("me/", people.MeView.as_view(), name="me"),
    path("me/history/", audit.AuditViewSet.as_view(LIST, part="me"), name="my-history"),
    path("organisation/", people.OrganisationView.as_view(), name="organisation"),
    path("people/second-factor/", people.SecondFactorView.as_view(), name="second-factor"),
    path("mechanisms/", people.MechanismsView.as_view(), name="mechanism-list"),
    path(
        "datasets/",
        datasets.DatasetsViewSet.as_view({**LIST, "post": "create"}),
        name="dataset-list",
    ),
    path("datasets/<slug:code>/", include(DATASET_URLS)),
    path(
        "references/",
        references.ReferencesViewSet.as_view({**LIST, "post": "create"}),
        name="reference-list",
    ),
    path("uploads/", uploads.UploadsView.as_view(), name="uploads"),
    path("uploads/<slug:code>/", include(UPLOAD_URLS)),
    path("references/<slug:code>/", include(REFERENCE_URLS)),
    path(
        "description-templates/",
        templates.TemplatesViewSet.as_view({**LIST, "post": "create"}),
        name="description-template-list",
    ),
    path(
        "budget-requests/",
        budget.RequestViewSet.as_view({**LIST, "post": "create"}),
        name="budget-request-list",
    ),
    path("budget-requests/<slug:code>/", include(BUDGET_REQUEST_URLS)),
    path("accounts/", budget.AccountViewSet.as_view(LIST), name="account-list"),
    path("accounts/<slug:code>/", include(ACCOUNT_URLS)),
    path("audit/", audit.AuditViewSet.as_view(LIST), name="audit-list"),
    path(
        "audit/real-rows/",
        audit.AuditViewSet.as_view(LIST, part="real-rows"),
        name="audit-real-rows",
    ),
    path("audit/head/", audit.AuditHeadView.as_view(), name="audit-head"),
    path(
        "audit/entries.json",
        audit.LogFileView.as_view({"get": "json"}),
        name="audit-entries-json",
    ),
    path(
        "audit/entries.csv", audit.LogCsvView.as_view({"get": "csv"}), name="audit-entries-csv"
    ),
    path(
        "audit/ledger-and-audit.json",
        audit.LogFileView.as_view({"get": "everything"}),
        name="ledger-and-audit",
    ),
    path("signing.pub", audit.KeyView.as_view(), name="signing-key"),
    path("verify_ledger.py", audit.CheckerView.as_view(), name="ledger-checker"),
    path("forecasts/", forecasts.ForecastView.as_view(), name="forecast"),
    path("runs/", runs.RunViewSet.as_view({**LIST, "post": "create"}), name="run-list"),
    path("runs/<slug:code>/", include(RUN_URLS)),
    path("filled-counts/", filling.FilledCountsListView.as_view(), name="filled-counts-list"),
    path("filled-counts/plan/", filling.FillPlanView.as_view(), name="filled-counts-plan"),
    path("filled-counts/<slug:code>/", include(FILLED_COUNTS_URLS)),
    path("links/", links.LinksView.as_view(), name="link-list"),
    path("links/invitation/", links.InvitationView.as_view(), name="invitation"),
    path("links/agreement/", links.OfferedAgreementView.as_view(), name="link-agreement"),
    path("links/accept/", links.AcceptLinkView.as_view(), name="link-accept"),
    path("links/<slug:code>/", include(LINK_URLS)),
    path("releases/", releases.ReleaseViewSet.as_view(LIST), name="release-list"),
    path("releases/<slug:code>/", include(RELEASE_URLS)),
    path("samples/<slug:code>/", include(SAMPLE_URLS)),
    path(
        "webhooks/",
        webhooks.WebhookViewSet.as_view({**LIST, "post": "create"}),
        name="webhook-list",
    ),
    path("webhooks/<slug:code>/", include(WEBHOOK_URLS)),
    path("schema/", reference.SchemaView.as_view(), name="schema"),
    path("docs/", reference.page, name="reference"),
    *(path("", include(extra.rest)) for extra in extras.registered() if extra.rest),
    # Last, because it matches everything, line breaks in an address included.
    re_path(r"^(?P<path>(?s:.*))$", problems.not_found, name="not-found"),
]
