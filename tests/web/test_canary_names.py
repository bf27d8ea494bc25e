"""A marker in every kind of name that a file has, followed through the life of a table: read, described by
its other columns, released, deleted. It is nowhere but on the pages and answers of its steward, and after the
table it is not there either.

Searched at each step: every row of the database and the files it lies in, every file of the application,
every line that was logged, what is sent to people and to programs, and what anybody is shown."""

from __future__ import annotations

import contextlib
import gzip
import json
import re
import secrets
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pyreadstat
import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.db import connection
from django.test import Client
from django.urls import reverse
from pytest_django import Settings

from synth_engine.formats import Dialect
from synthweb.accounts.models import User
from synthweb.datasets import services as datasets
from synthweb.datasets.models import Dataset
from synthweb.ledger import services as ledger
from synthweb.notifications import webhooks, wording
from synthweb.notifications.models import CHOSEN, Notification, Webhook
from synthweb.releases import services as releases
from synthweb.releases.models import Release
from synthweb.runs import services as runs
from synthweb.runs import worker
from synthweb.runs.models import SynthesisRun
from tests.cast import Cast
from tests.engine.kinds import zipped
from tests.engine.workbooks import Cell, workbook
from tests.web import scene
from tests.web.rest import Caller
from tests.web.tus import Tus

pytestmark = [pytest.mark.slow, pytest.mark.django_db(transaction=True)]

MARKER = "MARKER"
"""Stands for the marker of a file."""
ANY_MARKER = re.compile(rb"cnry[0-9a-f]{16}")
ROWS = [(n % 90, "yn"[n % 2], n % 3) for n in range(300)]
ABOUT = {
    "attributes": [
        {"name": "age", "kind": "integer", "low": 0, "high": 120, "provenance": "declared"},
        {
            "name": "works",
            "kind": "categorical",
            "values": ["y", "n"],
            "other": True,
            "provenance": "declared",
        },
    ]
}


def csv(third: str = "note") -> bytes:
    return f"age,works,{third}\n".encode() + b"".join(
        f"{age},{works},{note}\n".encode() for age, works, note in ROWS
    )


def lines(third: str, *, every: int = 1) -> bytes:
    """JSON records, of which every so-manyth has a third key."""
    return "\n".join(
        json.dumps({"age": age, "works": works} | ({third: note} if place % every == 0 else {}))
        for place, (age, works, note) in enumerate(ROWS)
    ).encode()


def sheets(names: dict[str, str], *, hidden: tuple[str, ...] = ()) -> bytes:
    """A workbook with this table in each sheet: name of the sheet → name of the third column."""
    below: list[list[Cell]] = [[age, works, note] for age, works, note in ROWS]
    rows = {sheet: [["age", "works", third], *below] for sheet, third in names.items()}
    return workbook(rows, hidden=hidden)


def parquet(third: str, values: list[Any] | None = None) -> bytes:
    ages, works, notes = zip(*ROWS, strict=True)
    buffer = pa.BufferOutputStream()
    pq.write_table(
        pa.table({"age": ages, "works": works, third: values or list(notes)}), buffer
    )
    content: bytes = buffer.getvalue().to_pybytes()
    return content


def statistical(kind: str, third: str = "note", **facts: Any) -> bytes:
    table = pd.DataFrame(ROWS, columns=["age", "works", third])
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"table.{kind}"
        write = pyreadstat.write_sav if kind == "sav" else pyreadstat.write_dta
        write(table, path, **facts)
        return path.read_bytes()


@dataclass(frozen=True, kw_only=True)
class File:
    """A file with the marker in one kind of name. said: what the steward says of its form before it can be
    read."""

    name: str
    content: Callable[[str], bytes]
    said: dict[str, Any] = field(default_factory=dict)


