"""Tables drawn from a release."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Literal, TypeVar

from synthweb_client import documents, downloads, receipts
from synthweb_client.downloads import Report
from synthweb_client.files import whole
from synthweb_client.receipts import Receipt
from synthweb_client.release_access import ReleaseAccess
from synthweb_client.transport import Params, Transport

if TYPE_CHECKING:
    import pandas
    import polars

Format = Literal["csv", "parquet", "xlsx"]
Written = Literal["plain", "spreadsheets", "declared"]
WRITTEN: dict[Written, Params] = {
    "plain": {},
    "spreadsheets": {"for_spreadsheets": "true"},
    "declared": {"as_declared": "true"},
}
Kind = TypeVar("Kind")


class Sample:
    """A table drawn from a release. facts: its rows and seed."""

    def __init__(
        self, transport: Transport, facts: documents.SampleFacts, *, release: ReleaseAccess
    ) -> None:
        self.facts = facts
        self.release = release
        self._transport = transport

    def __repr__(self) -> str:
        return f"Sample({self.facts.code!r}, {self.facts.rows:,} rows of {self.release!r})"

    def receipt(self) -> Receipt:
        """The receipt of this very table, verified: that of its release with the number of rows and the
        commitment to the seed. Errors: ReceiptRefused."""
        with self.release._named():
            marks = documents.read(self.release._get("marks").content, dict[str, Any])
            answer = self._transport.get("samples", self.facts.code, "receipt")
        claim = self.release._claim(digest=str(marks["core"]), head=marks["head"])
        return receipts.verified(answer.content, claim)

    def save(
        self,
        path: str | Path,
        *,
        format: Format | None = None,
        written: Written = "plain",
        progress: bool | Report = False,
    ) -> Path:
        """Write the table to a file, which appears whole or not at all.

        format: None to go by the name of the file. written: of CSV; `spreadsheets` has an apostrophe before
        texts that a spreadsheet would run, `declared` the form that the description states. progress: True
        for a bar (needs the extra `progress`), or a function that is called as pieces arrive.
        """
        path = Path(path)
        wanted = format or _format_of(path)
        if written != "plain" and wanted != "csv":
            raise ValueError(
                "only a CSV is written in one way or another: end the name in .csv"
            )
        with whole(path) as file:
            self._download(wanted, to=file, progress=progress, params=WRITTEN[written])
        return path

    def pandas(self, *, progress: bool | Report = False) -> pandas.DataFrame:
        """The table as a data frame of pandas, with natural types; needs the extra `pandas`."""
        try:
            import pandas
        except ImportError:
            raise ImportError("install pandas: pip install 'synthweb-client[pandas]'") from None
        return self._read(pandas.read_parquet, progress)

    def polars(self, *, progress: bool | Report = False) -> polars.DataFrame:
        """The table as a data frame of Polars, with natural types; needs the extra `polars`."""
        try:
            import polars
        except ImportError:
            raise ImportError("install Polars: pip install 'synthweb-client[polars]'") from None
        return self._read(polars.read_parquet, progress)

    def _read(self, reader: Callable[..., Kind], progress: bool | Report) -> Kind:
        # Through a file: the bytes of a large table never stand in memory beside its frame.
        with tempfile.TemporaryFile() as file:
            self._download("parquet", to=file, progress=progress)
            file.seek(0)
            return reader(file)

    def _download(
        self,
        format: Format,
        *,
        to: IO[bytes],
        progress: bool | Report,
        params: Params | None = None,
    ) -> None:
        path = ("samples", self.facts.code, f"table.{format}")
        with self.release._named(), downloads.shown(progress) as report:
            downloads.download(
                self._transport,
                path,
                to=to,
                rows=self.facts.rows,
                report=report,
                params=params,
            )


def _format_of(path: Path) -> Format:
    """The format that the name of a file ends in."""
    match path.suffix:
        case ".csv":
            return "csv"
        case ".parquet":
            return "parquet"
        case ".xlsx":
            return "xlsx"
    raise ValueError("end the name in .csv, .parquet or .xlsx, or give the format")
