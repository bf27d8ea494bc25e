"""A release and the samples drawn from it. Everything here is computed from noisy answers: reading costs no
budget."""

from __future__ import annotations

import dataclasses
import io
import tempfile
import zipfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Literal, TypeVar

import httpx

from synthweb_client import documents, downloads, receipts
from synthweb_client.downloads import Report
from synthweb_client.errors import NotReady, ReleaseUnavailable, ServerRefused
from synthweb_client.figures import Asked
from synthweb_client.files import whole
from synthweb_client.receipts import Claim, Receipt
from synthweb_client.repaired import RepairedTable
from synthweb_client.transport import Params, Transport
from synthweb_client.validations import Validation

if TYPE_CHECKING:
    import pandas
    import polars

Format = Literal["csv", "parquet", "xlsx"]
REPORT_FORMATS = (".html", ".json")
NOISY_FORMATS = (".csv", ".parquet")
Kind = TypeVar("Kind")
NOT_FOUND = 404
CELLS = 10_000
"""Cells asked for at once, the most that the server gives."""
PATIENCE = 600.0
"""Seconds that a worker is waited for."""


class Release:
    """A release that is shared with you. facts: what lists say of it, as of when it was fetched."""

    def __init__(
        self, transport: Transport, facts: documents.ReleaseFacts, *, key: bytes | None
    ) -> None:
        self.facts = facts
        self._transport = transport
        self._key = key

    def __repr__(self) -> str:
        return f"Release({self.code!r}, {self.name!r})"

    @property
    def code(self) -> str:
        """What addresses name it by."""
        return self.facts.code

    @property
    def name(self) -> str:
        """What it is called."""
        return self.facts.name

    def first_rows(self) -> documents.FirstRows:
        """A hundred synthetic rows, the same for everybody, and what the model holds of each column. Waits
        for the worker that draws them once a release. Errors: NotReady."""
        return documents.read(self._when_ready("first-rows").content, documents.FirstRows)

    def dictionary(self) -> tuple[documents.Column, ...]:
        """What the columns mean, from the public description."""
        return documents.read(self._get("dictionary").content, tuple[documents.Column, ...])

    def estimates(self) -> tuple[documents.EstimatedColumn, ...]:
        """Figures of each column from the noisy answers, each with the interval that the noise leaves. Waits
        for the worker that computes them. Errors: NotReady."""
        answer = self._when_ready("expected")
        return documents.read(answer.content, tuple[documents.EstimatedColumn, ...])

    def marginal(self, *columns: str, where: Sequence[str] = ()) -> documents.Marginal:
        """Counts of up to eight columns, each with its interval, whole. Waits for the worker that gathers the
        noisy answers. where: conditions that all hold, such as "region=north|south" or "age=30..39". Errors:
        NotReady."""
        cells: list[documents.Cell] = []
        while True:
            params: dict[str, str | list[str]] = {
                "columns": list(columns),
                "where": list(where),
                "limit": str(CELLS),
                "offset": str(len(cells)),
            }
            answer = self._when_ready("marginals", params)
            part = documents.read(answer.content, documents.Marginal)
            cells += part.cells
            if len(cells) >= part.count or not part.cells:
                return dataclasses.replace(part, cells=tuple(cells))

    def fit(
        self, outcome: str, *regressors: str, kind: Literal["ols", "logit"] = "ols"
    ) -> documents.Fit:
        """A regression of one column on up to eight others, with intervals that include the noise of privacy.
        Waits for the worker that gathers the noisy answers. Errors: NotReady; ServerRefused, which says why
        the regression is not offered."""
        params: dict[str, str | list[str]] = {
            "outcome": outcome,
            "regressors": list(regressors),
            "kind": kind,
        }
        return documents.read(self._when_ready("fit", params).content, documents.Fit)

    def _when_ready(self, what: str, params: Params | None = None) -> httpx.Response:
        """The answer of an address once a worker has finished what it needs."""
        waited = 0.0
        while True:
            response = self._get(what, params)
            if response.status_code != downloads.ACCEPTED:
                return response
            seconds = float(response.headers.get("Retry-After", downloads.PAUSE))
            waited = self._wait(what, seconds, waited=waited)

    def _wait(self, what: str, seconds: float, *, waited: float) -> float:
        """Wait for a worker; the seconds waited for it in all."""
        if waited + seconds > PATIENCE:
            raise NotReady(f"{what} of {self.code} are not computed yet: ask again later")
        self._transport.retries.wait(seconds)
        return waited + seconds

    def receipt(self, *, digest: str | None = None) -> Receipt:
        """The receipt, verified: epsilon and delta are recomputed from the listed calls and compared with
        those that the server lists. digest: of its core, if a citation names it. Errors: ReceiptRefused."""
        # The head first: a mark that comes between the two is then in the receipt.
        marks = documents.read(self._get("marks").content, dict[str, Any])
        claim = self._claim(digest=digest or str(marks["core"]), head=marks["head"])
        return receipts.verified(self._get("receipt").content, claim)

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

    def _save(self, what: str, path: Path, progress: bool | Report) -> Path:
        with whole(path) as file:
            self._download(what, to=file, progress=progress)
        return path

    def _download(self, what: str, *, to: IO[bytes], progress: bool | Report) -> None:
        """A file of the release, once a worker has prepared what it needs."""
        waited = 0.0
        with self._named(), downloads.shown(progress) as report:
            while True:
                seconds = downloads.download(
                    self._transport, ("releases", self.code, what), to=to, report=report
                )
                if seconds is None:
                    return
                waited = self._wait(what, seconds, waited=waited)

    def model(self) -> bytes:
        """The model as the JSON document that `python -m synth_engine sample` draws tables from, on any
        machine."""
        return self._get("model").content

    def sample(
        self,
        rows: int,
        *,
        seed: str | None = None,
        key: str | None = None,
    ) -> Sample:
        """Ask for a table of so many rows; it is drawn at each download, the same bytes each time.

        seed: None for your own secret one of this release, the same each time. key: makes the request
        harmless to repeat, also from another process; each call has a fresh one by default.
        """
        body = {"rows": rows, "seed": seed}
        given = {name: value for name, value in body.items() if value is not None}
        with self._named():
            answer = self._transport.post("releases", self.code, "samples", body=given, key=key)
        facts = documents.read(answer.content, documents.SampleFacts)
        return Sample(self._transport, facts, release=self)

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

    def repaired(self) -> tuple[RepairedTable, ...]:
        """The tables of this release that meet public totals, the newest first."""
        listed = documents.read(
            self._get("repaired").content, tuple[documents.RepairedFacts, ...]
        )
        return tuple(RepairedTable(self._transport, facts) for facts in listed)

    def repair(
        self,
        totals: Sequence[Mapping[str, object]],
        *,
        published: str,
        rows: int,
        way: Literal["weights", "rows"] = "weights",
        name: str = "",
        seed: str = "",
        key: str | None = None,
    ) -> RepairedTable:
        """Generate rows and weigh them, or repeat and leave out some, until they meet public totals; nothing
        is charged. The token needs the scope `share`, and its owner to be a steward.

        totals: each with `name`, `columns` and `counts`, a list of `values` with their `count`. published:
        where the totals are published. key: makes the request harmless to repeat. Errors: ServerRefused,
        which names totals that cannot be met.
        """
        body = {
            "totals": {"totals": list(totals)},
            "published": published,
            "rows": rows,
            "way": way,
            "name": name,
            "seed": seed,
        }
        with self._named():
            answer = self._transport.post("releases", self.code, "repaired", body=body, key=key)
        facts = documents.read(answer.content, documents.RepairedFacts)
        return RepairedTable(self._transport, facts)

    def allowances(self) -> tuple[documents.Allowance, ...]:
        """What you may spend on validations of this release, and what you have left."""
        return documents.read(self._get("allowances").content, tuple[documents.Allowance, ...])

    def price(
        self, figures: Sequence[Asked], *, epsilon: str, delta: str = "0"
    ) -> documents.Price:
        """What a validation would cost and how precise it would be; spends nothing. The token needs the scope
        `spend`."""
        with self._named():
            answer = self._transport.post(
                "releases",
                self.code,
                "validations",
                "price",
                body={"figures": figures, "epsilon": epsilon, "delta": delta},
            )
        return documents.read(answer.content, documents.Price)

    def validate(
        self,
        figures: Sequence[Asked],
        *,
        epsilon: str,
        delta: str = "0",
        key: str | None = None,
    ) -> Validation:
        """Have figures measured on the real table, with noise, within an allowance of yours; what it costs is
        held at once, and `Validation.figures` waits for the answers. The token needs the scope `spend`.

        figures: of `synthweb_client.figures`. key: makes the request harmless to repeat, also from another
        process; each call has a fresh one by default. Errors: ServerRefused, with the code `beyond-allowance`
        where no allowance has that much left.
        """
        with self._named():
            answer = self._transport.post(
                "releases",
                self.code,
                "validations",
                body={"figures": figures, "epsilon": epsilon, "delta": delta},
                key=key,
            )
        facts = documents.read(answer.content, documents.ValidationFacts)
        return Validation(self._transport, facts, key=self._key)

    def validations(self) -> tuple[Validation, ...]:
        """Your own validations of this release, the newest first."""
        answer = self._get("validations")
        listed = documents.read(answer.content, tuple[documents.ValidationFacts, ...])
        return tuple(Validation(self._transport, facts, key=self._key) for facts in listed)

    def _claim(self, *, digest: str, head: Mapping[str, Any] | None) -> Claim:
        return Claim(
            epsilon=self.facts.epsilon,
            delta=self.facts.delta,
            digest=digest,
            head=head,
            key=self._key,
        )

    def _get(self, what: str, params: Params | None = None) -> httpx.Response:
        with self._named():
            return self._transport.get("releases", self.code, what, params=params)

    def _named(self) -> Any:
        return naming(self.code, self.name)


