"""A synthetic table of a release whose rows meet public totals."""

from __future__ import annotations

from pathlib import Path

from synthweb_client import documents, downloads
from synthweb_client.downloads import Report
from synthweb_client.files import whole
from synthweb_client.transport import Transport

ENDINGS = (".csv", ".parquet")


class RepairedTable:
    """A repaired table. facts: its totals and its receipt."""

    def __init__(self, transport: Transport, facts: documents.RepairedFacts) -> None:
        self._transport, self.facts = transport, facts

    def __repr__(self) -> str:
        return f"<RepairedTable {self.code} {self.facts.rows:,} rows>"

    @property
    def code(self) -> str:
        """Its code."""
        return self.facts.code

    def save(self, path: str | Path, *, progress: bool | Report = False) -> Path:
        """Write the table to a .csv or .parquet, which appears whole or not at all; weights are its last
        column."""
        target = Path(path)
        if target.suffix not in ENDINGS:
            raise ValueError(f"end the name in {' or '.join(ENDINGS)}")
        address = ("releases", self.facts.release, "repaired", self.code)
        with whole(target) as file, downloads.shown(progress) as report:
            downloads.download(
                self._transport, (*address, f"table{target.suffix}"), to=file, report=report
            )
        return target
