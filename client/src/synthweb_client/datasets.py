"""Tables as their steward sees them: uploaded, read by a worker, described. No row
comes back."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from synthweb_client import documents
from synthweb_client.errors import NotReady
from synthweb_client.runs import Run, RunFacts
from synthweb_client.transport import Transport

PAUSE = 2.0
"""Seconds between two looks at a table that is read."""
PATIENCE = 3_600.0
"""Seconds that a worker is waited for."""
KINDS = {
    ".csv": "text/csv",
    ".csv.gz": "application/gzip",
    ".parquet": "application/vnd.apache.parquet",
    ".xlsx": "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
    ".xls": "application/vnd.ms-excel",
    ".sav": "application/x-spss-sav",
    ".dta": "application/x-stata-dta",
    ".dat": "text/x-baskets",
}
"""Media types of the files that can be uploaded, by how their names end."""


def kind_of(path: Path) -> str:
    """The media type of a file. Errors: ValueError."""
    name = path.name.lower()
    for ending, kind in KINDS.items():
        if name.endswith(ending):
            return kind
    raise ValueError(f"end the name in {', '.join(KINDS)}")


@dataclass(frozen=True, kw_only=True)
class Refusal:
    """Why a table was refused: line, column, rule and repair; never a value."""

    line: int | None
    column: str | None
    rule: str
    repair: str


@dataclass(frozen=True, kw_only=True)
class DatasetFacts:
    """A table. status: uploaded, ready, refused or deleted. form: how its CSV is written, once it is known;
    what is listed under `asked` is only guessed. account: code of the budget that it spends from."""

    code: str
    name: str
    description: str
    status: str
    refusal: Refusal | None
    steward: str
    file_kind: str
    table_version: int
    form: dict[str, Any] | None
    account: str | None
    created_at: datetime


@dataclass(frozen=True, kw_only=True)
class DescriptionVersion:
    """A confirmed public description: document as in the published JSON Schema; digest: its SHA-256."""

    dataset: str
    number: int
    digest: str
    document: dict[str, Any]
    confirmed_by: str
    created_at: datetime


@dataclass(frozen=True, kw_only=True)
class Learned:
    """What a run learned once for all later releases. run: its code; asked: the version of the description
    that it was asked under; columns: those that were found; receipt: as the server gives it."""

    run: str
    asked: int
    columns: tuple[str, ...]
    receipt: dict[str, Any]
    created_at: datetime


@dataclass(frozen=True, kw_only=True)
class Brought:
    """What came of a document that was imported into a draft: the columns taken, and a remark for each thing
    that was not taken as it stands."""

    title: str
    columns: tuple[str, ...]
    remarks: tuple[str, ...]


class Dataset:
    """A table. facts: as of when they were last fetched."""

    def __init__(self, transport: Transport, facts: DatasetFacts) -> None:
        self._transport, self.facts = transport, facts

    def __repr__(self) -> str:
        return f"Dataset({self.code!r}, {self.facts.name!r}, {self.facts.status})"

    @property
    def code(self) -> str:
        """What addresses name it by."""
        return self.facts.code

    def refresh(self) -> Dataset:
        """Fetch its facts again."""
        return self._read(self._transport.get("datasets", self.code).content)

    def wait(self, *, patience: float = PATIENCE) -> Dataset:
        """Wait until a worker has read the table; `facts.refusal` then says what to mend, if anything.
        patience: seconds. Errors: NotReady."""
        waited = 0.0
        while self.facts.status == "uploaded":
            if waited + PAUSE > patience:
                raise NotReady(
                    f"the table {self.code} is not read yet: wait for it again later"
                )
            self._transport.retries.wait(PAUSE)
            waited += PAUSE
            self.refresh()
        return self

    def say_form(self, form: Mapping[str, object], *, key: str | None = None) -> Dataset:
        """Say how the CSV is written, such as {"delimiter": ";", "decimal": ","}; a worker reads it again."""
        return self._ask("PUT", "form", form, key)

    def read_again(self) -> Dataset:
        """Have a worker read the table once more, because its preview has expired."""
        return self._ask("POST", "read-again", {}, None)

    def rename(self, *, name: str | None = None, description: str | None = None) -> Dataset:
        """Give it another name or description; what is left out stays."""
        words = {"name": name, "description": description}
        body = {field: value for field, value in words.items() if value is not None}
        return self._read(
            self._transport.send("PATCH", "datasets", self.code, body=body).content
        )

    def replace_file(self, path: str | Path, *, key: str | None = None) -> Dataset:
        """Upload a corrected file: a version of the same table, under the same budget."""
        path = Path(path)
        with path.open("rb") as file:
            answer = self._transport.send_file(
                *("PUT", "datasets", self.code, "file"), file=file, kind=kind_of(path), key=key
            )
        return self._read(answer.content)

    def go_back(self, *, key: str | None = None) -> Dataset:
        """Give up a file that was refused and return to the one before it."""
        return self._ask("POST", "go-back", {}, key)

    def erase_earlier(self, *, key: str | None = None) -> Dataset:
        """Erase the files of earlier versions, which are kept for comparisons with their releases."""
        return self._ask("POST", "erase-earlier", {}, key)

    def delete(self) -> None:
        """Erase the table. Ledger, releases and receipts stay, and no budget returns."""
        self._transport.delete("datasets", self.code)

    def describe(
        self,
        document: Mapping[str, Any],
        *,
        because: str,
        lists_because: str = "",
        key: str | None = None,
    ) -> DescriptionVersion:
        """Declare a whole public description: a new version for good. because: where its facts are written,
        independent of the table. lists_because: the same of lists that hold nothing besides what was read
        from the table. Errors: ServerRefused with every fault and its position."""
        said = {"because": because, "lists_because": lists_because}
        answer = self._transport.send(
            "PUT",
            "datasets",
            self.code,
            "domain",
            body=document,
            params={name: text for name, text in said.items() if text},
            key=key,
        )
        return documents.read(answer.content, DescriptionVersion)

    def described(self, number: int | None = None) -> DescriptionVersion:
        """The description in force, or an earlier one by its number."""
        which = () if number is None else (str(number),)
        answer = self._transport.get("datasets", self.code, "domain", *which)
        return documents.read(answer.content, DescriptionVersion)

    def learn(
        self,
        columns: Sequence[str] = (),
        *,
        epsilon: str,
        delta: str = "0",
        key: str | None = None,
    ) -> Run:
        """Have undeclared columns learned once, for all later releases; none: all of them. The token needs
        the scope `spend`. key: a request that is sent again with it is one run."""
        body = {"columns": list(columns), "epsilon": epsilon, "delta": delta}
        answer = self._transport.post("datasets", self.code, "learned", body=body, key=key)
        return Run(self._transport, documents.read(answer.content, RunFacts))

    def learned(self) -> tuple[Learned, ...]:
        """What was learned so, the newest first."""
        answer = self._transport.get("datasets", self.code, "learned")
        return documents.read(answer.content, tuple[Learned, ...])

    def table_schema(self, number: int) -> Mapping[str, Any]:
        """A confirmed description as a Frictionless Table Schema."""
        answer = self._transport.get(
            "datasets", self.code, "domain", str(number), "table-schema"
        )
        return documents.read(answer.content, dict[str, Any])

    def draft(self) -> Mapping[str, Any]:
        """What is typed and confirmed so far, as a description."""
        answer = self._transport.get("datasets", self.code, "domain", "draft")
        return documents.read(answer.content, dict[str, Any])

    def import_draft(self, document: Mapping[str, Any], *, replaces: bool = False) -> Brought:
        """Take a description, a Table Schema or a data dictionary into the draft; nothing is confirmed by
        it."""
        answer = self._transport.send(
            "POST",
            "datasets",
            self.code,
            "domain",
            "draft",
            body=document,
            params={"replaces": "true"} if replaces else {},
        )
        return documents.read(answer.content, Brought)

    def _ask(
        self, method: str, what: str, body: Mapping[str, object], key: str | None
    ) -> Dataset:
        return self._read(
            self._transport.send(
                method, "datasets", self.code, what, body=body, key=key
            ).content
        )

    def _read(self, content: bytes) -> Dataset:
        self.facts = documents.read(content, DatasetFacts)
        return self