FILES: dict[str, File] = {
    "header of a CSV": File(name="t.csv", content=lambda m: csv(m)),
    "header of a packed CSV": File(name="t.csv.gz", content=lambda m: gzip.compress(csv(m))),
    "name that was typed": File(
        name="t.csv",
        content=lambda _: csv("first"),
        said={"delimiter": ",", "names": ("age", "works", MARKER)},
    ),
    "name of a CSV": File(name=MARKER + ".csv", content=lambda _: csv("second")),
    "name of an archive": File(
        name=MARKER + ".zip", content=lambda _: zipped({"t.csv": csv("third")})
    ),
    "name in an archive": File(
        name="t.zip", content=lambda m: zipped({f"{m}.csv": csv("fourth")})
    ),
    "key of all records": File(name="t.jsonl", content=lambda m: lines(m)),
    "key of a fifth of the records": File(
        name="t.json", content=lambda m: b"[" + lines(m, every=5).replace(b"\n", b",") + b"]"
    ),
    "key of one record": File(name="t.jsonl", content=lambda m: lines(m, every=300)),
    "key that was typed": File(
        name="t.jsonl",
        content=lambda m: lines(m, every=300),
        said={"names": ("age", "works", MARKER)},
    ),
    "header of a sheet": File(name="t.xlsx", content=lambda m: sheets({"Data": m})),
    "name of the only sheet": File(name="t.xlsx", content=lambda m: sheets({m: "note"})),
    "name of a sheet that was said": File(
        name="t.xlsx",
        content=lambda m: sheets({"Data": "note", m: "note"}),
        said={"sheet": MARKER},
    ),
    "name of another sheet": File(
        name="t.xlsx",
        content=lambda m: sheets({"Data": "note", m: "note"}, hidden=(m,)),
        said={"sheet": "Data"},
    ),
    "column of Parquet": File(name="t.parquet", content=lambda m: parquet(m)),
    "variable of SPSS": File(name="t.sav", content=lambda m: statistical("sav", m)),
    "label of a variable of SPSS": File(
        name="t.sav", content=lambda m: statistical("sav", column_labels=["a", m, "b"])
    ),
    "label of a value of SPSS": File(
        name="t.sav",
        content=lambda m: statistical(
            "sav", variable_value_labels={"note": {0: "no", 1: m, 2: "other"}}
        ),
    ),
    "label of a file of SPSS": File(
        name="t.sav", content=lambda m: statistical("sav", file_label=m)
    ),
    "variable of Stata": File(name="t.dta", content=lambda m: statistical("dta", m)),
    "label of a variable of Stata": File(
        name="t.dta", content=lambda m: statistical("dta", column_labels=["a", m, "b"])
    ),
    "label of a value of Stata": File(
        name="t.dta",
        content=lambda m: statistical(
            "dta", variable_value_labels={"note": {0: "no", 1: m, 2: "other"}}
        ),
    ),
    "label of a file of Stata": File(
        name="t.dta", content=lambda m: statistical("dta", file_label=m)
    ),
}
REFUSED: dict[str, File] = {
    "a column of Parquet that is nested": File(
        name="t.parquet", content=lambda m: parquet(m, [[1, 2]] * len(ROWS))
    ),
    "two columns with one name": File(name="t.csv", content=lambda m: csv(f"{m},{m.upper()}")),
    "a nested value": File(
        name="t.jsonl", content=lambda m: lines(m) + b'\n{"%s": [1]}' % m.encode()
    ),
    "a text that is too long": File(
        name="t.parquet", content=lambda m: parquet(m, ["x" * (2**20 + 1), *["y"] * 299])
    ),
    "two sheets": File(name="t.xlsx", content=lambda m: sheets({"Data": "note", m: "note"})),
}


@pytest.fixture
def folder(settings: Settings, tmp_path: Path) -> Path:
    """Where this application keeps its files, and nobody else."""
    for name in ("VAR", "VAULT", "PREVIEW", "ARTEFACT", "SPOOL"):
        setattr(settings, f"{name}_DIR", tmp_path / name.lower())
    return tmp_path


@dataclass(frozen=True, kw_only=True)
class Marked:
    """A file that was uploaded, with the marker that is in one of its names."""

    where: str
    dataset: Dataset
    marker: str


@dataclass(frozen=True, kw_only=True)
class Search:
    """Where the markers of some files are looked for."""

    cast: Cast
    log: Path
    folder: Path
    marked: list[Marked]

    def hits(self, *, steward: bool = False) -> list[tuple[str, str]]:
        """Which markers are where: in what is stored, logged or sent, and in what others than the steward are
        shown; steward: in what the steward is shown, too."""
        found = [("the log", self.log.read_bytes()), *_database(), *self._files(), *_sent()]
        people = [self.cast.custodian, self.cast.auditor, self.cast.analyst]
        for person in [*people, *([self.cast.steward] if steward else [])]:
            found += _answers(person, [one.dataset for one in self.marked])
        where = {one.marker.encode(): one.where for one in self.marked}
        return sorted(
            {
                (where[marker], place)
                for place, content in found
                for marker in set(ANY_MARKER.findall(content)) & where.keys()
            }
        )

    def _files(self) -> Iterator[tuple[str, bytes]]:
        name = Path(connection.settings_dict["NAME"])
        places = [
            *(path for path in self.folder.rglob("*") if path != self.log),
            *name.parent.glob(f"{name.name}*"),
        ]
        for path in places:
            with contextlib.suppress(FileNotFoundError):
                content = path.read_bytes() if path.is_file() else b""
                yield path.name, str(path).encode() + content


def _database() -> Iterator[tuple[str, bytes]]:
    """Every row of every table."""
    with connection.cursor() as cursor:
        tables = connection.introspection.table_names(cursor)
        assert len(tables) > 50
        for table in tables:
            cursor.execute(f'SELECT * FROM "{table}"')
            yield table, repr(cursor.fetchall()).encode()


def _sent() -> Iterator[tuple[str, bytes]]:
    """What people and programs are told."""
    for notification in Notification.objects.all():
        told = wording.sentence(notification) + json.dumps(webhooks.document(notification))
        yield f"notification {notification.event}", told.encode()


