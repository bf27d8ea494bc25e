"""The books, for who checks them: entries as files, signed checkpoints, the audit log."""

from __future__ import annotations

from typing import Any

from django.http import HttpResponse, StreamingHttpResponse
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import extend_schema
from rest_framework.mixins import ListModelMixin
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView
from rest_framework.viewsets import GenericViewSet

from synthweb.accounts.permissions import Need
from synthweb.accounts.selectors import organisation_of, require
from synthweb.api import filters
from synthweb.api.authentication import caller
from synthweb.api.filters import Filtered
from synthweb.api.renderers import CsvRenderer, PemRenderer, PythonRenderer
from synthweb.api.serializers.audit import DeedSerializer
from synthweb.audit.models import AuditEntry
from synthweb.ledger import checkpoints, downloads, export, log_access, selectors
from synthweb.ledger.models import LedgerEntry


class EntriesFileView(GenericViewSet[LedgerEntry]):
    """All entries of an account in one file, oldest first, with every field that the hashes cover."""

    queryset = LedgerEntry.objects.none()

    @extend_schema(
        operation_id="accounts_entries_json", responses=OpenApiTypes.OBJECT, tags=["accounts"]
    )
    def json(self, request: Request, code: str) -> StreamingHttpResponse:
        """As JSON, which `verify_ledger.py` checks offline."""
        return _entries(request, code, kind="json")


class EntriesCsvView(GenericViewSet[LedgerEntry]):
    """The same for a spreadsheet."""

    queryset = LedgerEntry.objects.none()
    renderer_classes = [CsvRenderer]

    @extend_schema(
        operation_id="accounts_entries_csv",
        responses={(200, "text/csv"): OpenApiTypes.STR},
        tags=["accounts"],
    )
    def csv(self, request: Request, code: str) -> StreamingHttpResponse:
        """As CSV, which no spreadsheet runs as a formula."""
        return _entries(request, code, kind="csv")


class HeadView(APIView):
    """Where the chain of an account ends."""

    @extend_schema(
        operation_id="accounts_head", responses=OpenApiTypes.OBJECT, tags=["accounts"]
    )
    def get(self, request: Request, code: str) -> Response:
        """The signed checkpoint of an account's chain, recomputed now, to be kept elsewhere."""
        return Response(checkpoints.of_account(selectors.account_for(caller(request), code)))


class AuditHeadView(APIView):
    """Where the audit log ends."""

    @extend_schema(operation_id="audit_head", responses=OpenApiTypes.OBJECT, tags=["audit"])
    def get(self, request: Request) -> Response:
        """The signed checkpoint of the audit log, recomputed now; for auditors."""
        require(caller(request), Need.LOG)
        return Response(checkpoints.of_audit_log())


class LogFileView(GenericViewSet[AuditEntry]):
    """The audit log in one file, oldest first, with every field that the hashes cover; for auditors."""

    queryset = AuditEntry.objects.none()

    @extend_schema(
        operation_id="audit_entries_json", responses=OpenApiTypes.OBJECT, tags=["audit"]
    )
    def json(self, request: Request) -> StreamingHttpResponse:
        """The audit log as JSON, oldest first, which `verify_ledger.py` checks offline; for auditors."""
        return _log(request, kind="json")

    @extend_schema(
        operation_id="ledger_and_audit_json", responses=OpenApiTypes.OBJECT, tags=["audit"]
    )
    def everything(self, request: Request) -> StreamingHttpResponse:
        """All accounts and the audit log, with a signed list of what belongs into the file;
        `verify_ledger.py` gives one verdict."""
        return export.of_everything(caller(request))


class LogCsvView(GenericViewSet[AuditEntry]):
    """The same for a spreadsheet."""

    queryset = AuditEntry.objects.none()
    renderer_classes = [CsvRenderer]

    @extend_schema(
        operation_id="audit_entries_csv",
        responses={(200, "text/csv"): OpenApiTypes.STR},
        tags=["audit"],
    )
    def csv(self, request: Request) -> StreamingHttpResponse:
        """The audit log as CSV, which no spreadsheet runs as a formula; for auditors."""
        return _log(request, kind="csv")


PARTS = {
    "whole": "The whole audit log, newest first: who did what; for auditors.",
    "me": "What you did, and what was done to your account, newest first.",
    "dataset": "Who did what with one dataset, newest first.",
    "real-rows": "Who opened what was computed from real rows, newest first.",
}


class AuditViewSet(Filtered, ListModelMixin, GenericViewSet[AuditEntry]):
    """Who did what, newest first."""

    queryset = AuditEntry.objects.none()
    serializer_class = DeedSerializer
    query = filters.AuditQuery
    part = "whole"

    @property
    def about(self) -> str:
        """What the reference says of this address."""
        return PARTS[self.part]

    def get_queryset(self) -> Any:
        user, part = caller(self.request), self.part
        if part == "dataset":
            return log_access.of_dataset(user, self.kwargs["code"]).log
        if part == "me":
            return log_access.of_person(user, user.get_username()).log
        return (
            log_access.real_rows(user) if part == "real-rows" else log_access.whole_log(user)
        ).log


class KeyView(APIView):
    """What checks a signature."""

    renderer_classes = [PemRenderer]

    @extend_schema(
        operation_id="signing_key",
        responses={(200, PemRenderer.media_type): OpenApiTypes.STR},
        tags=["audit"],
    )
    def get(self, request: Request) -> HttpResponse:
        """The public half of the key that signs heads."""
        # Authorises: PermissionDenied for somebody without an organisation.
        organisation_of(caller(request))
        return HttpResponse(checkpoints.public_key(), content_type=PemRenderer.media_type)


class CheckerView(APIView):
    """What checks a ledger."""

    renderer_classes = [PythonRenderer]

    @extend_schema(
        operation_id="ledger_checker",
        responses={(200, PythonRenderer.media_type): OpenApiTypes.STR},
        tags=["audit"],
    )
    def get(self, _request: Request) -> HttpResponse:
        """`verify_ledger.py`: checks exported entries and signed checkpoints with nothing but Python."""
        return HttpResponse(
            downloads.CHECKER.read_bytes(),
            content_type=f"{PythonRenderer.media_type}; charset=utf-8",
        )


def _entries(request: Request, code: str, *, kind: str) -> StreamingHttpResponse:
    account = selectors.account_for(caller(request), code)
    rows = LedgerEntry.objects.filter(account=account)
    return export.of_entries(account, rows, kind=kind, filters={})


def _log(request: Request, *, kind: str) -> StreamingHttpResponse:
    part = log_access.whole_log(caller(request))
    return export.of_log(part.log, name=part.name, kind=kind, filters={})
