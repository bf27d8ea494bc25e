"""Files of a release, and what programs read of it as documents."""

from __future__ import annotations

import io
import tempfile
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from synthweb_client import documents, receipts
from synthweb_client.downloads import Report
from synthweb_client.files import whole
from synthweb_client.receipts import Receipt
from synthweb_client.release_access import ReleaseAccess
from synthweb_client.release_documents import Citation, Cited

if TYPE_CHECKING:
    import pandas

REPORT_FORMATS = (".html", ".json")
NOISY_FORMATS = (".csv", ".parquet")


class ReleaseFiles(ReleaseAccess):
    """What can be carried away of a release."""

    def save_bundle(self, path: str | Path, *, progress: bool | Report = False) -> Receipt:
        """Write the bundle to a file, which appears once it is verified as a whole: every file against its
        SHA-256, and the receipt as in `receipt`. Waits for the worker that draws the first rows. progress: as
        in `Sample.save`. Errors: NotReady, ReceiptRefused."""
        path = Path(path)
        with whole(path) as file:
            self._download("bundle.zip", to=file, progress=progress)
            file.flush()
            marks = documents.read(self._get("marks").content, dict[str, Any])
            claim = self._claim(digest=str(marks["core"]), head=marks["head"])
            return receipts.verified_bundle(Path(file.name), claim)

    def save_implicates(self, path: str | Path, *, progress: bool | Report = False) -> Path:
        """Write several plausible tables to a ZIP archive, as CSV and Parquet. Compared with the SHA-256 that
        the server states. Waits for the worker that makes them, once a release. Errors: NotReady,
        ServerRefused for a method without plausible tables."""
        return self._save("implicates.zip", Path(path), progress)

    def implicates(self, *, progress: bool | Report = False) -> tuple[pandas.DataFrame, ...]:
        """The same tables as data frames of pandas, with natural types; needs the extra `pandas`. `combine`
        makes one estimate with an interval of theirs. Errors: as `save_implicates`."""
        try:
            import pandas
        except ImportError:
            raise ImportError("install pandas: pip install 'synthweb-client[pandas]'") from None
        with tempfile.TemporaryFile() as file:
            self._download("implicates.zip", to=file, progress=progress)
            with zipfile.ZipFile(file) as archive:
                names = sorted(name for name in archive.namelist() if name.endswith(".parquet"))
                return tuple(
                    pandas.read_parquet(io.BytesIO(archive.read(name))) for name in names
                )

    def save_report(self, path: str | Path, *, progress: bool | Report = False) -> Path:
        """Write the report to a file whose name ends in .html, for people, or .json, for programs; it opens
        without a network. Compared with the SHA-256 that the server states. Errors: NotReady."""
        path = Path(path)
        return self._save(f"report{_ending_of(path, REPORT_FORMATS)}", path, progress)

    def save_noisy_tables(self, path: str | Path, *, progress: bool | Report = False) -> Path:
        """Write the tables that were counted with noise to a file whose name ends in .csv or .parquet, with
        the standard deviation of the noise of each cell. Waits for the worker that gathers them. Errors:
        NotReady."""
        path = Path(path)
        return self._save(f"marginals{_ending_of(path, NOISY_FORMATS)}", path, progress)

    def datacite(self) -> Mapping[str, Any]:
        """The fields of DataCite 4.5 that a DOI is registered with. Errors: NotReady."""
        return documents.read(self._when_ready("datacite.json").content, dict[str, Any])

    def citation(self) -> Citation:
        """How to cite the release: a sentence, and an entry for BibTeX. Errors: NotReady."""
        answer = self._when_ready("report.json")
        return documents.read(answer.content, Cited).citation

    def model(self) -> bytes:
        """The model as the JSON document that `python -m synth_engine sample` draws tables from, on any
        machine."""
        return self._get("model").content

    def description(self) -> Mapping[str, Any]:
        """The model as a document for people: every share beside its label. It can be edited, and drawn
        from."""
        return documents.read(self._get("description").content, dict[str, Any])

    def save_recreation(self, path: str | Path) -> Path:
        """Write the program that draws the first rows of this release again on your own machine, which needs
        the engine."""
        return self._save("recreate.py", Path(path), progress=False)

    def save_test_data(
        self,
        path: str | Path,
        scenario: Mapping[str, Any],
        *,
        rows: int,
        seed: str | None = None,
    ) -> Path:
        """A table of the release that is wrong on purpose, as a zip with a line for each changed cell and
        added row. scenario: the steps, of `Client.scenarios`. Errors: ServerRefused that names the step and
        its column."""
        body: dict[str, object] = {"scenario": scenario, "rows": rows}
        if seed is not None:
            body["seed"] = seed
        with self._named():
            answer = self._transport.post("releases", self.code, "test-data", body=body)
        target = Path(path)
        with whole(target) as file:
            file.write(answer.content)
        return target


def _ending_of(path: Path, endings: tuple[str, str]) -> str:
    """The ending of a name, one of two."""
    if path.suffix not in endings:
        raise ValueError(f"end the name in {' or '.join(endings)}")
    return path.suffix