def _answers(person: User, made: list[Dataset]) -> Iterator[tuple[str, bytes]]:
    """What a person is shown of these datasets, of what was made of them, and of what was done."""
    addresses = [
        *("/api/v1/datasets/?deleted=true", "/api/v1/runs/", "/api/v1/releases/"),
        *("/api/v1/audit/", "/api/v1/uploads/", "/", "/datasets/?deleted=on", "/runs/"),
        *("/ledger/", "/ledger/audit/", "/ledger/audit/entries.csv", "/notifications/"),
    ]
    for dataset in made:
        code = dataset.code
        addresses.append(f"/api/v1/datasets/{code}/")
        # Pages take longest, and show no more than REST does.
        addresses += [f"/datasets/{code}/"] * (person.username == "custodian")
    for run in SynthesisRun.objects.filter(dataset__in=made):
        addresses.append(f"/api/v1/runs/{run.code}/")
    for release in Release.objects.all():
        addresses += [f"/api/v1/releases/{release.code}/{one}" for one in ("", "receipt/")]
    client = Client(raise_request_exception=False)
    client.force_login(person)
    for address in addresses:
        answer: Any = client.get(address, headers={"Accept": "*/*"})
        body = b"".join(answer.streaming_content) if answer.streaming else answer.content
        yield f"{address} as {person}", body + repr(answer.headers).encode()


def upload(cast: Cast, where: str, file: File) -> Marked:
    """The file, as its steward's browser sends it, read in the form that the steward says."""
    marker = "cnry" + secrets.token_hex(8)
    client = Client()
    client.force_login(cast.steward)
    name = file.name.replace(MARKER, marker)
    sent = SimpleUploadedFile(name, file.content(marker))
    answer = client.post(
        reverse("pages:upload"), {"name": where, "description": "", "table": sent}
    )
    assert answer.status_code == 302, answer.content
    made = scene.read(Dataset.objects.get(name=where))
    if file.said:
        kept = Dialect(records="lines" if "json" in file.name else "").to_json()
        text = json.dumps(kept | file.said | {"said": True}).replace(MARKER, marker)
        datasets.set_dialect(
            actor=cast.steward, dataset=made, dialect=Dialect.from_json(json.loads(text))
        )
        runs.request_ingest(dataset=made, actor=cast.steward)
        made = scene.read(made)
    return Marked(where=where, dataset=made, marker=marker)


@pytest.fixture
def listening(cast: Cast) -> None:
    """Programs of everybody are told of everything."""
    for person in cast.by_name().values():
        Webhook.objects.create(
            user=person,
            url="https://hooks.example.org/",
            events=[event.value for event in CHOSEN],
            secret="whsec_" + "A" * 44,
        )


def test_a_name_that_nobody_described_is_nowhere(
    cast: Cast, listening: None, folder: Path, everything_logged: Path
) -> None:
    marked = [upload(cast, where, file) for where, file in FILES.items()]
    assert {one.dataset.status for one in marked} == {Dataset.Status.READY}
    search = Search(cast=cast, log=everything_logged, folder=folder, marked=marked)
    assert search.hits() == []
    for one in marked:
        datasets.declare_domain(actor=cast.steward, dataset=one.dataset, document=ABOUT)
        request = scene.ask(steward=cast.steward, dataset=one.dataset)
        ledger.grant(custodian=cast.custodian, request=request, reason="Agreed.")
    assert search.hits() == []
    for one in marked:
        run = scene.submit(steward=cast.steward, dataset=one.dataset)
        worker.synthesize(code=run.code)
        run.refresh_from_db()
        assert run.release is not None, (one.where, run.failure)
        releases.share(actor=cast.steward, release=run.release, analyst=cast.analyst)
    assert Notification.objects.exists()
    assert search.hits() == []
    for one in marked:
        datasets.delete(actor=cast.steward, dataset=one.dataset)
    assert search.hits(steward=True) == []


def test_a_refusal_keeps_no_name_in_the_clear(
    cast: Cast, folder: Path, everything_logged: Path
) -> None:
    marked = [upload(cast, where, file) for where, file in REFUSED.items()]
    assert {one.dataset.status for one in marked} == {Dataset.Status.REFUSED}
    search = Search(cast=cast, log=everything_logged, folder=folder, marked=marked)
    assert search.hits() == []
    nested = marked[0]
    for person in (cast.steward, cast.custodian):
        client = Client()
        client.force_login(person)
        answer = client.get(reverse("api:dataset-detail", args=[nested.dataset.code])).json()
        told = nested.marker if person == cast.steward else None
        assert answer["refusal"]["column"] == told
    for one in marked:
        datasets.delete(actor=cast.steward, dataset=one.dataset)
    assert search.hits(steward=True) == []


def test_an_upload_in_pieces_keeps_no_name_of_its_file(
    cast: Cast, folder: Path, everything_logged: Path
) -> None:
    marker = "cnry" + secrets.token_hex(8)
    tus = Tus(Caller(cast.steward, "read", "spend"))
    code = tus.send(csv(), step=4_000, file_name=f"{marker}.csv")
    tus.finish(code)
    made = Marked(where="pieces", dataset=scene.read(Dataset.objects.get()), marker=marker)
    search = Search(cast=cast, log=everything_logged, folder=folder, marked=[made])
    assert search.hits() == []
