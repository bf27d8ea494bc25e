"""A release as one archive: a table drawn with a public seed, its receipt, the model, and what describes
them.

The archive is written while it is sent (ADR 13). Everything in it follows from released documents, so whoever
may draw samples may have it.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from fractions import Fraction
from typing import Any

from django.http import HttpRequest

from synth_engine.privacy import receipt as receipts
from synth_engine.verifier import standalone
from synth_engine.verifier.bundle import BUNDLE, BUNDLE_LIST
from synthweb.accounts.models import User
from synthweb.lib import guarantee
from synthweb.lib.zip_stream import ZipStream
from synthweb.releases import chain, licences, metadata, report, spool, tables
from synthweb.releases.models import Release, Sample

TABLE = "tables/table.csv"
README = """{name}, release {code}
{guarantee} {seal}.
{licence}

tables/table.csv   the synthetic table: {rows} rows, drawn with the public seed "{seed}"
receipt.json       every question that was asked of the data, with its noise and its cost; names the table by
                   its SHA-256
model.json         the model that the table was drawn from: draw others with synth_engine
report.html        what the release is, for people; report.json has the same facts for programs
dictionary.csv     the columns of the table, also as JSON
croissant.json     metadata of the table for tools (Croissant 1.0)
datacite.json      metadata for a DOI (DataCite 4.5)
bundle.json        size and SHA-256 of every other file

tables/table.csv has every text as it is, also one that a spreadsheet would run as a formula: it is for
programs. The address of the release has a table for spreadsheets.

To verify all of it, keep the archive as it is and run, on any machine with Python 3.11 or newer:

    python verify_receipt.py {archive} --key signing.pub

The public key of the installation comes from its auditors; without --key the verifier says what it cannot
check. Take verify_receipt.py from somebody whom you trust, or read it: the copy in this archive comes from
whoever wrote the archive.

To draw the same table again with synth_engine:

    python -m synth_engine sample model.json --rows {rows} --seed "{seed}" --out table.csv
"""


def seed_of(release: Release) -> str:
    """The public seed of the table in the bundle: everybody gets the same table."""
    return f"bundle of {release.code}"


class Bundle:
    """The bytes of an archive, piece by piece. facts: of the release. Holds a slot of its requester's, or of
    those called `slots`, as every download of a table does, until it is closed or read to the end. Raises
    TooManyDrawings."""

    def __init__(
        self,
        release: Release,
        facts: report.ReleaseReport,
        *,
        user: User,
        archive: str,
        request: HttpRequest | None = None,
        slots: str = "",
    ) -> None:
        # Never stored: whoever has the release has its seed.
        sample = Sample(
            release=release,
            requested_by=user,
            rows=release.sample_rows,
            seed=seed_of(release),
        )
        self._table = spool.Download(sample, request=request, slots=slots)
        self._pieces = _pieces(sample, facts, self._table, archive=archive)

    def __iter__(self) -> Iterator[bytes]:
        return self

    def __next__(self) -> bytes:
        return next(self._pieces)

    def close(self) -> None:
        """End what draws, and give the slot back."""
        self._table.close()


def _pieces(
    sample: Sample, facts: report.ReleaseReport, table: Iterator[bytes], *, archive: str
) -> Iterator[bytes]:
    release = sample.release
    stream = ZipStream(at=release.created_at)
    yield from stream.write("README.txt", _readme(release, sample, archive=archive))
    yield from stream.write(TABLE, table)
    drawn_table = stream.files[-1]
    receipt = chain.receipt_of_table(
        release,
        receipts.Sample(
            rows=sample.rows,
            seed=sample.seed,
            table_sha256=drawn_table.sha256,
        ),
    )
    yield from stream.write("receipt.json", _json(receipt))
    for name, content in _documents(release, facts, metadata.TableFile.of(drawn_table)).items():
        yield from stream.write(name, content())
    yield from stream.write(BUNDLE_LIST, _json(_list(stream, core=receipt["digest"])))
    yield from stream.close()


def _documents(
    release: Release, facts: report.ReleaseReport, table: metadata.TableFile
) -> Mapping[str, Callable[[], bytes]]:
    """The files beside table and receipt, each made when its turn comes."""
    return {
        "model.json": lambda: _json(release.model, indent=None),
        "report.html": lambda: report.html(facts).encode(),
        "report.json": lambda: _json(facts.to_json()),
        "dictionary.csv": lambda: tables.dictionary_csv(release).encode(),
        "dictionary.json": lambda: _json(tables.data_dictionary(release)),
        "croissant.json": lambda: _json(metadata.croissant(facts, table=table)),
        "datacite.json": lambda: _json(metadata.datacite(facts)),
        standalone.NAME: lambda: standalone.text().encode(),
    }


def _list(stream: ZipStream, *, core: str) -> Mapping[str, Any]:
    """The list of the files, signed where the installation has a key."""
    statement = {
        "core": core,
        "files": [
            {"name": file.name, "size": file.size, "sha256": file.sha256}
            for file in stream.files
        ],
    }
    sign = chain.signer()
    signed = None if sign is None else sign(statement, BUNDLE)
    return {"schema": BUNDLE, "statement": statement} if signed is None else signed


def _readme(release: Release, sample: Sample, *, archive: str) -> bytes:
    licence = licences.of_release(release)
    return README.format(
        name=release.name,
        code=release.code,
        guarantee=release.receipt["guarantee"]["sentence"],
        seal=guarantee.seal(Fraction(release.receipt["guarantee"]["epsilon"])).title,
        licence=licence.sentence if licence else "Licence: none stated",
        rows=sample.rows,
        seed=sample.seed,
        archive=archive,
    ).encode()


def _json(document: Any, *, indent: int | None = 2) -> bytes:
    return json.dumps(document, indent=indent, ensure_ascii=False).encode()
