"""A synthetic city of yours: several tables that keys connect, generated from releases."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from synthweb_client import documents, downloads
from synthweb_client.downloads import Report
from synthweb_client.files import whole
from synthweb_client.transport import Transport

TABLES = {".zip": "tables.zip", ".sqlite": "city.sqlite"}
"""What the tables of a city are saved as, by how the name of the file ends."""


class City:
    """A city. facts: how far it is, and its receipt once it is generated, as they were when it was asked
    for."""

    def __init__(self, transport: Transport, facts: documents.CityFacts) -> None:
        self._transport, self.facts = transport, facts

    def __repr__(self) -> str:
        return f"<City {self.code} {self.facts.state}>"

    @property
    def code(self) -> str:
        """Its code."""
        return self.facts.code

    def again(self) -> City:
        """The same city as it is now."""
        answer = self._transport.get("cities", self.code)
        return City(self._transport, documents.read(answer.content, documents.CityFacts))

    def save_tables(self, path: str | Path, *, progress: bool | Report = False) -> Path:
        """All tables: Parquet with their DDL and the receipt in a .zip, or one database in a .sqlite. Errors:
        ServerRefused before it is generated, and where a release that it is made of is not shared with you
        any more."""
        target = Path(path)
        if target.suffix not in TABLES:
            raise ValueError(f"end the name in {' or '.join(TABLES)}")
        return self._save(TABLES[target.suffix], target, progress)

    def save_export(
        self,
        path: str | Path,
        form: Literal["matsim", "populationsim"],
        *,
        progress: bool | Report = False,
    ) -> Path:
        """The files that a program for simulation reads, as a zip; `facts.exports` says which there are.
        Errors: ServerRefused."""
        return self._save(f"{form}.zip", Path(path), progress)

    def _save(self, what: str, target: Path, progress: bool | Report) -> Path:
        with whole(target) as file, downloads.shown(progress) as report:
            downloads.download(
                self._transport, ("cities", self.code, what), to=file, report=report
            )
        return target
