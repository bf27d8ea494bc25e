"""REST: everything below /api/v1/. Addresses end in a slash; an unknown one is a problem document too."""

from __future__ import annotations

from typing import Any

from django.urls import path, re_path

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
    marginals,
    paid,
    people,
    reference,
    references,
    releases,
    runs,
    templates,
    validations,
)

LIST: dict[str, Any] = {"get": "list"}
ONE: dict[str, Any] = {"get": "retrieve"}
# For a list that is given whole, and not narrowed.
WHOLE: dict[str, object] = {"pagination_class": None, "query": None}

app_name = "api"
urlpatterns = [
    path("me/", people.MeView.as_view(), name="me"),
    path("me/history/", audit.AuditViewSet.as_view(LIST, part="me"), name="my-history"),
    path("mechanisms/", people.MechanismsView.as_view(), name="mechanism-list"),
    path(
        "datasets/",
        datasets.DatasetsViewSet.as_view({**LIST, "post": "create"}),
        name="dataset-list",
    ),
    path(
        "datasets/<slug:code>/",
        datasets.DatasetViewSet.as_view({**ONE, "patch": "rename", "delete": "destroy"}),
        name="dataset-detail",
    ),
    path(
        "datasets/<slug:code>/file/",
        datasets.FileViewSet.as_view({"put": "replace"}),
        name="dataset-file",
    ),
    path(
        "datasets/<slug:code>/form/",
        datasets.DatasetViewSet.as_view({"put": "form"}),
        name="dataset-form",
    ),
    path(
        "datasets/<slug:code>/go-back/",
        datasets.DatasetViewSet.as_view({"post": "go_back"}),
        name="dataset-go-back",
    ),
    path(
        "datasets/<slug:code>/read-again/",
        datasets.DatasetViewSet.as_view({"post": "read_again"}),
        name="dataset-read-again",
    ),
    path(
        "datasets/<slug:code>/history/",
        audit.AuditViewSet.as_view(LIST, part="dataset"),
        name="dataset-history",
    ),
    path("datasets/<slug:code>/tables/", databases.DatabaseView.as_view(), name="database"),
    path(
        "datasets/<slug:code>/tables/document/",
        databases.DatabaseDocumentView.as_view(),
        name="database-document",
    ),
    path(
        "datasets/<slug:code>/tables/runs/",
        databases.DatabaseRunsView.as_view(),
        name="database-runs",
    ),
    path("datasets/<slug:code>/domain/", datasets.DomainView.as_view(), name="dataset-domain"),
    path(
        "datasets/<slug:code>/domain/draft/", datasets.DraftView.as_view(), name="dataset-draft"
    ),
    path(
        "datasets/<slug:code>/domain/<int:number>/",
        datasets.DomainVersionView.as_view(),
        name="dataset-domain-version",
    ),
    path(
        "datasets/<slug:code>/domain/<int:number>/table-schema/",
        datasets.TableSchemaView.as_view(),
        name="dataset-table-schema",
    ),
    path(
        "datasets/<slug:code>/domain/draft/template/",
        templates.ApplyTemplateView.as_view(),
        name="apply-template",
    ),
    path(
        "datasets/<slug:code>/domain/draft/reference/",
        references.UseView.as_view(),
        name="use-reference",
    ),
    path(
        "references/",
        references.ReferencesViewSet.as_view({**LIST, "post": "create"}),
        name="reference-list",
    ),
    path(
        "references/<slug:code>/", references.ReferenceView.as_view(), name="reference-detail"
    ),
    path(
        "references/<slug:code>/versions/",
        references.VersionsView.as_view(),
        name="reference-versions",
    ),
    path(
        "references/<slug:code>/versions/<int:number>/",
        references.ContentView.as_view(),
        name="reference-content",
    ),
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
    path(
        "budget-requests/<slug:code>/",
        budget.RequestViewSet.as_view(ONE),
        name="budget-request-detail",
    ),
    path(
        "budget-requests/<slug:code>/grant/",
        budget.RequestViewSet.as_view({"post": "grant"}),
        name="budget-request-grant",
    ),
    path(
        "budget-requests/<slug:code>/refuse/",
        budget.RequestViewSet.as_view({"post": "refuse"}),
        name="budget-request-refuse",
    ),
    path("accounts/", budget.AccountViewSet.as_view(LIST), name="account-list"),
    path("accounts/<slug:code>/", budget.AccountViewSet.as_view(ONE), name="account-detail"),
    path(
        "accounts/<slug:code>/entries/",
        budget.EntryViewSet.as_view(LIST),
        name="account-entries",
    ),
    path(
        "accounts/<slug:code>/entries.json",
        audit.EntriesFileView.as_view({"get": "json"}),
        name="account-entries-json",
    ),
    path(
        "accounts/<slug:code>/entries.csv",
        audit.EntriesCsvView.as_view({"get": "csv"}),
        name="account-entries-csv",
    ),
    path("accounts/<slug:code>/head/", audit.HeadView.as_view(), name="account-head"),
    path("audit/", audit.AuditViewSet.as_view(LIST), name="audit-list"),
    path(
        "audit/real-rows/",
        audit.AuditViewSet.as_view(LIST, part="real-rows"),
        name="audit-real-rows",
    ),
    path("audit/head/", audit.AuditHeadView.as_view(), name="audit-head"),
    path("signing.pub", audit.KeyView.as_view(), name="signing-key"),
    path("verify_ledger.py", audit.CheckerView.as_view(), name="ledger-checker"),
    path("runs/", runs.RunViewSet.as_view({**LIST, "post": "create"}), name="run-list"),
    path("runs/<slug:code>/", runs.RunViewSet.as_view(ONE), name="run-detail"),
    path(
        "runs/<slug:code>/cancel/",
        runs.RunViewSet.as_view({"post": "cancel"}),
        name="run-cancel",
    ),
    path(
        "runs/<slug:code>/resume/",
        runs.RunViewSet.as_view({"post": "resume"}),
        name="run-resume",
    ),
    path("runs/<slug:code>/log/", runs.LogViewSet.as_view(LIST), name="run-log"),
    path("releases/", releases.ReleaseViewSet.as_view(LIST), name="release-list"),
    path(
        "releases/<slug:code>/",
        releases.ReleaseViewSet.as_view({**ONE, "patch": "describe"}),
        name="release-detail",
    ),
    path(
        "releases/<slug:code>/licence/",
        releases.ReleaseViewSet.as_view({"put": "license"}),
        name="release-licence",
    ),
    path(
        "releases/<slug:code>/expected/",
        releases.ReleaseViewSet.as_view({"get": "expected"}, **WHOLE),
        name="release-expected",
    ),
    path(
        "releases/<slug:code>/expected-errors/",
        releases.ReleaseViewSet.as_view({"get": "expected_errors"}, **WHOLE),
        name="release-expected-errors",
    ),
    path(
        "releases/<slug:code>/first-rows/",
        releases.ReleaseViewSet.as_view({"get": "first_rows"}, **WHOLE),
        name="release-first-rows",
    ),
    path(
        "releases/<slug:code>/model/",
        releases.ReleaseViewSet.as_view({"get": "model"}),
        name="release-model",
    ),
    path(
        "releases/<slug:code>/recreate.py",
        releases.ReleaseViewSet.as_view(
            {"get": "recreate"}, renderer_classes=[PythonRenderer], **WHOLE
        ),
        name="release-recreate",
    ),
    path(
        "releases/<slug:code>/marginals/",
        marginals.MarginalsView.as_view(),
        name="release-marginals",
    ),
    path(
        "releases/<slug:code>/marginals.csv",
        carried.CarriedViewSet.as_view({"get": "noisy_csv"}, renderer_classes=[CsvRenderer]),
        name="release-noisy-csv",
    ),
    path(
        "releases/<slug:code>/marginals.parquet",
        carried.CarriedViewSet.as_view(
            {"get": "noisy_parquet"}, renderer_classes=[ParquetRenderer]
        ),
        name="release-noisy-parquet",
    ),
    path(
        "releases/<slug:code>/report.html",
        carried.CarriedViewSet.as_view({"get": "report_html"}, renderer_classes=[HtmlRenderer]),
        name="release-report-html",
    ),
    path(
        "releases/<slug:code>/report.json",
        carried.CarriedViewSet.as_view({"get": "report_json"}),
        name="release-report-json",
    ),
    path(
        "releases/<slug:code>/datacite.json",
        carried.CarriedViewSet.as_view({"get": "datacite"}),
        name="release-datacite",
    ),
    path(
        "releases/<slug:code>/tables/",
        databases.ReleasedTablesView.as_view(),
        name="release-tables",
    ),
    path(
        "releases/<slug:code>/tables.zip",
        databases.ReleasedFileView.as_view(),
        name="release-tables-zip",
    ),
    path(
        "releases/<slug:code>/bundle.zip",
        carried.CarriedViewSet.as_view({"get": "bundle_zip"}, renderer_classes=[ZipRenderer]),
        name="release-bundle",
    ),
    path(
        "releases/<slug:code>/implicates.zip",
        carried.CarriedViewSet.as_view(
            {"get": "implicates_zip"}, renderer_classes=[ZipRenderer]
        ),
        name="release-implicates",
    ),
    path(
        "releases/<slug:code>/criteria/",
        paid.CriteriaView.as_view(),
        name="release-criteria",
    ),
    path(
        "releases/<slug:code>/paid/",
        paid.PaidChecksView.as_view(),
        name="release-paid",
    ),
    path(
        "releases/<slug:code>/paid/price/",
        paid.PriceView.as_view(),
        name="release-paid-price",
    ),
    path(
        "releases/<slug:code>/paid/<slug:check_code>/receipt/",
        paid.CheckReceiptView.as_view(),
        name="release-paid-receipt",
    ),
    path(
        "releases/<slug:code>/allowances/",
        validations.AllowancesView.as_view(),
        name="release-allowances",
    ),
    path(
        "releases/<slug:code>/allowances/<slug:allowance>/",
        validations.AllowanceView.as_view(),
        name="release-allowance",
    ),
    path(
        "releases/<slug:code>/validations/",
        validations.ValidationsView.as_view(),
        name="release-validations",
    ),
    path(
        "releases/<slug:code>/validations/price/",
        validations.ValidationPriceView.as_view(),
        name="release-validations-price",
    ),
    path(
        "releases/<slug:code>/validations/<slug:validation>/",
        validations.ValidationView.as_view(),
        name="release-validation",
    ),
    path(
        "releases/<slug:code>/validations/<slug:validation>/receipt/",
        validations.ValidationReceiptView.as_view(),
        name="release-validation-receipt",
    ),
    path(
        "releases/<slug:code>/network/",
        releases.ReleaseViewSet.as_view({"get": "network"}, **WHOLE),
        name="release-network",
    ),
    path(
        "releases/<slug:code>/verification/",
        releases.ReleaseViewSet.as_view({"get": "verification"}),
        name="release-verification",
    ),
    path(
        "releases/<slug:code>/receipt/",
        releases.ReleaseViewSet.as_view({"get": "receipt"}),
        name="release-receipt",
    ),
    path(
        "releases/<slug:code>/marks/",
        releases.ReleaseViewSet.as_view({"get": "marks"}),
        name="release-marks",
    ),
    path(
        "releases/<slug:code>/dictionary/",
        releases.DictionaryView.as_view(),
        name="release-dictionary",
    ),
    path(
        "releases/<slug:code>/description/",
        releases.DescriptionView.as_view(),
        name="release-description",
    ),
    path(
        "releases/<slug:code>/editions/",
        releases.EditionViewSet.as_view({**LIST, "post": "create"}),
        name="release-editions",
    ),
    path(
        "releases/<slug:code>/editions/<slug:edition>/",
        releases.EditionViewSet.as_view(ONE),
        name="release-edition",
    ),
    path(
        "releases/<slug:code>/samples/",
        releases.SampleViewSet.as_view({**LIST, "post": "create"}),
        name="release-samples",
    ),
    path(
        "releases/<slug:code>/grants/",
        releases.GrantViewSet.as_view({**LIST, "post": "create"}),
        name="release-grants",
    ),
    path(
        "releases/<slug:code>/grants/<str:username>/",
        releases.GrantViewSet.as_view({"delete": "destroy"}),
        name="release-grant",
    ),
    path("samples/<slug:code>/", releases.SampleViewSet.as_view(ONE), name="sample-detail"),
    path(
        "samples/<slug:code>/receipt/",
        releases.SampleViewSet.as_view({"get": "receipt"}),
        name="sample-receipt",
    ),
    path(
        "samples/<slug:code>/table.csv",
        releases.TableViewSet.as_view({"get": "csv"}, renderer_classes=[CsvRenderer]),
        name="sample-csv",
    ),
    path(
        "samples/<slug:code>/table.parquet",
        releases.TableViewSet.as_view({"get": "parquet"}, renderer_classes=[ParquetRenderer]),
        name="sample-parquet",
    ),
    path(
        "samples/<slug:code>/table.xlsx",
        releases.TableViewSet.as_view({"get": "xlsx"}, renderer_classes=[WorkbookRenderer]),
        name="sample-xlsx",
    ),
    path("schema/", reference.SchemaView.as_view(), name="schema"),
    path("docs/", reference.page, name="reference"),
    # Last, because it matches everything, line breaks in an address included.
    re_path(r"^(?P<path>(?s:.*))$", problems.not_found, name="not-found"),
]