class Sample:
    """A table drawn from a release. facts: its rows and seed."""

    def __init__(
        self, transport: Transport, facts: documents.SampleFacts, *, release: Release
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
        self, path: str | Path, *, format: Format | None = None, progress: bool | Report = False
    ) -> Path:
        """Write the table to a file, which appears whole or not at all. format: None to go by the name of the
        file. progress: True for a bar (needs the extra `progress`), or a function that is called as pieces
        arrive."""
        path = Path(path)
        wanted = format or _format_of(path)
        with whole(path) as file:
            self._download(wanted, to=file, progress=progress)
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

    def _download(self, format: Format, *, to: IO[bytes], progress: bool | Report) -> None:
        path = ("samples", self.facts.code, f"table.{format}")
        with self.release._named(), downloads.shown(progress) as report:
            downloads.download(
                self._transport, path, to=to, rows=self.facts.rows, report=report
            )


@contextmanager
def naming(code: str, name: str = "") -> Iterator[None]:
    """A 404 of an address of a release says what that means."""
    try:
        yield
    except ServerRefused as error:
        if error.status != NOT_FOUND:
            raise
        known = f"{name} ({code})" if name else code
        was = (
            "it was shared with you, and is no longer"
            if name
            else "it does not exist or is not shared with you"
        )
        raise ReleaseUnavailable(
            f"The release {known} is not available: {was}. Ask its data steward. Tables that you have stay "
            "yours.",
            status=NOT_FOUND,
        ) from None


def _ending_of(path: Path, endings: tuple[str, str]) -> str:
    """The ending of a name, one of two."""
    if path.suffix not in endings:
        raise ValueError(f"end the name in {' or '.join(endings)}")
    return path.suffix


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
