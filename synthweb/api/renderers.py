"""Media types of the tables that are streamed past REST framework's renderers; here so that asking for them
(`Accept: text/csv`) is not refused. Errors on these addresses are problem documents all the same."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rest_framework.renderers import JSONRenderer

from synth_engine import codec

JSON = "application/json"


class CsvRenderer(JSONRenderer):
    """All that is rendered here is an error, or says how far a worker is with the file."""

    media_type = "text/csv"
    format = "csv"

    def render(
        self,
        data: Any,
        _accepted: str | None = None,
        renderer_context: Mapping[str, Any] | None = None,
    ) -> Any:
        response = (renderer_context or {}).get("response")
        # Whatever was asked for, this is JSON and has to say so: a program would take it for the file.
        # The media type of an error is set where it is made (`problems`).
        if response is not None and response.content_type is None:
            response["Content-Type"] = JSON
        return super().render(data, JSON, renderer_context)


class ParquetRenderer(CsvRenderer):
    """The same for Parquet."""

    media_type = "application/vnd.apache.parquet"
    format = "parquet"


class WorkbookRenderer(CsvRenderer):
    """The same for an Excel workbook."""

    media_type = codec.WORKBOOK_MEDIA_TYPE
    format = "xlsx"


class SqliteRenderer(CsvRenderer):
    """The same for a database in one file."""

    media_type = "application/vnd.sqlite3"
    format = "sqlite"


class SqlRenderer(CsvRenderer):
    """The same for SQL that creates tables."""

    media_type = "application/sql"
    format = "sql"


class PemRenderer(CsvRenderer):
    """The same for a public key."""

    media_type = "application/x-pem-file"
    format = "pem"


class PythonRenderer(CsvRenderer):
    """The same for a program."""

    media_type = "text/x-python"
    format = "py"


class HtmlRenderer(CsvRenderer):
    """The same for a report."""

    media_type = "text/html"
    format = "html"


class ZipRenderer(CsvRenderer):
    """The same for a bundle."""

    media_type = "application/zip"
    format = "zip"
